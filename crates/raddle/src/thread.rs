//! `std::thread` under control.

use crate::runtime;
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation, ThreadId};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

/// The result of a thread: what it returned, or what it panicked with.
pub type Result<T> = std::thread::Result<T>;

/// Waits for a thread, as in std.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: ThreadId,
    result: Arc<Mutex<Option<Result<T>>>>,
}

/// Starts a thread, as in std.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let place = Location::caller();
    let result = Arc::new(Mutex::new(None));
    let packet = Arc::clone(&result);
    let reply = runtime::step(|runtime| Operation::new(Kind::Spawn, runtime.location(place)));
    let Reply::Spawned(thread) = reply else {
        return JoinHandle { thread: ThreadId(0), result };
    };
    let task = Box::new(move || {
        let outcome = catch_unwind(AssertUnwindSafe(f));
        let outcome = match outcome {
            // The run is over and this thread is being unwound; that must not stop here.
            Err(payload) if runtime::with(|runtime| runtime.is_closing()) => resume_unwind(payload),
            outcome => outcome,
        };
        *packet.lock().expect("nobody panics with the result locked") = Some(outcome);
    });
    runtime::with(|runtime| runtime.start(thread, None, task));
    JoinHandle { thread, result }
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end and gives what it returned, or what it panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        let place = Location::caller();
        runtime::step(|runtime| {
            let location = runtime.location(place);
            let object = runtime.thread_object(self.thread);
            Operation::new(Kind::Join, location).on(object, Access::Read)
        });
        let result = self.result.lock().expect("nobody panics with the result locked").take();
        result.expect("a thread that was joined has a result")
    }
}

/// Lets others run, as in std.
#[track_caller]
pub fn yield_now() {
    let place = Location::caller();
    runtime::step(|runtime| Operation::new(Kind::Yield, runtime.location(place)));
}
