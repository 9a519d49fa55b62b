//! What is learnt about who touches which object how often.

use crate::roster::Roster;
use raddle_engine::{Point, RunSummary, conflicts};
use raddle_model::{Kind, Name, ObjectId, Operation, ThreadId};
use std::collections::BTreeMap;

/// Per object, how many accesses each thread makes: the most seen in any run. A lock counts by its acquisitions.
#[derive(Clone, Default, Debug)]
pub(crate) struct Profile {
    pub(crate) roster: Roster,
    numbers: BTreeMap<Name, u32>,
    /// Per number of an object.
    pub(crate) objects: Vec<ObjectProfile>,
    /// Invariant: one entry per object of this run looked at so far: its number, if it was learnt.
    of_object: Vec<Option<u32>>,
}

/// What is known of one object.
#[derive(Clone, Default, Debug)]
pub(crate) struct ObjectProfile {
    /// Per number of a thread: how often it touches the object.
    pub(crate) accesses: Vec<u32>,
    pub(crate) written: bool,
    /// Whether two accesses were seen that no synchronisation orders.
    pub(crate) racing: bool,
}

impl ObjectProfile {
    /// All accesses of a run.
    pub(crate) fn total(&self) -> u64 {
        self.accesses.iter().map(|&count| u64::from(count)).sum()
    }

    /// How many threads touch the object.
    pub(crate) fn threads(&self) -> usize {
        self.accesses.iter().filter(|&&count| count > 0).count()
    }
}

/// The object whose order with others an operation decides: the first one touched, unless it is given up.
#[inline]
pub(crate) fn contended(operation: &Operation) -> Option<ObjectId> {
    match operation.kind {
        Kind::Unlock | Kind::ReadWriteUnlock => None,
        _ => operation.object(),
    }
}

impl Profile {
    /// Forgets the threads and objects of the last run, not what was learnt.
    pub(crate) fn begin(&mut self) {
        self.roster.begin();
        self.of_object.clear();
    }

    /// Looks at the threads and objects that have appeared since the last call; returns the first of the threads.
    #[inline]
    pub(crate) fn update(&mut self, point: &Point<'_>) -> usize {
        for index in self.of_object.len()..point.object_count() {
            let name = point.object_name(ObjectId(index as u32));
            self.of_object.push(self.numbers.get(&name).copied());
        }
        self.roster.update(point)
    }

    /// The number of an object of this run, if it was learnt.
    #[inline]
    pub(crate) fn number(&self, object: ObjectId) -> Option<usize> {
        self.of_object[object.index()].map(|number| number as usize)
    }

    /// The number of the object whose order with others `operation` decides, if it was learnt.
    #[inline]
    pub(crate) fn contended(&self, operation: &Operation) -> Option<usize> {
        self.number(contended(operation)?)
    }

    /// Counts the accesses of a run, and finds racing objects if `races`.
    pub(crate) fn learn(&mut self, run: &RunSummary<'_>, races: bool) {
        let events = &run.trace.events;
        let threads: Vec<usize> = (0..run.thread_count())
            .map(|id| self.roster.learn(run.thread_name(ThreadId(id as u32))))
            .collect();
        let mut counts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for event in events {
            let Some(object) = contended(&event.operation) else { continue };
            let number = self.learn_object(run.object_name(object));
            *counts.entry((number, threads[event.thread.index()])).or_insert(0) += 1;
            self.objects[number].written |= event.operation.touches[0].writes();
        }
        for ((object, thread), count) in counts {
            let accesses = &mut self.objects[object].accesses;
            if accesses.len() <= thread {
                accesses.resize(thread + 1, 0);
            }
            accesses[thread] = accesses[thread].max(count);
        }
        if races {
            conflicts(run, |earlier, later| {
                for event in [earlier, later] {
                    if let Some(object) = contended(&events[event].operation) {
                        let number = self.numbers[&run.object_name(object)] as usize;
                        self.objects[number].racing = true;
                    }
                }
            });
        }
    }

    fn learn_object(&mut self, name: Name) -> usize {
        let next = self.objects.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.objects.push(ObjectProfile::default());
        }
        number as usize
    }
}
