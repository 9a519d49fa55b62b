//! A run that aims at one iRoot: holds threads at its locations until they meet there.

use super::base::{Base, Ranks};
use raddle_engine::{Point, Rng};
use raddle_model::{Action, IRoot, Idiom, ObjectId, Operation, Site, ThreadId};

/// Number of times a thread is always held at locations of the iRoot.
const HELD: u32 = 4;

/// One access of the iRoot, in the order of execution.
#[derive(Clone, Copy, Debug)]
struct Goal {
    /// The index of its site.
    site: usize,
    /// The index of its thread, of the two.
    thread: usize,
    /// The index of its object, of the two.
    object: usize,
}

const fn goal(site: usize, thread: usize, object: usize) -> Goal {
    Goal { site, thread, object }
}

const TWO_OF_ONE: &[Goal] = &[goal(0, 0, 0), goal(1, 1, 0)];
const THREE_OF_ONE: &[Goal] = &[goal(0, 0, 0), goal(1, 1, 0), goal(2, 0, 0)];
const FOUR_OF_ONE: &[Goal] = &[goal(0, 0, 0), goal(1, 1, 0), goal(2, 1, 0), goal(3, 0, 0)];
const NESTED: &[Goal] = &[goal(0, 0, 0), goal(1, 1, 0), goal(2, 1, 1), goal(3, 0, 1)];
/// Both first accesses, then both second ones.
const CROSSED: &[Goal] = &[goal(0, 0, 0), goal(2, 1, 1), goal(1, 1, 0), goal(3, 0, 1)];
const IN_STEP: &[Goal] = &[goal(0, 0, 0), goal(1, 1, 0), goal(2, 0, 1), goal(3, 1, 1)];

/// Returns the accesses of an idiom in the order of execution.
fn goals(idiom: Idiom) -> &'static [Goal] {
    match idiom {
        Idiom::One => TWO_OF_ONE,
        Idiom::Two => THREE_OF_ONE,
        Idiom::Three => FOUR_OF_ONE,
        Idiom::Four => NESTED,
        Idiom::Five => CROSSED,
        Idiom::Six => IN_STEP,
    }
}

/// Returns the dependencies that are open after `stage` accesses: the first and the second access of each, as
/// indices of goals.
fn open(idiom: Idiom, stage: usize) -> &'static [(usize, usize)] {
    match (idiom, stage) {
        (Idiom::Five, 1) => &[(0, 2)],
        (Idiom::Five, 2) => &[(0, 2), (1, 3)],
        (Idiom::Five, 3) => &[(1, 3)],
        (_, 1) => &[(0, 1)],
        (Idiom::Two, 2) => &[(1, 2)],
        (Idiom::Three | Idiom::Four | Idiom::Six, 3) => &[(2, 3)],
        _ => &[],
    }
}

/// The state of an attempt; see the module documentation.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    sites: Vec<Site>,
    idiom: Idiom,
    goals: &'static [Goal],
    /// Number of steps that a thread of the iRoot may take on the way to its next access.
    reach: u32,
    ranks: Ranks,
    /// True if threads sometimes pass the locations of the iRoot, so that later ones meet there.
    loose: bool,
    rng: Rng,
    /// Number of accesses executed.
    stage: usize,
    threads: [Option<ThreadId>; 2],
    objects: [Option<ObjectId>; 2],
    /// Per thread of the iRoot: its number of steps at its latest access of the iRoot.
    since: [u32; 2],
    /// Per thread: the number of times it reached a location of the iRoot.
    arrivals: Vec<u32>,
    /// Per thread: the accesses that its next operation matches, one bit each.
    at: Vec<u8>,
}

impl Default for Attempt {
    fn default() -> Attempt {
        Attempt {
            sites: Vec::new(),
            idiom: Idiom::One,
            goals: goals(Idiom::One),
            reach: 0,
            ranks: Ranks::default(),
            loose: false,
            rng: Rng::for_run(0, 0),
            stage: 0,
            threads: [None; 2],
            objects: [None; 2],
            since: [0; 2],
            arrivals: Vec::new(),
            at: Vec::new(),
        }
    }
}

impl Attempt {
    /// Begins a run that aims at `root`, after `tried` failed runs.
    pub(super) fn begin(&mut self, root: IRoot, window: u32, base: Base, tried: u32, rng: Rng) {
        self.sites.clear();
        self.sites.extend_from_slice(root.sites());
        self.idiom = root.idiom;
        self.goals = goals(root.idiom);
        // A short reach gives a loop more chances, a long one finds accesses that are far apart.
        self.reach = window.min([32, 128, window, window][(tried % 4) as usize]);
        self.rng = rng;
        self.ranks.begin(base);
        self.loose = tried >= 4;
        self.arrivals.clear();
        self.at.clear();
        self.forget();
    }

    pub(super) fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    pub(super) fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
    }

    /// Drops the executed accesses and starts over.
    fn forget(&mut self) {
        self.stage = 0;
        self.threads = [None; 2];
        self.objects = [None; 2];
    }

    pub(super) fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        self.update(point);
        if self.stage > 0 && self.stage < self.goals.len() {
            if let Some(thread) = self.go_on(point) {
                return thread;
            }
            self.forget();
        }
        if self.stage == 0
            && let Some(thread) = self.seek(point)
        {
            return thread;
        }
        self.ranks.first(point, |_| true).expect("a point has an enabled thread")
    }

    fn update(&mut self, point: &Point<'_>) {
        self.at.resize(point.thread_count(), 0);
        self.arrivals.resize(point.thread_count(), 0);
        self.ranks.update(point, &mut self.rng);
        for thread in point.changed() {
            let operation = point.operation(thread);
            let here = place(point, operation);
            let bits = self.sites.iter().enumerate().filter(|(_, site)| here(site).is_some());
            let bits = bits.fold(0, |bits, (index, _)| bits | 1 << index);
            // A thread that has ended keeps its last operation.
            let bits = if point.has_ended(thread) { 0 } else { bits };
            let passes = bits != 0 && self.stage == 0 && self.passes(thread);
            self.at[thread.index()] = if passes { 0 } else { bits };
        }
    }

    /// Returns true if `thread`, which has reached a location of the iRoot, is not held there. In a loop most
    /// are not, because a run in which threads wait for each other in every round shows little else.
    fn passes(&mut self, thread: ThreadId) -> bool {
        let arrivals = &mut self.arrivals[thread.index()];
        *arrivals += 1;
        match *arrivals {
            0..=HELD => self.loose && self.rng.below(2) == 0,
            _ => self.rng.below(4) != 0,
        }
    }

    /// Returns the object with which `thread` is at this goal, if it is.
    fn object_at(&self, point: &Point<'_>, thread: ThreadId, goal: Goal) -> Option<ObjectId> {
        if self.at[thread.index()] & 1 << goal.site == 0 {
            return None;
        }
        let object = place(point, point.operation(thread))(&self.sites[goal.site])?;
        let (same, other) = (self.objects[goal.object], self.objects[1 - goal.object]);
        (same.is_none_or(|same| same == object) && other != Some(object)).then_some(object)
    }

    /// Before the first access: lets two threads meet, and holds those that wait for that.
    fn seek(&mut self, point: &Point<'_>) -> Option<ThreadId> {
        let [first, second] = [self.goals[0], self.goals[1]];
        let is_at = |thread: ThreadId, goal: Goal| self.at[thread.index()] & 1 << goal.site != 0;
        let holds = |thread: ThreadId| is_at(thread, first) || is_at(thread, second);
        let all = || (0..point.thread_count() as u32).map(ThreadId);
        for one in all().filter(|&one| is_at(one, first) && point.is_enabled(one)) {
            let Some(object) = self.object_at(point, one, first) else { continue };
            let meets = |other: ThreadId| {
                let theirs = self.object_at(point, other, second);
                other != one && theirs.is_some_and(|theirs| (theirs == object) == (second.object == 0))
            };
            if all().any(meets) {
                return Some(self.make(point, one, first, object));
            }
        }
        if let Some(thread) = self.ranks.first(point, |thread| !holds(thread)) {
            return Some(thread);
        }
        // No other thread can run. The thread of the first access may still be followed by the second one.
        let mut held: Vec<ThreadId> =
            point.enabled().iter().copied().filter(|&thread| is_at(thread, first)).collect();
        if held.is_empty() || (self.rng.below(4) == 0 && held.len() < point.enabled().len()) {
            held = point.enabled().iter().copied().filter(|&thread| !is_at(thread, first)).collect();
        }
        held.sort_unstable();
        let thread = held[self.rng.below(held.len() as u64) as usize];
        match self.object_at(point, thread, first) {
            Some(object) => Some(self.make(point, thread, first, object)),
            None => Some(thread),
        }
    }

    /// Lets `thread` execute the access of a goal.
    fn make(&mut self, point: &Point<'_>, thread: ThreadId, goal: Goal, object: ObjectId) -> ThreadId {
        self.threads[goal.thread] = Some(thread);
        self.objects[goal.object] = Some(object);
        self.since[goal.thread] = point.progress(thread);
        self.stage += 1;
        if self.stage == self.goals.len() {
            self.ranks.let_go();
        }
        thread
    }

    /// After the first access: brings a thread to the next one without executing anything that would spoil
    /// it. Returns `None` if that is impossible.
    fn go_on(&mut self, point: &Point<'_>) -> Option<ThreadId> {
        let to_come = |goal: &Goal| self.threads[goal.thread];
        if self.goals[self.stage..].iter().filter_map(to_come).any(|thread| point.has_ended(thread)) {
            return None;
        }
        let next = self.goals[self.stage];
        let other = self.threads[1 - next.thread];
        let Some(thread) = self.threads[next.thread] else {
            // The first thread that reaches it. The thread of the first access continues only if no other
            // can.
            let arrived =
                |&thread: &ThreadId| Some(thread) != other && self.object_at(point, thread, next).is_some();
            let mut enabled = point.enabled().iter().copied();
            if let Some(thread) = enabled.find(arrived) {
                let object = self.object_at(point, thread, next)?;
                return Some(self.make(point, thread, next, object));
            }
            let free = |thread: ThreadId| !self.spoils(point, thread);
            let others = |thread: ThreadId| Some(thread) != other && free(thread);
            return self.ranks.first(point, others).or_else(|| self.ranks.first(point, free));
        };
        if let Some(object) = self.object_at(point, thread, next) {
            if point.is_enabled(thread) {
                return Some(self.make(point, thread, next, object));
            }
            if self.idiom == Idiom::Five && self.sites[next.site].action == Action::Lock {
                // Waiting for the lock is enough.
                self.make(point, thread, next, object);
                return if self.stage < self.goals.len() {
                    self.go_on(point)
                } else {
                    self.ranks.first(point, |_| true)
                };
            }
        } else if point.progress(thread) - self.since[next.thread] > self.reach {
            return None;
        }
        let free = |thread: ThreadId| !self.spoils(point, thread);
        if point.is_enabled(thread) && free(thread) {
            return Some(thread);
        }
        let others = |other_thread: ThreadId| Some(other_thread) != other && free(other_thread);
        self.ranks.first(point, others).or_else(|| self.ranks.first(point, free))
    }

    /// Returns true if the next operation of `thread` would end a dependency that waits for its second
    /// access.
    fn spoils(&self, point: &Point<'_>, thread: ThreadId) -> bool {
        let operation = point.operation(thread);
        open(self.idiom, self.stage).iter().any(|&(from, to)| {
            let (from, to) = (self.goals[from], self.goals[to]);
            let Some(object) = self.objects[from.object] else { return false };
            let writes = |goal: Goal| self.sites[goal.site].action != Action::Read;
            operation.objects().filter(|&(touched, _)| touched == object).any(|(_, written)| {
                written || writes(to) && (writes(from) || Some(thread) == self.threads[from.thread])
            })
        })
    }
}

/// Returns a function that matches an operation against a site and returns the object.
fn place(point: &Point<'_>, operation: &Operation) -> impl Fn(&Site) -> Option<ObjectId> + use<> {
    let here = point.location_name(operation.location);
    let operation = *operation;
    move |wanted| {
        let mut sites = raddle_idioms::site(&operation, here);
        sites.find(|(_, site, _)| site == wanted).map(|(object, ..)| object)
    }
}
