//! Atomic accesses to sixteen bytes, as in [`super::atomic`]. All are made of `cmpxchg16b`, also reads.

use super::access::{Orders, announce, note_failed_exchange, note_no_write};
use super::entry::entries;
use crate::child::control::enter;
use raddle_model::Kind;
use std::arch::asm;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value as the calling convention passes it: in two registers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Wide {
    low: u64,
    high: u64,
}

impl Wide {
    fn get(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    fn of(value: u128) -> Wide {
        Wide { low: value as u64, high: (value >> 64) as u64 }
    }
}

/// Puts `new` at `p` if `expected` is there, and gives what was there.
///
/// # Safety
/// There are sixteen bytes at `p`, aligned to sixteen and writable.
unsafe fn compare_exchange(p: *mut u128, expected: u128, new: u128) -> u128 {
    let (expected, new) = (Wide::of(expected), Wide::of(new));
    let (low, high): (u64, u64);
    // SAFETY: our caller's promise. The compiler keeps rbx for itself, so it is put back at once, and nothing else is in
    // it meanwhile.
    unsafe {
        asm!(
            "xchg rbx, rsi",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") p,
            inout("rsi") new.low => _,
            inout("rax") expected.low => low,
            inout("rdx") expected.high => high,
            in("rcx") new.high,
            options(nostack)
        );
    }
    Wide { low, high }.get()
}

/// Announces an access, executes it, and gives what was there before.
fn access(
    kind: Kind,
    p: *mut u128,
    orders: Orders,
    place: usize,
    change: impl Fn(u128) -> u128,
) -> (u128, bool) {
    let announced = enter(|| announce(kind, p as usize, 16, orders, place)) == Some(true);
    let mut old = 0;
    loop {
        let new = change(old);
        // SAFETY: the compiler promises that there is an aligned atomic of this size.
        let found = unsafe { compare_exchange(p, old, new) };
        if found == old {
            break;
        }
        old = found;
    }
    if announced && kind != Kind::Read && change(old) == old {
        enter(note_no_write);
    }
    (old, announced)
}

unsafe extern "C" fn load(p: *mut u128, order: c_int, place: usize) -> Wide {
    Wide::of(access(Kind::Read, p, Orders::atomic(order), place, |old| old).0)
}

unsafe extern "C" fn store(p: *mut u128, value: Wide, order: c_int, place: usize) {
    access(Kind::Write, p, Orders::atomic(order), place, |_| value.get());
}

macro_rules! changes {
    ($($name:ident: $change:expr;)*) => {$(
        unsafe extern "C" fn $name(p: *mut u128, value: Wide, order: c_int, place: usize) -> Wide {
            let change: fn(u128, u128) -> u128 = $change;
            let orders = Orders::atomic(order);
            Wide::of(access(Kind::ReadModifyWrite, p, orders, place, |old| change(old, value.get())).0)
        }
    )*};
}

changes! {
    exchange: |_, value| value;
    fetch_add: |old, value| old.wrapping_add(value);
    fetch_sub: |old, value| old.wrapping_sub(value);
    fetch_and: |old, value| old & value;
    fetch_or: |old, value| old | value;
    fetch_xor: |old, value| old ^ value;
    fetch_nand: |old, value| !(old & value);
}

entries! {
    __tsan_atomic128_load + "rdx" => load;
    __tsan_atomic128_store + "r8" => store;
    __tsan_atomic128_exchange + "r8" => exchange;
    __tsan_atomic128_fetch_add + "r8" => fetch_add;
    __tsan_atomic128_fetch_sub + "r8" => fetch_sub;
    __tsan_atomic128_fetch_and + "r8" => fetch_and;
    __tsan_atomic128_fetch_or + "r8" => fetch_or;
    __tsan_atomic128_fetch_xor + "r8" => fetch_xor;
    __tsan_atomic128_fetch_nand + "r8" => fetch_nand;
}

/// Where the exchange that is about to begin was called from: its arguments take all registers. Under control one thread runs
/// at a time, and otherwise nobody asks.
static PLACE: AtomicUsize = AtomicUsize::new(0);

macro_rules! exchanges {
    ($($name:ident => $target:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov rax, [rsp]",
                "mov [rip + {}], rax",
                "mov qword ptr [rip + {}], rbp",
                "jmp {}",
                sym PLACE,
                sym $crate::child::stack::FRAME,
                sym $target,
            )
        }
    )*};
}

exchanges! {
    __tsan_atomic128_compare_exchange_strong => exchange_or_tell;
    __tsan_atomic128_compare_exchange_weak => exchange_or_tell;
    __tsan_atomic128_compare_exchange_val => exchange_if;
}

/// Gives the value found.
unsafe extern "C" fn exchange_if(
    p: *mut u128,
    expected: Wide,
    value: Wide,
    order: c_int,
    failure: c_int,
) -> Wide {
    let (expected, value) = (expected.get(), value.get());
    let (orders, place) = (Orders::exchange(order, failure), PLACE.load(Ordering::Relaxed));
    let change = |old| if old == expected { value } else { old };
    let (found, announced) = access(Kind::ReadModifyWrite, p, orders, place, change);
    if announced && found != expected {
        enter(note_failed_exchange);
    }
    Wide::of(found)
}

/// Tells whether the value was the expected one, and leaves the one found in its place if not.
unsafe extern "C" fn exchange_or_tell(
    p: *mut u128,
    expected: *mut u128,
    value: Wide,
    order: c_int,
    failure: c_int,
) -> c_int {
    // SAFETY: the compiler promises that there is a value.
    let wanted = unsafe { *expected };
    // SAFETY: as our caller called us.
    let found = unsafe { exchange_if(p, Wide::of(wanted), value, order, failure) }.get();
    if found == wanted {
        return 1;
    }
    // SAFETY: as above.
    unsafe { *expected = found };
    0
}
