//! Random delays: every thread has its own processor and sometimes sleeps.
//!
//! Paper: a baseline in Yu and Narayanasamy, "Maple: A Coverage-Driven Testing Tool for Multithreaded
//! Programs", OOPSLA 2012, and the technique of ConTest and similar tools for programs that they do not
//! control (`raddle run --baseline delay`).
//! Guarantee: none. Test: `delays_decide_who_is_overtaken`.
//! Departures from the paper: time is simulated, so that the runs depend on the seed only: a step takes
//! one unit of time, and a delay takes exactly its drawn duration.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "random-delay",
    family: Family::Randomized,
    summary: "threads run side by side, and each sometimes sleeps",
    parameters: &[
        parameter("one-in", "10", "one in this many steps is followed by a delay"),
        parameter("longest", "100", "the longest delay, in steps"),
    ],
    source: "a baseline in Yu and Narayanasamy, OOPSLA 2012",
    guarantee: "none",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|values| {
        let (one_in, longest) = (values.positive("one-in", 10)?, values.positive("longest", 100)?);
        Ok(Box::new(RandomDelay::new(one_in, longest)))
    }),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct RandomDelay {
    /// One in this many steps is followed by a delay.
    one_in: u64,
    /// The longest delay, in steps.
    longest: u64,
    rng: Rng,
    now: u64,
    /// Invariant: one entry per thread seen in this run: the time of its next step.
    due: Vec<u64>,
}

impl RandomDelay {
    /// Creates a strategy in which one in `one_in` steps is followed by a delay of up to `longest` steps.
    pub fn new(one_in: u64, longest: u64) -> RandomDelay {
        RandomDelay { one_in, longest, rng: Rng::for_run(0, 0), now: 0, due: Vec::new() }
    }

    /// Returns the time of the next step of `thread`. A thread that was blocked continues at once, like
    /// others whose time has come.
    fn due(&self, thread: ThreadId) -> u64 {
        self.due[thread.index()].max(self.now)
    }

    /// Draws the duration of the next step and of the delay after it.
    fn duration(&mut self) -> u64 {
        let delayed = self.rng.below(self.one_in) == 0;
        1 + if delayed { 1 + self.rng.below(self.longest) } else { 0 }
    }
}

impl Strategy for RandomDelay {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.now = 0;
        self.due.clear();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        while self.due.len() < point.thread_count() {
            let due = self.now + self.duration();
            self.due.push(due);
        }
        let Some(next) = point.enabled().iter().map(|&thread| self.due(thread)).min() else {
            return Choice::CutOff;
        };
        let count = point.enabled().iter().filter(|&&thread| self.due(thread) == next).count();
        let drawn = self.rng.below(count as u64) as usize;
        let mut first = point.enabled().iter().copied().filter(|&thread| self.due(thread) == next);
        let Some(thread) = first.nth(drawn) else { return Choice::CutOff };
        self.now = next;
        self.due[thread.index()] = next + self.duration();
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
    use raddle_testkit::{Script, hits, is_thorough};

    /// Returns the number of times, in 4,000 runs, that one thread takes all of its ten steps before the
    /// other takes its first.
    fn overtaken(one_in: u64, longest: u64) -> u64 {
        let steps = ["W0"; 10].join(" ");
        let mut program = Script::straight(1, &[&steps, &steps]);
        let mut strategy = RandomDelay::new(one_in, longest);
        hits(4_000, |seed| {
            let (events, _) = program.run(&mut strategy, seed);
            events[..10].iter().all(|event| event.thread == events[0].thread)
        })
    }

    #[test]
    fn delays_decide_who_is_overtaken() {
        // Without delays threads advance side by side. A thread that waits for 100 steps before its first is
        // overtaken by one that never waits. That one of two does so in one in ten cases and the other does
        // not in ten steps has probability 2 * 0.1 * 0.9 * 0.9^10, plus some for both waiting.
        assert_eq!(overtaken(1_000_000_000, 100), 0);
        let seldom = overtaken(10, 100);
        let short = overtaken(10, 5);
        assert!(!is_thorough() || (150..600).contains(&seldom), "{seldom}");
        assert!(!is_thorough() || short < seldom / 10, "{short} of {seldom}");
    }
}
