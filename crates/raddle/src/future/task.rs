//! Tasks: futures that are polled by threads of their own.

use super::JoinError;
use super::wakeup::Wakeup;
use crate::runtime::{self, Object, panic_message};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, Operation, ThreadId};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Stands for the thread of a task that was started after the end of the run.
const NEVER_RAN: ThreadId = ThreadId(u32::MAX);

/// What all handles of a task know, whatever its value is.
struct Core {
    wakeup: Arc<Wakeup>,
    /// Stands for the end of the task.
    end: Object,
    thread: ThreadId,
    aborted: AtomicBool,
    finished: AtomicBool,
    /// Where the task was started.
    place: &'static Location<'static>,
}

impl Core {
    /// Executes an access to the end of the task, unless its run is over. It is none in a run of Shuttle's functions.
    fn step(&self, kind: Kind, access: Access, place: &'static Location<'static>) {
        if self.wakeup.is_of_this_run() && !runtime::is_shuttle() {
            runtime::step(|runtime| {
                let end = self.end.id(runtime, |_| Resource::Memory);
                Operation::new(kind, runtime.location(place)).on(end, access)
            });
        }
    }

    fn is_finished(&self, place: &'static Location<'static>) -> bool {
        self.step(Kind::Read, Access::Read, place);
        self.finished.load(Ordering::Relaxed)
    }

    fn abort(&self, place: &'static Location<'static>) {
        self.wakeup.put(place);
        self.aborted.store(true, Ordering::Relaxed);
    }

    /// Leaves `outcome` for whoever waits for the task.
    fn end<T>(&self, slot: &Mutex<Slot<T>>, outcome: Result<T, JoinError>) {
        self.finished.store(true, Ordering::Relaxed);
        let waiter = {
            let mut slot = open(slot);
            slot.outcome = Some(outcome);
            slot.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }
}

/// What a task leaves for whoever waits for it.
struct Slot<T> {
    outcome: Option<Result<T, JoinError>>,
    waiter: Option<Waker>,
}

fn open<T>(slot: &Mutex<Slot<T>>) -> MutexGuard<'_, Slot<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a task, which is polled as soon as it is scheduled, whether or not anybody waits for it.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_local(future)
}

/// As [`spawn`], for a future that cannot be sent to another thread: all tasks of a run share one OS thread.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let place = Location::caller();
    let reply = runtime::step(|runtime| Operation::new(Kind::Spawn, runtime.location(place)));
    // Without an effect if the run is over: the handle is of a task that never ran.
    let thread = if let Reply::Spawned(thread) = reply { thread } else { NEVER_RAN };
    let core = Arc::new(Core {
        wakeup: Wakeup::new(thread),
        end: Object::new(),
        thread,
        aborted: AtomicBool::new(false),
        finished: AtomicBool::new(thread == NEVER_RAN),
        place,
    });
    let outcome = (thread == NEVER_RAN).then_some(Err(JoinError::Cancelled));
    let slot = Arc::new(Mutex::new(Slot { outcome, waiter: None }));
    if thread == NEVER_RAN {
        runtime::drop_later(Box::new(move || drop(future)));
    } else {
        let (future, for_task, result) = (Box::pin(future), Arc::clone(&core), Arc::clone(&slot));
        runtime::with(|runtime| {
            // Known from the start, so that its name does not depend on who comes first.
            core.end.id(runtime, |_| Resource::Memory);
            runtime.start(thread, None, Box::new(move || run(future, &for_task, &result)));
            runtime.engine.set_background(thread);
        });
    }
    JoinHandle { core, slot }
}

/// What the thread of a task does.
fn run<F: Future + ?Sized>(future: Pin<Box<F>>, core: &Core, slot: &Mutex<Slot<F::Output>>) {
    let outcome = match runtime::catch(|| drive(future, core)) {
        // The run is over and this thread is being unwound; that must not stop here.
        Err(payload) if runtime::with(|runtime| runtime.is_forced()) => {
            core.end(slot, Err(JoinError::Cancelled));
            resume_unwind(payload);
        }
        Err(payload) if runtime::is_shuttle() => return runtime::fail_by_panic(payload),
        Err(payload) => {
            let message = panic_message(&*payload);
            runtime::with(|runtime| runtime.note_panic(message));
            Err(JoinError::panicked(payload))
        }
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(JoinError::Cancelled),
    };
    core.step(Kind::Write, Access::Write, core.place);
    core.end(slot, outcome);
}

/// Polls `future` until it is ready or the task is aborted, and drops it.
fn drive<F: Future + ?Sized>(mut future: Pin<Box<F>>, core: &Core) -> Option<F::Output> {
    let waker = Waker::from(Arc::clone(&core.wakeup));
    let mut context = Context::from_waker(&waker);
    core.wakeup.look();
    while !core.is_aborted() {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
        // At the end of the run the future is dropped while nothing unwinds, so that a panic of its destructor can be caught.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| core.wakeup.wait())) {
            drop(future);
            resume_unwind(payload);
        }
    }
    None
}

/// Waits for a task: a future that gives its value, or tells why there is none. If it is dropped, the task goes on alone.
///
/// A panic of a task fails the run, unless somebody is told of it here.
#[must_use = "a task is waited for only if its handle is awaited"]
pub struct JoinHandle<T> {
    core: Arc<Core>,
    slot: Arc<Mutex<Slot<T>>>,
}

impl<T> JoinHandle<T> {
    /// Cancels the task: it drops its future when it next stands at an `await`, or before it is first polled. A task that
    /// comes to its end before that has its value nevertheless.
    #[track_caller]
    pub fn abort(&self) {
        self.core.abort(Location::caller());
    }

    /// Whether the task has its value, has panicked, or has dropped its future after an abort.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.core.is_finished(Location::caller())
    }

    /// A handle that can cancel the task, and does not wait for it.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { core: Arc::clone(&self.core) }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// Panics if it has given the value already.
    fn poll(self: Pin<&mut JoinHandle<T>>, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let waiter = context.waker().clone();
        self.core.step(Kind::ReadModifyWrite, Access::Write, self.core.place);
        let mut slot = open(&self.slot);
        if let Some(outcome) = slot.outcome.take() {
            if self.core.wakeup.is_of_this_run() {
                runtime::with(|runtime| runtime.take_panic(self.core.thread));
            }
            return Poll::Ready(outcome);
        }
        assert!(!self.core.finished.load(Ordering::Relaxed), "a JoinHandle is polled after it was ready");
        let before = slot.waiter.replace(waiter);
        drop(slot);
        drop(before);
        Poll::Pending
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("task", &self.core.thread).finish_non_exhaustive()
    }
}

/// Cancels a task; see [`JoinHandle::abort_handle`].
#[derive(Clone)]
pub struct AbortHandle {
    core: Arc<Core>,
}

impl AbortHandle {
    /// Cancels the task, as [`JoinHandle::abort`] does.
    #[track_caller]
    pub fn abort(&self) {
        self.core.abort(Location::caller());
    }

    /// Whether the task is over; see [`JoinHandle::is_finished`].
    #[track_caller]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.core.is_finished(Location::caller())
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("task", &self.core.thread).finish_non_exhaustive()
    }
}
