//! What is left to run, sorted by cost: the common part of the bounding strategies.
//!
//! A run follows a prefix of decisions and from there on the cheapest decision at each point, which costs nothing. Each
//! other decision that it could have made after the prefix becomes a work item: the same run up to there, then that
//! decision. Items are taken in order of cost, the latest first among equals. Every schedule is the completion of
//! exactly one item (the one that ends in its last decision that was not the cheapest), so none is run twice, and none
//! of a higher cost comes before all of a lower cost are over. The scheme is the work queue of iterative context
//! bounding (Musuvathi and Qadeer, PLDI 2007). Memory grows with the number of items that wait for the next cost.
//!
//! With sleep sets (Godefroid's thesis, 1996), an item also knows the threads whose next step is tried first elsewhere: they
//! sleep until something is executed that their step depends on. Of the schedules that differ only in the order of
//! independent steps one is then left, and a run in which all enabled threads sleep is cut off.

use raddle_engine::{Choice, Needs, Plan, Point, RunSummary};
use raddle_model::{Operation, Reads, ThreadId, Trace, dependent};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What it costs to run a thread, given the thread that ran last and all enabled threads in any order. At least one
/// enabled thread must be free of cost.
pub(crate) type Cost = fn(Option<ThreadId>, &[ThreadId], ThreadId) -> u32;

/// One decision of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    /// This thread takes a step.
    Thread(ThreadId),
    /// This number is handed out.
    Pick { value: u32, arity: u32 },
}

/// A run that is still to be made: the first `position` decisions of `schedule`, then `instead`.
#[derive(Clone, Debug)]
struct Item {
    schedule: Arc<[Decision]>,
    position: usize,
    instead: Decision,
    /// The threads that sleep after `instead`; empty without sleep sets.
    asleep: Arc<[ThreadId]>,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(crate) struct Frontier {
    cost_of: Cost,
    bound: Option<u32>,
    /// Invariant: no bucket is empty, and none is cheaper than the run that is planned.
    buckets: BTreeMap<u32, Vec<Item>>,
    /// The decisions that the planned run begins with, and what they cost.
    prefix: Vec<Decision>,
    cost: u32,
    exhausted: bool,
    /// How many decisions the current run has made.
    at: usize,
    /// Whether threads sleep.
    sleeps: bool,
    /// Who sleeps after the prefix, and who sleeps now, once the run is there.
    asleep_after_prefix: Arc<[ThreadId]>,
    asleep: Vec<ThreadId>,
    /// Whether the run is still in the prefix.
    fresh: bool,
}

impl Frontier {
    pub(crate) const NEEDS: Needs = Needs { enabled: true, state: false, places: false };

    pub(crate) fn new(bound: Option<u32>, cost_of: Cost) -> Frontier {
        Frontier {
            cost_of,
            bound,
            buckets: BTreeMap::new(),
            prefix: Vec::new(),
            cost: 0,
            exhausted: false,
            at: 0,
            sleeps: false,
            asleep_after_prefix: Arc::default(),
            asleep: Vec::new(),
            fresh: true,
        }
    }

    /// The same with sleep sets.
    pub(crate) fn with_sleep_sets(mut self) -> Frontier {
        self.sleeps = true;
        self
    }

    pub(crate) fn begin(&mut self) -> Plan {
        self.at = 0;
        self.fresh = true;
        if self.exhausted { Plan::Exhausted } else { Plan::Run }
    }

    pub(crate) fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.at += 1;
        match self.prefix.get(self.at - 1) {
            Some(&Decision::Thread(thread)) if point.is_enabled(thread) => Choice::Run(thread),
            // The program did not repeat itself, so this schedule does not exist.
            Some(_) => Choice::CutOff,
            None => {
                self.wake(point);
                let last = point.last().map(|event| event.thread);
                let enabled = point.enabled();
                let awake = enabled.iter().filter(|thread| !self.asleep.contains(thread));
                let cheapest = awake.min_by_key(|&&t| ((self.cost_of)(last, enabled, t), t));
                cheapest.map_or(Choice::CutOff, |&thread| Choice::Run(thread))
            }
        }
    }

    /// Wakes the threads whose next step depends on the one executed last.
    fn wake(&mut self, point: &Point<'_>) {
        if !self.sleeps {
            return;
        }
        if self.fresh {
            self.fresh = false;
            self.asleep.clear();
            self.asleep.extend_from_slice(&self.asleep_after_prefix);
        }
        if let Some(last) = point.last() {
            self.asleep.retain(|&thread| independent(point.operation(thread), &last.operation));
        }
    }

    pub(crate) fn pick(&mut self, arity: u32) -> u32 {
        self.at += 1;
        match self.prefix.get(self.at - 1) {
            Some(&Decision::Pick { value, .. }) => value.min(arity - 1),
            _ => 0,
        }
    }

    pub(crate) fn learn(&mut self, run: &RunSummary<'_>) {
        let schedule = decisions(run.trace);
        if schedule.starts_with(&self.prefix) {
            self.add_alternatives(run.trace, schedule.into());
        }
        self.plan();
    }

    /// Adds an item for each decision after the prefix that could have been another one.
    fn add_alternatives(&mut self, trace: &Trace, schedule: Arc<[Decision]>) {
        let mut step = 0_usize;
        let next = if self.sleeps { Some(NextOperations::of(trace)) } else { None };
        let mut done = vec![0_usize; trace.parents.len()];
        let mut asleep: Vec<ThreadId> = self.asleep_after_prefix.to_vec();
        for (position, &decision) in schedule.iter().enumerate() {
            let new = position >= self.prefix.len();
            match decision {
                Decision::Thread(taken) => {
                    let last = step.checked_sub(1).map(|before| trace.events[before].thread);
                    let enabled = trace.enabled_at(step);
                    // With sleep sets, those tried before the next alternative.
                    let mut tried = vec![taken];
                    for &thread in enabled.iter().rev().filter(|&&thread| new && thread != taken) {
                        if asleep.contains(&thread) {
                            continue;
                        }
                        let cost = self.cost.saturating_add((self.cost_of)(last, enabled, thread));
                        let sleepers: Arc<[ThreadId]> = match &next {
                            None => Arc::default(),
                            Some(next) => {
                                let before = asleep.iter().chain(&tried).copied();
                                let stays = |&other: &ThreadId| next.independent(&done, other, thread);
                                before.filter(stays).collect()
                            }
                        };
                        let instead = Decision::Thread(thread);
                        let item = Item { schedule: schedule.clone(), position, instead, asleep: sleepers };
                        if self.add(cost, item) {
                            tried.push(thread);
                        }
                    }
                    if let (true, Some(next)) = (new, &next) {
                        asleep.retain(|&other| next.independent(&done, other, taken));
                    }
                    done[taken.index()] += 1;
                    step += 1;
                }
                Decision::Pick { value, arity } if new && value + 1 < arity => {
                    let instead = Decision::Pick { value: value + 1, arity };
                    let asleep = if self.sleeps { asleep.clone().into() } else { Arc::default() };
                    self.add(self.cost, Item { schedule: schedule.clone(), position, instead, asleep });
                }
                Decision::Pick { .. } => {}
            }
        }
    }

    /// Tells whether the item is within the bound.
    fn add(&mut self, cost: u32, item: Item) -> bool {
        let within = self.bound.is_none_or(|bound| cost <= bound);
        if within {
            self.buckets.entry(cost).or_default().push(item);
        }
        within
    }

    /// Takes the latest of the cheapest items.
    fn plan(&mut self) {
        let Some(mut bucket) = self.buckets.first_entry() else {
            self.exhausted = true;
            return;
        };
        self.cost = *bucket.key();
        let item = bucket.get_mut().pop().expect("no bucket is empty");
        if bucket.get().is_empty() {
            bucket.remove();
        }
        self.prefix.clear();
        self.prefix.extend_from_slice(&item.schedule[..item.position]);
        self.prefix.push(item.instead);
        self.asleep_after_prefix = item.asleep.clone();
        // The other numbers follow one at a time, so that a choice among very many costs one item.
        if let Decision::Pick { value, arity } = item.instead
            && value + 1 < arity
        {
            self.add(self.cost, Item { instead: Decision::Pick { value: value + 1, arity }, ..item });
        }
    }
}

fn independent(a: &Operation, b: &Operation) -> bool {
    !dependent(a, b, Reads::Independent)
}

/// What each thread of a run did after so many of its steps.
struct NextOperations(Vec<Vec<Operation>>);

impl NextOperations {
    fn of(trace: &Trace) -> NextOperations {
        let mut next = vec![Vec::new(); trace.parents.len()];
        for event in &trace.events {
            next[event.thread.index()].push(event.operation);
        }
        for (next, pending) in next.iter_mut().zip(&trace.pending) {
            next.extend(*pending);
        }
        NextOperations(next)
    }

    /// Whether the next operations of two threads are independent, which have taken as many steps as `done` says.
    fn independent(&self, done: &[usize], one: ThreadId, other: ThreadId) -> bool {
        let next = |thread: ThreadId| self.0[thread.index()].get(done[thread.index()]);
        next(one).zip(next(other)).is_some_and(|(one, other)| independent(one, other))
    }
}

/// All decisions of a run in order.
fn decisions(trace: &Trace) -> Vec<Decision> {
    let mut picks = trace.picks.iter().peekable();
    let mut decisions = Vec::with_capacity(trace.events.len() + trace.picks.len());
    for (step, event) in trace.events.iter().enumerate() {
        decisions.push(Decision::Thread(event.thread));
        while let Some(pick) = picks.next_if(|pick| pick.step as usize == step) {
            decisions.push(Decision::Pick { value: pick.value, arity: pick.arity });
        }
    }
    decisions
}
