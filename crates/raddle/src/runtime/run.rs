//! A run from its begin to its end: whose turn it is, and what is left to unwind.

use super::switch::{self, Fiber};
use super::{RUNTIME, Runtime, Task, catch, locals, suspend_panicking, with};
use raddle_engine::{Next, Reply};
use raddle_model::{Operation, ThreadId};
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;

/// Who goes on, where a thread has announced an operation or the run is begun.
pub(super) enum Turn {
    /// The one who asked, with what its operation brought.
    Mine(Reply),
    /// Another one, which can be resumed from here by the one who asked.
    Of { thread: ThreadId, fiber: Fiber, me: Option<ThreadId> },
    /// One that has resumed others, this one among them, and waits for them to suspend; or nobody.
    Below,
    /// As `Below`, and a thread of this OS thread is unwinding after a panic.
    BelowPanicking,
}

impl Turn {
    /// The turn of somebody below.
    #[inline]
    pub(super) fn waiting() -> Turn {
        if std::thread::panicking() { Turn::BelowPanicking } else { Turn::Below }
    }
}

/// Returns when it is the turn of the current thread again, given whose turn it is now. Meanwhile it resumes others from its
/// own stack: going by way of the loop in [`run`] would be one switch more.
#[inline(never)] // Keeps the path of a thread that goes on short.
pub(super) fn wait_for_turn(mut turn: Turn) -> Reply {
    loop {
        match turn {
            Turn::Mine(reply) => return reply,
            Turn::Of { thread, fiber, me } => turn = run_on(thread, fiber, me),
            Turn::Below => {
                switch::suspend();
                return with(|runtime| runtime.threads[runtime.current.index()].reply);
            }
            Turn::BelowPanicking => return suspend_panicking(),
        }
    }
}

/// Lets `thread` run on its fiber until it suspends or ends, and tells `me` whose turn it is then.
#[inline(always)] // Its own frame and the way of its result through memory would cost as much as the switch.
fn run_on(thread: ThreadId, mut fiber: Fiber, me: Option<ThreadId>) -> Turn {
    fiber.resume();
    with(|runtime| {
        let next = match runtime.next.take() {
            Some(next) => {
                runtime.threads[thread.index()].fiber = Some(fiber);
                next
            }
            None => runtime.end_task(thread, fiber),
        };
        runtime.turn(next, me)
    })
}

impl Runtime {
    /// Executes `operation`, the next one of the current thread, or announces it and asks whose turn it is.
    #[inline(always)] // A part of each operation of a test.
    pub(super) fn take_step(&mut self, operation: &Operation) -> Turn {
        if self.engine.runs_on() && self.go_on(operation) {
            Turn::Mine(Reply::Go)
        } else {
            self.announce(operation)
        }
    }

    #[inline(never)] // Once for all operations.
    fn go_on(&mut self, operation: &Operation) -> bool {
        self.engine.go_on(self.current, operation)
    }

    #[inline(never)] // Once for all operations.
    fn announce(&mut self, operation: &Operation) -> Turn {
        let (me, operation) = (self.current, *operation);
        self.engine.announce(me, operation);
        let next = self.engine.next(&mut *self.strategy);
        if std::thread::panicking() && !matches!(next, Next::Resume { thread, .. } if thread == me) {
            self.next = Some(next);
            return Turn::BelowPanicking;
        }
        self.turn(next, Some(me))
    }

    /// Takes note that the task of `thread` on `fiber` is over, and asks what comes next.
    #[inline(never)] // Once for each thread.
    fn end_task(&mut self, thread: ThreadId, fiber: Fiber) -> Next {
        self.idle.push(fiber);
        self.engine.finish(thread);
        if self.fail_on_leaked_threads && thread == ThreadId(0) {
            self.fail_by_leak();
        }
        self.ask()
    }

    /// Asks the engine what comes next.
    #[inline(never)] // Once for all callers but the one in the hot path.
    fn ask(&mut self) -> Next {
        self.engine.next(&mut *self.strategy)
    }

    /// Whose turn it is by the engine's answer, seen from `me`; the answer is kept if another one has to see it.
    #[inline(always)] // Twice in the hot path.
    fn turn(&mut self, next: Next, me: Option<ThreadId>) -> Turn {
        if let Next::Resume { thread, reply } = next {
            if Some(thread) == me {
                self.current = thread;
                return Turn::Mine(reply);
            }
            let entry = &mut self.threads[thread.index()];
            if let Some(fiber) = entry.fiber.take() {
                entry.reply = reply;
                self.current = thread;
                return Turn::Of { thread, fiber, me };
            }
        }
        self.next = Some(next);
        Turn::Below
    }
}

/// Runs the task of the current thread and drops its variables; called on its fiber.
pub(super) fn run_task() {
    let task = with(|runtime| runtime.threads[runtime.current.index()].task.take());
    let Some(task) = task else { return };
    run_part(task);
    run_part(locals::drop_all);
    with(|runtime| runtime.drained = runtime.draining.filter(|&thread| thread == runtime.current));
}

/// Runs a part of a thread in which a panic is a failure of the run.
fn run_part(task: impl FnOnce()) {
    if let Err(payload) = catch(task) {
        if with(|runtime| runtime.is_forced()) {
            // The run is over and this fiber is being unwound; that must not stop here.
            resume_unwind(payload);
        }
        with(|runtime| runtime.fail_by_panic(&*payload));
    }
}

/// Runs `main` once on this OS thread. The strategy's run must have begun.
pub(crate) fn run(runtime: Box<Runtime>, main: Task) -> Box<Runtime> {
    RUNTIME.with_borrow_mut(|slot| {
        let mut runtime = runtime;
        runtime.epoch = runtime.worker.next_epoch();
        runtime.closing = false;
        runtime.panicking = 0;
        runtime.threads.clear();
        runtime.made.clear();
        let needs = runtime.strategy.needs();
        runtime.engine.begin(needs);
        let thread = runtime.engine.add_thread();
        let name = Arc::clone(&runtime.main_name);
        runtime.start(thread, Some(name), main);
        assert!(slot.replace(runtime).is_none(), "a check does not run inside another one");
    });
    let mut turn = with(|runtime| {
        let next = runtime.ask();
        runtime.turn(next, None)
    });
    while let Turn::Of { thread, fiber, .. } = turn {
        turn = run_on(thread, fiber, None);
    }
    with(|runtime| {
        debug_assert_eq!(runtime.next, Some(Next::Done), "every thread that could run has run");
        runtime.next = None;
        runtime.fail_by_unnoticed_panic();
    });
    close();
    RUNTIME.with_borrow_mut(|slot| slot.take().expect("the run was not taken away"))
}

/// Unwinds every thread that has not ended, so that what it owns is dropped. The youngest goes first: a thread may have
/// borrowed from an older one, whose scope it was started in, but never from a younger one.
fn close() {
    with(|runtime| {
        runtime.closing = true;
        runtime.worker.close();
    });
    close_others();
}

/// Unwinds every thread that has not ended and is not being unwound. While the run is closing, this makes others release
/// what a destructor needs.
pub(crate) fn close_others() {
    let (count, current) = with(|runtime| (runtime.threads.len(), runtime.current));
    for index in (0..count).rev() {
        let left = with(|runtime| {
            let thread = &mut runtime.threads[index];
            let left = (thread.fiber.take(), thread.task.take(), thread.panicking);
            if left.0.is_none() && left.1.is_none() && thread.locals.is_empty() {
                return None;
            }
            runtime.current = ThreadId(index as u32);
            Some(left)
        });
        let Some((fiber, task, panicking)) = left else { continue };
        drop(task);
        if let Some(mut fiber) = fiber {
            // One that is unwinding cannot be unwound by force; it goes on by itself, to its end or to where it catches.
            let over = panicking && drain(&mut fiber);
            let fiber = if over { fiber } else { fiber.unwind() };
            with(|runtime| runtime.idle.push(fiber));
        }
        // There is nobody left to tell of a panic.
        _ = catch_unwind(locals::drop_all);
    }
    with(|runtime| runtime.current = current);
}

/// Lets the current thread go on with its own unwinding, and tells whether it has come to its end.
fn drain(fiber: &mut Fiber) -> bool {
    let before = with(|runtime| runtime.draining.replace(runtime.current));
    let thread = with(|runtime| runtime.current);
    fiber.resume();
    with(|runtime| {
        runtime.current = thread;
        runtime.draining = before;
        runtime.drained.take().is_some()
    })
}
