//! The end of a run: dropping what its threads have left.
//!
//! Threads that have not ended are unwound one after the other, so that what they own is dropped. The engine is no longer asked:
//! an operation of a destructor takes effect at once. A destructor that has to wait lets the other threads be unwound first. If it
//! still has to wait, its fiber is left, and tried again while others get on. A fiber that does not come to its end is
//! left for good with its stack: it cannot be unwound, as a second panic in a destructor aborts the process. The same holds for a
//! fiber with a destructor that panics while it is unwound; `switch/abort.rs` tells how that is survived.

use super::switch::{Fiber, Leaving, leave_at_abort};
use super::{REPLY, Task, tracked, with};
use raddle_engine::Reply;
use raddle_model::{Failure, LocationId, ThreadId};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;

/// The number of operations after which a thread that is unwound counts as waiting.
const PATIENCE: u32 = 100_000;
/// How often a thread is unwound again that catches what unwinds it.
const MOST_CAUGHT: u32 = 100;
/// The number of threads that destructors may start.
const MOST_STARTED: u32 = 10_000;
/// The number of panics that std is made to forget at most.
const MOST_PANICS: u32 = 100_000;

thread_local! {
    /// Set while a panic is made only to correct std's count of panics.
    static CORRECTING: Cell<bool> = const { Cell::new(false) };
}

/// The state of a run that is being closed.
#[derive(Default)]
pub(super) struct Closing {
    /// The thread that goes on with its own unwinding, if one does.
    pub(super) draining: Option<ThreadId>,
    /// Operations since the current thread was resumed.
    operations: u32,
    /// Operations of all threads.
    pub(super) total: u64,
    /// The fibers that have been left because their threads wait.
    waiting: Vec<Left>,
    /// The number of fibers that were left for good.
    lost: u32,
    /// What threads would have done that destructors started.
    started: Vec<Task>,
}

/// A fiber of a thread that has not ended.
#[derive(Clone, Copy)]
struct Left {
    fiber: Fiber,
    thread: ThreadId,
    /// Whether the thread is unwinding after a panic of its own.
    draining: bool,
}

/// Drops what all threads have left. The youngest goes first: a thread may have borrowed from an older one, whose scope it was
/// started in, but never from a younger one. `panicking` tells whether this OS thread was unwinding before the run.
pub(super) fn close(panicking: bool) {
    with(|runtime| {
        runtime.close = Closing::default();
        runtime.closing = true;
        runtime.worker.close();
    });
    close_others();
    if tracked::has_kept() {
        drop_as(ThreadId(0), tracked::drop_kept);
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
        note_lost("destructors start threads without end");
    }
    let waiting = with(|runtime| std::mem::take(&mut runtime.close.waiting));
    for left in waiting {
        with(|runtime| runtime.current = left.thread);
        fail_by_blocked();
        note_lost("a destructor waits for ever");
    }
    if !panicking && with(|runtime| runtime.close.lost > 0) {
        correct_panic_count();
    }
}

/// Unwinds every thread that has not ended and is not being unwound. While the run is closing, this makes others release
/// what a destructor needs. Returns whether there was one.
pub(crate) fn close_others() -> bool {
    let mut any = false;
    let count = with(|runtime| runtime.threads.len());
    for index in (0..count).rev() {
        let left = with(|runtime| {
            let thread = &mut runtime.threads[index];
            let left = (thread.fiber.take(), thread.task.take(), thread.panicking);
            (left.0.is_some() || left.1.is_some() || !thread.locals.is_empty()).then_some(left)
        });
        let Some((fiber, task, draining)) = left else { continue };
        any = true;
        let thread = ThreadId(index as u32);
        match fiber {
            Some(fiber) if fiber.is_busy() => {
                let left = Left { fiber, thread, draining };
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
    with(|runtime| runtime.threads[thread.index()].task = Some(Box::new(action) as Task));
    resume(Left { fiber, thread, draining: false });
}

/// Resumes a fiber until it has ended or been left. Returns whether it will not be resumed again.
fn resume(left: Left) -> bool {
    let Left { fiber, thread, draining } = left;
    let before = with(|runtime| {
        let before = (runtime.current, runtime.close.draining);
        runtime.current = thread;
        runtime.close.draining = draining.then_some(thread);
        runtime.close.operations = 0;
        before
    });
    // The operation in which it was left has not been executed.
    REPLY.set(Reply::Go);
    fiber.go_and_return();
    with(|runtime| {
        (runtime.current, runtime.close.draining) = before;
        runtime.close.operations = 0;
    });
    match fiber.leaving() {
        None => fiber.give_back(),
        Some(Leaving::Waits) => {
            with(|runtime| runtime.close.waiting.push(left));
            return false;
        }
        Some(Leaving::Stops) => {
            fiber.throw_next();
            return resume(Left { draining: false, ..left });
        }
        Some(Leaving::ForGood) => {
            note_lost("a destructor panicked while its thread was unwound");
        }
    }
    true
}

/// Resumes the fibers of threads that wait, until none of them gets on.
fn retry() {
    loop {
        let waiting = with(|runtime| std::mem::take(&mut runtime.close.waiting));
        let ended = waiting.into_iter().filter(|&left| resume(left)).count();
        if ended == 0 {
            return;
        }
    }
}

/// Executes an operation of a destructor, as far as the thread goes on.
#[cold]
pub(super) fn operate() -> Reply {
    let (stops, spins) = with(|runtime| {
        runtime.close.total += 1;
        runtime.close.operations += 1;
        // A thread that caught its panic would go on for ever if nobody stopped it.
        let stops = runtime.close.draining == Some(runtime.current) && !runtime.is_panicking();
        (stops, runtime.close.operations > PATIENCE)
    });
    if stops {
        Fiber::leave(Leaving::Stops);
    } else if !std::thread::panicking() && (1..MOST_CAUGHT).contains(&Fiber::caught()) {
        Fiber::end_again();
    } else if spins || Fiber::caught() >= MOST_CAUGHT {
        make_way();
    }
    Reply::Go
}

/// Lets others get on while a destructor has to wait for them. Returns when it is worth to look again.
pub(crate) fn make_way() {
    if !close_others() && !Fiber::leave(Leaving::Waits) {
        Fiber::end_again();
    }
}

/// Lets others get on while a scope has to wait for its threads. Returns whether that is possible.
pub(super) fn wait_in_scope() -> bool {
    super::is_closing() && Fiber::leave(Leaving::Waits)
}

/// Drops what a thread would have done that a destructor starts: no thread begins after the end of a run. It is not dropped at
/// once, as its own destructor may start another thread, and so on.
pub(crate) fn drop_later(task: Task) {
    with(|runtime| runtime.close.started.push(task));
}

/// Takes notice of a panic that a destructor let pass. It fails a run of Shuttle's functions; in others the thread would not have
/// been unwound without Raddle.
pub(super) fn note_panic(payload: Box<dyn Any + Send>) {
    if super::is_shuttle() {
        super::fail_by_panic(payload);
    } else {
        discard(payload);
    }
}

/// Drops what a panic carried.
pub(super) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// Fails a run of Shuttle's functions because a destructor cannot go on. A thread that goes on with its own unwinding may have
/// caught its panic and be no longer in a destructor.
pub(crate) fn fail_by_blocked() {
    if with(|runtime| runtime.is_forced()) {
        fail_by("deadlock while dropping what the threads had left at the end of the run");
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

/// Takes notice of a fiber that was left for good.
fn note_lost(message: &str) {
    static ONCE: Once = Once::new();
    with(|runtime| runtime.close.lost += 1);
    ONCE.call_once(|| {
        eprintln!(
            "raddle: at the end of a run, {message}. The rest of its destructors does not run, and its stack is leaked."
        );
    });
    fail_by(message);
}

/// Called by the panic hook. Returns whether std is about to abort the process because of a panic in a destructor that was called to
/// unwind a thread at the end of the run, and the fiber that runs will be left for good instead.
pub(crate) fn survives_abort(info: &PanicHookInfo<'_>) -> bool {
    const TEXTS: [&str; 2] =
        ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];
    let text = info.payload().downcast_ref::<&str>();
    text.is_some_and(|text| TEXTS.contains(text)) && super::is_in_closing() && leave_at_abort()
}

/// Makes std forget the panics of fibers that were left for good: they would count as panics of this OS thread for ever.
/// Inside of the hook, std does not count a panic that begins, but one that is caught. Were that to change, the OS thread would count
/// as panicking, as it does after any panic that is never caught.
fn correct_panic_count() {
    for _ in 0..MOST_PANICS {
        if !std::thread::panicking() {
            return;
        }
        CORRECTING.set(true);
        _ = catch_unwind(|| panic!("one panic less"));
        if CORRECTING.replace(false) {
            return; // The hook is another one.
        }
    }
}

/// Called by the panic hook. Returns whether the panic was made only to correct std's count of panics.
pub(crate) fn corrects_panic_count() -> bool {
    let correcting = CORRECTING.replace(false);
    if correcting {
        _ = catch_unwind(|| resume_unwind(Box::new(())));
    }
    correcting
}
