//! The end of a run: dropping the remains of its threads.
//!
//! Threads that have not ended are unwound one after the other, so that what they own is dropped. The engine
//! is no longer asked: operations of destructors take effect at once. If a destructor must wait, the other
//! threads are unwound first. If it still must wait, its fiber is suspended and retried while others make
//! progress. A fiber that cannot finish is abandoned with its stack: it cannot be unwound, because a second
//! panic in a destructor aborts the process. The same holds for a fiber with a destructor that panics during
//! unwinding; `switch/abort.rs` describes how the process survives that.

use super::switch::{Fiber, SuspendReason, abandon_at_abort};
use super::{REPLY, Runtime, Task, Thread, tracked, with};
use raddle_engine::Reply;
use raddle_model::{Failure, LocationId, ThreadId};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;

/// The number of operations after which an unwinding thread counts as waiting.
const PATIENCE: u32 = 100_000;
/// The maximum number of times a thread is unwound again after it caught the unwinding.
const MOST_CAUGHT: u32 = 100;
/// The maximum number of threads that destructors may start.
const MOST_STARTED: u32 = 10_000;
/// The maximum number of panics that std is made to forget.
const MOST_PANICS: u32 = 100_000;

thread_local! {
    /// Set during a panic that only corrects std's panic count.
    static CORRECTING: Cell<bool> = const { Cell::new(false) };
}

/// The state of a run during closing.
#[derive(Default)]
pub(super) struct Closing {
    /// The thread that continues its own unwinding, if any.
    pub(super) draining: Option<ThreadId>,
    /// Operations since the current thread was resumed.
    operations: u32,
    /// Operations of all threads.
    pub(super) total: u64,
    /// The suspended fibers of waiting threads.
    waiting: Vec<Suspended>,
    /// The number of abandoned fibers.
    lost: u32,
    /// The tasks of threads that destructors started.
    started: Vec<Task>,
}

impl Thread {
    /// Returns true if it has not ended, or has variables to drop.
    fn has_remains(&self) -> bool {
        self.fiber.is_some() || self.task.is_some() || !self.locals.is_empty()
    }
}

/// A fiber of a thread that has not ended.
#[derive(Clone, Copy)]
struct Suspended {
    fiber: Fiber,
    thread: ThreadId,
    /// True if the thread is unwinding after a panic of its own.
    draining: bool,
}

impl Closing {
    /// Forgets the end of the previous run.
    pub(super) fn begin(&mut self) {
        let is_used = self.total > 0 || self.lost > 0 || self.operations > 0 || self.draining.is_some();
        if is_used || !self.waiting.is_empty() || !self.started.is_empty() {
            *self = Closing::default();
        }
    }
}

impl Runtime {
    /// Begins the end of the run. Returns true if threads have remains.
    pub(super) fn begin_close(&mut self) -> bool {
        (self.closing, self.diverts) = (true, true);
        self.worker.close();
        self.close.lost > 0 || self.threads.iter().any(Thread::has_remains)
    }
}

/// Drops the remains of all threads. The youngest thread goes first: a thread may have borrowed from an older
/// one, in whose scope it was started, but never from a younger one. `panicking`: this OS thread was
/// unwinding before the run.
pub(super) fn close(panicking: bool) {
    close_others();
    if tracked::has_stored() {
        drop_as(ThreadId(0), tracked::drop_stored);
    }
    if super::is_shuttle() {
        drop_as(ThreadId(0), crate::shuttle::forget_labels);
    }
    for _ in 0..MOST_STARTED {
        let Some(task) = with(|runtime| runtime.close.started.pop()) else { break };
        drop_as(ThreadId(0), || drop(task));
    }
    retry();
    if let Some(task) = with(|runtime| runtime.close.started.pop()) {
        std::mem::forget(task);
        note_lost("destructors start threads endlessly");
    }
    let waiting = with(|runtime| std::mem::take(&mut runtime.close.waiting));
    for left in waiting {
        with(|runtime| runtime.current = left.thread);
        fail_by_blocked();
        note_lost("a destructor waits forever");
    }
    if !panicking && with(|runtime| runtime.close.lost > 0) {
        correct_panic_count();
    }
}

/// Unwinds every thread that has not ended and is not unwinding. While the run is closing, this makes others
/// release what a destructor needs. Returns true if there was one.
pub(crate) fn close_others() -> bool {
    let mut any = false;
    let count = with(|runtime| runtime.threads.len());
    for index in (0..count).rev() {
        let left = with(|runtime| {
            let thread = &mut runtime.threads[index];
            thread.has_remains().then(|| (thread.fiber.take(), thread.task.take(), thread.panicking))
        });
        let Some((fiber, task, draining)) = left else { continue };
        any = true;
        let thread = ThreadId(index as u32);
        match fiber {
            Some(fiber) if fiber.is_busy() => {
                let left = Suspended { fiber, thread, draining };
                if !draining {
                    fiber.throw_next();
                }
                resume(left);
            }
            fiber => {
                if let Some(fiber) = fiber {
                    fiber.give_back();
                }
                drop_as(thread, || drop(task));
            }
        }
        if with(|runtime| !runtime.threads[index].locals.is_empty()) {
            drop_as(thread, || {});
        }
    }
    any
}

/// Calls `action` as `thread` on a fiber, then drops the thread's variables.
fn drop_as(thread: ThreadId, action: impl FnOnce() + 'static) {
    let fiber = Fiber::take();
    with(|runtime| {
        let thread = &mut runtime.threads[thread.index()];
        (thread.task, thread.delayed_at) = (Some(Box::new(action) as Task), None);
    });
    resume(Suspended { fiber, thread, draining: false });
}

/// Resumes a fiber until it has ended or is suspended. Returns true if it will not be resumed again.
fn resume(left: Suspended) -> bool {
    let Suspended { fiber, thread, draining } = left;
    let before = with(|runtime| {
        let before = (runtime.current, runtime.close.draining);
        runtime.current = thread;
        runtime.close.draining = draining.then_some(thread);
        runtime.close.operations = 0;
        before
    });
    // The operation at which it was suspended has not been executed.
    REPLY.with(|answer| answer.set(Reply::Go));
    fiber.go_and_return();
    with(|runtime| {
        (runtime.current, runtime.close.draining) = before;
        runtime.close.operations = 0;
    });
    match fiber.suspend_reason() {
        None => fiber.give_back(),
        Some(SuspendReason::Waits) => {
            with(|runtime| runtime.close.waiting.push(left));
            return false;
        }
        Some(SuspendReason::Stops) => {
            fiber.throw_next();
            return resume(Suspended { draining: false, ..left });
        }
        Some(SuspendReason::Abandoned) => {
            note_lost("a destructor panicked while its thread was unwound");
        }
    }
    true
}

/// Resumes the fibers of waiting threads until none of them makes progress.
fn retry() {
    loop {
        let waiting = with(|runtime| std::mem::take(&mut runtime.close.waiting));
        let ended = waiting.into_iter().filter(|&left| resume(left)).count();
        if ended == 0 {
            return;
        }
    }
}

/// Executes an operation of a destructor, if the thread continues.
#[cold]
pub(super) fn operate() -> Reply {
    let (stops, spins) = with(|runtime| {
        runtime.close.total += 1;
        runtime.close.operations += 1;
        // A thread that caught its panic would continue forever.
        let stops = runtime.close.draining == Some(runtime.current) && !runtime.is_panicking();
        (stops, runtime.close.operations > PATIENCE)
    });
    if stops {
        Fiber::suspend(SuspendReason::Stops);
    } else if !std::thread::panicking() && (1..MOST_CAUGHT).contains(&Fiber::caught()) {
        Fiber::end_again();
    } else if spins || Fiber::caught() >= MOST_CAUGHT {
        make_way();
    }
    Reply::Go
}

/// Lets other threads make progress while a destructor must wait for them. Returns when it should check
/// again.
pub(crate) fn make_way() {
    if !close_others() && !Fiber::suspend(SuspendReason::Waits) {
        Fiber::end_again();
    }
}

/// Lets other threads make progress while a scope must wait for its threads. Returns true if that is
/// possible.
pub(super) fn wait_in_scope() -> bool {
    super::is_closing() && Fiber::suspend(SuspendReason::Waits)
}

/// Drops the task of a thread that a destructor starts: no thread begins after the end of a run. The drop is
/// deferred, because the task's own destructor may start another thread, and so on.
pub(crate) fn drop_later(task: Task) {
    with(|runtime| runtime.close.started.push(task));
}

/// Records a panic that a destructor did not catch. It fails a run of Shuttle's functions; in other runs,
/// only Raddle caused the thread to unwind.
pub(super) fn note_panic(payload: Box<dyn Any + Send>) {
    if super::is_shuttle() {
        super::fail_by_panic(payload);
    } else {
        discard(payload);
    }
}

/// Drops a panic payload.
pub(super) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// Fails a run of Shuttle's functions because a destructor cannot continue. A thread that continues its own
/// unwinding may have caught its panic and no longer be in a destructor.
pub(crate) fn fail_by_blocked() {
    if with(|runtime| runtime.is_forced()) {
        fail_by("deadlock while dropping the threads' values at the end of the run");
    }
}

fn fail_by(message: &str) {
    if super::is_shuttle() {
        with(|runtime| {
            let (thread, message) = (runtime.current, message.to_owned());
            runtime.engine.fail(Failure::Assertion { thread, location: LocationId(0), message });
        });
    }
}

/// Records an abandoned fiber.
fn note_lost(message: &str) {
    static ONCE: Once = Once::new();
    with(|runtime| runtime.close.lost += 1);
    ONCE.call_once(|| {
        eprintln!(
            "warning: at the end of a run, {message}; its remaining destructors do not run, and its stack is leaked"
        );
    });
    fail_by(message);
}

/// Handles a panic for the panic hook. Returns true if std is about to abort the process because a destructor
/// panicked while its thread was unwound at the end of the run; the current fiber is then abandoned instead.
pub(crate) fn survives_abort(info: &PanicHookInfo<'_>) -> bool {
    aborting(info).is_some() && super::is_in_closing() && abandon_at_abort()
}

/// Returns `Some` if std is about to abort the process because a panic cannot unwind, with the number of
/// panics between the first one that led to it and this one.
pub(crate) fn aborting(info: &PanicHookInfo<'_>) -> Option<usize> {
    match *info.payload().downcast_ref::<&str>()? {
        "panic in a destructor during cleanup" => Some(2),
        "panic in a function that cannot unwind" => Some(1),
        _ => None,
    }
}

/// Fails the run for a panic of the current thread that std is about to end with an abort, and prepares to
/// abandon its fiber instead, so that the failure can be reported. Called by the panic hook.
pub(crate) fn fail_by_abort(message: &str) {
    let outside = with(|runtime| {
        let (thread, message) = (runtime.current, message.to_owned());
        runtime.engine.fail(Failure::Assertion { thread, location: LocationId(0), message });
        runtime.threads[thread.index()].fiber = None;
        runtime.close.lost += 1;
        runtime.ask()
    });
    Fiber::return_to(outside);
    abandon_at_abort();
}

/// Makes std forget the panics of abandoned fibers, which would count as panics of this OS thread forever.
/// Inside the hook, std does not count a panic that begins, but counts one that is caught. If that changes,
/// the OS thread counts as panicking, as it does after any panic that is never caught.
fn correct_panic_count() {
    for _ in 0..MOST_PANICS {
        if !std::thread::panicking() {
            return;
        }
        CORRECTING.set(true);
        _ = catch_unwind(|| panic!("one panic less"));
        if CORRECTING.replace(false) {
            return; // Another hook is installed.
        }
    }
}

/// Returns true, for the panic hook, if a panic only corrects std's panic count.
pub(crate) fn corrects_panic_count() -> bool {
    let correcting = CORRECTING.replace(false);
    if correcting {
        _ = catch_unwind(|| resume_unwind(Box::new(())));
    }
    correcting
}
