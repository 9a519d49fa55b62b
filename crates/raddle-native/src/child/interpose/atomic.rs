//! Atomic accesses of code compiled with `-fsanitize=thread`. The compiler replaces them with calls of these
//! functions. Under weak memory the engine decides which values they read; otherwise they are executed sequentially
//! consistently, which is at least the requested order.

use super::access::{Accessed, Announced, Orders, announce, note_failed_exchange, note_no_write};
use super::entry::entries;
use crate::child::control::enter;
use crate::child::{runtime, values, weak};
use raddle_model::Kind;
use std::ffi::c_int;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Announces an access and then executes it, so that nothing comes between its execution and the next
/// announcement. `directly` executes it in memory; it returns the result and whether the value has changed. `weakly` gets the value
/// read, and returns the result and the value written, if any. Returns the result, and whether the access was announced.
pub(super) fn access<R>(
    accessed: Accessed,
    directly: impl FnOnce() -> (R, bool),
    weakly: impl FnOnce(u128) -> (R, Option<u128>),
) -> (R, bool) {
    let Accessed { kind, address, size, .. } = accessed;
    let announced = enter(|| announce(accessed)).unwrap_or(Announced::No);
    let weak = (announced == Announced::Weakly)
        .then(|| enter(|| weak::execute(address, size, kind.reads_memory(), weakly)));
    let (result, wrote) = weak.flatten().unwrap_or_else(directly);
    let is_step = announced != Announced::No;
    if announced == Announced::Yes && values::are_wanted() {
        enter(runtime::settle_value);
    }
    if is_step && !wrote && kind != Kind::Read {
        enter(note_no_write);
    }
    (result, is_step)
}

/// Defines the functions that change the value.
macro_rules! changes {
    ($type:ty; $($name:ident: $change:expr;)*) => {$(
        pub(super) unsafe extern "C" fn $name(
            p: *mut $type,
            value: $type,
            order: c_int,
            place: usize,
        ) -> $type {
            let with: fn($type, $type) -> $type = $change;
            change(p, order, place, |old| with(old, value))
        }
    )*};
}

macro_rules! atomics {
    ($module:ident, $type:ty, $atomic:ty) => {
        mod $module {
            use super::*;

            fn at(address: *mut $type) -> &'static $atomic {
                // SAFETY: the compiler guarantees an aligned atomic of this size for the duration of the
                // call.
                unsafe { <$atomic>::from_ptr(address) }
            }

            fn accessed(
                kind: Kind,
                p: *mut $type,
                orders: Orders,
                expected: Option<$type>,
                place: usize,
            ) -> Accessed {
                let expected = expected.map(u128::from);
                Accessed { kind, address: p as usize, size: size_of::<$type>(), orders, expected, place }
            }

            fn change(p: *mut $type, order: c_int, place: usize, change: impl Fn($type) -> $type) -> $type {
                let accessed = accessed(Kind::ReadModifyWrite, p, Orders::atomic(order), None, place);
                let directly = || {
                    let update = at(p).fetch_update(SeqCst, SeqCst, |old| Some(change(old)));
                    let old = update.unwrap_or_else(|old| old);
                    (old, old != change(old))
                };
                let weakly = |read| (read as $type, Some(u128::from(change(read as $type))));
                access(accessed, directly, weakly).0
            }

            pub(super) unsafe extern "C" fn load(p: *mut $type, order: c_int, place: usize) -> $type {
                let accessed = accessed(Kind::Read, p, Orders::atomic(order), None, place);
                access(accessed, || (at(p).load(SeqCst), false), |read| (read as $type, None)).0
            }

            pub(super) unsafe extern "C" fn store(p: *mut $type, value: $type, order: c_int, place: usize) {
                let accessed = accessed(Kind::Write, p, Orders::atomic(order), None, place);
                let directly = || ((), at(p).swap(value, SeqCst) != value);
                access(accessed, directly, |_| ((), Some(u128::from(value))));
            }

            changes! {
                $type;
                exchange: |_, value| value;
                fetch_add: |old, value| old.wrapping_add(value);
                fetch_sub: |old, value| old.wrapping_sub(value);
                fetch_and: |old, value| old & value;
                fetch_or: |old, value| old | value;
                fetch_xor: |old, value| old ^ value;
                fetch_nand: |old, value| !(old & value);
            }

            /// Returns the value found.
            pub(super) unsafe extern "C" fn exchange_if(
                p: *mut $type,
                expected: $type,
                value: $type,
                order: c_int,
                failure: c_int,
                place: usize,
            ) -> $type {
                let orders = Orders::exchange(order, failure);
                let accessed = accessed(Kind::ReadModifyWrite, p, orders, Some(expected), place);
                let directly = || match at(p).compare_exchange(expected, value, SeqCst, SeqCst) {
                    Ok(old) => (old, old != value),
                    Err(old) => (old, false),
                };
                let weakly = |read| {
                    let found = read as $type;
                    (found, (found == expected).then_some(u128::from(value)))
                };
                let (found, announced) = access(accessed, directly, weakly);
                if announced && found != expected {
                    enter(note_failed_exchange);
                }
                found
            }

            /// Returns whether the value was the expected one, and stores the value found in `expected` if
            /// not.
            pub(super) unsafe extern "C" fn exchange_expected(
                p: *mut $type,
                expected: *mut $type,
                value: $type,
                order: c_int,
                failure: c_int,
                place: usize,
            ) -> c_int {
                // SAFETY: the compiler passes a valid pointer to a value.
                let wanted = unsafe { *expected };
                // SAFETY: the arguments are those of this call, with the same requirements.
                let found = unsafe { exchange_if(p, wanted, value, order, failure, place) };
                if found == wanted {
                    return 1;
                }
                // SAFETY: `expected` is valid for reads and writes, as above.
                unsafe { *expected = found };
                0
            }
        }
    };
}

atomics!(bits8, u8, AtomicU8);
atomics!(bits16, u16, AtomicU16);
atomics!(bits32, u32, AtomicU32);
atomics!(bits64, u64, AtomicU64);

/// Defines the hooks for atomics of one size.
macro_rules! hooks {
    ($($module:ident $type:ty: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident $strong:ident $weak:ident $val:ident;)*) => {$(
        entries! {
            $load(p: *mut $type, order: c_int) -> $type => $module::load;
            $store(p: *mut $type, value: $type, order: c_int) => $module::store;
            $exchange(p: *mut $type, value: $type, order: c_int) -> $type => $module::exchange;
            $add(p: *mut $type, value: $type, order: c_int) -> $type => $module::fetch_add;
            $sub(p: *mut $type, value: $type, order: c_int) -> $type => $module::fetch_sub;
            $and(p: *mut $type, value: $type, order: c_int) -> $type => $module::fetch_and;
            $or(p: *mut $type, value: $type, order: c_int) -> $type => $module::fetch_or;
            $xor(p: *mut $type, value: $type, order: c_int) -> $type => $module::fetch_xor;
            $nand(p: *mut $type, value: $type, order: c_int) -> $type => $module::fetch_nand;
            $strong(p: *mut $type, expected: *mut $type, value: $type, order: c_int, failure: c_int) -> c_int => $module::exchange_expected;
            $weak(p: *mut $type, expected: *mut $type, value: $type, order: c_int, failure: c_int) -> c_int => $module::exchange_expected;
            $val(p: *mut $type, expected: $type, value: $type, order: c_int, failure: c_int) -> $type => $module::exchange_if;
        }
    )*};
}

hooks! {
    bits8 u8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
        __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor
        __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
        __tsan_atomic8_compare_exchange_val;
    bits16 u16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
        __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor
        __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
        __tsan_atomic16_compare_exchange_val;
    bits32 u32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
        __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor
        __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
        __tsan_atomic32_compare_exchange_val;
    bits64 u64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
        __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor
        __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
        __tsan_atomic64_compare_exchange_val;
}
