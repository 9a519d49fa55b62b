//! The queue of schedules to run, sorted by cost: the common part of the bounding strategies.
//!
//! A run follows a prefix of decisions and then the cheapest decision at each point, which costs nothing.
//! Each alternative to a decision after the prefix becomes a work item: the same run up to there, then that
//! alternative. Items are taken in order of cost, the latest first among equals. Every schedule is the
//! completion of exactly one item (the one that ends in its last decision that was not the cheapest), so none
//! is run twice, and none of a higher cost comes before all of a lower cost are done. The scheme is the work
//! queue of iterative context bounding (Musuvathi and Qadeer, PLDI 2007). Memory grows with the number of
//! items that wait for the next cost.
//!
//! With sleep sets (Godefroid's thesis, 1996), an item also has the threads whose next step is tried first
//! elsewhere: they sleep until something is executed that their step depends on. Of the schedules that differ
//! only in the order of independent steps one then remains, and a run in which all enabled threads sleep is
//! cut off.

use crate::dpor::was_ended;
use raddle_engine::{Choice, Needs, Plan, Point, RunSummary};
use raddle_model::{Operation, Reads, ThreadId, Trace, dependent};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The cost of running a thread, given the thread that ran last and all enabled threads in any order. At
/// least one enabled thread must have cost 0.
pub(crate) type Cost = fn(Option<ThreadId>, &[ThreadId], ThreadId) -> u32;

/// One decision of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    /// This thread takes a step.
    Thread(ThreadId),
    /// This number is the answer to another decision.
    Pick { value: u32, arity: u32 },
}

/// A run that is still to be executed: the first `position` decisions of `schedule`, then `instead`.
#[derive(Clone, Debug)]
struct Item {
    schedule: Arc<[Decision]>,
    position: usize,
    instead: Decision,
    /// The threads that sleep after `instead`; empty without sleep sets.
    asleep: Vec<Sleeper>,
    /// With sleep sets, the alternatives to a thread's step.
    siblings: Option<Siblings>,
}

/// A thread whose next step is tried elsewhere.
#[derive(Clone, Copy, Debug)]
struct Sleeper {
    thread: ThreadId,
    operation: Operation,
}

/// The steps that could be taken at one point. They are tried one after the other: a step that ends the run
/// lets no thread sleep, and that is only known afterwards.
#[derive(Clone, Debug)]
struct Siblings {
    /// The threads that sleep at this point, and those whose step was tried.
    before: Vec<Sleeper>,
    tried: Sleeper,
    /// The threads to be tried, with their costs; the cheapest last.
    rest: Vec<(u32, Sleeper)>,
}

impl Item {
    /// Creates an item after which no thread sleeps.
    fn new(schedule: Arc<[Decision]>, position: usize, instead: Decision) -> Item {
        Item { schedule, position, instead, asleep: Vec::new(), siblings: None }
    }
}

/// The work queue; see the module documentation.
#[derive(Clone, Debug)]
pub(crate) struct Frontier {
    cost_of: Cost,
    bound: Option<u32>,
    /// Invariant: no bucket is empty, and none is cheaper than the run that is planned.
    buckets: BTreeMap<u32, Vec<Item>>,
    /// The decisions with which the planned run begins, and their cost.
    prefix: Vec<Decision>,
    cost: u32,
    exhausted: bool,
    /// Number of decisions of the current run.
    at: usize,
    /// True if sleep sets are used.
    sleeps: bool,
    /// The threads that sleep after the prefix, and those that sleep now, once the run is past it.
    asleep_after_prefix: Vec<Sleeper>,
    asleep: Vec<ThreadId>,
    /// The point at which the planned run departs from another one, and the alternatives there.
    leaves: Option<(Arc<[Decision]>, usize, Siblings)>,
    /// True if the run is still in the prefix.
    fresh: bool,
}

impl Frontier {
    pub(crate) const NEEDS: Needs = Needs {
        enabled: true,
        state: false,
        location_names: false,
        exit_last: false,
        timeouts_anytime: false,
        weak_memory: false,
    };

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
            asleep_after_prefix: Vec::new(),
            leaves: None,
            asleep: Vec::new(),
            fresh: true,
        }
    }

    /// Returns the same frontier with sleep sets.
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
            self.asleep.extend(self.asleep_after_prefix.iter().map(|sleeper| sleeper.thread));
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
        // The step that ended the run while others could have continued.
        let end = was_ended(run.verdict).then(|| run.trace.events.len().saturating_sub(1));
        if schedule.starts_with(&self.prefix) {
            self.add_alternatives(run.trace, schedule.into(), end);
        }
        if let Some((schedule, position, mut siblings)) = self.leaves.take() {
            let step = |decision: &&Decision| matches!(decision, Decision::Thread(_));
            if end != Some(schedule[..position].iter().filter(step).count()) {
                siblings.before.push(siblings.tried);
            }
            self.add_sibling(schedule, position, siblings.before, siblings.rest);
        }
        self.plan();
    }

    /// Adds an item for each alternative to a decision after the prefix.
    fn add_alternatives(&mut self, trace: &Trace, schedule: Arc<[Decision]>, end: Option<usize>) {
        let mut step = 0_usize;
        let next = if self.sleeps { Some(NextOperations::of(trace)) } else { None };
        let mut done = vec![0_usize; trace.parents.len()];
        let mut asleep = self.asleep_after_prefix.clone();
        for (position, &decision) in schedule.iter().enumerate() {
            let new = position >= self.prefix.len();
            match decision {
                Decision::Thread(taken) => {
                    let last = step.checked_sub(1).map(|before| trace.events[before].thread);
                    let enabled = trace.enabled_at(step);
                    let cost_of = |thread| self.cost.saturating_add((self.cost_of)(last, enabled, thread));
                    let others = enabled.iter().rev().copied().filter(|&thread| new && thread != taken);
                    if let Some(next) = &next {
                        let awake =
                            others.filter(|&thread| asleep.iter().all(|other| other.thread != thread));
                        let sleeper =
                            |thread| Some(Sleeper { thread, operation: next.of_thread(&done, thread)? });
                        let mut rest: Vec<(u32, Sleeper)> =
                            awake.filter_map(|thread| Some((cost_of(thread), sleeper(thread)?))).collect();
                        rest.sort_by_key(|&(cost, _)| std::cmp::Reverse(cost));
                        let operation = trace.events[step].operation;
                        let mut before = asleep.clone();
                        if end != Some(step) {
                            before.push(Sleeper { thread: taken, operation });
                        }
                        self.add_sibling(schedule.clone(), position, before, rest);
                        if new {
                            asleep.retain(|other| independent(&other.operation, &operation));
                        }
                    } else {
                        let items: Vec<(u32, ThreadId)> =
                            others.map(|thread| (cost_of(thread), thread)).collect();
                        for (cost, thread) in items {
                            let instead = Decision::Thread(thread);
                            self.add(cost, Item::new(schedule.clone(), position, instead));
                        }
                    }
                    done[taken.index()] += 1;
                    step += 1;
                }
                Decision::Pick { value, arity } if new && value + 1 < arity => {
                    let instead = Decision::Pick { value: value + 1, arity };
                    let item = Item::new(schedule.clone(), position, instead);
                    self.add(self.cost, Item { asleep: asleep.clone(), ..item });
                }
                Decision::Pick { .. } => {}
            }
        }
    }

    /// Adds the cheapest of the steps that are left to be tried at one point, given the threads that sleep
    /// there or were tried.
    fn add_sibling(
        &mut self,
        schedule: Arc<[Decision]>,
        position: usize,
        before: Vec<Sleeper>,
        mut rest: Vec<(u32, Sleeper)>,
    ) {
        let Some((cost, tried)) = rest.pop() else { return };
        let stays = |other: &&Sleeper| independent(&other.operation, &tried.operation);
        let asleep = before.iter().filter(stays).copied().collect();
        let item = Item::new(schedule, position, Decision::Thread(tried.thread));
        self.add(cost, Item { asleep, siblings: Some(Siblings { before, tried, rest }), ..item });
    }

    fn add(&mut self, cost: u32, item: Item) {
        if self.bound.is_none_or(|bound| cost <= bound) {
            self.buckets.entry(cost).or_default().push(item);
        }
    }

    /// Plans the latest of the cheapest items.
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
        self.asleep_after_prefix.clone_from(&item.asleep);
        self.leaves = item.siblings.clone().map(|siblings| (item.schedule.clone(), item.position, siblings));
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

/// The operations of each thread of a run, by step.
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

    /// Returns the next operation of a thread, when threads have taken as many steps as `done` says.
    fn of_thread(&self, done: &[usize], thread: ThreadId) -> Option<Operation> {
        self.0[thread.index()].get(done[thread.index()]).copied()
    }
}

/// Returns all decisions of a run in order.
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
