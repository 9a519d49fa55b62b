//! A run from its begin to its end: whose turn it is. What comes after it is in [`close`].

use super::close::{self, close};
use super::switch::{Fiber, is_forced_end};
use super::wind_down::wind_down;
use super::{REPLY, RUNTIME, Runtime, Task, catch, locals, tracked, with};
use raddle_engine::{Next, Reply};
use raddle_model::{Kind, LocationId, Operation, ThreadId, Touch};
use std::panic::resume_unwind;
use std::sync::Arc;

/// Who goes on, where a thread has announced an operation or the run is over.
pub(super) enum Turn {
    /// The one who asked, with what its operation brought.
    Mine(Reply),
    /// Another one, whose fiber this is.
    Of(Fiber),
    /// The one who asked, as the run is over.
    Closing,
}

/// Lets another one run, and returns when it is the turn of the current thread again.
#[inline(never)] // Once for all operations: that is what makes switches fast.
pub(super) fn wait_for_turn(other: Fiber) -> Reply {
    let panicking = std::thread::panicking();
    other.go();
    if panicking {
        with(Runtime::return_panicking);
    }
    REPLY.get()
}

impl Runtime {
    /// Executes `operation`, the next one of the current thread, or announces it and asks whose turn it is.
    #[inline(always)] // A part of each operation of a test.
    pub(super) fn take_step(&mut self, operation: Operation) -> Turn {
        // In registers: through memory, what is written in pieces would be read as one, for which the processor waits.
        let Operation { argument, touches, location, kind } = operation;
        if self.engine.runs_on() && self.go_on(argument, touches, location, kind) {
            return Turn::Mine(Reply::Go);
        }
        match self.announce(argument, touches, location, kind) {
            None => Turn::Mine(REPLY.get()),
            Some(other) => Turn::Of(other),
        }
    }

    #[inline(never)] // Once for all operations.
    fn go_on(&mut self, argument: u64, touches: [Touch; 2], location: LocationId, kind: Kind) -> bool {
        self.engine.go_on(self.current, Operation { argument, touches, location, kind })
    }

    /// Announces the next operation of the current thread. Tells whose turn it is, if not that of the same thread.
    #[inline(never)] // Once for all operations.
    fn announce(
        &mut self,
        argument: u64,
        touches: [Touch; 2],
        location: LocationId,
        kind: Kind,
    ) -> Option<Fiber> {
        let me = self.current;
        self.pulse.beat();
        self.engine.announce(me, Operation { argument, touches, location, kind });
        let next = self.engine.next(&mut *self.strategy);
        if let Next::Resume { thread, reply } = next
            && thread == me
        {
            REPLY.set(reply);
            return None;
        }
        if std::thread::panicking() {
            self.leave_panicking();
        }
        Some(self.turn(next))
    }

    /// Takes note that the current thread is left while it, or another one on this OS thread, is unwinding after a panic.
    #[cold]
    fn leave_panicking(&mut self) {
        let panicking = self.is_panicking();
        self.threads[self.current.index()].panicking = panicking;
        self.panicking += u32::from(panicking);
    }

    /// Takes note that the current thread goes on, which was left so.
    #[cold]
    fn return_panicking(&mut self) {
        let panicking = self.threads[self.current.index()].panicking;
        self.panicking -= u32::from(panicking);
        self.note_panicking(panicking);
    }

    /// Tells whose turn it is, as the current thread does not go on: the run is over.
    pub(super) fn stop(&mut self) -> Fiber {
        if std::thread::panicking() {
            self.leave_panicking();
        }
        self.ask()
    }

    /// Takes note that the task of the current thread is over, and tells whose turn it is.
    fn end_task(&mut self) -> Fiber {
        let thread = self.current;
        if let Some(fiber) = self.threads[thread.index()].fiber.take() {
            fiber.give_back();
        }
        self.engine.finish(thread);
        if self.fail_on_leaked_threads && thread == ThreadId(0) {
            self.fail_by_leak();
        }
        if super::is_shuttle() {
            self.engine.abandon_background();
        }
        self.ask()
    }

    /// Asks the engine what comes next, and tells whose turn it is.
    pub(super) fn ask(&mut self) -> Fiber {
        let next = self.engine.next(&mut *self.strategy);
        self.turn(next)
    }

    /// Whose turn it is by the engine's answer: after the run, that of the one outside.
    #[inline(always)] // A part of the hot path.
    fn turn(&mut self, next: Next) -> Fiber {
        if let Next::Resume { thread, reply } = next {
            REPLY.set(reply);
            self.current = thread;
            self.threads[thread.index()].fiber.expect("a thread that is resumed has not ended")
        } else {
            debug_assert_eq!(next, Next::Done, "nothing comes from outside of a test");
            Fiber::outside()
        }
    }
}

/// Runs the task of the current thread and drops its variables; called on its fiber. Tells whose turn it is then.
pub(super) fn run_task() -> Fiber {
    let task = with(|runtime| runtime.threads[runtime.current.index()].task.take());
    if let Some(task) = task {
        run_part(task);
        if super::is_shuttle() && !with(|runtime| runtime.is_closing()) {
            super::shuttle::before_end();
        }
        run_part(locals::drop_all);
        give_up_tasks();
    }
    with(|runtime| {
        if runtime.closing {
            return Fiber::outside();
        }
        runtime.end_task()
    })
}

/// Ends the run if only tasks are left beside the current thread, which has come to its end. They are given up then, whatever they
/// could still do, be it their first poll; so when this happens is a choice.
fn give_up_tasks() {
    let only_tasks =
        with(|runtime| !runtime.closing && runtime.engine.is_last_before_background(runtime.current));
    if only_tasks && !super::is_shuttle() {
        super::step(|_| Operation::new(Kind::Exit, LocationId(0)).with_argument(Operation::ADDED));
    }
}

/// Runs a part of a thread in which a panic is a failure of the run.
fn run_part(task: impl FnOnce()) {
    if let Err(payload) = catch(task) {
        if is_forced_end(&*payload) {
            // The run is over and this fiber is being unwound; that must not stop here.
            resume_unwind(payload);
        }
        if with(|runtime| runtime.is_forced()) {
            return close::note_panic(payload);
        }
        super::fail_by_panic(payload);
    }
}

/// Runs `main` once on this OS thread. The strategy's run must have begun.
pub(crate) fn run(runtime: Box<Runtime>, main: Task) -> Box<Runtime> {
    RUNTIME.with_borrow_mut(|slot| {
        let mut runtime = runtime;
        runtime.epoch = runtime.worker.next_epoch();
        runtime.closing = false;
        runtime.panicking = 0;
        runtime.cut_off = None;
        runtime.threads.clear();
        runtime.made.clear();
        tracked::forget();
        let mut needs = runtime.strategy.needs();
        needs.exit_last |= runtime.exit_last;
        runtime.engine.begin(needs);
        if super::is_shuttle() {
            runtime.engine.keep_clocks();
        }
        let thread = runtime.engine.add_thread();
        let name = Arc::clone(&runtime.main_name);
        runtime.start(thread, Some(name), main);
        assert!(slot.replace(runtime).is_none(), "a check does not run inside another one");
    });
    let panicking = std::thread::panicking();
    let first = with(Runtime::ask);
    with(|runtime| runtime.pulse.set_running(true));
    first.go();
    wind_down();
    with(|runtime| runtime.pulse.set_running(false));
    with(Runtime::fail_by_unnoticed_panic);
    with(Runtime::fail_by_leaked_value);
    close(panicking);
    // A task that was unwinding when it was given up has come to its end only now.
    with(Runtime::fail_by_unnoticed_panic);
    let mut runtime = RUNTIME.with_borrow_mut(|slot| slot.take().expect("the run was not taken away"));
    if let Some(at) = runtime.cut_off {
        runtime.engine.return_to(at);
    }
    runtime
}
