//! Conflicts of a run, found in time proportional to its length: for each object and thread, the latest accesses are enough.
//!
//! [`raddle_engine::conflicts`] enumerates all pairs, of which there are quadratically many on an object that every step
//! touches. The tests compare both.

use raddle_engine::{Known, Pairs, RunSummary, walk_synchronisation};
use raddle_model::{Event, Holding, ObjectId, Operation, ThreadId};

/// No object.
const NONE: u32 = u32::MAX;

/// The conflicts on one object that matter to OOS.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Races {
    /// True if two accesses are in conflict.
    pub(crate) any: bool,
    /// True if two accesses by threads of different roles are.
    pub(crate) mixed: bool,
}

/// The accesses of a thread to an object that contend for the same object.
#[derive(Clone, Copy, Debug)]
struct Accesses {
    thread: ThreadId,
    /// The object that they contend for, which races if they are in conflict; `NONE` if they only release it.
    target: u32,
    /// The number of the latest one among the events of the thread, from 1, and that of the latest write.
    latest: [u32; 2],
}

/// One access, compared with later ones.
#[derive(Clone, Copy, Debug)]
struct Access {
    thread: ThreadId,
    target: u32,
    role: u32,
    nth: u32,
}

/// An object of a run.
#[derive(Clone, Default, Debug)]
struct Object {
    /// The objects that its accesses contend for: only itself, unless an operation touches two objects.
    targets: Vec<u32>,
    /// Per role: indices of the accesses of its threads.
    roles: Vec<(u32, Vec<u32>)>,
    /// The latest write and the reads since. While no conflict was found, an event after these is after all earlier ones.
    write: Option<Access>,
    reads: Vec<Access>,
    /// True if a conflict was found that makes no object race; then `write` and `reads` are not enough.
    thorough: bool,
    /// True if threads of one role touch it, and it is the only one that they contend for.
    simple: bool,
}

/// Finds the objects of a run that race. `races` has what is known of each object, and receives what is found; `role` returns
/// the role of a thread.
pub(crate) fn find_racing(run: &RunSummary<'_>, role: impl Fn(ThreadId) -> u32, races: &mut [Races]) {
    let mut finder = Finder {
        objects: vec![Object { simple: true, ..Object::default() }; run.object_count()],
        kinds: Pairs::default(),
        pairs: Pairs::default(),
        accesses: Vec::new(),
        races,
    };
    let events = &run.trace.events;
    let mut first_role = vec![None; run.object_count()];
    for event in events {
        let (target, role) = (target(event), role(event.thread));
        for (id, _) in event.operation.objects() {
            let object = &mut finder.objects[id.index()];
            let is_first = *first_role[id.index()].get_or_insert(role) == role;
            object.simple &= is_first && (target == NONE || target == id.0);
            if target != NONE && !object.targets.contains(&target) {
                object.targets.push(target);
            }
        }
    }
    if (0..finder.objects.len()).all(|object| finder.is_known(object)) {
        return;
    }
    let mut nth = vec![0_u32; run.thread_count()];
    walk_synchronisation(run, |index, known| {
        let event = &events[index];
        let thread = event.thread;
        nth[thread.index()] += 1;
        let access = Access { thread, target: target(event), role: role(thread), nth: nth[thread.index()] };
        for (object, writes) in event.operation.objects() {
            finder.touch(object.index(), access, writes, known);
        }
    });
}

/// The accesses of a thread to an object, for [`find_conflicting`].
struct Open {
    thread: ThreadId,
    /// See [`Accesses::latest`].
    latest: [u32; 2],
    /// The reads and the writes that were not yet found to be in conflict, each with its number among the events of the thread.
    events: [Vec<(usize, u32)>; 2],
}

/// Calls `found` at least once with each event that is in conflict with another one. The time grows with the number of threads
/// that touch an object, not with the number of accesses.
pub(crate) fn find_conflicting(run: &RunSummary<'_>, mut found: impl FnMut(usize)) {
    let mut pairs = Pairs::default();
    let mut all: Vec<Open> = Vec::new();
    let mut on: Vec<Vec<u32>> = vec![Vec::new(); run.object_count()];
    let mut nth = vec![0_u32; run.thread_count()];
    walk_synchronisation(run, |index, known| {
        let event = &run.trace.events[index];
        nth[event.thread.index()] += 1;
        let mut is_found = false;
        for (object, writes) in event.operation.objects() {
            for &other in &on[object.index()] {
                let other = &mut all[other as usize];
                let knows = if other.thread == event.thread { continue } else { known.of(other.thread) };
                // A read conflicts with writes only.
                is_found |= knows < other.latest[usize::from(!writes)];
                for events in &mut other.events[usize::from(!writes)..] {
                    while let Some((earlier, _)) = events.pop_if(|(_, nth)| knows < *nth) {
                        found(earlier);
                    }
                }
            }
        }
        if is_found {
            found(index);
        }
        for (object, writes) in event.operation.objects() {
            let number = pairs.number(object.0, event.thread.0);
            if number == all.len() {
                on[object.index()].push(number as u32);
                all.push(Open { thread: event.thread, latest: [0; 2], events: [Vec::new(), Vec::new()] });
            }
            let (own, nth) = (&mut all[number], nth[event.thread.index()]);
            own.latest = [nth, if writes { nth } else { own.latest[1] }];
            if !is_found {
                own.events[usize::from(writes)].push((index, nth));
            }
        }
    });
}

/// Returns the object whose order with others an operation decides: the first one touched, unless it is
/// released.
#[inline]
pub(crate) fn contended(operation: &Operation) -> Option<ObjectId> {
    if operation.kind.info().holding == Holding::GivesBack { None } else { operation.object() }
}

/// Returns the object that an event contends for, or `NONE`.
#[inline]
fn target(event: &Event) -> u32 {
    contended(&event.operation).map_or(NONE, |object| object.0)
}

struct Finder<'a> {
    objects: Vec<Object>,
    /// Pairs of an object and what an access to it contends for.
    kinds: Pairs,
    /// Pairs of such a pair and a thread, whose numbers are indices into `accesses`.
    pairs: Pairs,
    accesses: Vec<Accesses>,
    races: &'a mut [Races],
}

impl Finder<'_> {
    /// Returns true if every conflict on this object would only repeat what is known.
    #[inline]
    fn is_known(&self, object: usize) -> bool {
        let object = &self.objects[object];
        object.targets.iter().all(|&target| {
            let Races { any, mixed } = self.races[target as usize];
            any && (mixed || object.simple)
        })
    }

    /// Returns true if all objects that its accesses contend for race.
    #[inline]
    fn all_race(&self, object: usize) -> bool {
        self.objects[object].targets.iter().all(|&target| self.races[target as usize].any)
    }

    /// Records a conflict. Returns true if an object races because of it.
    fn note(&mut self, access: Access, target: u32, mixed: bool) -> bool {
        for found in [access.target, target].into_iter().filter(|&found| found != NONE) {
            let races = &mut self.races[found as usize];
            races.any = true;
            races.mixed |= mixed;
        }
        access.target != NONE || target != NONE
    }

    /// Compares an access with the earlier ones to the same object.
    fn touch(&mut self, object: usize, access: Access, writes: bool, known: Known<'_>) {
        if self.is_known(object) {
            return;
        }
        let mut same_role = false;
        if !self.all_race(object) {
            same_role = self.objects[object].thorough || self.objects[object].targets.len() > 1;
            if !same_role && let Some(other) = self.objects[object].unknown(access, writes, known) {
                same_role = !self.note(access, other.target, other.role != access.role);
                self.objects[object].thorough = same_role;
            }
        }
        if same_role || self.all_race(object) {
            self.compare(object, access, same_role, writes, known);
        } else {
            self.objects[object].keep(access, writes);
        }
        self.remember(object, access, writes);
    }

    /// Compares an access with those of the threads of other roles, and of the same role if `same_role`.
    fn compare(&mut self, object: usize, access: Access, same_role: bool, writes: bool, known: Known<'_>) {
        let roles = std::mem::take(&mut self.objects[object].roles);
        for (role, entries) in roles.iter().filter(|(role, _)| same_role || *role != access.role) {
            for &entry in entries {
                let other = self.accesses[entry as usize];
                let latest = other.latest[usize::from(!writes)];
                if other.thread != access.thread && latest > 0 && known.of(other.thread) < latest {
                    self.note(access, other.target, *role != access.role);
                }
            }
        }
        self.objects[object].roles = roles;
    }

    /// Adds an access to those that later ones are compared with.
    fn remember(&mut self, object: usize, access: Access, writes: bool) {
        let kind = self.kinds.number(object as u32, access.target) as u32;
        let entry = self.pairs.number(kind, access.thread.0);
        if entry == self.accesses.len() {
            self.accesses.push(Accesses { thread: access.thread, target: access.target, latest: [0; 2] });
            let roles = &mut self.objects[object].roles;
            match roles.iter_mut().find(|(role, _)| *role == access.role) {
                Some((_, entries)) => entries.push(entry as u32),
                None => roles.push((access.role, vec![entry as u32])),
            }
        }
        let latest = &mut self.accesses[entry].latest;
        latest[0] = access.nth;
        latest[1] = if writes { access.nth } else { latest[1] };
    }
}

impl Object {
    /// Returns an earlier access that `access` is in conflict with, if no earlier accesses are in conflict with each other.
    #[inline]
    fn unknown(&self, access: Access, writes: bool, known: Known<'_>) -> Option<Access> {
        let is_unknown =
            |other: &&Access| other.thread != access.thread && known.of(other.thread) < other.nth;
        let read = if writes { self.reads.iter().find(is_unknown) } else { None };
        self.write.as_ref().filter(is_unknown).or(read).copied()
    }

    /// Keeps an access, which knows all earlier ones that it depends on, in place of these.
    #[inline]
    fn keep(&mut self, access: Access, writes: bool) {
        if writes {
            self.write = Some(access);
            self.reads.clear();
        } else if let Some(last) = self.reads.last_mut().filter(|last| last.thread == access.thread) {
            *last = access;
        } else {
            self.reads.push(access);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::{Engine, Rng, conflicts, explore};
    use raddle_testkit::{Script, affordable};
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;

    fn generated(number: u64) -> Script {
        let mut rng = Rng::for_run(29, number);
        match number % 5 {
            0 => raddle_testkit::straight(&mut rng, 5, 12),
            1 => raddle_testkit::spawning(&mut rng),
            2 => raddle_testkit::locked(&mut rng, 4),
            3 => raddle_testkit::mixed_of(&mut rng, 5),
            _ => raddle_testkit::mixed(&mut rng),
        }
    }

    /// Compares the races found with all pairs, for several assignments of roles.
    fn compare(program: &mut Script, seed: u64) -> usize {
        let mut engine = Engine::new(Default::default());
        let mut strategy = crate::build("random-walk").unwrap();
        let mut found = 0;
        explore(&mut engine, program, &mut *strategy, (seed, 0, 4), |_, run| {
            for roles in 1..4 {
                let role = |thread: ThreadId| thread.0 % roles;
                let mut expected = vec![Races::default(); run.object_count()];
                conflicts(run, |earlier, later| {
                    let [earlier, later] = [earlier, later].map(|event| &run.trace.events[event]);
                    for event in [earlier, later].into_iter().filter(|event| target(event) != NONE) {
                        let races = &mut expected[target(event) as usize];
                        races.any = true;
                        races.mixed |= role(earlier.thread) != role(later.thread);
                    }
                });
                let mut races = vec![Races::default(); run.object_count()];
                find_racing(run, role, &mut races);
                assert_eq!(races, expected, "{roles} roles: {:?}", run.trace.events);
                find_racing(run, role, &mut races);
                assert_eq!(races, expected, "nothing changes");
                found += races.iter().filter(|races| races.any).count();
            }
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn the_events_in_conflict_are_those_of_all_pairs() {
        let mut engine = Engine::new(Default::default());
        let mut strategy = crate::build("random-walk").unwrap();
        for number in 0..affordable(200) {
            let mut program = generated(number);
            explore(&mut engine, &mut program, &mut *strategy, (number, 0, 4), |_, run| {
                let (mut expected, mut found) = (BTreeSet::new(), BTreeSet::new());
                conflicts(run, |earlier, later| expected.extend([earlier, later]));
                find_conflicting(run, |event| _ = found.insert(event));
                assert_eq!(found, expected, "{:?}", run.trace.events);
                ControlFlow::Continue(())
            });
        }
    }

    #[test]
    fn the_objects_that_race_are_those_of_all_pairs() {
        let mut found = 0;
        for number in 0..affordable(400) {
            found += compare(&mut generated(number), number);
        }
        assert!(found > 0);
    }
}
