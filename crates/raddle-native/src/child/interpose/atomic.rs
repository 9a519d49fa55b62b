//! Atomic accesses of code compiled with `-fsanitize=thread`. The compiler replaces them with calls of these
//! functions. They are executed sequentially consistently, which is at least the requested order.

use super::access::{Orders, announce, note_failed_exchange, note_no_write};
use super::entry::entries;
use crate::child::control::enter;
use crate::child::{runtime, values};
use raddle_model::Kind;
use std::ffi::c_int;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Announces an access and then executes it, so that nothing comes between its execution and the next
/// announcement.
fn access<R>(
    kind: Kind,
    address: usize,
    size: usize,
    orders: Orders,
    place: usize,
    execute: impl FnOnce() -> (R, bool),
) -> R {
    access_announced(kind, address, size, orders, place, execute).0
}

/// Like `access`, but also returns whether it was announced.
fn access_announced<R>(
    kind: Kind,
    address: usize,
    size: usize,
    orders: Orders,
    place: usize,
    execute: impl FnOnce() -> (R, bool),
) -> (R, bool) {
    let announced = enter(|| announce(kind, address, size, orders, place)) == Some(true);
    let (result, wrote) = execute();
    if announced && values::are_wanted() {
        enter(runtime::settle_value);
    }
    if announced && !wrote && kind != Kind::Read {
        enter(note_no_write);
    }
    (result, announced)
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

            fn change(
                p: *mut $type,
                order: c_int,
                place: usize,
                change: impl Fn(&$atomic) -> ($type, $type),
            ) -> $type {
                access(
                    Kind::ReadModifyWrite,
                    p as usize,
                    size_of::<$type>(),
                    Orders::atomic(order),
                    place,
                    || {
                        let (old, new) = change(at(p));
                        (old, old != new)
                    },
                )
            }

            pub(super) unsafe extern "C" fn load(p: *mut $type, order: c_int, place: usize) -> $type {
                access(Kind::Read, p as usize, size_of::<$type>(), Orders::atomic(order), place, || {
                    (at(p).load(SeqCst), false)
                })
            }

            pub(super) unsafe extern "C" fn store(p: *mut $type, value: $type, order: c_int, place: usize) {
                access(Kind::Write, p as usize, size_of::<$type>(), Orders::atomic(order), place, || {
                    let old = at(p).swap(value, SeqCst);
                    ((), old != value)
                })
            }

            pub(super) unsafe extern "C" fn exchange(
                p: *mut $type,
                value: $type,
                order: c_int,
                place: usize,
            ) -> $type {
                change(p, order, place, |atomic| (atomic.swap(value, SeqCst), value))
            }

            pub(super) unsafe extern "C" fn fetch_add(
                p: *mut $type,
                value: $type,
                order: c_int,
                place: usize,
            ) -> $type {
                change(p, order, place, |atomic| {
                    let old = atomic.fetch_add(value, SeqCst);
                    (old, old.wrapping_add(value))
                })
            }

            pub(super) unsafe extern "C" fn fetch_sub(
                p: *mut $type,
                value: $type,
                order: c_int,
                place: usize,
            ) -> $type {
                change(p, order, place, |atomic| {
                    let old = atomic.fetch_sub(value, SeqCst);
                    (old, old.wrapping_sub(value))
                })
            }

            pub(super) unsafe extern "C" fn fetch_and(
                p: *mut $type,
                value: $type,
                order: c_int,
                place: usize,
            ) -> $type {
                change(p, order, place, |atomic| {
                    let old = atomic.fetch_and(value, SeqCst);
                    (old, old & value)
                })
            }

            pub(super) unsafe extern "C" fn fetch_or(
                p: *mut $type,
                value: $type,
                order: c_int,
                place: usize,
            ) -> $type {
                change(p, order, place, |atomic| {
                    let old = atomic.fetch_or(value, SeqCst);
                    (old, old | value)
                })
            }

            pub(super) unsafe extern "C" fn fetch_xor(
                p: *mut $type,
                value: $type,
                order: c_int,
                place: usize,
            ) -> $type {
                change(p, order, place, |atomic| {
                    let old = atomic.fetch_xor(value, SeqCst);
                    (old, old ^ value)
                })
            }

            pub(super) unsafe extern "C" fn fetch_nand(
                p: *mut $type,
                value: $type,
                order: c_int,
                place: usize,
            ) -> $type {
                change(p, order, place, |atomic| {
                    let old = atomic.fetch_nand(value, SeqCst);
                    (old, !(old & value))
                })
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
                let execute = || match at(p).compare_exchange(expected, value, SeqCst, SeqCst) {
                    Ok(old) => (old, old != value),
                    Err(old) => (old, false),
                };
                let kind = Kind::ReadModifyWrite;
                let (found, announced) =
                    access_announced(kind, p as usize, size_of::<$type>(), orders, place, execute);
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
