//! What a mirror of a std type keeps to be known to the engine.

use super::Runtime;
use raddle_engine::Resource;
use raddle_model::ObjectId;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// An object that is known to the engine from its first use in a run on. It may outlive the run, as a static does; then
/// it is a new object in the next one.
#[derive(Debug)]
pub(crate) struct Object {
    /// The epoch of the run in which it is known, and its number there.
    known: AtomicU64,
    made_at: &'static Location<'static>,
}

impl Object {
    /// An object that was made here.
    #[track_caller]
    pub(crate) const fn new() -> Object {
        Object { known: AtomicU64::new(0), made_at: Location::caller() }
    }

    /// Its number in this run; `resource` says what it is if it is new.
    #[inline]
    pub(crate) fn id(&self, runtime: &mut Runtime, resource: impl FnOnce() -> Resource) -> ObjectId {
        let known = self.known.load(Ordering::Relaxed);
        if (known >> 32) as u32 == runtime.epoch {
            return ObjectId(known as u32);
        }
        self.make_known(runtime, resource())
    }

    #[cold]
    fn make_known(&self, runtime: &mut Runtime, resource: Resource) -> ObjectId {
        let name = runtime.object_name(self.made_at);
        let id = runtime.engine.add_object(name, resource);
        runtime.made.push((id, self.made_at));
        self.known.store(u64::from(runtime.epoch) << 32 | u64::from(id.0), Ordering::Relaxed);
        id
    }
}
