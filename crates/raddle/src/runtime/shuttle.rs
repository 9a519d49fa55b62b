//! Differences of runs that Shuttle's functions make.
//!
//! A panic of any thread fails the run at once. Threads have labels. The start of a thread is a step, and so
//! is its end after a spawn; wake-ups of tasks are not. Tasks are dropped when all threads have ended.

use super::Task;
use raddle_model::{Access, Kind, Operation};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::Location;

thread_local! {
    static SHUTTLE: Cell<bool> = const { Cell::new(false) };
    /// The panic payload of the first failing thread.
    static PAYLOAD: RefCell<Option<Box<dyn Any + Send>>> = const { RefCell::new(None) };
}

/// Returns true if Shuttle's functions make the runs on this OS thread.
#[inline]
pub(crate) fn is_shuttle() -> bool {
    SHUTTLE.get()
}

/// Calls `f`, whose runs on this OS thread are those of Shuttle's functions.
pub(crate) fn as_shuttle<R>(f: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            SHUTTLE.set(self.0);
        }
    }
    let _reset = Reset(SHUTTLE.replace(true));
    drop(take_payload());
    f()
}

/// Stores the panic payload of a thread, if it is the first and will be used.
pub(super) fn keep_payload(payload: Box<dyn Any + Send>) {
    let unwanted = PAYLOAD.with_borrow_mut(|kept| {
        if is_shuttle() && kept.is_none() { kept.replace(payload) } else { Some(payload) }
    });
    unwanted.into_iter().for_each(super::close::discard);
}

/// Returns the panic payload of the first failing thread, if the failure was a panic.
pub(crate) fn take_payload() -> Option<Box<dyn Any + Send>> {
    PAYLOAD.take()
}

/// Takes a step of the current thread that touches only the object of the thread.
pub(crate) fn pause(location: &'static Location<'static>) {
    super::step(|runtime| {
        let own = runtime.thread_object(runtime.current());
        Operation::new(Kind::Read, runtime.location(location)).on(own, Access::Read)
    });
}

/// Returns `task` preceded by a step for its start.
pub(crate) fn with_start(task: Task, location: &'static Location<'static>) -> Task {
    Box::new(move || {
        pause(location);
        task();
    })
}

/// Takes a step if the last one of the current thread was a spawn, before the thread ends: the spawned thread
/// may then run first.
pub(super) fn before_end() {
    let spawned = super::with(|runtime| {
        let run = runtime.engine.summary_so_far();
        let last = run.trace.events.iter().rev().find(|event| event.thread == runtime.current);
        last.is_some_and(|event| event.operation.kind == Kind::Spawn)
    });
    if spawned {
        pause(Location::caller());
    }
}
