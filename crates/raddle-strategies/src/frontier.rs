//! What is left to run, sorted by cost: the common part of the bounding strategies.
//!
//! A run follows a prefix of decisions and from there on the cheapest decision at each point, which costs nothing. Each
//! other decision that it could have made after the prefix becomes a work item: the same run up to there, then that
//! decision. Items are taken in order of cost, the latest first among equals. Every schedule is the completion of
//! exactly one item (the one that ends in its last decision that was not the cheapest), so none is run twice, and none
//! of a higher cost comes before all of a lower cost are over. The scheme is the work queue of iterative context
//! bounding (Musuvathi and Qadeer, PLDI 2007). Memory grows with the number of items that wait for the next cost.

use raddle_engine::{Choice, Needs, Plan, Point, RunSummary};
use raddle_model::{ThreadId, Trace};
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
}

impl Frontier {
    pub(crate) const NEEDS: Needs = Needs { enabled: true, state: false };

    pub(crate) fn new(bound: Option<u32>, cost_of: Cost) -> Frontier {
        Frontier {
            cost_of,
            bound,
            buckets: BTreeMap::new(),
            prefix: Vec::new(),
            cost: 0,
            exhausted: false,
            at: 0,
        }
    }

    pub(crate) fn begin(&mut self) -> Plan {
        self.at = 0;
        if self.exhausted { Plan::Exhausted } else { Plan::Run }
    }

    pub(crate) fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.at += 1;
        match self.prefix.get(self.at - 1) {
            Some(&Decision::Thread(thread)) if point.is_enabled(thread) => Choice::Run(thread),
            // The program did not repeat itself, so this schedule does not exist.
            Some(_) => Choice::CutOff,
            None => {
                let last = point.last().map(|event| event.thread);
                let enabled = point.enabled();
                let cheapest = enabled.iter().min_by_key(|&&t| ((self.cost_of)(last, enabled, t), t));
                Choice::Run(*cheapest.expect("a point has an enabled thread"))
            }
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
        for (position, &decision) in schedule.iter().enumerate() {
            let new = position >= self.prefix.len();
            match decision {
                Decision::Thread(taken) => {
                    let last = step.checked_sub(1).map(|before| trace.events[before].thread);
                    let enabled = trace.enabled_at(step);
                    for &thread in enabled.iter().rev().filter(|&&thread| new && thread != taken) {
                        let cost = self.cost.saturating_add((self.cost_of)(last, enabled, thread));
                        self.add(
                            cost,
                            Item { schedule: schedule.clone(), position, instead: Decision::Thread(thread) },
                        );
                    }
                    step += 1;
                }
                Decision::Pick { value, arity } if new && value + 1 < arity => {
                    let instead = Decision::Pick { value: value + 1, arity };
                    self.add(self.cost, Item { schedule: schedule.clone(), position, instead });
                }
                Decision::Pick { .. } => {}
            }
        }
    }

    fn add(&mut self, cost: u32, item: Item) {
        if self.bound.is_none_or(|bound| cost <= bound) {
            self.buckets.entry(cost).or_default().push(item);
        }
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
        // The other numbers follow one at a time, so that a choice among very many costs one item.
        if let Decision::Pick { value, arity } = item.instead
            && value + 1 < arity
        {
            self.add(self.cost, Item { instead: Decision::Pick { value: value + 1, arity }, ..item });
        }
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
