//! The search for a failing run with fewer switches.
//!
//! A run is a list of segments: a thread and the number of its own steps up to which it runs (see
//! [`raddle_model::Segment`]). A candidate is that list with something removed or changed; following it gives
//! a real run, which is accepted if it fails in the same way and costs less. Then the search continues from
//! that run. These changes are tried in turn, until none helps any more:
//!
//! * under weak memory, with the newest value instead of old ones;
//! * the beginning of the list, after which there are no preemptions, with each thread as the first to
//!   continue;
//! * without some consecutive segments, many at first and then fewer (delta debugging), so that steps happen
//!   later;
//! * with a segment that includes the steps of the thread's next one too, so that they happen earlier;
//! * with a segment that continues until its thread waits, or two of them, so that a switch is not a
//!   preemption;
//! * with a segment that ends one step earlier or later, or two segments in the other order;
//! * with few segments at all: each of two threads up to one of the steps where it was preempted;
//! * with a segment that ends where its thread reaches something that others touch too, and without the two
//!   segments after it: a thread that was preempted inside a critical section is then preempted before or
//!   after it.
//!
//! The result need not be the smallest possible run; the tests compare it with that.

use crate::execute::{Cost, Execute, Execution, Wanted};
use crate::same::Symptom;
use raddle_model::{Minimized, ObjectId, Schedule, Segment, ThreadId, TraceFile, mix};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of steps of a run that is minimized automatically: longer runs take too long.
pub const MOST_AUTOMATIC_STEPS: usize = 100_000;

/// The limits of a minimization.
pub struct Budget<'a> {
    /// The largest number of executions.
    pub executions: u64,
    /// Called before each execution with the smallest run so far, and true if it is new. Returns false to
    /// stop.
    pub go_on: &'a mut dyn FnMut(&Smallest, bool) -> bool,
}

/// The smallest run found.
#[derive(Clone, Debug)]
pub struct Smallest {
    /// The run. [`TraceFile::minimized`] describes the original. Data that only its front end knows, such as
    /// the program's name, is as in [`Execution::run`].
    pub run: TraceFile,
    /// Its cost.
    pub cost: Cost,
    /// Number of executions.
    pub executions: u64,
}

/// Searches for a smaller run with the same failure as that of `file`. Returns `None` if the schedule of
/// `file` does not fail in the same way again, or if the run did not fail.
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
    /// True if the best run was not reported yet.
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
            self.read_newest();
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

    /// Executes a candidate, and accepts it if it is better.
    fn attempt(&mut self, segments: Vec<Segment>) -> bool {
        if self.is_over || !self.tried.insert(hash(&segments)) {
            return false;
        }
        self.try_schedule(Schedule { segments, ..self.schedule.clone() })
    }

    /// Executes `candidate` if the budget allows it, and takes it if it is better.
    fn try_schedule(&mut self, candidate: Schedule) -> bool {
        let is_new = std::mem::take(&mut self.is_new);
        let may = self.best.executions < self.budget.executions && (self.budget.go_on)(&self.best, is_new);
        if !may {
            self.is_over = true;
            return false;
        }
        self.best.executions += 1;
        let Some(execution) = self.execute.execute(&candidate, Wanted::Failing) else { return false };
        self.take(candidate, execution)
    }

    fn take(&mut self, candidate: Schedule, execution: Execution) -> bool {
        /// With more segments, trying to change each of them takes too long.
        const MANY: usize = 64;
        let cost = execution.cost();
        let better = cost < self.best.cost && Symptom::of(&execution.run).as_ref() == Some(&self.symptom);
        if better {
            self.schedule = Schedule::of(&execution.run);
            // After the last segment of the candidate the run has no preemptions, so there is nothing to remove.
            if self.schedule.segments.len() > MANY.max(candidate.segments.len()) {
                self.schedule.segments = candidate.segments;
            }
            (self.best.run, self.best.cost) = (execution.run, cost);
            self.is_new = true;
        }
        better
    }

    /// Without old values: all of them at once, then one after the other.
    fn read_newest(&mut self) {
        if self.best.cost.old_values == 0 {
            return;
        }
        let mut newest = self.schedule.clone();
        newest.answers.iter_mut().flatten().for_each(|(_, answer)| *answer = 0);
        if self.try_schedule(newest) {
            return;
        }
        for thread in 0..self.schedule.answers.len() {
            let mut index = 0;
            // A better run may have other answers.
            while !self.is_over && index < self.schedule.answers[thread].len() {
                if self.schedule.answers[thread][index].1 > 0 {
                    let mut candidate = self.schedule.clone();
                    candidate.answers[thread][index].1 = 0;
                    self.try_schedule(candidate);
                }
                index += 1;
            }
        }
    }

    /// Tries beginnings, the shortest first.
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

    /// Tries to remove consecutive segments.
    fn leave_out(&mut self) {
        let mut size = self.schedule.segments.len().div_ceil(2);
        while size > 0 && !self.is_over {
            let mut from = 0;
            while from < self.schedule.segments.len() && !self.is_over {
                let mut segments = self.schedule.segments.clone();
                segments.drain(from..(from + size).min(segments.len()));
                // The next segments have moved here if the attempt succeeded.
                if !self.attempt(segments) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    /// Tries to change one segment with `how`, which returns `None` if there is no such change.
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

    /// Tries two segments that continue until their threads wait: the other may have to do what one of them
    /// leaves undone.
    fn let_two_go_on(&mut self) {
        /// The largest number of segments for which pairs are tried.
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

    /// Tries few segments: some thread up to a step where it was preempted, then another one, and so on. Only
    /// if there are few such steps.
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

    /// Tries one segment that ends elsewhere, without the two after it.
    fn move_ends(&mut self) {
        /// The largest number of candidates, those that change the least.
        const MOST: usize = 1_000;
        if self.is_over {
            return;
        }
        let ends = contended(&self.best.run);
        let segments = &self.schedule.segments;
        // Per thread: the end of its previous segment, and of the next one.
        let mut before: BTreeMap<ThreadId, u32> = BTreeMap::new();
        let mut after = before.clone();
        let to: Vec<u32> = (segments.iter().rev())
            .map(|segment| after.insert(segment.thread, segment.until).unwrap_or(segment.until))
            .collect();
        let mut candidates: Vec<(u32, usize, u32)> = Vec::new();
        for ((index, segment), &to) in segments.iter().enumerate().zip(to.iter().rev()) {
            // Not beyond the end of the thread's next segment, nor before the beginning of this one.
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

/// Returns, per thread, the numbers of its steps before each operation on something that another thread
/// touches too, unless both only read it.
fn contended(run: &TraceFile) -> BTreeMap<u32, Vec<u32>> {
    /// The thread that touches an object, as long as it is only one, and true if the object is written.
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
