//! A run from its begin to its end: whose turn it is, and what is left to unwind.

use super::switch::{self, Fiber};
use super::{RUNTIME, Runtime, Task, catch, locals, with};
use raddle_engine::{Next, Reply};
use raddle_model::ThreadId;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;

/// Who goes on, where a thread waits or the run is begun.
enum Turn {
    /// The one who asked, with what its operation brought.
    Mine(Reply),
    /// Another one, which can be resumed from here.
    Of(ThreadId, Fiber),
    /// One that has resumed others, this one among them, and waits for them to suspend; or nobody.
    Below,
}

/// Returns when it is the turn of the current thread again. Meanwhile it resumes others from its own stack: going by way of
/// the loop in [`run`] would be one switch more.
pub(super) fn wait_for_turn() -> Reply {
    let me = with(|runtime| runtime.current);
    loop {
        match with(|runtime| runtime.turn(Some(me))) {
            Turn::Mine(reply) => return reply,
            Turn::Of(thread, fiber) => run_on(thread, fiber),
            Turn::Below => {
                switch::suspend();
                return with(|runtime| runtime.threads[me.index()].reply);
            }
        }
    }
}

/// Lets `thread` run on its fiber until it suspends or ends. Then the engine's next answer is there.
fn run_on(thread: ThreadId, mut fiber: Fiber) {
    fiber.resume();
    with(|runtime| {
        if runtime.next.is_some() {
            runtime.threads[thread.index()].fiber = Some(fiber);
            return;
        }
        // The task is over.
        runtime.idle.push(fiber);
        runtime.engine.finish(thread);
        if runtime.fail_on_leaked_threads && thread == ThreadId(0) {
            runtime.fail_by_leak();
        }
        runtime.next = Some(runtime.engine.next(&mut *runtime.strategy));
    });
}

impl Runtime {
    /// Whose turn it is by the engine's latest answer; that is taken, unless another one has to see it.
    fn turn(&mut self, me: Option<ThreadId>) -> Turn {
        let Some(Next::Resume { thread, reply }) = self.next else { return Turn::Below };
        let turn = if Some(thread) == me {
            Turn::Mine(reply)
        } else {
            let entry = &mut self.threads[thread.index()];
            let Some(fiber) = entry.fiber.take() else { return Turn::Below };
            entry.reply = reply;
            Turn::Of(thread, fiber)
        };
        self.next = None;
        self.current = thread;
        turn
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
    with(|runtime| runtime.next = Some(runtime.engine.next(&mut *runtime.strategy)));
    while let Turn::Of(thread, fiber) = with(|runtime| runtime.turn(None)) {
        run_on(thread, fiber);
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
