//! The accesses of a run: steps that touch memory, take a lock or release one.

use raddle_engine::RunSummary;
use raddle_model::{Action, Holding, Kind, LockMode, Name, ObjectId, Operation, Site, ThreadId};
use std::collections::BTreeMap;

/// One access of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    /// Its index among the accesses of the run.
    pub(crate) number: u32,
    /// The event it is part of.
    pub(crate) event: u32,
    pub(crate) thread: ThreadId,
    /// The 1-based index of that event in its thread.
    pub(crate) nth: u32,
    pub(crate) object: ObjectId,
    pub(crate) site: Site,
    /// True if its order with reads matters too. A lock is written unless it is taken for reading.
    pub(crate) writes: bool,
    /// The index of the previous access of the same thread to the same object.
    pub(crate) before: Option<u32>,
    /// The locks that the thread holds around it: a part of [`Accesses::sections`].
    sections: (u32, u32),
}

/// A critical section that contains an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Section {
    pub(crate) lock: ObjectId,
    /// The index of the access that took the lock.
    pub(crate) taken: u32,
}

/// All accesses of a run in order.
#[derive(Default)]
pub(crate) struct Accesses {
    pub(crate) all: Vec<Access>,
    sections: Vec<Section>,
    /// Per thread: its critical sections at the end of the run.
    pub(crate) open: Vec<Vec<Section>>,
}

impl Accesses {
    pub(crate) fn of(run: &RunSummary<'_>) -> Accesses {
        let mut found = Accesses { open: vec![Vec::new(); run.thread_count()], ..Accesses::default() };
        let mut nth = vec![0_u32; run.thread_count()];
        let mut locks: BTreeMap<ObjectId, Holders> = BTreeMap::new();
        let mut latest: BTreeMap<(ThreadId, ObjectId), u32> = BTreeMap::new();
        for (index, event) in run.trace.events.iter().enumerate() {
            let thread = event.thread;
            nth[thread.index()] += 1;
            if event.operation.kind.info().holding == Holding::Downgrades {
                // Not an access: the thread holds the lock before and after.
                let object = event.operation.objects().map(|(object, _)| object);
                object.for_each(|object| locks.entry(object).or_default().downgrade(thread));
            }
            for (object, action, writes) in actions(&event.operation) {
                let open = &mut found.open[thread.index()];
                let counts = match action {
                    Action::Lock => {
                        // A destroyed lock: only an attempt may fail and continue.
                        let again = run.counts_again(object);
                        let again = again.unwrap_or(event.operation.kind == Kind::Lock);
                        locks.entry(object).or_default().take(thread, writes, again)
                    }
                    Action::Unlock => locks.entry(object).or_default().give_back(thread),
                    Action::Read | Action::Write => Some(writes),
                };
                // A failed attempt is not an access, nor is a lock taken again by its holder.
                let Some(writes) = counts else { continue };
                if action == Action::Unlock {
                    open.retain(|section| section.lock != object);
                }
                let number = found.all.len() as u32;
                let from = found.sections.len() as u32;
                found.sections.extend_from_slice(open);
                found.all.push(Access {
                    number,
                    event: index as u32,
                    thread,
                    nth: nth[thread.index()],
                    object,
                    site: Site { location: run.location_name(event.operation.location), action },
                    writes,
                    before: latest.insert((thread, object), number),
                    sections: (from, found.sections.len() as u32),
                });
                if action == Action::Lock {
                    open.push(Section { lock: object, taken: number });
                }
            }
        }
        found
    }

    /// Returns the critical sections around an access.
    pub(crate) fn sections(&self, access: &Access) -> &[Section] {
        &self.sections[access.sections.0 as usize..access.sections.1 as usize]
    }
}

/// Iterates over the objects of an operation with its action and true if it writes the object. Of a wait on a
/// condition variable only the lock counts.
pub(crate) fn actions(operation: &Operation) -> impl Iterator<Item = (ObjectId, Action, bool)> + use<> {
    let kind = operation.kind;
    let skipped = usize::from(kind.info().holding == Holding::GivesBackToWait);
    let action = move |writes: bool| match kind.info().holding {
        Holding::None if !kind.accesses_memory() => None,
        Holding::None => Some((if writes { Action::Write } else { Action::Read }, writes)),
        Holding::Takes(mode) | Holding::Tries(mode) => Some((Action::Lock, mode == LockMode::Exclusive)),
        Holding::TakesBack => Some((Action::Lock, true)),
        Holding::GivesBack | Holding::GivesBackToWait => Some((Action::Unlock, true)),
        Holding::Downgrades | Holding::BeginsOnce | Holding::AwaitsOnce | Holding::EndsOnce => None,
    };
    let objects = operation.objects().skip(skipped);
    objects
        .filter_map(move |(object, writes)| action(writes).map(|(action, writes)| (object, action, writes)))
}

/// Iterates over the static accesses of an operation at `location`: the object, the site, and true if it
/// writes the object.
pub fn site(operation: &Operation, location: Name) -> impl Iterator<Item = (ObjectId, Site, bool)> + use<> {
    actions(operation).map(move |(object, action, writes)| (object, Site { location, action }, writes))
}

/// The holders of a lock.
#[derive(Default)]
struct Holders {
    writer: Option<(ThreadId, u32)>,
    readers: Vec<ThreadId>,
}

impl Holders {
    /// Records that `thread` takes the lock. Returns `Some` if it did not hold it before, with true if it
    /// holds it for writing. With `again` the lock is recursive; otherwise locking it again fails.
    fn take(&mut self, thread: ThreadId, writes: bool, again: bool) -> Option<bool> {
        match &mut self.writer {
            Some((owner, depth)) if *owner == thread && again => {
                *depth += 1;
                None
            }
            Some(_) => None,
            None if writes && self.readers.is_empty() => {
                self.writer = Some((thread, 1));
                Some(true)
            }
            None if writes => None,
            None => {
                let again = self.readers.contains(&thread);
                self.readers.push(thread);
                (!again).then_some(false)
            }
        }
    }

    /// Turns the write lock of `thread` into a read lock.
    fn downgrade(&mut self, thread: ThreadId) {
        if self.writer.take_if(|(owner, _)| *owner == thread).is_some() {
            self.readers.push(thread);
        }
    }

    /// Records that `thread` releases the lock. Returns `Some` if it no longer holds it, with true if it held
    /// it for writing.
    fn give_back(&mut self, thread: ThreadId) -> Option<bool> {
        if let Some((owner, depth)) = &mut self.writer {
            if *owner != thread {
                return None;
            }
            *depth -= 1;
            let last = *depth == 0;
            if last {
                self.writer = None;
            }
            return last.then_some(true);
        }
        let place = self.readers.iter().position(|&reader| reader == thread)?;
        self.readers.swap_remove(place);
        (!self.readers.contains(&thread)).then_some(false)
    }
}
