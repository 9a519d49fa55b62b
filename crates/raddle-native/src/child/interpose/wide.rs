//! Atomic accesses to sixteen bytes, as in [`super::atomic`]. All of them use `cmpxchg16b`, including reads. They touch two
//! objects, so that they read the newest value under weak memory, too.

use super::access::{Accessed, Announced, Orders, announce, note_failed_exchange, note_no_write};
use super::entry::{entries, full_entries, place};
use crate::child::control::enter;
use raddle_model::Kind;
use std::arch::asm;
use std::ffi::c_int;

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

/// Stores `new` at `p` if `expected` is there, and returns the previous value.
///
/// # Safety
/// There are sixteen bytes at `p`, aligned to sixteen and writable.
unsafe fn compare_exchange(p: *mut u128, expected: u128, new: u128) -> u128 {
    let (expected, new) = (Wide::of(expected), Wide::of(new));
    let (low, high): (u64, u64);
    // SAFETY: per the contract of this function, there are sixteen aligned and writable bytes at `p`. The
    // compiler reserves rbx, so it is restored at once, and nothing else uses it meanwhile.
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

/// Announces an access, executes it, and returns the previous value.
fn access(
    kind: Kind,
    p: *mut u128,
    orders: Orders,
    place: usize,
    change: impl Fn(u128) -> u128,
) -> (u128, bool) {
    let accessed = Accessed { kind, address: p as usize, size: 16, orders, expected: None, place };
    let announced = enter(|| announce(accessed)).is_some_and(|announced| announced != Announced::No);
    let mut old = 0;
    loop {
        let new = change(old);
        // SAFETY: the compiler guarantees an aligned atomic of this size.
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
    __tsan_atomic128_load(p: *mut u128, order: c_int) -> Wide => load;
    __tsan_atomic128_store(p: *mut u128, value: Wide, order: c_int) => store;
    __tsan_atomic128_exchange(p: *mut u128, value: Wide, order: c_int) -> Wide => exchange;
    __tsan_atomic128_fetch_add(p: *mut u128, value: Wide, order: c_int) -> Wide => fetch_add;
    __tsan_atomic128_fetch_sub(p: *mut u128, value: Wide, order: c_int) -> Wide => fetch_sub;
    __tsan_atomic128_fetch_and(p: *mut u128, value: Wide, order: c_int) -> Wide => fetch_and;
    __tsan_atomic128_fetch_or(p: *mut u128, value: Wide, order: c_int) -> Wide => fetch_or;
    __tsan_atomic128_fetch_xor(p: *mut u128, value: Wide, order: c_int) -> Wide => fetch_xor;
    __tsan_atomic128_fetch_nand(p: *mut u128, value: Wide, order: c_int) -> Wide => fetch_nand;
}

full_entries! {
    __tsan_atomic128_compare_exchange_strong(p: *mut u128, expected: *mut u128, value: Wide, order: c_int, failure: c_int) -> c_int => exchange_expected;
    __tsan_atomic128_compare_exchange_weak(p: *mut u128, expected: *mut u128, value: Wide, order: c_int, failure: c_int) -> c_int => exchange_expected;
    __tsan_atomic128_compare_exchange_val(p: *mut u128, expected: Wide, value: Wide, order: c_int, failure: c_int) -> Wide => exchange_if;
}

/// Returns the value found.
unsafe extern "C" fn exchange_if(
    p: *mut u128,
    expected: Wide,
    value: Wide,
    order: c_int,
    failure: c_int,
) -> Wide {
    let (expected, value) = (expected.get(), value.get());
    let (orders, place) = (Orders::exchange(order, failure), place());
    let change = |old| if old == expected { value } else { old };
    let (found, announced) = access(Kind::ReadModifyWrite, p, orders, place, change);
    if announced && found != expected {
        enter(note_failed_exchange);
    }
    Wide::of(found)
}

/// Returns whether the value was the expected one, and stores the value found in `expected` if not.
unsafe extern "C" fn exchange_expected(
    p: *mut u128,
    expected: *mut u128,
    value: Wide,
    order: c_int,
    failure: c_int,
) -> c_int {
    // SAFETY: the compiler passes a valid pointer to a value.
    let wanted = unsafe { *expected };
    // SAFETY: the compiler guarantees an aligned atomic of sixteen bytes at `p`.
    let found = unsafe { exchange_if(p, Wide::of(wanted), value, order, failure) }.get();
    if found == wanted {
        return 1;
    }
    // SAFETY: the compiler passes a pointer to a writable value.
    unsafe { *expected = found };
    0
}
