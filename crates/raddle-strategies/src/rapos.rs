//! RAPOS: batches of pairwise independent events.
//!
//! Paper: Sen, "Effective Random Testing of Concurrent Programs", ASE 2007, as described in Yuan's
//! thesis, section 2.2.3.
//! Guarantee: every partial order of runs that end by themselves (passed or deadlocked) can be sampled;
//! there is no lower bound on its probability (thesis, Figure 2.3). Tests:
//! `rapos_reaches_every_partial_order` (tests/every_order.rs), `reaches_every_partial_order`. After a
//! batch, the schedulable events are those that depend on an event of the batch. An event that was not
//! enabled before the batch depends on the one that enabled it: the next event of a thread that ran, the
//! first event of a new thread, a join whose thread has ended, and whatever a signal or a barrier
//! unblocks.
//! Departures from the paper: the thesis leaves the selection of a batch open; ours (a random event,
//! then each further independent one with probability 1/2) gives the published coverage of the POS micro
//! benchmark, see `docs/design/micro-benchmark.md`. A failed assertion depends on everything, because it
//! ends the run, but this is known only afterwards; of the runs that fail in the same way but stop with
//! the other threads at different steps, some may never occur.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::{Operation, Reads, ThreadId, dependent};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "rapos",
    family: Family::Randomized,
    summary: "random batches of pairwise independent events",
    parameters: &[],
    source: "Sen, ASE 2007; Yuan's thesis, section 2.2.3",
    guarantee: "every partial order of runs that no failure cuts short is possible; no bound",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|_| Ok(Box::new(Rapos::new()))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Rapos {
    rng: Rng,
    /// The rest of the current batch.
    batch: Vec<ThreadId>,
    /// The operations that the current batch has executed.
    executed: Vec<Operation>,
    /// Scratch: the threads from which a batch is chosen.
    schedulable: Vec<ThreadId>,
    /// One more than the number of batches of the run.
    batches: u32,
    /// Per thread that was enabled when a batch was chosen: the number of the last such batch, and the
    /// thread's number of steps then; 0 for threads that were not.
    offered: Vec<(u32, u32)>,
}

impl Rapos {
    /// Creates RAPOS, which has no parameters.
    pub fn new() -> Rapos {
        Rapos {
            rng: Rng::for_run(0, 0),
            batch: Vec::new(),
            executed: Vec::new(),
            schedulable: Vec::new(),
            batches: 1,
            offered: Vec::new(),
        }
    }

    fn next_batch(&mut self, point: &Point<'_>) {
        self.schedulable.clear();
        if self.offered.len() < point.thread_count() {
            self.offered.resize(point.thread_count(), (0, 0));
        }
        let latest = self.batches;
        self.batches += 1;
        for &thread in point.enabled() {
            let (next, progress) = (point.operation(thread), point.progress(thread));
            let offered = &mut self.offered[thread.index()];
            let is_new = *offered != (latest, progress);
            *offered = (self.batches, progress);
            if is_new || self.executed.iter().any(|done| dependent(done, next, Reads::Independent)) {
                self.schedulable.push(thread);
            }
        }
        if self.schedulable.is_empty() {
            let enabled = point.enabled();
            self.schedulable.push(enabled[self.rng.below(enabled.len() as u64) as usize]);
        }
        // A random one, then, in thread order, each further one that is independent of those taken, with
        // probability 1/2.
        self.schedulable.sort_unstable();
        let first = self.schedulable[self.rng.below(self.schedulable.len() as u64) as usize];
        self.batch.push(first);
        for &thread in &self.schedulable {
            let next = point.operation(thread);
            let clash = |&taken: &ThreadId| {
                taken == thread || dependent(point.operation(taken), next, Reads::Independent)
            };
            if !self.batch.iter().any(clash) && self.rng.bits() >> 63 == 1 {
                self.batch.push(thread);
            }
        }
        self.executed.clear();
    }
}

impl Default for Rapos {
    fn default() -> Rapos {
        Rapos::new()
    }
}

impl Strategy for Rapos {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.batch.clear();
        self.executed.clear();
        self.batches = 1;
        self.offered.clear();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        // An event of the batch is independent of the others, but the spin rule may still deschedule its
        // thread.
        self.batch.retain(|&thread| point.is_enabled(thread));
        if self.batch.is_empty() {
            self.next_batch(point);
        }
        let thread = self.batch.pop().expect("a batch is never empty");
        self.executed.push(*point.operation(thread));
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
    use raddle_engine::{Census, Engine, explore};
    use raddle_testkit::{Script, affordable, hits, is_thorough};
    use std::ops::ControlFlow;

    fn census(mut program: Script, runs: u64) -> Census {
        let mut census = Census::default();
        let mut engine = Engine::new(Default::default());
        explore(&mut engine, &mut program, &mut Rapos::new(), (1, 0, affordable(runs)), |_, run| {
            census.count(run.fingerprint);
            ControlFlow::Continue(())
        });
        census
    }

    #[test]
    fn reaches_every_partial_order() {
        // Two threads of two writes to one object: all six interleavings differ.
        let writes = census(Script::straight(1, &["W0 W0", "W0 W0"]), 2_000);
        let buffers = census(Script::straight(2, &["W0 R1", "W1 R0"]), 2_000);
        assert!(
            !is_thorough() || (writes.distinct(), buffers.distinct()) == (6, 3),
            "{writes:?} {buffers:?}"
        );
    }

    #[test]
    fn a_further_independent_event_joins_a_batch_half_of_the_time() {
        // Thread 0 alone is the first batch: then it continues alone to its end. If its first event is in one
        // batch with that of thread 1, the two come first. 1/2 that it is drawn first, and 1/2 that thread 1
        // does not join.
        let mut program = Script::straight(3, &["W0 W2", "W1 W2"]);
        let mut rapos = Rapos::new();
        let alone = hits(20_000, |seed| {
            let (events, _) = program.run(&mut rapos, seed);
            events.iter().map(|event| event.thread.0).eq([0, 0, 1, 1])
        });
        assert!(!is_thorough() || alone.abs_diff(5_000) < 4 * 61, "{alone}");
    }

    #[test]
    fn is_biased_as_the_thesis_says() {
        // Figure 2.3 with k = 4: the event of thread 1 between the two of thread 0 needs the right batch k times.
        let mut program = Script::straight(3, &["W0 W0 W0 W0 W2 W2", "W1 W1 W1 W1 W2"]);
        let mut rapos = Rapos::new();
        let between = hits(20_000, |seed| {
            let (events, _) = program.run(&mut rapos, seed);
            let on_z: Vec<u32> =
                events.iter().filter(|e| e.operation.object().unwrap().0 == 2).map(|e| e.thread.0).collect();
            on_z == [0, 1, 0]
        });
        // At most 1 / 2^(k+2) = 1/64, which is 312 of 20,000 with a sigma of 18.
        assert!(!is_thorough() || between > 0 && between < 312 + 3 * 18, "{between}");
    }
}
