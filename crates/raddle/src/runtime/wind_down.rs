//! What comes after a run was cut off.
//!
//! A strategy cuts a run off because another one covers it. Its threads are not unwound then, for destructors may rely on what comes
//! before them. They go on in turns, to their ends, and nobody looks at what comes of that.

use super::{Runtime, with};
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::ThreadId;

/// How many steps are granted, besides as many as the run had: a multiple of them.
const TIMES: u64 = 10;
const LEAST: u64 = 10_000;

/// Lets each thread take a step in turn.
struct Turns {
    last: ThreadId,
    left: u64,
}

impl Strategy for Turns {
    fn begin(&mut self, _rng: Rng) -> Plan {
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.left = self.left.saturating_sub(1);
        let enabled = point.enabled();
        let next = enabled.iter().filter(|&&thread| thread > self.last).min().or(enabled.iter().min());
        match next {
            Some(&next) if self.left > 0 => {
                self.last = next;
                Choice::Run(next)
            }
            _ => Choice::CutOff,
        }
    }

    fn pick(&mut self, _arity: u32) -> u32 {
        0
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(Turns { ..*self })
    }
}

impl Runtime {
    /// Makes the strategy learn from runs that are cut off as soon as they are, and lets these go on.
    pub(crate) fn wind_down_after_cut_off(&mut self) {
        self.winds_down = true;
    }

    /// Returns whether the strategy has learnt from the latest run.
    pub(crate) fn has_learnt(&self) -> bool {
        self.cut_off.is_some()
    }
}

/// Goes on with the run if it was cut off. Returns when it is over.
pub(super) fn wind_down() {
    if !with(|runtime| runtime.winds_down && runtime.engine.is_cut_off()) {
        return;
    }
    let mut strategy = with(|runtime| {
        runtime.strategy.learn(&runtime.engine.summary());
        let left = runtime.engine.step_count().saturating_mul(TIMES).saturating_add(LEAST);
        let turns: Box<dyn Strategy> = Box::new(Turns { last: runtime.current, left });
        runtime.cut_off = Some(runtime.engine.go_on_after_cut_off());
        std::mem::replace(&mut runtime.strategy, turns)
    });
    with(Runtime::ask).go();
    with(|runtime| std::mem::swap(&mut runtime.strategy, &mut strategy));
}
