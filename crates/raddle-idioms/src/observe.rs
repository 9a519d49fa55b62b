//! The iRoots that a run exposes.
//!
//! Of the dependencies between two threads the latest [`KEPT`] are kept, and no more than [`ALIKE`] between
//! the same two locations: the time is linear in the length of the run, however wide the window. Earlier
//! dependencies are missed.

use crate::access::{Access, Accesses, actions};
use crate::history::History;
use raddle_engine::RunSummary;
use raddle_model::{Action, IRoot, Idiom, ObjectId, Site, ThreadId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The largest number of dependencies between two threads that are combined with a new one.
const KEPT: usize = 64;

/// The largest number of these between the same two locations.
const ALIKE: usize = 4;

/// Returns the iRoots that a run exposes. The accesses of one thread are at most `window` of its steps apart.
pub fn observe(run: &RunSummary<'_>, window: u32) -> BTreeSet<IRoot> {
    let accesses = Accesses::of(run);
    let mut observer = Observer { window, between: BTreeMap::new(), found: BTreeSet::new() };
    let mut histories: BTreeMap<ObjectId, History> = BTreeMap::new();
    let mut earlier = Vec::new();
    for access in &accesses.all {
        earlier.clear();
        histories.entry(access.object).or_default().add(access, |first| earlier.push(*first));
        for &first in &earlier {
            observer.add(Dependency { first, second: *access });
        }
    }
    observer.circles(run, &accesses);
    observer.found
}

/// Two accesses of different threads, the second of which depends on the first.
#[derive(Clone, Copy)]
struct Dependency {
    first: Access,
    second: Access,
}

impl Dependency {
    fn is_like(&self, other: &Dependency) -> bool {
        (self.first.site, self.second.site, self.first.thread)
            == (other.first.site, other.second.site, other.first.thread)
    }
}

struct Observer {
    window: u32,
    /// Per pair of threads, the smaller one first: the latest dependencies between them, in either direction.
    between: BTreeMap<(ThreadId, ThreadId), VecDeque<Dependency>>,
    found: BTreeSet<IRoot>,
}

impl Observer {
    fn add(&mut self, new: Dependency) {
        let Dependency { first: c, second: d } = new;
        self.found.insert(IRoot::new(Idiom::One, &[c.site, d.site]));
        let pair = (c.thread.min(d.thread), c.thread.max(d.thread));
        let kept = self.between.entry(pair).or_default();
        let mut alike = 0;
        let mut oldest_alike = None;
        for (index, old) in kept.iter().enumerate() {
            if let Some((idiom, sites)) = compound(old, &new, self.window) {
                self.found.insert(IRoot::new(idiom, &sites[..idiom.accesses()]));
            }
            if old.is_like(&new) {
                alike += 1;
                oldest_alike = oldest_alike.or(Some(index));
            }
        }
        if alike == ALIKE
            && let Some(index) = oldest_alike
        {
            kept.remove(index);
        } else if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(new);
    }

    /// Adds pairs of threads that wait for each other's lock at the end of the run.
    fn circles(&mut self, run: &RunSummary<'_>, accesses: &Accesses) {
        let attempts = run.trace.pending.iter().enumerate().filter_map(|(thread, operation)| {
            let operation = operation.as_ref()?;
            let (lock, ..) = actions(operation).find(|(_, action, _)| *action == Action::Lock)?;
            let site = Site { location: run.location_name(operation.location), action: Action::Lock };
            Some((ThreadId(thread as u32), lock, site))
        });
        let attempts: Vec<(ThreadId, ObjectId, Site)> = attempts.collect();
        let taken = |thread: ThreadId, lock: ObjectId| {
            let section = accesses.open[thread.index()].iter().find(|section| section.lock == lock)?;
            Some(accesses.all[section.taken as usize])
        };
        let mut length = vec![0_u32; run.thread_count()];
        run.trace.events.iter().for_each(|event| length[event.thread.index()] += 1);
        let near = |access: &Access| length[access.thread.index()] + 1 - access.nth <= self.window;
        for (index, &(one, y, d)) in attempts.iter().enumerate() {
            for &(other, x, b) in &attempts[index + 1..] {
                if let (Some(a), Some(c)) = (taken(one, x), taken(other, y))
                    && near(&a)
                    && near(&c)
                {
                    self.found.insert(IRoot::new(Idiom::Five, &[a.site, b, c.site, d]));
                }
            }
        }
    }
}

/// Returns the idiom that two dependencies between the same two threads form, and its accesses. The second
/// accesses are in order.
fn compound(old: &Dependency, new: &Dependency, window: u32) -> Option<(Idiom, [Site; 4])> {
    let (a, b) = (&old.first, &old.second);
    let (c, d) = (&new.first, &new.second);
    let near = |earlier: &Access, later: &Access| later.nth - earlier.nth <= window;
    let sites = [a.site, b.site, c.site, d.site];
    let same = a.object == d.object;
    if a.thread == c.thread {
        let six = !same && a.event < c.event && b.event < d.event && near(a, c) && near(b, d);
        return six.then_some((Idiom::Six, sites));
    }
    if !near(a, d) {
        return None;
    }
    if same {
        // The first thread has not touched the object in between.
        if d.before != Some(a.number) {
            return None;
        }
        if b.event == c.event {
            return Some((Idiom::Two, [a.site, b.site, d.site, d.site]));
        }
        return (b.event < c.event && near(b, c)).then_some((Idiom::Three, sites));
    }
    if b.event < c.event {
        return near(b, c).then_some((Idiom::Four, sites));
    }
    (c.event < b.event && near(c, b)).then_some((Idiom::Five, sites))
}
