//! RAPOS among many threads: looks only at those for which something has changed.

use super::{Few, any_enabled, joins};
use crate::words::threads;
use raddle_engine::{Point, Rng};
use raddle_model::{Kind, ObjectId, Operation, ThreadId};

/// The state of a run with many threads.
#[derive(Clone, Default, Debug)]
pub(super) struct Many {
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
    /// The threads of [`Point::changed`] since the current batch was chosen, in any order.
    moved: Vec<ThreadId>,
    /// The objects that the current batch has touched.
    objects: Vec<ObjectId>,
    /// Per thread: its number of steps, if it was enabled when the current batch was chosen.
    offered: Vec<Option<u32>>,
    /// The number of the last batch for which each thread was schedulable.
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

impl Many {
    /// Continues a run that has had few threads so far.
    pub(super) fn begin(&mut self, point: &Point<'_>, few: &Few) {
        let Many { batch, executed, left, moved, objects, offered, listed, exits, batches, .. } = self;
        *batches = 1;
        left.clear();
        objects.clear();
        listed.clear();
        executed.clear();
        executed.any = point.step > 0;
        batch.clear();
        batch.extend(threads(few.first).chain(threads(few.batch)));
        exits.clear();
        exits.extend(threads(few.exits & few.seen));
        offered.clear();
        offered.resize(point.thread_count(), None);
        // A thread that depends on the batch counts as new: it is schedulable, too.
        for thread in threads(few.seen & !few.dependent) {
            offered[thread.index()] = Some(point.progress(thread));
        }
        moved.clear();
        moved.extend((0..point.thread_count() as u32).map(ThreadId));
    }

    /// Lists the schedulable threads, in thread order: those whose next event depends on the current batch, is new, or was not
    /// enabled before.
    fn list(&mut self, point: &Point<'_>) {
        let Many { schedulable, executed, moved, objects, offered, listed, exits, .. } = self;
        let batch = self.batches;
        offered.resize(point.thread_count(), None);
        listed.resize(offered.len(), 0);
        schedulable.clear();
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

    fn next_batch(&mut self, rng: &mut Rng, point: &Point<'_>) {
        self.batches += 1;
        self.list(point);
        if self.schedulable.is_empty() {
            self.schedulable.push(any_enabled(rng, point));
        }
        let first = self.schedulable[rng.below(self.schedulable.len() as u64) as usize];
        self.batch.push(first);
        self.taken.clear();
        self.taken.add(point.operation(first));
        for &thread in &self.schedulable {
            let next = point.operation(thread);
            if thread != first && !self.taken.depend(next) && joins(rng) {
                self.batch.push(thread);
                self.taken.add(next);
            }
        }
        self.executed.clear();
    }

    pub(super) fn choose(&mut self, rng: &mut Rng, point: &Point<'_>) -> ThreadId {
        point.for_changed(|thread, enabled| {
            self.moved.push(thread);
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
                    self.next_batch(rng, point);
                    break self.batch.pop().expect("a new batch is not empty");
                }
            }
        };
        self.executed.add(point.operation(thread));
        self.objects.extend(point.operation(thread).objects().map(|(object, _)| object));
        thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::{Access, LocationId, Reads, dependent};

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
}
