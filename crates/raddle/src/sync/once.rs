//! `std::sync::Once` under control.

use super::poison::Poison;
use crate::runtime::{self, Object, Runtime};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Holding, Kind, Operation};
use std::fmt;
use std::panic::Location;

/// A one-time initialization, as in std. One that outlives a run, such as a static, executes once in each.
pub struct Once {
    object: Object,
    poison: Poison,
}

/// The outcome of earlier attempts, for the closure of [`Once::call_once_force`].
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Returns true if an earlier attempt panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

/// Ends the initialization that the current thread executes, even if it panics.
struct Running<'a> {
    once: &'a Once,
    location: &'static Location<'static>,
    finished: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let argument = if self.finished { Operation::UNTIMED } else { 0 };
        self.once.step(Kind::OnceEnd, argument, self.location);
        if self.finished {
            self.once.poison.clear();
        } else {
            self.once.poison.set();
        }
    }
}

impl Once {
    /// Creates an initialization that has not been executed.
    #[expect(clippy::new_without_default, reason = "std's has no default either")]
    #[track_caller]
    #[must_use]
    pub const fn new() -> Once {
        Once { object: Object::new(), poison: Poison::new() }
    }

    #[track_caller]
    fn step(&self, kind: Kind, argument: u64, location: &'static Location<'static>) -> Reply {
        let awaits = kind.info().holding == Holding::AwaitsOnce;
        let access = if awaits { Access::Read } else { Access::Write };
        let operation = |runtime: &mut Runtime| {
            let object = self.object.id(runtime, |_| Resource::once());
            Operation::new(kind, runtime.location(location)).on(object, access).with_argument(argument)
        };
        runtime::step_or(operation, |runtime| self.object.use_closing(runtime, |_| {}))
    }

    /// Returns true if the run is over, or outside runs. Data protected by this may then be used without
    /// asking the engine.
    pub(super) fn is_closing(&self) -> bool {
        let closing = runtime::is_closing();
        if closing && runtime::epoch().is_some() {
            runtime::with(|runtime| self.object.use_closing(runtime, |_| {}));
        }
        closing
    }

    /// Calls `f` unless an initialization has completed; if another thread executes one, waits until it is
    /// over.
    ///
    /// # Panics
    ///
    /// If an earlier attempt panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.call(false, Location::caller(), |_| f());
    }

    /// Like [`Once::call_once`], but also calls `f` if an earlier attempt panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        self.call(true, Location::caller(), f);
    }

    #[track_caller]
    fn call(&self, force: bool, location: &'static Location<'static>, f: impl FnOnce(&OnceState)) {
        // As in std, a completed one is only read.
        if self.is_over(location)
            || self.step(Kind::OnceBegin, Operation::UNTIMED, location) != Reply::RunOnce
        {
            return;
        }
        let poisoned = self.poison.is_set();
        let mut running = Running { once: self, location, finished: false };
        assert!(force || !poisoned, "Once instance has previously been poisoned");
        f(&OnceState { poisoned });
        running.finished = true;
    }

    /// Returns true if it has completed.
    #[track_caller]
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.is_over(Location::caller())
    }

    /// Waits until it has completed, on any thread.
    ///
    /// # Panics
    ///
    /// If an attempt has panicked and no other one is in progress.
    #[track_caller]
    pub fn wait(&self) {
        let reply = self.step(Kind::OnceWait, 0, Location::caller());
        assert!(reply != Reply::Busy, "Once instance has previously been poisoned");
    }

    /// Like [`Once::wait`], but also waits for another attempt if one has panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        self.step(Kind::OnceWait, Operation::UNTIMED, Location::caller());
    }

    #[track_caller]
    pub(super) fn is_over(&self, location: &'static Location<'static>) -> bool {
        self.step(Kind::OnceTry, Operation::UNTIMED, location) == Reply::Acquired
    }

    /// Calls `f` like [`Once::call_once`], at the location `location`.
    #[track_caller]
    pub(super) fn call_at(&self, force: bool, location: &'static Location<'static>, f: impl FnOnce()) {
        self.call(force, location, |_| f());
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.is_poisoned()).finish()
    }
}
