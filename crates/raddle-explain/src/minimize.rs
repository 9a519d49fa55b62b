//! The search for a failing run with fewer switches.
//!
//! A run is a list of segments: who runs until which step of its own (see [`raddle_model::Segment`]). A candidate is that
//! list with something left out or changed; following it gives a real run, which is taken if it fails in the same way and
//! costs less. Then the search goes on from that run. In turn, until nothing helps any more:
//!
//! * the beginning of the list, after which nobody is interrupted, with each thread as the first to go on;
//! * without some of the segments in a row, many at first and then fewer (delta debugging), so that steps happen later;
//! * with a segment that does the steps of the thread's next one too, so that they happen earlier;
//! * with a segment that goes on until its thread waits, or two of them, so that a switch is no preemption;
//! * with a segment that ends one step earlier or later, or two segments in the other order;
//! * with few segments at all: each of two threads up to one of the places where it was interrupted;
//! * with a segment that ends where its thread comes to something that others touch too, and without the two segments after it:
//!   who was interrupted inside a critical section is so before or after it.
//!
//! The result need not be the smallest there is; the tests compare it with that.

use crate::execute::{Cost, Execute, Execution, Wanted};
use crate::same::Symptom;
use raddle_model::{Minimized, ObjectId, Schedule, Segment, ThreadId, TraceFile, mix};
use std::collections::{BTreeMap, BTreeSet};

/// A run with more steps is not made smaller unless somebody asks for it: that would take long.
pub const MOST_AUTOMATIC_STEPS: usize = 100_000;

/// How much may be done.
pub struct Budget<'a> {
    /// The most executions.
    pub executions: u64,
    /// Called before each execution with the smallest run so far, and whether it is new. Tells whether to go on.
    pub go_on: &'a mut dyn FnMut(&Smallest, bool) -> bool,
}

/// The smallest run that was found.
#[derive(Clone, Debug)]
pub struct Smallest {
    /// The run. [`TraceFile::minimized`] tells what it was before. What only its front end knows of it, such as the program's
    /// name, is as in [`Execution::run`].
    pub run: TraceFile,
    /// What it costs.
    pub cost: Cost,
    /// How many executions there were.
    pub executions: u64,
}

/// Looks for a smaller run that fails as the one of `file` does. Gives nothing if the schedule of `file` does not fail in the
/// same way again, or if the run did not fail.
pub fn minimize<'a>(file: &TraceFile, budget: Budget<'a>, execute: &'a mut dyn Execute) -> Option<Smallest> {
    file.verdict.failure()?;
    let first = execute.execute(&Schedule::of(file), Wanted::Failing)?;
    let symptom = Symptom::of(&first.run)?;
    let same_kind = |run: &TraceFile| run.verdict.failure().map(|failure| failure.kind());
    if same_kind(&first.run) != same_kind(file) {
        return None;
    }
    let minimized =
        Minimized { executions: 1, switches_before: file.switches(), steps_before: file.steps.len() as u64 };
    let mut search = Search {
        schedule: Schedule::of(&first.run),
        best: Smallest { cost: first.cost(), run: first.run, executions: 1 },
        is_new: true,
        symptom,
        budget,
        execute,
        tried: BTreeSet::new(),
        is_over: false,
    };
    search.search();
    let mut best = search.best;
    best.run.minimized = Some(Minimized { executions: best.executions, ..minimized });
    Some(best)
}

struct Search<'a> {
    best: Smallest,
    /// Whether the best one was not shown yet.
    is_new: bool,
    /// The schedule of the best run.
    schedule: Schedule,
    symptom: Symptom,
    budget: Budget<'a>,
    execute: &'a mut dyn Execute,
    /// Hashes of the candidates so far.
    tried: BTreeSet<u64>,
    is_over: bool,
}

impl Search<'_> {
    fn search(&mut self) {
        loop {
            let before = self.best.cost;
            self.shorten();
            self.leave_out();
            self.change(&|segments, index| {
                let thread = segments[index].thread;
                let next = segments[index + 1..].iter().position(|segment| segment.thread == thread)?;
                segments[index].until = segments.remove(index + 1 + next).until;
                Some(())
            });
            self.change(&|segments, index| {
                segments[index].until = Segment::ALL;
                Some(())
            });
            if self.best.cost == before {
                self.change(&|segments, index| {
                    (index + 1 < segments.len()).then(|| segments.swap(index, index + 1))
                });
                for by in [-1, 1] {
                    self.change(&|segments, index| {
                        let until = segments[index].until.checked_add_signed(by)?;
                        segments[index].until = until;
                        Some(())
                    });
                }
                self.let_two_go_on();
                self.rebuild();
            }
            if self.best.cost == before {
                self.move_ends();
            }
            if self.best.cost == before || self.is_over {
                return;
            }
        }
    }

    /// Executes a candidate, and takes it if it is better.
    fn attempt(&mut self, segments: Vec<Segment>) -> bool {
        if self.is_over || !self.tried.insert(hash(&segments)) {
            return false;
        }
        let is_new = std::mem::take(&mut self.is_new);
        let may = self.best.executions < self.budget.executions && (self.budget.go_on)(&self.best, is_new);
        if !may {
            self.is_over = true;
            return false;
        }
        self.best.executions += 1;
        let candidate = Schedule { segments, ..self.schedule.clone() };
        let Some(execution) = self.execute.execute(&candidate, Wanted::Failing) else { return false };
        self.take(execution)
    }

    fn take(&mut self, execution: Execution) -> bool {
        let cost = execution.cost();
        let better = cost < self.best.cost && Symptom::of(&execution.run).as_ref() == Some(&self.symptom);
        if better {
            self.schedule = Schedule::of(&execution.run);
            (self.best.run, self.best.cost) = (execution.run, cost);
            self.is_new = true;
        }
        better
    }

    /// Beginnings, the shortest first.
    fn shorten(&mut self) {
        /// With more threads, trying each of them takes too long.
        const MOST_THREADS: u32 = 32;
        let mut length = 0;
        while length < self.schedule.segments.len() && !self.is_over {
            let beginning = self.schedule.segments[..length].to_vec();
            let mut found = self.attempt(beginning.clone());
            for thread in 0..self.threads() {
                if found || length > 8 || self.threads() > MOST_THREADS {
                    break;
                }
                let next = Segment { thread: ThreadId(thread), until: Segment::ALL };
                found = self.attempt([&beginning[..], &[next]].concat());
            }
            // A better run may be short enough for the shortest beginnings again.
            length = if found { 0 } else { length + 1 + length / 8 };
        }
    }

    /// Without some segments in a row.
    fn leave_out(&mut self) {
        let mut size = self.schedule.segments.len().div_ceil(2);
        while size > 0 && !self.is_over {
            let mut from = 0;
            while from < self.schedule.segments.len() && !self.is_over {
                let mut segments = self.schedule.segments.clone();
                segments.drain(from..(from + size).min(segments.len()));
                // What comes next has moved here if the segments are gone.
                if !self.attempt(segments) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    /// With one segment changed by `how`, which tells whether there is such a change.
    fn change(&mut self, how: &dyn Fn(&mut Vec<Segment>, usize) -> Option<()>) {
        let mut index = 0;
        while index < self.schedule.segments.len() && !self.is_over {
            let mut segments = self.schedule.segments.clone();
            let changed = how(&mut segments, index);
            if changed.is_none() || !self.attempt(segments) {
                index += 1;
            }
        }
    }

    /// With two segments that go on until their threads wait: what one of them leaves undone, the other may have to do.
    fn let_two_go_on(&mut self) {
        /// Of more segments no two are tried.
        const MOST: usize = 24;
        let length = self.schedule.segments.len();
        if length > MOST {
            return;
        }
        for first in 0..length {
            for second in first + 1..length {
                let mut segments = self.schedule.segments.clone();
                for index in [first, second] {
                    segments[index].until = Segment::ALL;
                }
                if self.attempt(segments) || self.is_over {
                    return;
                }
            }
        }
    }

    /// Of few segments: some thread up to a place where it was interrupted, then another one, and so on. Only where there
    /// are few such places.
    fn rebuild(&mut self) {
        const MOST: usize = 24;
        let switches = self.best.cost.switches;
        let mut places: Vec<Segment> = self.schedule.segments.clone();
        places.extend(
            (0..self.threads()).map(|thread| Segment { thread: ThreadId(thread), until: Segment::ALL }),
        );
        places.sort_unstable();
        places.dedup();
        if places.len() > MOST || switches < 2 {
            return;
        }
        for &first in &places {
            for &second in places.iter().filter(|second| second.thread != first.thread) {
                if self.attempt(vec![first, second]) {
                    return;
                }
            }
        }
        if switches < 4 {
            return;
        }
        for &first in &places {
            for &second in places.iter().filter(|second| second.thread != first.thread) {
                for &third in places.iter().filter(|third| third.thread != second.thread) {
                    if self.attempt(vec![first, second, third]) || self.is_over {
                        return;
                    }
                }
            }
        }
    }

    /// With one segment that ends elsewhere, and without the two after it.
    fn move_ends(&mut self) {
        /// The most candidates, those that change the least.
        const MOST: usize = 1_000;
        if self.is_over {
            return;
        }
        let ends = contended(&self.best.run);
        let segments = &self.schedule.segments;
        // Per thread: the end of its segment before, and of the one after.
        let mut before: BTreeMap<ThreadId, u32> = BTreeMap::new();
        let mut after = before.clone();
        let to: Vec<u32> = (segments.iter().rev())
            .map(|segment| after.insert(segment.thread, segment.until).unwrap_or(segment.until))
            .collect();
        let mut candidates: Vec<(u32, usize, u32)> = Vec::new();
        for ((index, segment), &to) in segments.iter().enumerate().zip(to.iter().rev()) {
            // Not beyond what the thread had done at the end of its next segment, nor before it began this one.
            let from = before.insert(segment.thread, segment.until).unwrap_or(0);
            let places = ends.get(&segment.thread.0).map_or(&[][..], |places| &places[..]);
            let first = places.partition_point(|&end| end <= from);
            let near =
                places[first..].iter().take_while(|&&end| end < to).filter(|&&end| end != segment.until);
            candidates.extend(near.map(|&end| (end.abs_diff(segment.until), index, end)));
        }
        candidates.sort_unstable();
        for (_, index, end) in candidates.into_iter().take(MOST) {
            let mut segments = self.schedule.segments.clone();
            segments[index].until = end;
            segments.drain((index + 1).min(segments.len())..(index + 3).min(segments.len()));
            let mut waiting = segments.clone();
            if let Some(next) = waiting.get_mut(index + 1) {
                next.until = Segment::ALL;
            }
            if self.attempt(segments) || self.attempt(waiting) || self.is_over {
                return;
            }
        }
    }

    fn threads(&self) -> u32 {
        self.schedule.answers.len() as u32
    }
}

/// Where each thread comes to an operation on something that another thread touches too, not both of them only to read it: how
/// many steps it has taken before.
fn contended(run: &TraceFile) -> BTreeMap<u32, Vec<u32>> {
    /// Who touches an object, as long as it is one thread, and whether it is written.
    struct Touched {
        only: Option<u32>,
        written: bool,
    }
    let mut objects: BTreeMap<ObjectId, Touched> = BTreeMap::new();
    for step in &run.steps {
        for (object, writes) in step.operation.objects() {
            let touched =
                objects.entry(object).or_insert(Touched { only: Some(step.thread), written: false });
            touched.only = touched.only.filter(|&thread| thread == step.thread);
            touched.written |= writes;
        }
    }
    let is_contended = |object: &ObjectId| objects[object].only.is_none() && objects[object].written;
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    let mut places: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for step in &run.steps {
        let own = taken.entry(step.thread).or_default();
        if step.operation.objects().any(|(object, _)| is_contended(&object)) {
            places.entry(step.thread).or_default().push(*own);
        }
        *own += 1;
    }
    places
}

fn hash(segments: &[Segment]) -> u64 {
    let fold =
        |hash, segment: &Segment| mix(hash ^ u64::from(segment.thread.0) << 32 ^ u64::from(segment.until));
    segments.iter().fold(segments.len() as u64, fold)
}
