//! iRoots that other runs of the program may expose, predicted from one run.
//!
//! `A => B` is predicted if it violates neither an order that is likely to hold in all runs
//! ([`Clocks::lasting`]) nor mutual exclusion: if both lie in critical sections of one lock, no access of
//! `A`'s section may come between `A` and its end, and none of `B`'s between its beginning and `B`, that
//! would end the dependency. The same holds for accesses that come between the two in any order that the
//! lasting one allows. Neither rule is sound: another run may take other branches.
//!
//! Departures from the paper (section 3): prediction happens after the run, from the trace, not during it;
//! only accesses that would really end this dependency count as coming in between, so that a read does not
//! separate a write from another read; pairs within one critical section are also compared with the critical
//! sections of the other thread.
//!
//! Accesses of one thread that these rules do not distinguish are one *entry* (the paper's condensed
//! histories). At most [`ENTRIES`] entries of a location, a thread and an object are kept, and only of
//! objects that several threads touch.

use crate::access::{Access, Accesses};
use crate::compound::{self, Pairs};
use raddle_engine::{Clocks, RunSummary};
use raddle_model::{Action, IRoot, Idiom, ObjectId, Site, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of entries of one location, thread and object.
const ENTRIES: usize = 16;

/// Returns the iRoots that runs of the program may expose, predicted from this one. The accesses of one
/// thread are at most `window` of its steps apart.
pub fn predict(run: &RunSummary<'_>, window: u32) -> BTreeSet<IRoot> {
    let accesses = Accesses::of(run);
    let entries = Entries::of(run, &accesses);
    let clocks = Clocks::lasting(run);
    let mut found = BTreeSet::new();
    let mut order =
        Order { after: vec![Vec::new(); entries.all.len()], before: vec![Vec::new(); entries.all.len()] };
    for on_object in entries.by_object.values() {
        for &a in on_object {
            for &b in on_object {
                let (first, second) = (&entries.all[a as usize], &entries.all[b as usize]);
                if first.may_precede(second, &clocks) {
                    found.insert(IRoot::new(Idiom::One, &[first.site, second.site]));
                    order.after[a as usize].push(b);
                    order.before[b as usize].push(a);
                }
            }
        }
    }
    let pairs = Pairs::of(&accesses, &entries, window);
    compound::correlate(&entries, &order, &pairs, &clocks, &mut found);
    found
}

/// The entries that may come immediately after each entry.
pub(crate) struct Order {
    /// Per entry: those that may depend on it.
    pub(crate) after: Vec<Vec<u32>>,
    /// Per entry: those that it may depend on.
    pub(crate) before: Vec<Vec<u32>>,
}

/// Another access of the same thread to the same object, as an event of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Neighbour {
    nth: u32,
    event: u32,
}

/// The nearest access in one direction within its thread, and the nearest that writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Nearest {
    any: Option<Neighbour>,
    write: Option<Neighbour>,
}

/// Flags of an access: first or last of its critical section, among all accesses and among those that write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Ends {
    first: bool,
    first_write: bool,
    last: bool,
    last_write: bool,
}

/// Accesses of one thread that the rules do not distinguish.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) thread: ThreadId,
    pub(crate) object: ObjectId,
    pub(crate) site: Site,
    pub(crate) writes: bool,
    /// Its first access.
    pub(crate) nth: u32,
    pub(crate) event: u32,
    /// For each lock that the thread holds: the position in the critical section.
    locks: Vec<(ObjectId, Ends)>,
    /// Accesses before its first one and after its last one.
    before: Nearest,
    after: Nearest,
}

impl Entry {
    /// Returns true if `other` may depend immediately on this.
    fn may_precede(&self, other: &Entry, clocks: &Clocks) -> bool {
        let conflict = self.thread != other.thread && (self.writes || other.writes);
        let actions = match (self.site.action, other.site.action) {
            (Action::Unlock, Action::Lock) => true,
            (first, second) => !first.is_of_lock() && !second.is_of_lock(),
        };
        if !conflict || !actions || clocks.ordered(other.thread, other.nth, self.event as usize) {
            return false;
        }
        // True if any access of the thread ends the dependency, not only one that writes.
        let (any_after, any_before) = (other.writes, self.writes && other.writes);
        let apart = |&(lock, mine): &(ObjectId, Ends)| {
            other.locks.iter().filter(|(theirs, _)| *theirs == lock).all(|(_, theirs)| {
                let last = if any_after { mine.last } else { mine.last_write };
                let first = if any_before { theirs.first } else { theirs.first_write };
                last && first
            })
        };
        if !self.locks.iter().all(apart) {
            return false;
        }
        let next = if any_after { self.after.any } else { self.after.write };
        let previous = if any_before { other.before.any } else { other.before.write };
        let overtaken = next.is_some_and(|next| clocks.ordered(self.thread, next.nth, other.event as usize));
        let late =
            previous.is_some_and(|previous| clocks.ordered(self.thread, self.nth, previous.event as usize));
        !overtaken && !late
    }

    /// Returns true if the thread holds `lock` around it.
    pub(crate) fn is_under(&self, lock: ObjectId) -> bool {
        self.locks.iter().any(|&(other, _)| other == lock)
    }

    /// Returns true if this and `other` share a lock.
    pub(crate) fn shares_lock(&self, other: &Entry) -> bool {
        self.locks.iter().any(|&(lock, _)| other.is_under(lock))
    }
}

/// The entries of a run.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) all: Vec<Entry>,
    by_object: BTreeMap<ObjectId, Vec<u32>>,
    /// Per access: its entry, if it is kept.
    pub(crate) of_access: Vec<Option<u32>>,
}

/// The properties that distinguish entries of one location, thread and object: how far the thread had
/// synchronised with others, and its position in its critical sections.
type Difference = (u32, Vec<(ObjectId, Ends)>);

impl Entries {
    fn of(run: &RunSummary<'_>, accesses: &Accesses) -> Entries {
        let shared = shared(accesses);
        let ends = ends(accesses, &shared);
        let epochs = epochs(run, accesses);
        let (before, after) = neighbours(accesses);
        let mut entries = Entries { of_access: vec![None; accesses.all.len()], ..Entries::default() };
        let mut known: BTreeMap<(ThreadId, ObjectId, Site), Vec<(Difference, u32)>> = BTreeMap::new();
        for (index, access) in accesses.all.iter().enumerate().filter(|(_, a)| shared.contains(&a.object)) {
            let locks = accesses.sections(access).iter().map(|section| {
                let (all, writes) = ends[&(section.taken, access.object)];
                let (number, is) = (access.number, |end: Option<u32>| end == Some(access.number));
                let place = Ends {
                    first: is(all.0),
                    // If nothing writes before it, it counts as the first.
                    first_write: writes.0.is_none_or(|first| first >= number),
                    last: is(all.1),
                    last_write: writes.1.is_none_or(|last| last <= number),
                };
                (section.lock, place)
            });
            let difference: Difference = (epochs[index], locks.collect());
            let alike = known.entry((access.thread, access.object, access.site)).or_default();
            if let Some((_, entry)) = alike.iter().find(|(other, _)| *other == difference) {
                entries.of_access[index] = Some(*entry);
                entries.all[*entry as usize].after = after[index];
                continue;
            }
            if alike.len() == ENTRIES {
                continue;
            }
            let entry = entries.all.len() as u32;
            entries.of_access[index] = Some(entry);
            entries.by_object.entry(access.object).or_default().push(entry);
            entries.all.push(Entry {
                thread: access.thread,
                object: access.object,
                site: access.site,
                writes: access.writes,
                nth: access.nth,
                event: access.event,
                locks: difference.1.clone(),
                before: before[index],
                after: after[index],
            });
            alike.push((difference, entry));
        }
        entries
    }
}

/// Returns the objects that several threads access, one of which writes.
fn shared(accesses: &Accesses) -> BTreeSet<ObjectId> {
    let mut seen: BTreeMap<ObjectId, (ThreadId, bool, bool)> = BTreeMap::new();
    for access in &accesses.all {
        let (owner, several, written) = seen.entry(access.object).or_insert((access.thread, false, false));
        *several |= *owner != access.thread;
        *written |= access.writes;
    }
    seen.into_iter()
        .filter(|(_, (_, several, written))| *several && *written)
        .map(|(object, _)| object)
        .collect()
}

/// The first and last access, by number.
type Range = (Option<u32>, Option<u32>);

/// Returns, per critical section and object, the first and last access to it, of all accesses and of those
/// that write.
fn ends(accesses: &Accesses, shared: &BTreeSet<ObjectId>) -> BTreeMap<(u32, ObjectId), (Range, Range)> {
    let mut ends: BTreeMap<(u32, ObjectId), (Range, Range)> = BTreeMap::new();
    for access in accesses.all.iter().filter(|access| shared.contains(&access.object)) {
        for section in accesses.sections(access) {
            let (all, writes) = ends.entry((section.taken, access.object)).or_default();
            let note = |range: &mut Range| *range = (range.0.or(Some(access.number)), Some(access.number));
            note(all);
            if access.writes {
                note(writes);
            }
        }
    }
    ends
}

/// Returns, per access, the number of earlier operations of its thread that may order it with others, except
/// locks.
fn epochs(run: &RunSummary<'_>, accesses: &Accesses) -> Vec<u32> {
    let mut counts = vec![0_u32; run.thread_count()];
    let mut epochs = Vec::with_capacity(accesses.all.len());
    let mut next = accesses.all.iter().peekable();
    for (index, event) in run.trace.events.iter().enumerate() {
        let count = &mut counts[event.thread.index()];
        *count += u32::from(event.operation.kind.info().orders);
        while next.next_if(|access| access.event as usize == index).is_some() {
            epochs.push(*count);
        }
    }
    epochs
}

/// Returns, per access, the accesses of its thread to the same object before and after it.
fn neighbours(accesses: &Accesses) -> (Vec<Nearest>, Vec<Nearest>) {
    let all = &accesses.all;
    let walk = |indices: &mut dyn Iterator<Item = usize>| {
        let mut nearest = vec![Nearest::default(); all.len()];
        let mut latest: BTreeMap<(ThreadId, ObjectId), Nearest> = BTreeMap::new();
        for index in indices {
            let Access { nth, event, writes, .. } = all[index];
            let seen = latest.entry((all[index].thread, all[index].object)).or_default();
            nearest[index] = *seen;
            seen.any = Some(Neighbour { nth, event });
            if writes {
                seen.write = seen.any;
            }
        }
        nearest
    };
    (walk(&mut (0..all.len())), walk(&mut (0..all.len()).rev()))
}
