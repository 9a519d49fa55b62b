//! Candidates of idioms 2 to 6: pairs of accesses of one thread, combined with the predicted dependencies.

use crate::access::{Access, Accesses, Section};
use crate::predict::{Entries, Entry, Order};
use raddle_engine::Clocks;
use raddle_model::{Action, IRoot, Idiom, ObjectId, Site, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// Number of recent accesses of a thread that a new one is paired with, two of each entry.
const RECENT: usize = 96;

/// The largest number of combinations examined for one run; the rest is left to other runs.
const MOST_COMBINATIONS: u64 = 4_000_000;

/// Two entries of one thread.
#[derive(Clone, Debug)]
struct Pair {
    /// True if the thread once did not touch the second's object in between.
    untouched: bool,
    /// The locks that the thread held all the time from the first to the second, each time.
    sections: Vec<ObjectId>,
}

/// The pairs of entries of one thread within the window, in order.
#[derive(Default)]
pub(crate) struct Pairs {
    pairs: BTreeMap<(u32, u32), Pair>,
    /// Pairs whose second entry takes a lock while the thread still holds the one that the first took.
    nested: BTreeSet<(u32, u32)>,
}

/// An entry that a thread reached recently.
struct Recent {
    entry: u32,
    /// The index of one of its two latest accesses.
    access: u32,
}

impl Pairs {
    pub(crate) fn of(accesses: &Accesses, entries: &Entries, window: u32) -> Pairs {
        let mut pairs = Pairs::default();
        let mut recent: BTreeMap<ThreadId, Vec<Recent>> = BTreeMap::new();
        for (index, access) in accesses.all.iter().enumerate() {
            let Some(entry) = entries.of_access[index] else { continue };
            let sections = accesses.sections(access);
            let recent = recent.entry(access.thread).or_default();
            let all = &accesses.all;
            recent.retain(|earlier| access.nth - all[earlier.access as usize].nth <= window);
            for earlier in recent.iter() {
                pairs.add((earlier.entry, entry), &all[earlier.access as usize], access, accesses);
            }
            if access.site.action == Action::Lock {
                let taken = sections.iter().map(|section| section.taken as usize);
                let near = taken.filter(|&taken| access.nth - all[taken].nth <= window);
                pairs.nested.extend(near.filter_map(|taken| Some((entries.of_access[taken]?, entry))));
            }
            // The one before the latest may be in another critical section.
            let mut alike = recent.iter().enumerate().filter(|(_, earlier)| earlier.entry == entry);
            let oldest = alike.next().filter(|_| alike.next().is_some()).map(|(index, _)| index);
            if oldest.is_some() || recent.len() == RECENT {
                recent.remove(oldest.unwrap_or(0));
            }
            recent.push(Recent { entry, access: access.number });
        }
        pairs
    }

    fn add(&mut self, key: (u32, u32), first: &Access, second: &Access, accesses: &Accesses) {
        let untouched = second.before.is_none_or(|before| before <= first.number);
        if let Some(known) = self.pairs.get(&key)
            && known.sections.is_empty()
            && (known.untouched || !untouched)
        {
            return;
        }
        let (theirs, mine) = (accesses.sections(first), accesses.sections(second));
        let both = |section: &&Section| theirs.contains(section);
        let sections: Vec<ObjectId> = mine.iter().filter(both).map(|section| section.lock).collect();
        match self.pairs.get_mut(&key) {
            Some(known) => {
                known.untouched |= untouched;
                known.sections.retain(|lock| sections.contains(lock));
            }
            None => drop(self.pairs.insert(key, Pair { untouched, sections })),
        }
    }
}

/// Adds the candidates of idioms 2 to 6.
pub(crate) fn correlate(
    entries: &Entries,
    order: &Order,
    pairs: &Pairs,
    clocks: &Clocks,
    found: &mut BTreeSet<IRoot>,
) {
    let entry = |number: u32| &entries.all[number as usize];
    let mut left = MOST_COMBINATIONS;
    'pairs: for (&(a, d), pair) in &pairs.pairs {
        let same = entry(a).object == entry(d).object;
        // The other thread cannot be in a critical section of a lock that this one holds all the time.
        let is_out = |other: u32| pair.sections.iter().all(|&lock| !entry(other).is_under(lock));
        let site = |number: u32| entry(number).site;
        for &b in &order.after[a as usize] {
            let mut note = |idiom: Idiom, sites: &[Site]| {
                found.insert(IRoot::new(idiom, sites));
            };
            for &c in &order.before[d as usize] {
                left -= 1;
                if left == 0 {
                    break 'pairs;
                }
                if entry(b).thread != entry(c).thread {
                    continue;
                }
                let between = || is_out(b) && is_out(c);
                if same {
                    if b == c && pair.untouched && is_out(b) {
                        note(Idiom::Two, &[site(a), site(b), site(d)]);
                    }
                    if pair.untouched && pairs.pairs.contains_key(&(b, c)) && between() {
                        note(Idiom::Three, &[site(a), site(b), site(c), site(d)]);
                    }
                    continue;
                }
                if pairs.pairs.contains_key(&(b, c)) && between() {
                    note(Idiom::Four, &[site(a), site(b), site(c), site(d)]);
                }
                // One of the two sections comes after the other, and so do all accesses in them.
                let serial = |other: &Pair| other.sections.iter().any(|lock| pair.sections.contains(lock));
                if pairs.pairs.get(&(c, b)).is_some_and(|other| !serial(other)) {
                    note(Idiom::Five, &[site(a), site(b), site(c), site(d)]);
                }
            }
            // Here `d` is the third access of idiom 6.
            for &last in order.after[d as usize].iter().filter(|_| !same) {
                left -= 1;
                if left == 0 {
                    break 'pairs;
                }
                if entry(b).thread == entry(last).thread && pairs.pairs.contains_key(&(b, last)) {
                    note(Idiom::Six, &[site(a), site(b), site(d), site(last)]);
                }
            }
        }
    }
    circles(entries, pairs, clocks, found);
}

/// Adds pairs of threads that may wait for each other's lock.
fn circles(entries: &Entries, pairs: &Pairs, clocks: &Clocks, found: &mut BTreeSet<IRoot>) {
    let entry = |number: u32| &entries.all[number as usize];
    let locks = |first: &Entry, second: &Entry| (first.object, second.object);
    let mut by_locks: BTreeMap<(ObjectId, ObjectId), Vec<(u32, u32)>> = BTreeMap::new();
    for &(first, second) in &pairs.nested {
        by_locks.entry(locks(entry(first), entry(second))).or_default().push((first, second));
    }
    for (&(x, y), mine) in &by_locks {
        for &(a, d) in mine {
            for &(c, b) in by_locks.get(&(y, x)).into_iter().flatten() {
                let [a, b, c, d] = [a, b, c, d].map(entry);
                let ordered = clocks.ordered(d.thread, d.nth, c.event as usize)
                    || clocks.ordered(b.thread, b.nth, a.event as usize);
                if a.thread != c.thread && !ordered && !a.shares_lock(c) {
                    found.insert(IRoot::new(Idiom::Five, &[a.site, b.site, c.site, d.site]));
                }
            }
        }
    }
}
