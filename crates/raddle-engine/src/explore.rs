//! Runs a program once, or many times.

use crate::Rng;
use crate::engine::{Engine, Next, Reply};
use crate::strategy::{Plan, RunSummary, Strategy};
use raddle_model::{ThreadId, Verdict};
use std::ops::ControlFlow;

/// A program that an engine can run: a front end in its simplest form.
pub trait Program {
    /// Adds the objects and threads that exist at the start of a run, and discards the previous run.
    fn start(&mut self, engine: &mut Engine);

    /// Lets `thread` run up to its next operation. Must end in [`Engine::announce`] or [`Engine::finish`] for that
    /// thread, or in [`Engine::fail`].
    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply);

    /// Called when no thread can continue and something was expected from outside. Gives the tokens of what
    /// has come.
    fn idle(&mut self, _engine: &mut Engine) {}

    /// Executes one run under a strategy whose run has begun. A method of the trait, not to be overridden, so
    /// that the loop knows the program it runs even if the caller does not.
    fn run(&mut self, engine: &mut Engine, strategy: &mut dyn Strategy) {
        engine.begin(strategy.needs());
        engine.set_stronger_orders(strategy);
        self.start(engine);
        loop {
            match engine.next(strategy) {
                Next::Resume { thread, reply } => self.resume(engine, thread, reply),
                Next::Idle { .. } => self.idle(engine),
                Next::Done => break,
            }
        }
    }
}

/// Runs `program` once under a strategy whose run has begun.
#[inline]
pub fn run<P: Program + ?Sized>(engine: &mut Engine, program: &mut P, strategy: &mut dyn Strategy) {
    program.run(engine, strategy);
}

/// The result of [`explore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Number of runs that were not cut off.
    pub complete: u64,
    /// Number of runs that the strategy cut off.
    pub cut_off: u64,
    /// True if the strategy has no schedule left.
    pub exhausted: bool,
}

/// Runs `program` up to `runs` times, with the runs of `seed` from number `first` on, and passes each run to
/// `look` after the strategy has learnt from it. Ends early if `look` breaks or no schedule is left.
pub fn explore<P: Program + ?Sized>(
    engine: &mut Engine,
    program: &mut P,
    strategy: &mut dyn Strategy,
    (seed, first, runs): (u64, u64, u64),
    mut look: impl FnMut(u64, &RunSummary<'_>) -> ControlFlow<()>,
) -> Totals {
    let mut totals = Totals::default();
    for number in first..first.saturating_add(runs) {
        if strategy.begin(Rng::for_run(seed, number)) == Plan::Exhausted {
            totals.exhausted = true;
            break;
        }
        run(engine, program, strategy);
        let summary = engine.summary();
        match summary.verdict {
            Verdict::CutOff => totals.cut_off += 1,
            Verdict::Passed | Verdict::Failed { .. } | Verdict::Inconclusive { .. } => totals.complete += 1,
        }
        strategy.learn(&summary);
        if look(number, &summary).is_break() {
            break;
        }
    }
    totals
}
