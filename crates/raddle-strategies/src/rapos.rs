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
use crate::sums::FEW;
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::{Kind, ObjectId, Operation, ThreadId};

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
    executed: Touched,
    /// The next operations of the threads chosen for a batch.
    taken: Touched,
    /// Per thread: the number of the batch that it left because it was disabled.
    left: Vec<u32>,
    /// Scratch: the threads from which a batch is chosen.
    schedulable: Vec<ThreadId>,
    /// One more than the number of batches of the run.
    batches: u32,
    /// The number of threads up to which all are looked at: [`FEW`].
    few: usize,
    /// True if there were more than `few` threads when a batch of this run was chosen.
    is_wide: bool,
    /// If so: the threads of [`Point::changed`] since the current batch was chosen, in any order.
    moved: Vec<ThreadId>,
    /// If so: the objects that the current batch has touched.
    objects: Vec<ObjectId>,
    /// Per thread: its number of steps, if it was enabled when the current batch was chosen.
    offered: Vec<Option<u32>>,
    /// If there are many threads: the number of the last batch for which each was schedulable.
    listed: Vec<u32>,
    /// The threads whose next operation ends the program, among others.
    exits: Vec<ThreadId>,
}

/// A set of operations, by the objects that they touch.
#[derive(Clone, Default, Debug)]
struct Touched {
    /// Per object: 2 * `set` if an operation touches it, 2 * `set` + 1 if one writes it; else less.
    objects: Vec<u32>,
    /// Number of this set.
    set: u32,
    any: bool,
    exit: bool,
}

impl Touched {
    fn clear(&mut self) {
        if self.set == u32::MAX / 2 {
            *self = Touched::default();
        }
        self.set += 1;
        (self.any, self.exit) = (false, false);
    }

    #[inline(always)] // Twice for each choice.
    fn add(&mut self, operation: &Operation) {
        self.any = true;
        self.exit |= operation.kind == Kind::Exit;
        for (object, writes) in operation.objects() {
            if object.index() >= self.objects.len() {
                self.objects.resize(object.index() + 1, 0);
            }
            let touched = &mut self.objects[object.index()];
            *touched = (*touched).max(2 * self.set + u32::from(writes));
        }
    }

    /// Returns true if `operation` depends on one of the set, where reads do not depend on each other.
    fn depend(&self, operation: &Operation) -> bool {
        let touched = |object: ObjectId| self.objects.get(object.index()).copied().unwrap_or(0);
        self.exit
            || self.any && operation.kind == Kind::Exit
            || operation
                .objects()
                .any(|(object, writes)| touched(object) >= 2 * self.set + u32::from(!writes))
    }
}

impl Rapos {
    /// Creates RAPOS, which has no parameters.
    pub fn new() -> Rapos {
        Rapos {
            rng: Rng::for_run(0, 0),
            batch: Vec::new(),
            executed: Touched::default(),
            taken: Touched::default(),
            left: Vec::new(),
            schedulable: Vec::new(),
            batches: 1,
            few: FEW,
            is_wide: false,
            moved: Vec::new(),
            objects: Vec::new(),
            offered: Vec::new(),
            listed: Vec::new(),
            exits: Vec::new(),
        }
    }

    /// Lists the schedulable threads, in thread order: those whose next event depends on the current batch, is new, or was not
    /// enabled before.
    fn list(&mut self, point: &Point<'_>) {
        let count = point.thread_count();
        self.schedulable.clear();
        self.offered.resize(count.max(self.offered.len()), None);
        if self.is_wide {
            self.list_changed(point);
        } else {
            for thread in (0..count as u32).map(ThreadId) {
                let progress = point.is_enabled(thread).then(|| point.progress(thread));
                let is_new = std::mem::replace(&mut self.offered[thread.index()], progress) != progress;
                if progress.is_some() && (is_new || self.executed.depend(point.operation(thread))) {
                    self.schedulable.push(thread);
                }
            }
        }
        if !self.is_wide && count > self.few {
            self.is_wide = true;
            let exits = |thread: &&ThreadId| point.operation(**thread).kind == Kind::Exit;
            self.exits.extend(point.enabled().iter().filter(exits));
        }
    }

    /// Does [`Rapos::list`] for many threads, looking only at those for which something has changed.
    #[inline(never)] // Keeps the path of programs with few threads short.
    fn list_changed(&mut self, point: &Point<'_>) {
        let Rapos { schedulable, executed, moved, objects, offered, listed, exits, .. } = self;
        let batch = self.batches;
        listed.resize(offered.len(), 0);
        let mut add = |thread: ThreadId| {
            if std::mem::replace(&mut listed[thread.index()], batch) != batch {
                schedulable.push(thread);
            }
        };
        for thread in moved.drain(..) {
            let progress = point.is_enabled(thread).then(|| point.progress(thread));
            let is_new = std::mem::replace(&mut offered[thread.index()], progress) != progress;
            if is_new && progress.is_some() {
                add(thread);
                if point.operation(thread).kind == Kind::Exit {
                    exits.push(thread);
                }
            }
        }
        let depends =
            |thread: &ThreadId| point.is_enabled(*thread) && executed.depend(point.operation(*thread));
        for object in objects.drain(..) {
            point.pending_on(object).filter(depends).for_each(&mut add);
        }
        exits.retain(|&thread| point.is_enabled(thread) && point.operation(thread).kind == Kind::Exit);
        exits.iter().copied().filter(depends).for_each(&mut add);
        if executed.exit {
            point.enabled().iter().copied().for_each(add);
        }
        schedulable.sort_unstable();
    }

    fn next_batch(&mut self, point: &Point<'_>) {
        self.batches += 1;
        self.list(point);
        if self.schedulable.is_empty() {
            let enabled = point.enabled();
            self.schedulable.push(enabled[self.rng.below(enabled.len() as u64) as usize]);
        }
        // A random one, then, in thread order, each further one that is independent of those taken, with
        // probability 1/2.
        let first = self.schedulable[self.rng.below(self.schedulable.len() as u64) as usize];
        self.batch.push(first);
        self.taken.clear();
        self.taken.add(point.operation(first));
        for &thread in &self.schedulable {
            let next = point.operation(thread);
            if thread != first && !self.taken.depend(next) && self.rng.bits() >> 63 == 1 {
                self.batch.push(thread);
                self.taken.add(next);
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
        self.left.clear();
        self.is_wide = false;
        self.moved.clear();
        self.objects.clear();
        self.offered.clear();
        self.listed.clear();
        self.exits.clear();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        // An event of the batch is independent of the others, but the spin rule may still deschedule its
        // thread.
        point.for_changed(|thread, enabled| {
            if self.is_wide {
                self.moved.push(thread);
            }
            if !enabled {
                self.left.resize(self.left.len().max(thread.index() + 1), 0);
                self.left[thread.index()] = self.batches;
            }
        });
        let batch = self.batches;
        let thread = loop {
            match self.batch.pop() {
                Some(thread) if self.left.get(thread.index()) == Some(&batch) => {}
                Some(thread) => break thread,
                None => {
                    self.next_batch(point);
                    break self.batch.pop().expect("a new batch is not empty");
                }
            }
        };
        self.executed.add(point.operation(thread));
        if self.is_wide {
            self.objects.extend(point.operation(thread).objects().map(|(object, _)| object));
        }
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
    use raddle_model::{Access, LocationId, Reads, dependent};
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
    fn a_set_depends_on_what_one_of_its_operations_depends_on() {
        let mut rng = Rng::for_run(11, 0);
        let mut draw = |most: u64| rng.below(most) as u32;
        let mut operation = || {
            let kind = if draw(20) == 0 { Kind::Exit } else { Kind::Local };
            let access = |write: u32| if write == 0 { Access::Read } else { Access::Write };
            let touch = |operation: Operation, object: u32, write: u32| match object {
                5.. => operation,
                object => operation.on(ObjectId(object), access(write)),
            };
            let first = touch(Operation::new(kind, LocationId(0)), draw(6), draw(2));
            touch(first, draw(10), draw(2))
        };
        let mut set = Touched::default();
        for size in (0..400).map(|round| round % 4) {
            let operations: Vec<Operation> = (0..size).map(|_| operation()).collect();
            set.clear();
            operations.iter().for_each(|operation| set.add(operation));
            let next = operation();
            let expected = operations.iter().any(|done| dependent(done, &next, Reads::Independent));
            assert_eq!(set.depend(&next), expected, "{operations:?} {next:?}");
        }
    }

    #[test]
    fn many_threads_are_scheduled_like_few() {
        // `few` stays on the path for few threads.
        let (mut few, mut many) = (Rapos { few: usize::MAX, ..Rapos::new() }, Rapos::new());
        let mut steps = 0;
        for number in 0..affordable(12) {
            let mut rng = Rng::for_run(29, number);
            let mut program = raddle_testkit::locked(&mut rng, 40);
            for seed in 0..3 {
                let events = program.run(&mut few, seed).0;
                assert_eq!(events, program.run(&mut many, seed).0, "{number} {seed}");
                steps += events.len();
            }
            assert!(many.is_wide && !few.is_wide);
        }
        assert!(steps > 0);
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
