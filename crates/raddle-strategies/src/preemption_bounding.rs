//! Preemption bounding: all schedules without a preemption, then all with exactly one, and so on.
//!
//! Paper: Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded
//! Programs", PLDI 2007; the definition of a preemption is that of Yuan's thesis, section 2.1.1: a step
//! of another thread than the step before, while that thread was enabled.
//! Guarantee: every schedule with at most `bound` preemptions is run exactly once, none with `c + 1`
//! before all with `c`. Test: `each_bucket_holds_exactly_the_schedules_with_that_many_preemptions`
//! (tests/systematic).
//! Departures from the paper: every operation is a point where a preemption may occur, not only
//! synchronisation; all answers to other decisions (which waiter a signal wakes, data choices) are tried
//! and cost nothing.
//!
//! With sleep sets and a bound of 2 it is the CHESS of the Maple paper (OOPSLA 2012, section 6). Without a
//! bound, sleep sets leave one schedule per partial order. Test: `sleep_sets_leave_one_run_per_partial_order`
//! (tests/systematic). With a bound they may leave none of some partial orders: the remaining schedule may
//! have more preemptions than the bound allows.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::frontier::Frontier;
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "preemption",
    family: Family::Systematic,
    summary: "every schedule, those with fewest preemptions first",
    parameters: &[
        parameter("bound", "none", "largest number of preemptions"),
        parameter("sleep", "none", "`sets`: skip schedules that differ only in independent steps"),
    ],
    source: "Musuvathi and Qadeer, PLDI 2007",
    guarantee: "every schedule with at most that many preemptions, exactly once (sleep sets skip some)",
    capabilities: Capabilities {
        complete: true,
        // Of a partial order within the bound, the schedule that is left may be beyond it.
        leaves_out: |values| values.word("sleep", &[("none", false), ("sets", true)]).unwrap_or(true),
        ..Capabilities::NONE
    },
    build: Build::Alone(|values| {
        let search = PreemptionBounding::new(values.bound("bound")?);
        let sleeps = values.word("sleep", &[("none", false), ("sets", true)])?;
        Ok(Box::new(if sleeps { search.with_sleep_sets() } else { search }))
    }),
};

/// The catalogue entry.
pub(crate) const CHESS: Entry = Entry {
    name: "chess",
    family: Family::Systematic,
    summary: "preemption bounding with sleep sets",
    parameters: &[parameter("bound", "2", "largest number of preemptions")],
    source: "Musuvathi et al., OSDI 2008; baseline of the Maple paper",
    guarantee: "no schedule twice; a partial order within the bound may be missed",
    capabilities: Capabilities { leaves_out: |_| true, ..Capabilities::NONE },
    build: Build::Alone(|values| {
        let bound = values.number("bound", 2)?;
        Ok(Box::new(PreemptionBounding::new(Some(bound)).with_sleep_sets()))
    }),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct PreemptionBounding {
    frontier: Frontier,
}

impl PreemptionBounding {
    /// Creates a strategy for schedules with up to `bound` preemptions, or all schedules.
    pub fn new(bound: Option<u32>) -> PreemptionBounding {
        PreemptionBounding { frontier: Frontier::new(bound, preemption) }
    }

    /// Returns the same strategy with sleep sets.
    #[must_use]
    pub fn with_sleep_sets(self) -> PreemptionBounding {
        PreemptionBounding { frontier: self.frontier.with_sleep_sets() }
    }
}

/// Returns 1 if running `thread` is a preemption, and 0 otherwise.
fn preemption(last: Option<ThreadId>, enabled: &[ThreadId], thread: ThreadId) -> u32 {
    u32::from(last.is_some_and(|last| last != thread && enabled.contains(&last)))
}

impl Strategy for PreemptionBounding {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.frontier.begin()
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.frontier.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.frontier.pick(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.frontier.learn(run);
    }

    fn needs(&self) -> Needs {
        Frontier::NEEDS
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_away_from_an_enabled_thread_costs_one_however_many_are_enabled() {
        let [a, b, c] = [0, 1, 2].map(ThreadId);
        for (last, enabled, thread, cost) in [
            (None, &[a, b, c][..], a, 0),
            (Some(a), &[a, b, c], a, 0),
            (Some(a), &[a, b, c], b, 1),
            (Some(a), &[a, b, c], c, 1),
            (Some(b), &[a, b, c], c, 1),
            (Some(c), &[a, b, c], a, 1),
            (Some(a), &[b, c], c, 0),
            (Some(c), &[a, b], b, 0),
        ] {
            assert_eq!(preemption(last, enabled, thread), cost, "{last:?} to {thread:?} of {enabled:?}");
        }
    }
}
