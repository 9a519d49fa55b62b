//! What a mirror of a std type keeps to be known to the engine.

use super::Runtime;
use raddle_engine::{Engine, Resource};
use raddle_model::{Failure, LocationId, ObjectId, ThreadId};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// An object that is known to the engine from its first use in a run on. It may outlive the run, as a static does; then
/// it is a new object in the next one. See [`super::workers`] for what happens if two workers use it.
#[derive(Debug)]
pub(crate) struct Object {
    /// The epoch of the run in which it is known, and its number there.
    known: AtomicU64,
    made_at: &'static Location<'static>,
}

/// Whether an object that is used for the first time in a run was used before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Past {
    /// Never used.
    None,
    /// Used in an earlier run.
    Used,
    /// Used by another worker, to whom it belongs: it must not be changed.
    Foreign,
}

/// The number of an object that is not known to the engine, because the run is over.
const UNNUMBERED: u32 = u32::MAX;

impl Object {
    /// An object that was made here.
    #[track_caller]
    pub(crate) const fn new() -> Object {
        Object { known: AtomicU64::new(0), made_at: Location::caller() }
    }

    /// Where it was made.
    pub(crate) fn made_at(&self) -> &'static Location<'static> {
        self.made_at
    }

    /// Publishes what the current thread knows on the object, a piece of memory, without a step. See [`Object::acquire`].
    pub(crate) fn publish(&self) {
        self.transfer(Engine::publish_silently);
    }

    /// Lets the current thread know what was [published](Object::publish) on the object, without a step.
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

    /// Its number in this run; `resource` says what it is if it is new, after it was taken over from the run before.
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
        let name = runtime.object_name(self.made_at);
        let past = self.take_over(runtime);
        let id = runtime.engine.add_object(name, resource(past));
        runtime.made.push((id, self.made_at));
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

    /// Takes part in the end of a run: a destructor is about to use it, though the engine is no longer asked. Calls `first`
    /// if the run has not used it before.
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
            // All that this check did will be given up, but no other check must see what this destructor does.
            runtime.worker.close();
            if !runtime.worker.wait_for(epoch(known)) {
                return;
            }
        }
    }

    /// Makes it an object of this run, unless it belongs to another worker; then that is noted.
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

    /// Whether it was used last in another run than this one.
    pub(crate) fn is_of_another(&self, now: u32) -> bool {
        let then = epoch(self.known.load(Ordering::Acquire));
        then != 0 && then != now
    }

    /// Makes it as new, which needs the only reference to it.
    pub(crate) fn forget_past(&mut self) {
        *self.known.get_mut() = 0;
    }
}

fn epoch(known: u64) -> u32 {
    (known >> 32) as u32
}
