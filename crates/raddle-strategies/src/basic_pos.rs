//! BasicPOS: a random priority for every event, never changed.
//!
//! Paper: Yuan, Yang, Gu, "Partial Order Aware Concurrency Sampling", CAV 2018, section 4.1 (Algorithm
//! 2); called plain POS in Yuan's thesis, section 3.3.
//! Guarantee: an error that a guide over `c` events leads to, `d` of which it delays, is hit with
//! probability at least `(c-d)! / c!` (thesis, theorem 3.1). Tests: `meets_the_guide_bound`,
//! `a_blocked_event_keeps_its_priority`.
//! Departures from the paper: a priority is drawn when its event is enabled for the first time, not when
//! it becomes pending; this does not change any probability.

use crate::catalogue::{Build, Capabilities, Entry, Exact, Family};
use crate::tournament::Tournament;
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "basic-pos",
    family: Family::Randomized,
    summary: "a random priority for every event",
    parameters: &[],
    source: "Yuan, Yang, Gu, CAV 2018, section 4.1",
    guarantee: "an error guided by c events, d of them delayed: (c-d)!/c!",
    capabilities: Capabilities { exact: Some(|_| Ok(Exact::BasicPos)), ..Capabilities::NONE },
    build: Build::Alone(|_| Ok(Box::new(BasicPos::new()))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct BasicPos {
    rng: Rng,
    /// Invariant at a choice: exactly the enabled threads, each with the priority of its next event.
    priorities: Tournament,
    /// The thread that took the latest step, if any: its next event is a new one.
    last: Option<ThreadId>,
    /// Per thread: the priority of its next event if that was drawn and is blocked, else `NONE`.
    kept: Vec<u64>,
}

/// Stands for no priority.
const NONE: u64 = 0;

impl BasicPos {
    /// Creates BasicPOS, which has no parameters.
    pub fn new() -> BasicPos {
        BasicPos { rng: Rng::for_run(0, 0), priorities: Tournament::default(), last: None, kept: Vec::new() }
    }

    /// Chooses after any changes.
    #[inline(never)] // Keeps the path of a choice between few threads short.
    fn choose_otherwise(&mut self, point: &Point<'_>) -> Choice {
        self.kept.resize(point.thread_count().max(self.kept.len()), NONE);
        point.for_changed(|thread, enabled| {
            let is_new = self.last == Some(thread);
            let known = if is_new { NONE } else { self.priorities.get(thread) };
            let kept = std::mem::replace(&mut self.kept[thread.index()], NONE);
            let known = if known == NONE && !is_new { kept } else { known };
            if enabled {
                let priority = if known == NONE { self.rng.bits() } else { known };
                self.priorities.set(thread, priority);
            } else {
                self.kept[thread.index()] = known;
                self.priorities.remove(thread);
            }
            if is_new {
                self.last = None;
            }
        });
        let thread = self.priorities.winner().expect("a point has an enabled thread");
        self.last = Some(thread);
        Choice::Run(thread)
    }
}

impl Default for BasicPos {
    fn default() -> BasicPos {
        BasicPos::new()
    }
}

impl Strategy for BasicPos {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.priorities.clear();
        self.last = None;
        self.kept.clear();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let (Some(few), Some(last)) = (point.few(self.priorities.few()), self.last) else {
            return self.choose_otherwise(point);
        };
        if few.changed != 1 << last.0 || few.enabled() & few.changed == 0 {
            return self.choose_otherwise(point);
        }
        // The most common case by far.
        self.priorities.set_few(last.0, self.rng.bits());
        let thread = self.priorities.winner_of_few(few.count).expect("a point has an enabled thread");
        self.last = Some(thread);
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Kind;
    use raddle_testkit::{Act, Script, assert_hit_rate, hits, is_thorough};

    #[test]
    fn meets_the_guide_bound() {
        // The last event of thread 0 before the first of thread 1, and the other way round: a guide over six events
        // that delays one.
        let mut program = Script::straight(1, &["W0 W0 W0 W0 W0", "W0 W0 W0 W0 W0"]);
        let mut basic = BasicPos::new();
        for first in [0, 1] {
            assert_hit_rate(20_000, 1.0 / 6.0, |seed| {
                let (events, _) = program.run(&mut basic, seed);
                events[..5].iter().all(|event| event.thread.0 == first)
            });
        }
    }
    #[test]
    fn a_blocked_event_keeps_its_priority() {
        // Thread 0 takes the lock four times before thread 1 gets it if the one priority of thread 1's
        // attempt is the lowest of five: 1/5. If the attempt drew again after each release of the lock, it
        // would be 1/16.
        let turn = [Act::On(Kind::Lock, 0), Act::On(Kind::Unlock, 0)];
        let mut program = Script::new().mutex().thread(&turn.repeat(4)).thread(&turn);
        let mut basic = BasicPos::new();
        let last = hits(40_000, |seed| {
            let (events, _) = program.run(&mut basic, seed);
            events[..8].iter().all(|event| event.thread.0 == 0)
        });
        assert!(!is_thorough() || last.abs_diff(8_000) < 4 * 80, "{last}");
    }
}
