//! Calls of the operations of a structure under test, as steps.
//!
//! That a call ends before another one begins is part of what a run shows, so these two steps may not be swapped; two beginnings
//! may, and so may two ends. The end of a call writes an object of its thread, and the beginning reads those of the other
//! threads. A step touches at most two objects: of four threads and more, several share one, and their ends are then ordered, too.

use super::{Object, Runtime, step};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, ObjectId, Operation, ThreadId};
use std::panic::Location;

/// The objects by which the calls of a run are ordered.
#[derive(Debug)]
pub(crate) struct Calls {
    objects: Vec<Object>,
    are_shared: bool,
}

impl Calls {
    /// Creates the objects for a number of threads. Without `ordered`, the order of calls is no part of what a run shows.
    pub(crate) fn new(threads: usize, ordered: bool, location: &'static Location<'static>) -> Calls {
        let are_shared = threads > 3;
        let count = if !ordered {
            0
        } else if are_shared {
            2
        } else {
            threads
        };
        Calls { objects: (0..count).map(|_| Object::at(location)).collect(), are_shared }
    }

    /// Makes the objects known. The first thread does so, as objects are named after the thread that uses them first.
    pub(crate) fn begin_run(&self) {
        super::with(|runtime| {
            self.objects.iter().for_each(|object| {
                id(object, runtime);
            });
        });
    }

    /// Takes the step that begins a call of thread number `thread` of the scenario, at `location` of the test.
    pub(crate) fn begin(&self, thread: usize, location: &'static Location<'static>) {
        step(|runtime| {
            let mut operation = Operation::new(Kind::Call, runtime.location(location));
            for (index, object) in self.objects.iter().enumerate() {
                if self.are_shared || index != thread {
                    operation = operation.on(id(object, runtime), Access::Read);
                }
            }
            operation
        });
    }

    /// Takes the step that ends a call.
    pub(crate) fn end(&self, thread: usize, location: &'static Location<'static>) {
        step(|runtime| {
            let operation = Operation::new(Kind::Return, runtime.location(location));
            match self.objects.get(thread % self.objects.len().max(1)) {
                Some(object) => operation.on(id(object, runtime), Access::Write),
                None => operation,
            }
        });
    }
}

fn id(object: &Object, runtime: &mut Runtime) -> ObjectId {
    object.id(runtime, |_| Resource::Memory)
}

/// Waits until `thread` has ended or nothing else can happen. Returns true if it has ended.
pub(crate) fn join_while_possible(thread: ThreadId, location: &'static Location<'static>) -> bool {
    /// Virtual time passes only when nothing else can happen; other time limits come first.
    const LIMIT: u64 = 1 << 56;
    let reply = step(|runtime| {
        let location = runtime.location(location);
        let object = runtime.thread_object(thread);
        Operation::new(Kind::Join, location).on(object, Access::Read).with_argument(LIMIT)
    });
    reply != Reply::TimedOut
}

/// Makes `thread` one that the run does not wait for.
pub(crate) fn set_background(thread: ThreadId) {
    super::with(|runtime| runtime.engine.set_background(thread));
}

/// Waits until `thread` has ended, and leaves its result to others.
pub(crate) fn join(thread: ThreadId, location: &'static Location<'static>) {
    step(|runtime| {
        let location = runtime.location(location);
        let object = runtime.thread_object(thread);
        Operation::new(Kind::Join, location).on(object, Access::Read)
    });
}
