//! Handles to threads.

use super::Result;
use crate::runtime::{self, Runtime, panic_message};
use crate::value::Value;
use raddle_model::{Access, Kind, Operation};
use std::panic::{Location, resume_unwind};
use std::sync::Arc;

/// The id of a thread within a run. The same in each run for the n-th thread started.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(raddle_model::ThreadId);

impl From<ThreadId> for usize {
    /// Returns the number: 0 for the main thread, and so on in the order in which threads were started.
    fn from(id: ThreadId) -> usize {
        id.0.index()
    }
}

/// A thread, as in std.
#[derive(Clone, Debug)]
pub struct Thread {
    id: raddle_model::ThreadId,
    name: Option<Arc<str>>,
    /// The run of the thread.
    epoch: u32,
}

impl Thread {
    pub(super) fn of(runtime: &Runtime, id: raddle_model::ThreadId) -> Thread {
        Thread { id, name: runtime.shared_name(id), epoch: runtime.epoch() }
    }

    /// Returns its id.
    pub fn id(&self) -> ThreadId {
        ThreadId(self.id)
    }

    /// Returns its name, if it has one; the first thread is called `main`.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Sets its token, so that it continues if it is parked, or does not wait when it parks next. No effect
    /// on a thread of an earlier run.
    #[track_caller]
    pub fn unpark(&self) {
        let location = Location::caller();
        if runtime::with(|runtime| runtime.epoch()) != self.epoch {
            return;
        }
        runtime::step(|runtime| {
            let token = runtime.token(self.id);
            Operation::new(Kind::Unpark, runtime.location(location)).on(token, Access::Write)
        });
    }
}

/// The result of a thread, for its handle.
pub(super) type Packet<T> = Value<Option<Result<T>>>;

const RESULT_IS_FREE: &str = "one of the threads of a run at a time takes the result";

/// Returns the function of a thread, which was created at `location`: calls `f` and stores the result.
pub(super) fn body<T>(
    f: impl FnOnce() -> T,
    packet: Arc<Packet<T>>,
    location: &'static Location<'static>,
) -> impl FnOnce() {
    move || {
        let outcome = match runtime::catch(f) {
            // The run is over and this thread unwinds; the unwinding must not stop here.
            Err(payload) if runtime::with(|runtime| runtime.is_forced()) => resume_unwind(payload),
            outcome => outcome,
        };
        let outcome = match outcome {
            Err(payload) if runtime::is_shuttle() => return runtime::fail_by_panic(payload),
            outcome => outcome,
        };
        if let Err(payload) = &outcome {
            let message = panic_message(&**payload);
            runtime::with(|runtime| runtime.note_panic(message));
        }
        if runtime::with(|runtime| runtime.observes_ends) {
            runtime::step(|runtime| {
                let location = runtime.location(location);
                let object = runtime.thread_object(runtime.current());
                Operation::new(Kind::ReadModifyWrite, location).on(object, Access::Write)
            });
        }
        *packet.take().expect(RESULT_IS_FREE) = Some(outcome);
    }
}

/// Waits for the end of a thread, without taking its result.
#[track_caller]
pub(super) fn wait_for(thread: raddle_model::ThreadId, location: &'static Location<'static>) {
    runtime::step(|runtime| {
        let location = runtime.location(location);
        let object = runtime.thread_object(thread);
        Operation::new(Kind::Join, location).on(object, Access::Read)
    });
}

/// The common part of all handles.
#[derive(Debug)]
pub(super) struct Handle<T> {
    pub(super) thread: Thread,
    pub(super) packet: Arc<Packet<T>>,
}

impl<T> Handle<T> {
    pub(super) fn id(&self) -> raddle_model::ThreadId {
        self.thread.id
    }

    #[track_caller]
    pub(super) fn is_finished(&self, location: &'static Location<'static>) -> bool {
        runtime::step(|runtime| {
            runtime.asked_for_end = true;
            let location = runtime.location(location);
            let object = runtime.thread_object(self.thread.id);
            Operation::new(Kind::Read, location).on(object, Access::Read)
        });
        self.packet.take().expect(RESULT_IS_FREE).is_some()
    }

    #[track_caller]
    pub(super) fn join(self, location: &'static Location<'static>) -> Result<T> {
        wait_for(self.id(), location);
        runtime::with(|runtime| runtime.take_panic(self.id()));
        let result = self.packet.take().expect(RESULT_IS_FREE).take();
        result.unwrap_or_else(|| {
            assert!(runtime::with(|runtime| runtime.is_closing()), "a thread that was joined has a result");
            Err(Box::new("the run ended before the thread"))
        })
    }
}

/// Waits for a thread, as in std. If the handle is dropped, the thread continues detached.
#[derive(Debug)]
pub struct JoinHandle<T>(pub(super) Handle<T>);

impl<T> JoinHandle<T> {
    /// Returns the number of the thread in its run.
    pub(crate) fn number(&self) -> raddle_model::ThreadId {
        self.0.id()
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.0.thread
    }

    /// Waits for the thread to end and returns its result or its panic payload.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join(Location::caller())
    }

    /// Returns true if the thread has finished. In a test that asks, the end of a thread is an operation, so both
    /// answers are explored.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished(Location::caller())
    }
}
