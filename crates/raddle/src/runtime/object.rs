//! The state by which the engine identifies a mirror of a std type.

use super::Runtime;
use raddle_engine::{Engine, Resource};
use raddle_model::{Failure, LocationId, ObjectId, ThreadId};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// An object that the engine knows after its first use in a run. It may outlive the run, as a static does; it
/// is then a new object in the next one. [`super::workers`] handles objects used by two workers.
#[derive(Debug)]
pub(crate) struct Object {
    /// The epoch of the run that knows it, and its number there.
    known: AtomicU64,
    created_at: &'static Location<'static>,
}

/// The use of an object before its first use in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Past {
    /// Never used.
    None,
    /// Used in an earlier run.
    Used,
    /// Used by another worker, which owns it: it must not be changed.
    Foreign,
}

/// The number of an object that the engine does not know, because the run is over.
const UNNUMBERED: u32 = u32::MAX;

impl Object {
    /// Creates an object at the caller's location.
    #[track_caller]
    pub(crate) const fn new() -> Object {
        Object::at(Location::caller())
    }

    /// Creates an object at a location.
    pub(crate) const fn at(location: &'static Location<'static>) -> Object {
        Object { known: AtomicU64::new(0), created_at: location }
    }

    /// Returns the location where it was created.
    pub(crate) fn created_at(&self) -> &'static Location<'static> {
        self.created_at
    }

    /// Publishes the current thread's knowledge on the object, a piece of memory, without a step. See
    /// [`Object::acquire`].
    pub(crate) fn publish(&self) {
        self.transfer(Engine::publish_silently);
    }

    /// Adds what was [published](Object::publish) on the object to the current thread's knowledge, without a
    /// step.
    pub(crate) fn acquire(&self) {
        self.transfer(Engine::acquire_silently);
    }

    fn transfer(&self, transfer: impl FnOnce(&mut Engine, ThreadId, ObjectId)) {
        if super::running().is_some() {
            super::with(|runtime| {
                let (thread, object) = (runtime.current(), self.id(runtime, |_| Resource::Memory));
                transfer(&mut runtime.engine, thread, object);
            });
        }
    }

    /// Returns its number in this run; `resource` defines it if it is new, after it was taken over from the
    /// previous run.
    #[inline]
    pub(crate) fn id(&self, runtime: &mut Runtime, resource: impl FnOnce(Past) -> Resource) -> ObjectId {
        let known = self.known.load(Ordering::Relaxed);
        if epoch(known) == runtime.epoch {
            return ObjectId(known as u32);
        }
        self.make_known(runtime, resource)
    }

    #[cold]
    fn make_known(&self, runtime: &mut Runtime, resource: impl FnOnce(Past) -> Resource) -> ObjectId {
        let name = runtime.object_name(self.created_at);
        let past = self.take_over(runtime);
        let id = runtime.engine.add_object(name, resource(past));
        runtime.created.push((id, self.created_at));
        if past == Past::Foreign {
            // This ends the run at the operation that is about to be announced.
            let message = "a static is used by another check or job".to_owned();
            let thread = runtime.current;
            runtime.engine.fail(Failure::Assertion { thread, location: LocationId(0), message });
        } else {
            self.known.store(u64::from(runtime.epoch) << 32 | u64::from(id.0), Ordering::Release);
        }
        id
    }

    /// Marks it as used during the end of a run: a destructor is about to use it, and the engine is no longer
    /// asked. Calls `first` if the run has not used it before.
    #[cold]
    pub(crate) fn use_closing(&self, runtime: &mut Runtime, first: impl FnOnce(Past)) {
        loop {
            let known = self.known.load(Ordering::Acquire);
            if epoch(known) == runtime.epoch {
                return;
            }
            match self.take_over(runtime) {
                Past::Foreign => {}
                past => return first(past),
            }
            // The results of this check will be discarded, but no other check may see the effects of this
            // destructor.
            runtime.worker.close();
            if !runtime.worker.wait_for(epoch(known)) {
                return;
            }
        }
    }

    /// Makes it an object of this run, unless it belongs to another worker; then records the conflict.
    fn take_over(&self, runtime: &Runtime) -> Past {
        let mine = u64::from(runtime.epoch) << 32 | u64::from(UNNUMBERED);
        let mut known = self.known.load(Ordering::Acquire);
        loop {
            if !runtime.worker.may_take_over(epoch(known)) {
                runtime.worker.meet_conflict();
                return Past::Foreign;
            }
            match self.known.compare_exchange(known, mine, Ordering::AcqRel, Ordering::Acquire) {
                Ok(0) => return Past::None,
                Ok(_) => return Past::Used,
                Err(now) => known = now,
            }
        }
    }

    /// Returns true if it was last used in another run.
    pub(crate) fn is_of_another(&self, now: u32) -> bool {
        let then = epoch(self.known.load(Ordering::Acquire));
        then != 0 && then != now
    }

    /// Resets it, which needs the only reference to it.
    pub(crate) fn forget_past(&mut self) {
        *self.known.get_mut() = 0;
    }
}

fn epoch(known: u64) -> u32 {
    (known >> 32) as u32
}
