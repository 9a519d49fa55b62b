//! `std::sync::Once` under control.

use super::poison::Poison;
use crate::runtime::{self, Object, Runtime};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Holding, Kind, Operation};
use std::fmt;
use std::panic::Location;

/// An initialisation that is run once, as in std. One that outlives a run, as a static does, is run once in each.
pub struct Once {
    object: Object,
    poison: Poison,
}

/// What is known of earlier attempts, for the closure of [`Once::call_once_force`].
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Whether an earlier attempt panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

/// Ends the initialisation that the current thread runs, also if it panics.
struct Running<'a> {
    once: &'a Once,
    place: &'static Location<'static>,
    finished: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let argument = if self.finished { Operation::UNTIMED } else { 0 };
        self.once.step(Kind::OnceEnd, argument, self.place);
        if self.finished {
            self.once.poison.clear();
        } else {
            self.once.poison.set();
        }
    }
}

impl Once {
    /// An initialisation that was not run.
    #[expect(clippy::new_without_default, reason = "std's has no default either")]
    #[track_caller]
    #[must_use]
    pub const fn new() -> Once {
        Once { object: Object::new(), poison: Poison::new() }
    }

    #[track_caller]
    fn step(&self, kind: Kind, argument: u64, place: &'static Location<'static>) -> Reply {
        let awaits = kind.info().holding == Holding::AwaitsOnce;
        let access = if awaits { Access::Read } else { Access::Write };
        let operation = |runtime: &mut Runtime| {
            let object = self.object.id(runtime, |_| Resource::once());
            Operation::new(kind, runtime.location(place)).on(object, access).with_argument(argument)
        };
        runtime::step_or(operation, |runtime| self.object.use_closing(runtime, |_| {}))
    }

    /// Tells whether the run is over, also outside of one. If so, what belongs to this may be used without asking the engine.
    pub(super) fn is_closing(&self) -> bool {
        let closing = runtime::is_closing();
        if closing && runtime::epoch().is_some() {
            runtime::with(|runtime| self.object.use_closing(runtime, |_| {}));
        }
        closing
    }

    /// Runs `f` unless it or another one was run; if a thread runs one now, waits until that is over.
    ///
    /// # Panics
    ///
    /// If an earlier attempt panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.call(false, Location::caller(), |_| f());
    }

    /// As [`Once::call_once`], but also runs `f` if an earlier attempt panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        self.call(true, Location::caller(), f);
    }

    #[track_caller]
    fn call(&self, force: bool, place: &'static Location<'static>, f: impl FnOnce(&OnceState)) {
        // As in std, one that is over is only read.
        if self.is_over(place) || self.step(Kind::OnceBegin, Operation::UNTIMED, place) != Reply::RunOnce {
            return;
        }
        let poisoned = self.poison.is_set();
        let mut running = Running { once: self, place, finished: false };
        assert!(force || !poisoned, "Once instance has previously been poisoned");
        f(&OnceState { poisoned });
        running.finished = true;
    }

    /// Whether it was run to its end.
    #[track_caller]
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.is_over(Location::caller())
    }

    /// Waits until it has been run to its end, by whomever.
    ///
    /// # Panics
    ///
    /// If an attempt has panicked and no other one is under way.
    #[track_caller]
    pub fn wait(&self) {
        let reply = self.step(Kind::OnceWait, 0, Location::caller());
        assert!(reply != Reply::Busy, "Once instance has previously been poisoned");
    }

    /// As [`Once::wait`], but also waits for another attempt if one has panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        self.step(Kind::OnceWait, Operation::UNTIMED, Location::caller());
    }

    #[track_caller]
    pub(super) fn is_over(&self, place: &'static Location<'static>) -> bool {
        self.step(Kind::OnceTry, Operation::UNTIMED, place) == Reply::Acquired
    }

    /// Runs `f` as [`Once::call_once`] does, called at `place`.
    #[track_caller]
    pub(super) fn call_at(&self, force: bool, place: &'static Location<'static>, f: impl FnOnce()) {
        self.call(force, place, |_| f());
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
