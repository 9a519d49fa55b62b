//! Delay bounding: all schedules that follow a deterministic scheduler, then all with one deviation from it,
//! and so on.
//!
//! Paper: Emmi, Qadeer, Rakamaric, "Delay-Bounded Scheduling", POPL 2011. The scheduler is round-robin
//! without preemption: the last thread continues while it is enabled, else the next enabled one in
//! cyclic order of thread ids. A delay skips the thread whose turn it is; running the thread that is `k`
//! positions behind it costs `k` delays (the counting of Thomson, Donaldson, Betts, "Concurrency Testing
//! Using Schedule Bounding", PPoPP 2014).
//! Guarantee: every schedule with at most `bound` delays is run exactly once, none with `c + 1` before
//! all with `c`. Test: `each_bucket_holds_exactly_the_schedules_with_that_many_delays`
//! (tests/systematic).
//! Departures from the paper: every operation is a point where a delay may occur; all answers to other
//! decisions (which waiter a signal wakes, data choices) are tried and cost nothing.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::frontier::Frontier;
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "delay",
    family: Family::Systematic,
    summary: "every schedule, those with fewest deviations from round-robin first",
    parameters: &[parameter("bound", "none", "the most delays")],
    source: "Emmi, Qadeer, Rakamaric, POPL 2011",
    guarantee: "every schedule with at most that many delays, exactly once",
    capabilities: Capabilities { complete: true, ..Capabilities::NONE },
    build: Build::Alone(|values| Ok(Box::new(DelayBounding::new(values.bound("bound")?)))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct DelayBounding {
    frontier: Frontier,
}

impl DelayBounding {
    /// Creates a strategy for schedules with up to `bound` delays, or all schedules.
    pub fn new(bound: Option<u32>) -> DelayBounding {
        DelayBounding { frontier: Frontier::new(bound, delays) }
    }
}

/// Returns the number of enabled threads that are skipped on the way from the last thread to `thread`, in
/// cyclic order of ids.
fn delays(last: Option<ThreadId>, enabled: &[ThreadId], thread: ThreadId) -> u32 {
    let last = last.unwrap_or(ThreadId(0));
    // Those before the last thread come after all others, each part in order of ids.
    let turn = |thread: ThreadId| (thread < last, thread);
    enabled.iter().filter(|&&other| turn(other) < turn(thread)).count() as u32
}

impl Strategy for DelayBounding {
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
    fn delays_are_counted_cyclically_from_the_last_thread() {
        let enabled = [3, 0, 2, 5].map(ThreadId);
        let cost = |last, thread| delays(last, &enabled, ThreadId(thread));
        assert_eq!([2, 3, 5, 0].map(|thread| cost(Some(ThreadId(2)), thread)), [0, 1, 2, 3]);
        // Thread 4 cannot continue: the turn passes to 5 without a delay.
        assert_eq!([5, 0, 2, 3].map(|thread| cost(Some(ThreadId(4)), thread)), [0, 1, 2, 3]);
        assert_eq!([0, 2, 3, 5].map(|thread| cost(None, thread)), [0, 1, 2, 3]);
    }
}
