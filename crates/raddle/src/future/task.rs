//! Tasks: futures that are polled by their own threads.

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

/// The state that all handles of a task share, for any value type.
struct Core {
    wakeup: Arc<Wakeup>,
    /// Stands for the end of the task.
    end: Object,
    thread: ThreadId,
    aborted: AtomicBool,
    finished: AtomicBool,
    /// The location where the task was started.
    location: &'static Location<'static>,
}

impl Core {
    /// Executes an access to the end of the task, unless its run is over or uses Shuttle's functions.
    fn step(&self, kind: Kind, access: Access, location: &'static Location<'static>) {
        if self.wakeup.is_of_this_run() && !runtime::is_shuttle() {
            runtime::step(|runtime| {
                let end = self.end.id(runtime, |_| Resource::Memory);
                Operation::new(kind, runtime.location(location)).on(end, access)
            });
        }
    }

    fn is_finished(&self, location: &'static Location<'static>) -> bool {
        self.step(Kind::Read, Access::Read, location);
        self.finished.load(Ordering::Relaxed)
    }

    fn abort(&self, location: &'static Location<'static>) {
        self.wakeup.put(location);
        self.aborted.store(true, Ordering::Relaxed);
    }

    /// Stores `outcome` for the thread that waits for the task.
    fn end<T>(&self, slot: &Mutex<Slot<T>>, outcome: Result<T, JoinError>) {
        self.finished.store(true, Ordering::Relaxed);
        self.end.publish();
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

/// The outcome of a task, for the thread that waits for it.
struct Slot<T> {
    outcome: Option<Result<T, JoinError>>,
    waiter: Option<Waker>,
}

fn open<T>(slot: &Mutex<Slot<T>>) -> MutexGuard<'_, Slot<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a task, which is polled as soon as it is scheduled, whether or not a thread waits for it.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_local(future)
}

/// Like [`spawn`], for a future that cannot be sent to another thread: all tasks of a run share one OS
/// thread.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let location = Location::caller();
    let reply = runtime::step(|runtime| Operation::new(Kind::Spawn, runtime.location(location)));
    // No effect if the run is over: the handle is of a task that never ran.
    let thread = if let Reply::Spawned(thread) = reply { thread } else { NEVER_RAN };
    let core = Arc::new(Core {
        wakeup: Wakeup::new(thread),
        end: Object::new(),
        thread,
        aborted: AtomicBool::new(false),
        finished: AtomicBool::new(thread == NEVER_RAN),
        location,
    });
    let outcome = (thread == NEVER_RAN).then_some(Err(JoinError::Cancelled));
    let slot = Arc::new(Mutex::new(Slot { outcome, waiter: None }));
    if thread == NEVER_RAN {
        runtime::drop_later(Box::new(move || drop(future)));
    } else {
        let (future, for_task, result) = (Box::pin(future), Arc::clone(&core), Arc::clone(&slot));
        runtime::with(|runtime| {
            // Registered now, so that its name does not depend on which thread comes first.
            core.end.id(runtime, |_| Resource::Memory);
            runtime.start(thread, None, Box::new(move || run(future, &for_task, &result)));
            runtime.engine.set_background(thread);
        });
        runtime::pause_after_spawn(location);
    }
    JoinHandle { core, slot }
}

/// Runs the thread of a task.
fn run<F: Future + ?Sized>(future: Pin<Box<F>>, core: &Core, slot: &Mutex<Slot<F::Output>>) {
    let outcome = match runtime::catch(|| drive(future, core)) {
        // The run is over and this thread unwinds; the unwinding must not stop here.
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
    core.step(Kind::Write, Access::Write, core.location);
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

/// Waits for a task: a future that returns its value or its error. If the handle is dropped, the task
/// continues detached.
///
/// A panic of a task fails the run, unless this handle returns it.
#[must_use = "the handle waits for the task only if it is awaited"]
pub struct JoinHandle<T> {
    core: Arc<Core>,
    slot: Arc<Mutex<Slot<T>>>,
}

impl<T> JoinHandle<T> {
    /// Cancels the task: it drops its future at the next `await`, or before the first poll. A task that
    /// completes before that keeps its value.
    #[track_caller]
    pub fn abort(&self) {
        self.core.abort(Location::caller());
    }

    /// Returns true if the task has its value, has panicked, or has dropped its future after an abort.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.core.is_finished(Location::caller())
    }

    /// Returns a handle that can cancel the task and does not wait for it.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { core: Arc::clone(&self.core) }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// Panics if it has already returned the value.
    fn poll(self: Pin<&mut JoinHandle<T>>, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let waiter = context.waker().clone();
        self.core.step(Kind::ReadModifyWrite, Access::Write, self.core.location);
        let mut slot = open(&self.slot);
        if let Some(outcome) = slot.outcome.take() {
            if self.core.wakeup.is_of_this_run() {
                runtime::with(|runtime| runtime.take_panic(self.core.thread));
                self.core.end.acquire();
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

    /// Returns true if the task is over; see [`JoinHandle::is_finished`].
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
