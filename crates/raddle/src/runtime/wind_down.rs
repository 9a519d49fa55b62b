//! Continues a run after a strategy pruned it.
//!
//! A strategy prunes a run because another one covers it. Its threads are not unwound then, because
//! destructors may rely on the code before them. They take turns until they end, and the outcome is ignored.

use super::{Runtime, with};
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::ThreadId;

/// The number of steps granted, as a multiple of those of the run.
const TIMES: u64 = 10;
const LEAST: u64 = 10_000;

/// A strategy that lets each thread take a step in turn.
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
    /// Makes the strategy learn from pruned runs at the moment of pruning, and continues these runs.
    pub(crate) fn wind_down_after_cut_off(&mut self) {
        self.winds_down = true;
    }

    /// Returns true if the run was pruned and is to be continued.
    pub(super) fn is_to_wind_down(&self) -> bool {
        self.winds_down && self.engine.is_cut_off()
    }

    /// Returns true if the strategy has learned from the latest run.
    pub(crate) fn has_learnt(&self) -> bool {
        self.cut_off.is_some()
    }
}

/// Continues a run that was pruned. Returns when it is over.
pub(super) fn wind_down() {
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
