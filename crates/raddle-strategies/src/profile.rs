//! Learnt numbers of accesses by thread and object.

use crate::racing::{Races, contended, find_racing};
use crate::roster::Roster;
use raddle_engine::{Pairs, Point, RunSummary};
use raddle_model::{LocationId, Name, ObjectId, Operation, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Per object number: the number of objects of this run seen so far that have it.
    sharers: Vec<u32>,
}

/// The profile of one object.
#[derive(Clone, Default, Debug)]
pub(crate) struct ObjectProfile {
    /// The numbers of the threads that touch it, sorted, each with its number of accesses, which is not 0.
    pub(crate) accesses: Vec<(u32, u32)>,
    pub(crate) written: bool,
    /// The accesses that no synchronisation orders.
    races: Races,
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
        self.accesses.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// Returns true if two accesses were seen that no synchronisation orders.
    pub(crate) fn is_racing(&self) -> bool {
        self.races.any
    }

    /// Raises the number of accesses of a thread to `count`. Returns true if it was lower.
    fn raise(&mut self, thread: u32, count: u32) -> bool {
        match self.accesses.binary_search_by_key(&thread, |&(thread, _)| thread) {
            Ok(entry) => {
                let known = &mut self.accesses[entry].1;
                let grows = *known < count;
                *known = count.max(*known);
                grows
            }
            Err(entry) => {
                self.accesses.insert(entry, (thread, count));
                true
            }
        }
    }

    /// Updates the groups from the accesses.
    fn regroup(&mut self, roles: &[Option<u32>]) {
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        for &(thread, count) in &self.accesses {
            let Some(&Some(role)) = roles.get(thread as usize) else { continue };
            let group = groups.entry(role).or_insert(Group { role, total: 0, most: 0 });
            group.total += count;
            group.most = group.most.max(count);
        }
        self.groups.clear();
        if self.races.mixed && groups.len() < self.threads() {
            self.groups.extend(groups.into_values());
        }
    }

    /// Returns the number of threads that touch the object.
    pub(crate) fn threads(&self) -> usize {
        self.accesses.len()
    }
}

impl Profile {
    /// Discards the threads and objects of the last run, but not the learnt profile.
    pub(crate) fn begin(&mut self) {
        self.roster.begin();
        self.of_object.clear();
        self.sharers.clear();
        self.sharers.resize(self.objects.len(), 0);
    }

    /// Looks up the threads and objects that have appeared since the last call; returns the first of the
    /// threads.
    #[inline]
    pub(crate) fn update(&mut self, point: &Point<'_>) -> usize {
        for index in self.of_object.len()..point.object_count() {
            let name = point.object_name(ObjectId(index as u32));
            let number = self.numbers.get(&name).copied();
            if let Some(number) = number {
                self.sharers[number as usize] += 1;
            }
            self.of_object.push(number);
        }
        self.roster.update(point)
    }

    /// Returns the number of an object of this run, if it was learnt.
    #[inline]
    pub(crate) fn number(&self, object: ObjectId) -> Option<usize> {
        self.of_object[object.index()].map(|number| number as usize)
    }

    /// Calls `action` with each object of this run that has the same number as `object`, itself included.
    #[inline]
    pub(crate) fn for_sharers(&self, object: ObjectId, mut action: impl FnMut(ObjectId)) {
        match self.of_object[object.index()] {
            Some(number) if self.sharers[number as usize] > 1 => {
                let ids = (0..).map(ObjectId).zip(&self.of_object);
                ids.filter(|(_, other)| **other == Some(number)).for_each(|(id, _)| action(id));
            }
            _ => action(object),
        }
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
        let threads: Vec<usize> = (0..run.thread_count())
            .map(|id| self.roster.learn(run.thread_name(ThreadId(id as u32))))
            .collect();
        // Per object of the run: its number, if an access contends for it.
        let mut numbers = vec![u32::MAX; run.object_count()];
        let mut pairs = Pairs::default();
        // Per pair of an object's and a thread's number.
        let mut counts: Vec<(u32, u32, u32)> = Vec::new();
        for event in &run.trace.events {
            let Some(object) = contended(&event.operation) else { continue };
            let mut number = numbers[object.index()];
            if number == u32::MAX {
                number = self.learn_object(run.object_name(object)) as u32;
                numbers[object.index()] = number;
            }
            self.objects[number as usize].written |= event.operation.touches[0].writes();
            let pair = pairs.number(number, event.thread.0);
            if pair == counts.len() {
                counts.push((number, threads[event.thread.index()] as u32, 0));
            }
            counts[pair].2 += 1;
        }
        let mut grown = BTreeSet::new();
        for (object, thread, count) in counts {
            if self.objects[object as usize].raise(thread, count) {
                grown.insert(object);
            }
        }
        if !races {
            return;
        }
        self.learn_roles(run, &threads);
        let of =
            |&number: &u32| self.objects.get(number as usize).map_or(Races::default(), |object| object.races);
        let mut found: Vec<Races> = numbers.iter().map(of).collect();
        let role = |thread: ThreadId| self.roles[threads[thread.index()]].unwrap_or(u32::MAX);
        find_racing(run, role, &mut found);
        for (&number, &races) in numbers.iter().zip(&found).filter(|(number, _)| **number != u32::MAX) {
            let object = &mut self.objects[number as usize];
            if object.races != races {
                // Objects may share a name.
                object.races.any |= races.any;
                object.races.mixed |= races.mixed;
                grown.insert(number);
            }
        }
        grown.iter().for_each(|&number| self.objects[number as usize].regroup(&self.roles));
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
