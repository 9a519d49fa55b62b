//! The common parts of all atomics.

use crate::runtime::{self, Object, Past, Runtime, ValueUses, Word};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, LocationId, MemoryOrder, Name, Operation, Touch};
use std::panic::Location;
use std::sync::atomic::Ordering;

/// Executes one access to the atomic `object` with the first memory order of `orders`; a second one makes the
/// access an exchange that reads with that order if it fails. `renew` is called before the first access in a
/// run. Under weak memory, `bits` returns the bits of the current value, and of the one that an exchange
/// compares with. Returns the uses of the values in this run.
#[inline]
#[track_caller]
pub(super) fn step(
    object: &Object,
    kind: Kind,
    access: Access,
    orders: (Ordering, Option<Ordering>),
    location: &'static Location<'static>,
    (renew, bits): (impl Fn(Past), impl FnOnce() -> (u128, Option<u128>)),
) -> ValueUses {
    let mut uses = ValueUses::NONE;
    let operation = |runtime: &mut Runtime| {
        uses = runtime.value_uses;
        let object = object.id(runtime, |past| {
            renew(past);
            Resource::Memory
        });
        if is_weak(orders.0) || orders.1.is_some_and(is_weak) {
            runtime.has_weak_orders = true;
        }
        let operation = Operation::new(kind, runtime.location(location)).on(object, access);
        let mut operation = match orders {
            (order, None) => operation.ordered(memory_order(order)),
            (success, Some(failure)) => operation.exchanging(memory_order(success), memory_order(failure)),
        };
        if uses.may_be_old() {
            let parts = (kind, operation.touches[0], operation.argument);
            (operation.argument, operation.touches[1]) = prepare(runtime, parts, location, bits());
        }
        operation
    };
    runtime::access_or(operation, |runtime| object.use_closing(runtime, &renew));
    uses
}

/// Returns true for an order that allows more than sequential consistency.
#[inline]
fn is_weak(order: Ordering) -> bool {
    memory_order(order) != MemoryOrder::SequentiallyConsistent
}

/// Prepares an access under weak memory; returns its orders and the second object it touches.
#[cold]
#[inline(never)] // Keeps sequentially consistent accesses short.
fn prepare(
    runtime: &mut Runtime,
    (kind, touch, argument): (Kind, Touch, u64),
    location: &'static Location<'static>,
    (held, expected): (u128, Option<u128>),
) -> (u64, Touch) {
    // From its parts: the operation of a sequentially consistent access stays in registers.
    let mut operation = Operation { argument, touches: [touch, Touch::NONE], location: LocationId(0), kind };
    let thread = runtime.current();
    if runtime.engine.has_stronger_orders() {
        operation = strengthen(runtime, operation, location);
    }
    let prepared = runtime.engine.prepare_access(thread, operation, held, expected);
    (prepared.argument, prepared.touches[1])
}

/// Returns an access or fence in the order that it has in this run, which may be stronger than in the program.
#[cold]
pub(super) fn strengthen(
    runtime: &Runtime,
    operation: Operation,
    location: &'static Location<'static>,
) -> Operation {
    if !runtime.engine.has_stronger_orders() {
        return operation;
    }
    runtime.engine.strengthen(operation, Name::of_text(&location.to_string()))
}

/// Returns the bits that the last access read under weak memory; `None` if the run is over.
#[cold]
#[inline(never)]
pub(super) fn read_value() -> Option<u128> {
    let (value, is_judged) = runtime::with(|runtime| {
        let value = (!runtime.is_closing()).then(|| runtime.engine.read_value());
        (value, runtime.judges_old_reads && value.is_some() && runtime.engine.old_read().is_some())
    });
    if is_judged {
        runtime::judge_old_read();
    }
    value
}

/// Records the bits that the last access writes under weak memory. Returns those of the newest value, which is another one if
/// the write comes before others; `None` if the run is over.
#[cold]
#[inline(never)]
pub(super) fn written(bits: u128) -> Option<u128> {
    runtime::with(|runtime| (!runtime.is_closing()).then(|| runtime.engine.note_written(bits)))
}

/// Executes a plain read of an atomic.
#[track_caller]
pub(super) fn plain_read(object: &Object, location: &'static Location<'static>, renew: impl Fn(Past)) {
    let operation = |runtime: &mut Runtime| {
        let object = object.id(runtime, |past| {
            renew(past);
            Resource::Memory
        });
        Operation::new(Kind::Read, runtime.location(location))
            .on(object, Access::Read)
            .ordered(MemoryOrder::Plain)
    };
    runtime::step_or(operation, |runtime| object.use_closing(runtime, &renew));
}

/// Records the values that the last access read and wrote. An access that was announced and continues after
/// the end of the run is not a step.
#[cold]
pub(super) fn note(read: Option<Word>, written: Option<Word>) {
    runtime::with(|runtime| {
        if !runtime.is_closing() {
            runtime.note_value(read, written);
        }
    });
}

/// Returns the engine's name of a memory order.
#[inline]
pub(super) fn memory_order(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Relaxed => MemoryOrder::Relaxed,
        Ordering::Release => MemoryOrder::Release,
        Ordering::Acquire => MemoryOrder::Acquire,
        Ordering::AcqRel => MemoryOrder::AcquireRelease,
        // Also stands for any order that std may add.
        _ => MemoryOrder::SequentiallyConsistent,
    }
}

/// Records that the last exchange found another value and wrote nothing.
pub(super) fn failed() {
    runtime::with(|runtime| {
        if !runtime.is_closing() {
            let thread = runtime.current();
            runtime.engine.note_failed_exchange(thread);
            runtime.note_nothing_written();
        }
    });
}

/// Records that the last access left the value unchanged, so that a loop around it is known to be idle.
pub(super) fn unchanged() {
    runtime::with(|runtime| {
        if !runtime.is_closing() {
            let thread = runtime.current();
            runtime.engine.note_no_write(thread);
        }
    });
}

/// Rejects the orders that std rejects for a load.
#[inline]
#[track_caller]
pub(super) fn assert_loads(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        _ => {}
    }
}

/// Rejects the orders that std rejects for a store.
#[inline]
#[track_caller]
pub(super) fn assert_stores(order: Ordering) {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        _ => {}
    }
}

/// Rejects the orders that std rejects for a failing exchange.
#[inline]
#[track_caller]
pub(super) fn assert_fails(order: Ordering) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release failure ordering"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release failure ordering"),
        _ => {}
    }
}

/// Defines the methods of every atomic. The value is stored in one of std's, but only one OS thread accesses
/// it during a run, so plain loads and stores suffice. `$begins_anew` decides whether every run begins with
/// an initial value, `$word` formats a value for reports, `$bits` and `$of_bits` convert a value to the engine's form and back.
macro_rules! common {
    ([$($generics:tt)*] $atomic:ty, $value:ty, $std:ty, $begins_anew:expr, $word:expr, $bits:expr, $of_bits:expr) => {
        impl $($generics)* $atomic {
            /// Creates an atomic with an initial value.
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                let (value, first) = (<$std>::new(value), <$std>::new(value));
                Self { object: Object::new(), value, first }
            }

            /// Returns the value, which has no other user. A value written here outside runs is the initial
            /// value of later runs.
            pub fn get_mut(&mut self) -> &mut $value {
                match runtime::epoch() {
                    Some(now) if self.object.is_of_another(now) => self.renew(Past::Used),
                    Some(_) => {}
                    None => self.object.forget_past(),
                }
                self.value.get_mut()
            }

            /// Calls `f` with the value, which has no other user, as in `get_mut`; Loom's name.
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.get_mut())
            }

            /// Returns the value.
            pub fn into_inner(mut self) -> $value {
                *self.get_mut()
            }

            /// Begins a run with the initial value of the first run.
            #[cold]
            fn renew(&self, past: Past) {
                let begins_anew: fn($value) -> bool = $begins_anew;
                let first = self.first.load(Ordering::Relaxed);
                match past {
                    Past::None => self.first.store(self.value.load(Ordering::Relaxed), Ordering::Relaxed),
                    Past::Used if begins_anew(first) => self.value.store(first, Ordering::Relaxed),
                    Past::Used | Past::Foreign => {}
                }
            }

            #[inline]
            #[track_caller]
            fn step(
                &self,
                kind: Kind,
                access: Access,
                orders: (Ordering, Option<Ordering>),
                expected: Option<$value>,
            ) -> ValueUses {
                let renew = |past| self.renew(past);
                let bits = || (Self::bits(self.value.load(Ordering::Relaxed)), expected.map(Self::bits));
                shared::step(&self.object, kind, access, orders, Location::caller(), (renew, bits))
            }

            /// Returns a value as the engine keeps it.
            #[inline]
            fn bits(value: $value) -> u128 {
                let bits: fn($value) -> u128 = $bits;
                bits(value)
            }

            /// Reads the value of the last access, and records it if it is requested.
            #[cold]
            #[inline(never)]
            fn read_specially(&self, uses: ValueUses) -> $value {
                let value = self.read(uses);
                if uses.are_recorded() {
                    shared::note(Self::word(value), None);
                }
                value
            }

            /// Writes the value of the last access, and records it if it is requested.
            #[cold]
            #[inline(never)]
            fn write_specially(&self, uses: ValueUses, value: $value) {
                if uses.are_recorded() {
                    shared::note(None, Self::word(value));
                }
                self.write(uses, value);
            }

            /// Changes the value in the last access, and records both values if they are requested.
            #[cold]
            #[inline(never)]
            fn change_specially(
                &self,
                uses: ValueUses,
                change: impl FnOnce($value) -> Option<$value>,
            ) -> $value {
                let before = self.read(uses);
                let change = change(before);
                let after = change.unwrap_or(before);
                if uses.are_recorded() {
                    shared::note(Self::word(before), Self::word(after));
                }
                if change.is_some() && (after != before || uses.may_be_old()) {
                    self.write(uses, after);
                }
                if after == before {
                    shared::unchanged();
                }
                before
            }

            /// Returns the value that the last access read.
            fn read(&self, uses: ValueUses) -> $value {
                let of_bits: fn(u128) -> $value = $of_bits;
                let old = if uses.may_be_old() { shared::read_value() } else { None };
                old.map_or_else(|| self.value.load(Ordering::Relaxed), of_bits)
            }

            /// Writes the value of the last access.
            fn write(&self, uses: ValueUses, value: $value) {
                let of_bits: fn(u128) -> $value = $of_bits;
                let newest = if uses.may_be_old() { shared::written(Self::bits(value)) } else { None };
                self.value.store(newest.map_or(value, of_bits), Ordering::Relaxed);
            }

            /// Returns a value for reports.
            fn word(value: $value) -> Option<Word> {
                let word: fn($value) -> Option<Word> = $word;
                word(value)
            }

            /// Reads the value.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                shared::assert_loads(order);
                let uses = self.step(Kind::Read, Access::Read, (order, None), None);
                if uses == ValueUses::NONE {
                    return self.value.load(Ordering::Relaxed);
                }
                self.read_specially(uses)
            }

            /// Reads the value without synchronization: a plain read, which races with all unordered writes.
            /// Loom's name.
            ///
            /// # Safety
            ///
            /// No requirements; Loom's function is unsafe too.
            #[expect(unsafe_code, reason = "as in Loom")]
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                shared::plain_read(&self.object, Location::caller(), |past| self.renew(past));
                self.value.load(Ordering::Relaxed)
            }

            /// Writes the value.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                shared::assert_stores(order);
                let uses = self.step(Kind::Write, Access::Write, (order, None), None);
                if uses == ValueUses::NONE {
                    return self.value.store(value, Ordering::Relaxed);
                }
                self.write_specially(uses, value);
            }

            /// Writes the value, and returns the previous one.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.modify(order, |_| value)
            }

            /// Writes `new` if the value is `current`. Returns the previous value, as an error if nothing was
            /// written.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                shared::assert_fails(failure);
                let change = |before| (before == current).then_some(new);
                let before = self.modify_in((success, Some(failure)), Some(current), change);
                if before == current {
                    Ok(before)
                } else {
                    shared::failed();
                    Err(before)
                }
            }

            /// Like `compare_exchange`; it never fails spuriously.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Like `compare_exchange`, but returns only the previous value; std's old name.
            #[deprecated(note = "use compare_exchange or compare_exchange_weak")]
            #[track_caller]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::AcqRel => Ordering::Acquire,
                    Ordering::Release => Ordering::Relaxed,
                    order => order,
                };
                self.compare_exchange(current, new, order, failure).unwrap_or_else(|before| before)
            }

            /// Reads the value and exchanges it for the result of `f`, until no other thread has changed it
            /// in between: one operation for the read and one for each exchange.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(fetch_order);
                while let Some(new) = f(before) {
                    match self.compare_exchange_weak(before, new, set_order, fetch_order) {
                        Ok(before) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            /// Like `fetch_update`, under its newer name.
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(set_order, fetch_order, f)
            }

            /// Like `fetch_update`, for a function that never returns `None`.
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                self.fetch_update(set_order, fetch_order, |before| Some(f(before)))
                    .expect("the function always returns a value")
            }

            /// Reads and writes the value in one operation, and returns the previous value.
            #[inline]
            #[track_caller]
            fn modify(&self, order: Ordering, change: impl FnOnce($value) -> $value) -> $value {
                self.modify_in((order, None), None, |before| Some(change(before)))
            }

            /// Like `modify`, with the orders that `shared::step` defines.
            #[inline]
            #[track_caller]
            fn modify_in(
                &self,
                orders: (Ordering, Option<Ordering>),
                expected: Option<$value>,
                change: impl FnOnce($value) -> Option<$value>,
            ) -> $value {
                let uses = self.step(Kind::ReadModifyWrite, Access::Write, orders, expected);
                if uses != ValueUses::NONE {
                    return self.change_specially(uses, change);
                }
                let before = self.value.load(Ordering::Relaxed);
                let after = change(before).unwrap_or(before);
                if after == before {
                    shared::unchanged();
                } else {
                    self.value.store(after, Ordering::Relaxed);
                }
                before
            }
        }

        impl $($generics)* From<$value> for $atomic {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl $($generics)* fmt::Debug for $atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.value, f)
            }
        }
    };
}

/// Defines the method of atomics that have a std counterpart.
macro_rules! pointed {
    ([$($generics:tt)*] $atomic:ty, $value:ty) => {
        impl $($generics)* $atomic {
            /// Returns a pointer to the value. Accesses through it are not operations, and not under control.
            pub const fn as_ptr(&self) -> *mut $value {
                self.value.as_ptr()
            }
        }
    };
}

pub(super) use {common, pointed};
