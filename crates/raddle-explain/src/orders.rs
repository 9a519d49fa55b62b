//! The memory orders that are too weak: which of them have to be stronger for a failure under weak memory to disappear.
//!
//! The failing run is repeated with a stronger order at one location in the code, the weakest change first, until it
//! passes. If no single change is sufficient, two are tried: a release and an acquire, or two sequentially consistent
//! accesses. Then random runs are made with the change. If one of them fails in the same way, that run is repaired
//! too, with changes beside the first ones. So the result is no proof; the number of runs is part of it.

use crate::explain::Search;
use crate::same::Symptom;
use raddle_model::{
    Completion, Kind, MemoryModel, MemoryOrder, Name, Operation, Schedule, Stronger, TraceFile, Verdict,
};

/// The maximum number of changes.
const MOST_CHANGES: usize = 4;
/// The minimum number of random runs that are made with a change.
const SAMPLES: u64 = 100;
/// The number of executions beside those of other questions.
const EXECUTIONS: u64 = 400;

/// Changes of memory orders with which the program no longer fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// A step of the failing run at each location, and the order that it needs.
    pub changes: Vec<(usize, MemoryOrder)>,
    /// Number of random runs with these orders, none of which failed.
    pub runs: u64,
    /// Number of the same runs that failed with the orders of the program.
    pub failed_before: u64,
}

/// Returns the step that read an old value last, if one did.
pub(crate) fn old_read(run: &TraceFile) -> Option<usize> {
    let is_read =
        |step: u32| run.steps.get(step as usize).is_some_and(|step| step.operation.kind.reads_memory());
    let old = run.picks.iter().filter(|&&(step, _, value)| value > 0 && is_read(step));
    old.map(|&(step, ..)| step as usize).max()
}

/// Returns the orders that an access or fence could have instead of its own, the weakest first.
fn stronger_orders(operation: &Operation) -> Vec<MemoryOrder> {
    use MemoryOrder::{Acquire, AcquireRelease, Release, SequentiallyConsistent};
    // A load cannot release, nor a store acquire; an acquiring update that also has to release has both.
    let is_change = |&order: &MemoryOrder| {
        let changed = operation.strengthened(order);
        changed.memory_order() == Some(order) && changed != *operation
    };
    [Acquire, Release, AcquireRelease, SequentiallyConsistent].into_iter().filter(is_change).collect()
}

/// A possible change, with the operation that it changes.
#[derive(Clone, Copy)]
struct Change {
    stronger: Stronger,
    kind: Kind,
}

/// Returns the possible changes at the locations of a run, the weakest first. No order after the last old value matters, such as
/// those of the unwinding after it.
fn changes(run: &TraceFile) -> Vec<Change> {
    /// The maximum number of locations; those of the last steps matter most.
    const MOST: usize = 24;
    let mut seen: Vec<Name> = Vec::new();
    let mut changes = Vec::new();
    let end = old_read(run).map_or(run.steps.len(), |step| step + 1);
    for step in run.steps[..end].iter().rev() {
        let operation = &step.operation;
        let location = run.location_name(operation.location);
        if !operation.is_weakly_ordered() || seen.contains(&location) || seen.len() == MOST {
            continue;
        }
        seen.push(location);
        let change = |order| Change { stronger: Stronger { location, order }, kind: operation.kind };
        changes.extend(stronger_orders(operation).into_iter().map(change));
    }
    changes.sort_by_key(|change| change.stronger.order == MemoryOrder::SequentiallyConsistent);
    changes
}

/// Returns true if two changes may be useful together.
fn belong_together(one: &Change, other: &Change) -> bool {
    let is_seq_cst = |change: &Change| change.stronger.order == MemoryOrder::SequentiallyConsistent;
    if one.stronger.location == other.stronger.location || is_seq_cst(one) != is_seq_cst(other) {
        return false;
    }
    let releases = |change: &Change| change.stronger.order.releases() && change.kind != Kind::Read;
    let acquires = |change: &Change| change.stronger.order.acquires() && change.kind != Kind::Write;
    releases(one) && acquires(other) || releases(other) && acquires(one)
}

impl Search<'_> {
    /// Returns changes of memory orders that make the failure disappear, if the run needs weak memory and there are any.
    pub(crate) fn repair(&mut self) -> Option<Repair> {
        if self.run.settings.memory != MemoryModel::Weak || old_read(&self.run).is_none() {
            return None;
        }
        self.effort.executions += EXECUTIONS;
        let (mut stronger, mut failing) = (Vec::new(), self.run.clone());
        while stronger.len() < MOST_CHANGES {
            let more = self.change_for(&failing, &stronger)?;
            stronger.extend(more);
            match self.counterexample(&stronger)? {
                Some(run) => failing = run,
                None => return self.repaired(&stronger),
            }
        }
        None
    }

    fn repaired(&mut self, stronger: &[Stronger]) -> Option<Repair> {
        let step = |stronger: &Stronger| {
            let is_there = |step: &usize| {
                let location = self.run.steps[*step].operation.location;
                self.run.location_name(location) == stronger.location
            };
            Some(((0..self.run.steps.len()).rev().find(is_there)?, stronger.order))
        };
        let changes = stronger.iter().map(step).collect::<Option<Vec<_>>>()?;
        let runs = self.effort.samples.max(SAMPLES);
        let mut failed_before = 0;
        for seed in 0..runs {
            let run = self.random(seed, &[])?;
            failed_before += u64::from(self.is_same(&run));
        }
        Some(Repair { changes, runs, failed_before })
    }

    /// Returns the fewest and weakest changes, beside those of `stronger`, with which `failing` passes.
    fn change_for(&mut self, failing: &TraceFile, stronger: &[Stronger]) -> Option<Vec<Stronger>> {
        let changes = changes(failing);
        let room = MOST_CHANGES - stronger.len();
        for change in &changes {
            if self.passes(failing, &[stronger, &[change.stronger]].concat())? {
                return Some(vec![change.stronger]);
            }
        }
        for (index, one) in changes.iter().enumerate().filter(|_| room > 1) {
            for other in changes[index + 1..].iter().filter(|other| belong_together(one, other)) {
                let both = vec![one.stronger, other.stronger];
                if self.passes(failing, &[stronger, &both].concat())? {
                    return Some(both);
                }
            }
        }
        None
    }

    /// Returns true if a run passes with these orders; `None` if it cannot be made.
    fn passes(&mut self, run: &TraceFile, stronger: &[Stronger]) -> Option<bool> {
        let schedule = Schedule { stronger: stronger.to_vec(), ..Schedule::of(run) };
        Some(self.run(&schedule)?.verdict == Verdict::Passed)
    }

    /// Returns a random run that fails in spite of these orders, if there is one; the outer `None` if runs cannot be made.
    fn counterexample(&mut self, stronger: &[Stronger]) -> Option<Option<TraceFile>> {
        for seed in 0..self.effort.samples.max(SAMPLES) {
            let run = self.random(seed, stronger)?;
            if self.is_same(&run) {
                return Some(Some(run));
            }
        }
        Some(None)
    }

    fn random(&mut self, seed: u64, stronger: &[Stronger]) -> Option<TraceFile> {
        self.run(&Schedule {
            completion: Completion::Random(seed),
            stronger: stronger.to_vec(),
            ..Schedule::default()
        })
    }

    fn is_same(&self, run: &TraceFile) -> bool {
        Symptom::of(run).as_ref() == Some(&self.symptom)
    }
}
