//! Learnt numbers of accesses by thread and object.

use crate::roster::Roster;
use raddle_engine::{Point, RunSummary, conflicts};
use raddle_model::{Holding, LocationId, Name, ObjectId, Operation, ThreadId};
use std::collections::BTreeMap;

/// Per object, the number of accesses of each thread: the most seen in any run. A lock counts by its
/// acquisitions.
#[derive(Clone, Default, Debug)]
pub(crate) struct Profile {
    pub(crate) roster: Roster,
    numbers: BTreeMap<Name, u32>,
    /// By object number.
    pub(crate) objects: Vec<ObjectProfile>,
    /// Per thread number: its role, which is the number of a thread that began at the same locations.
    roles: Vec<Option<u32>>,
    /// Invariant: one entry per object of this run seen so far: its number, if it was learnt.
    of_object: Vec<Option<u32>>,
}

/// The profile of one object.
#[derive(Clone, Default, Debug)]
pub(crate) struct ObjectProfile {
    /// Per thread number: its number of accesses.
    pub(crate) accesses: Vec<u32>,
    pub(crate) written: bool,
    /// True if two accesses were seen that no synchronisation orders.
    pub(crate) racing: bool,
    /// True if two such accesses were by threads with different roles.
    mixed: bool,
    /// Invariant: one entry per role of the threads that touch the object. Empty unless the object is mixed and there are fewer
    /// roles than threads.
    pub(crate) groups: Vec<Group>,
}

/// The threads that have one role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) role: u32,
    /// The total number of accesses.
    pub(crate) total: u32,
    /// The largest number of accesses of one of them.
    pub(crate) most: u32,
}

/// The first operation of a thread and its first memory access, by location.
type Beginning = (LocationId, Option<LocationId>);

impl ObjectProfile {
    /// Returns the number of all accesses in a run.
    pub(crate) fn total(&self) -> u64 {
        self.accesses.iter().map(|&count| u64::from(count)).sum()
    }

    /// Updates the groups from the accesses.
    fn regroup(&mut self, roles: &[Option<u32>]) {
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        for (&count, role) in self.accesses.iter().zip(roles).filter(|(count, _)| **count > 0) {
            let Some(role) = *role else { continue };
            let group = groups.entry(role).or_insert(Group { role, total: 0, most: 0 });
            group.total += count;
            group.most = group.most.max(count);
        }
        self.groups.clear();
        if self.mixed && groups.len() < self.threads() {
            self.groups.extend(groups.into_values());
        }
    }

    /// Returns the number of threads that touch the object.
    pub(crate) fn threads(&self) -> usize {
        self.accesses.iter().filter(|&&count| count > 0).count()
    }
}

/// Returns the object whose order with others an operation decides: the first one touched, unless it is
/// released.
#[inline]
pub(crate) fn contended(operation: &Operation) -> Option<ObjectId> {
    if operation.kind.info().holding == Holding::GivesBack { None } else { operation.object() }
}

impl Profile {
    /// Discards the threads and objects of the last run, but not the learnt profile.
    pub(crate) fn begin(&mut self) {
        self.roster.begin();
        self.of_object.clear();
    }

    /// Looks up the threads and objects that have appeared since the last call; returns the first of the
    /// threads.
    #[inline]
    pub(crate) fn update(&mut self, point: &Point<'_>) -> usize {
        for index in self.of_object.len()..point.object_count() {
            let name = point.object_name(ObjectId(index as u32));
            self.of_object.push(self.numbers.get(&name).copied());
        }
        self.roster.update(point)
    }

    /// Returns the number of an object of this run, if it was learnt.
    #[inline]
    pub(crate) fn number(&self, object: ObjectId) -> Option<usize> {
        self.of_object[object.index()].map(|number| number as usize)
    }

    /// Returns the number of the object whose order with others `operation` decides, if it was learnt.
    #[inline]
    pub(crate) fn contended(&self, operation: &Operation) -> Option<usize> {
        self.number(contended(operation)?)
    }

    /// Returns the role of the thread with this number.
    #[inline]
    pub(crate) fn role(&self, thread: usize) -> Option<u32> {
        self.roles.get(thread).copied().flatten()
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
        if !races {
            return;
        }
        self.learn_roles(run, &threads);
        conflicts(run, |earlier, later| {
            let [one, other] =
                [earlier, later].map(|event| self.roles[threads[events[event].thread.index()]]);
            for event in [earlier, later] {
                if let Some(object) = contended(&events[event].operation) {
                    let number = self.numbers[&run.object_name(object)] as usize;
                    self.objects[number].racing = true;
                    self.objects[number].mixed |= one != other;
                }
            }
        });
        self.objects.iter_mut().for_each(|object| object.regroup(&self.roles));
    }

    /// Assigns roles to those of `threads`, the threads of a run by number, that have none.
    fn learn_roles(&mut self, run: &RunSummary<'_>, threads: &[usize]) {
        let mut begun: Vec<Option<Beginning>> = vec![None; threads.len()];
        for event in &run.trace.events {
            let location = event.operation.location;
            let begun = begun[event.thread.index()].get_or_insert((location, None));
            let is_access = event.operation.kind.accesses_memory();
            if is_access && begun.1.is_none() {
                begun.1 = Some(location);
            }
        }
        self.roles.resize(self.roster.len(), None);
        let mut roles: BTreeMap<Beginning, u32> = BTreeMap::new();
        // A thread that has a role passes it on to the others.
        for has_role in [true, false] {
            for (&thread, begun) in threads.iter().zip(&begun) {
                if let Some(begun) = *begun
                    && self.roles[thread].is_some() == has_role
                {
                    let role = *roles.entry(begun).or_insert(self.roles[thread].unwrap_or(thread as u32));
                    self.roles[thread].get_or_insert(role);
                }
            }
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
