//! A run from beginning to end: which thread runs next. [`close`] covers the time after it.

use super::close::{self, close};
use super::switch::{Fiber, is_forced_end};
use super::wind_down::wind_down;
use super::{Answer, Main, REPLY, RUNTIME, Runtime, ValueUses, catch, locals, tracked, with};
use raddle_engine::{Next, RanOn, Reply};
use raddle_model::{Kind, LocationId, Operation, ThreadId, Touch};
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;

/// The next thread to run after a thread announced an operation or the run ended.
pub(super) enum Turn {
    /// The same thread, with the result of its operation.
    Mine(Reply),
    /// Another thread, with this fiber.
    Of(Fiber),
    /// The same thread, because the run is over or the thread halts.
    Diverted,
}

/// Lets another thread run, and returns when it is the turn of the current thread again.
#[inline(never)] // One copy for all operations: that makes switches fast.
pub(super) fn wait_for_turn(other: Fiber) -> Reply {
    let panicking = std::thread::panicking();
    other.go();
    if panicking {
        with(Runtime::return_panicking);
    }
    REPLY.with(Answer::get)
}

impl Runtime {
    /// Executes `operation`, the next one of the current thread, or announces it and returns the next thread
    /// to run.
    #[inline(always)] // On the hot path of every operation.
    pub(super) fn take_step(&mut self, operation: Operation) -> Turn {
        // In registers: a load that spans several recent stores would stall the processor.
        let Operation { argument, touches, location, kind } = operation;
        let other = if self.engine.runs_on() {
            self.run_on_or_announce(argument, touches, location, kind)
        } else {
            self.announce(argument, touches, location, kind)
        };
        match other {
            None => Turn::Mine(REPLY.with(Answer::get)),
            Some(other) => Turn::Of(other),
        }
    }

    /// Does [`Runtime::take_step`] for an access to an atomic.
    #[inline(always)] // On the hot path of every access.
    pub(super) fn take_access(&mut self, operation: Operation) -> Turn {
        let Operation { argument, touches, location, kind } = operation;
        if self.engine.runs_on() && self.run_on(argument, touches, location, kind) {
            return Turn::Mine(Reply::Go);
        }
        match self.announce(argument, touches, location, kind) {
            None => Turn::Mine(REPLY.with(Answer::get)),
            Some(other) => Turn::Of(other),
        }
    }

    /// Executes an operation of a thread that the strategy lets run on, or announces it. Returns the next fiber to run, if it
    /// is another one.
    #[inline(never)] // One copy for all operations.
    fn run_on_or_announce(
        &mut self,
        argument: u64,
        touches: [Touch; 2],
        location: LocationId,
        kind: Kind,
    ) -> Option<Fiber> {
        let operation = Operation { argument, touches, location, kind };
        let ran_on = if !kind.is_memory() {
            self.engine.run_on_synchronisation(self.current, operation, &mut *self.strategy)
        } else if self.run_on(argument, touches, location, kind) {
            RanOn::Replied(Reply::Go)
        } else {
            RanOn::No
        };
        match ran_on {
            RanOn::Replied(reply) => {
                self.pulse.beat();
                REPLY.with(|answer| answer.set(reply));
                None
            }
            RanOn::No => self.announce(argument, touches, location, kind),
            RanOn::Over => Some(self.stop()),
        }
    }

    #[inline(never)] // One copy for all operations.
    fn run_on(&mut self, argument: u64, touches: [Touch; 2], location: LocationId, kind: Kind) -> bool {
        // At the end of a branch of its own: after the other, it would keep the operation on the stack.
        if self.engine.is_weak() {
            return self.run_on_weakly(argument, touches, location, kind);
        }
        self.engine.run_on(self.current, Operation { argument, touches, location, kind })
    }

    #[inline(never)] // See `run_on`.
    fn run_on_weakly(
        &mut self,
        argument: u64,
        touches: [Touch; 2],
        location: LocationId,
        kind: Kind,
    ) -> bool {
        let operation = Operation { argument, touches, location, kind };
        self.engine.run_on_weakly(self.current, operation, &mut *self.strategy)
    }

    /// Announces the next operation of the current thread. Returns the next fiber to run, if it is another
    /// one.
    #[inline(never)] // One copy for all operations.
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
            REPLY.with(|answer| answer.set(reply));
            return None;
        }
        if std::thread::panicking() {
            self.leave_panicking();
        }
        Some(self.turn(next))
    }

    /// Records that the current thread is suspended while it, or another one on this OS thread, is unwinding
    /// after a panic.
    #[cold]
    fn leave_panicking(&mut self) {
        let panicking = self.is_panicking();
        self.threads[self.current.index()].panicking = panicking;
        self.panicking += u32::from(panicking);
    }

    /// Records that the current thread, suspended in that state, continues.
    #[cold]
    fn return_panicking(&mut self) {
        let panicking = self.threads[self.current.index()].panicking;
        self.panicking -= u32::from(panicking);
        self.note_panicking(panicking);
    }

    /// Returns the next fiber to run, as the current thread does not continue: the run is over.
    pub(super) fn stop(&mut self) -> Fiber {
        if std::thread::panicking() {
            self.leave_panicking();
        }
        self.ask()
    }

    /// Records that the task of the current thread is over, and returns the next fiber to run.
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

    /// Does [`Runtime::end_task`] if the current thread has no variables to drop and other threads besides tasks
    /// are left: almost always, and at once.
    fn end_bare_task(&mut self) -> Option<Fiber> {
        let is_bare = !self.closing
            && self.threads[self.current.index()].locals.is_empty()
            && !self.engine.is_last_before_background(self.current);
        is_bare.then(|| self.end_task())
    }

    /// Asks the engine for the next step, and returns the next fiber to run.
    pub(super) fn ask(&mut self) -> Fiber {
        let next = self.engine.next(&mut *self.strategy);
        self.turn(next)
    }

    /// Returns the fiber that the engine's answer selects: after the run, the one outside.
    #[inline(always)] // On the hot path.
    fn turn(&mut self, next: Next) -> Fiber {
        if let Next::Resume { thread, reply } = next {
            REPLY.with(|answer| answer.set(reply));
            self.current = thread;
            self.threads[thread.index()].fiber.expect("a resumed thread has not ended")
        } else {
            debug_assert_eq!(next, Next::Done, "a test receives no external events");
            Fiber::outside()
        }
    }
}

/// Runs the task of the current thread and drops its variables; called on its fiber. Returns the next fiber
/// to run.
pub(super) fn run_task() -> Fiber {
    let (task, main, delayed_at) = with(|runtime| {
        let thread = &mut runtime.threads[runtime.current.index()];
        (thread.task.take(), runtime.main.take(), thread.delayed_at.take())
    });
    if task.is_some() || main.is_some() {
        run_part(move || {
            if let Some(location) = delayed_at {
                super::step(|runtime| Operation::new(Kind::Start, runtime.location(location)));
            }
            if let Some(main) = main {
                main();
            } else if let Some(task) = task {
                task();
            }
        });
        if super::is_shuttle() && !with(|runtime| runtime.is_closing()) {
            super::shuttle::before_end();
        }
        if let Some(next) = with(Runtime::end_bare_task) {
            return next;
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

/// Ends the run if only tasks are left besides the current thread, which has ended. The tasks are dropped
/// even if they could still run or were never polled, so the moment is a choice.
fn give_up_tasks() {
    let only_tasks =
        with(|runtime| !runtime.closing && runtime.engine.is_last_before_background(runtime.current));
    if only_tasks && !super::is_shuttle() {
        super::step(|_| Operation::new(Kind::Exit, LocationId(0)).with_argument(Operation::ADDED));
    }
}

/// Runs a part of a thread in which a panic fails the run.
fn run_part(task: impl FnOnce()) {
    if let Err(payload) = catch(task) {
        if is_forced_end(&*payload) {
            // The run is over and this fiber unwinds; the unwinding must not stop here.
            resume_unwind(payload);
        }
        if with(|runtime| runtime.is_forced()) {
            return close::note_panic(payload);
        }
        super::fail_by_panic(payload);
    }
}

/// Runs `main` once on this OS thread. The strategy's run must have begun.
pub(crate) fn run(runtime: Box<Runtime>, main: Main) -> Box<Runtime> {
    RUNTIME.with_borrow_mut(|slot| {
        let mut runtime = runtime;
        runtime.epoch = runtime.worker.next_epoch();
        runtime.closing = false;
        (runtime.halt, runtime.diverts) = (None, false);
        runtime.close.begin();
        runtime.panicking = 0;
        runtime.cut_off = None;
        runtime.threads.clear();
        runtime.created.clear();
        tracked::forget();
        let mut needs = runtime.strategy.needs();
        needs.exit_last |= runtime.exit_last;
        runtime.engine.begin(needs);
        runtime.engine.set_stronger_orders(&*runtime.strategy);
        runtime.value_uses = ValueUses::new(runtime.values.is_some(), runtime.engine.is_weak());
        runtime.has_weak_orders = false;
        runtime.asked_for_end = false;
        if super::is_shuttle() {
            runtime.engine.keep_clocks();
        }
        let thread = runtime.engine.add_thread();
        runtime.main = Some(main);
        runtime.add(thread, None, None);
        assert!(slot.replace(ManuallyDrop::new(runtime)).is_none(), "checks cannot be nested");
    });
    let panicking = std::thread::panicking();
    let first = with(|runtime| {
        let first = runtime.ask();
        runtime.pulse.set_running(true);
        first
    });
    first.go();
    if with(|runtime| runtime.is_to_wind_down()) {
        wind_down();
    }
    let has_remains = with(|runtime| {
        runtime.pulse.set_running(false);
        runtime.fail_by_unnoticed_panic();
        runtime.fail_by_leaked_value();
        runtime.begin_close()
    });
    if has_remains || tracked::has_stored() || super::is_shuttle() {
        close(panicking);
        // A task that was unwinding when it was dropped has ended only now.
        with(Runtime::fail_by_unnoticed_panic);
    }
    let runtime =
        RUNTIME.with_borrow_mut(|slot| slot.take().expect("the runtime is still there after the run"));
    let mut runtime = ManuallyDrop::into_inner(runtime);
    if let Some(at) = runtime.cut_off {
        runtime.engine.return_to(at);
    }
    runtime
}
