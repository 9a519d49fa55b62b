//! Dynamic partial-order reduction: one complete run for each partial order.
//!
//! Paper: Abdulla, Aronis, Jonsson, Sagonas, "Optimal Dynamic Partial Order Reduction", POPL 2014, algorithm
//! 1 (source-DPOR: source sets and sleep sets). Where the thread that should go first cannot, every enabled
//! one is tried, as in Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software",
//! POPL 2005. Guarantee: in a program whose runs all end, exactly one run is completed for each partial order
//! under [`raddle_model::dependent`] with independent reads; deadlocks, failures and all answers to other
//! decisions are part of it. Runs that turn out to repeat another one are cut off and counted apart. Tests
//! (tests/systematic): `micro_programs_have_the_published_number_of_partial_orders`,
//! `random_programs_agree_with_depth_first_search`. Departures from the paper: races are searched after a
//! run, not during it; a transaction is one event, of which only the first operation is known before it was executed; a blocked operation at the end of a run takes part in races; an event that ends the
//! run (exit, failed assertion, misuse) depends on everything; a thread that another one has ended, or whose
//! operation another one has replaced, leaves the sleep set; one that ends the run with some drawn numbers stays there
//! for the others. Limits: the guarantee presumes that independent
//! operations commute. If they do not, all schedules are run once more, by depth-first search, and a partial
//! order may come more than once: with timeouts that fire at any step, because that moves the clock that all
//! threads read, and with a barrier that more threads use than it takes. Tests:
//! `dpor_sees_what_depth_first_search_sees` (raddle-lab, tests/timed_waits.rs),
//! `contested_barriers_agree_with_depth_first_search`. Partial orders may be missed if the engine descheduled a
//! spinning thread or a run ended at the step limit; searches report both.

mod races;
mod transaction;

use crate::catalogue::{Build, Capabilities, Entry, Family};
use crate::dfs::Dfs;
use races::Races;
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Failure, Operation, Replaced, ThreadId, Trace, Verdict};
use transaction::Transaction;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "dpor",
    family: Family::Systematic,
    summary: "one schedule per partial order, by source sets and sleep sets",
    parameters: &[],
    source: "Abdulla, Aronis, Jonsson, Sagonas, POPL 2014",
    guarantee: "every partial order, exactly once unless timeouts fire at any moment or a barrier has more users than it \
                takes (runs cut off by sleep sets are counted apart)",
    capabilities: Capabilities { complete: true, one_per_order: true, ..Capabilities::NONE },
    build: Build::Alone(|_| Ok(Box::new(Dpor::new()))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Dpor {
    /// The steps that the next run has to repeat, the last of them new.
    stack: Vec<Node>,
    exhausted: bool,
    /// The current run: the number of chosen steps, the number of answers given in the latest of them, those planned
    /// for it, and, from the end of `stack` on, the sleep set.
    steps: usize,
    picks: usize,
    planned: Answers,
    asleep: Vec<Sleeper>,
    /// The number of runs that were not cut off.
    complete: u64,
    /// True if a run had operations that count as independent and do not commute.
    inexact: bool,
    /// The search after the reduced one, if `inexact`.
    rest: Option<Dfs>,
}

/// The answers given in one step, each with the number of possible answers.
type Answers = Vec<(u32, u32)>;

/// A thread and its next operation; other runs cover everything that follows from it.
#[derive(Clone, Debug)]
struct Sleeper {
    thread: ThreadId,
    transaction: Transaction,
    /// The answers with which the operation ends the run: as that depends on everything, it is still to be tried with
    /// these.
    ends: Vec<Answers>,
}

impl Sleeper {
    /// Returns true if the sleeper stays asleep when another thread executes `operations`. Its own would then be the same.
    fn sleeps_through(&self, operations: impl Iterator<Item = Operation>) -> bool {
        !self.transaction.depends_on(operations)
    }
}

/// A step of the latest learnt run, and its untried alternatives.
#[derive(Clone, Debug)]
struct Node {
    enabled: Vec<ThreadId>,
    /// The sleep set on arrival.
    sleep: Vec<Sleeper>,
    /// The threads already tried here.
    done: Vec<Sleeper>,
    /// The threads still to be tried here. Invariant: enabled, not in `done` or `taken`, and in `sleep` only if their
    /// operation may end the run.
    wanted: Vec<ThreadId>,
    taken: Taken,
}

/// The step that is tried at a node.
#[derive(Clone, Debug)]
struct Taken {
    thread: ThreadId,
    /// The answers given in it.
    picks: Answers,
    /// The answers still to be given in it, if it is to be tried with some only.
    rest: Option<Vec<Answers>>,
    /// The answers with which it ended the run.
    ends: Vec<Answers>,
    /// Its operations; known once they were executed.
    transaction: Option<Transaction>,
}

impl Taken {
    /// Creates the first attempt of `thread`, which may be one of those asleep.
    fn new(thread: ThreadId, sleep: &[Sleeper]) -> Taken {
        let sleeper = sleep.iter().find(|sleeper| sleeper.thread == thread);
        let mut rest = sleeper.map(|sleeper| sleeper.ends.clone());
        let picks = rest.as_mut().and_then(Vec::pop).unwrap_or_default();
        Taken { thread, picks, rest, ends: Vec::new(), transaction: None }
    }

    /// Advances to the next answers. Returns false if there are none.
    fn next_picks(&mut self) -> bool {
        if let Some(rest) = &mut self.rest {
            return rest.pop().map(|picks| self.picks = picks).is_some();
        }
        while let Some((value, arity)) = self.picks.pop() {
            if value + 1 < arity {
                self.picks.push((value + 1, arity));
                return true;
            }
        }
        false
    }
}

impl Node {
    /// Returns true if a run that begins with `thread` here was executed, is planned, or is covered
    /// elsewhere.
    fn covers(&self, thread: ThreadId) -> bool {
        self.taken.thread == thread
            || self.wanted.contains(&thread)
            || self.done.iter().any(|sleeper| sleeper.thread == thread)
            || self.sleep.iter().any(|sleeper| sleeper.thread == thread && sleeper.ends.is_empty())
    }

    /// Iterates over the threads asleep here for the step taken.
    fn asleep(&self) -> impl Iterator<Item = &Sleeper> {
        let is_tried =
            |thread| self.taken.thread == thread || self.done.iter().any(|sleeper| sleeper.thread == thread);
        self.sleep.iter().filter(move |sleeper| !is_tried(sleeper.thread)).chain(&self.done)
    }

    /// Iterates over the sleep set after the step taken here.
    fn sleep_after(&self) -> impl Iterator<Item = &Sleeper> {
        let taken = self.taken.transaction.as_ref();
        self.asleep().filter(move |sleeper| {
            taken.is_some_and(|transaction| sleeper.sleeps_through(transaction.operations()))
        })
    }

    /// Adds one of `initials` to the wanted threads, unless one of them is covered.
    fn want_one_of(&mut self, initials: &[ThreadId]) {
        if initials.iter().any(|&thread| self.covers(thread)) {
            return;
        }
        match initials.iter().find(|thread| self.enabled.contains(thread)) {
            Some(&thread) => self.wanted.push(thread),
            None => {
                let others: Vec<ThreadId> =
                    self.enabled.iter().copied().filter(|&thread| !self.covers(thread)).collect();
                self.wanted.extend(others);
            }
        }
    }

    /// Advances to the next step to be tried. Returns false if there is none.
    fn next_step(&mut self) -> bool {
        if self.taken.next_picks() {
            return true;
        }
        if let Some(transaction) = self.taken.transaction.take() {
            let ends = std::mem::take(&mut self.taken.ends);
            self.done.push(Sleeper { thread: self.taken.thread, transaction, ends });
        }
        self.wanted.sort_unstable_by(|a, b| b.cmp(a));
        match self.wanted.pop() {
            Some(thread) => {
                self.taken = Taken::new(thread, &self.sleep);
                true
            }
            None => false,
        }
    }
}

impl Dpor {
    /// Creates a search that has not run anything.
    pub fn new() -> Dpor {
        Dpor::default()
    }

    /// Returns the explored share of the search tree, if each of the known alternatives of a step leads to an equal part of
    /// it: the estimate of the thesis, section 5.2.4. Most alternatives become known only after the first runs.
    fn share(&self) -> f64 {
        self.stack.iter().rev().fold(0.0, |below, node| {
            let known = node.done.len() + 1 + node.wanted.len();
            (node.done.len() as f64 + below) / known as f64
        })
    }

    /// Updates the stack with a run. Returns the index of its first new step, or `None` if the program did
    /// not repeat the earlier steps.
    fn extend(&mut self, run: &RunSummary<'_>) -> Option<usize> {
        let trace = run.trace;
        let starts = trace.transactions();
        let repeated = self.stack.iter().zip(&starts);
        let matches =
            repeated.filter(|(node, start)| node.taken.thread == trace.events[**start].thread).count();
        if matches < self.stack.len() {
            return None;
        }
        let first_new = self.stack.len().saturating_sub(1);
        let first_event = starts.get(first_new).copied().unwrap_or(trace.events.len());
        let next = NextOperations::new(run, first_event);
        let mut picks = trace.picks.iter().skip_while(|pick| (pick.step as usize) < first_event).peekable();
        for (step, &start) in starts.iter().enumerate().skip(first_new) {
            let event = &trace.events[start];
            let end = starts.get(step + 1).copied().unwrap_or(trace.events.len());
            if step == self.stack.len() {
                // A thread that another one has ended, or whose operation another one has replaced, is awake.
                let waits =
                    |sleeper: &&Sleeper| next.of(sleeper.thread, start) == Some(&sleeper.transaction.first);
                let sleep = self
                    .stack
                    .last()
                    .map_or_else(Vec::new, |node| node.sleep_after().filter(waits).cloned().collect());
                let taken = Taken::new(event.thread, &sleep);
                let enabled = trace.enabled_at(start).to_vec();
                self.stack.push(Node { enabled, sleep, done: Vec::new(), wanted: Vec::new(), taken });
            }
            let taken = &mut self.stack[step].taken;
            taken.transaction = Some(Transaction::of(&trace.events[start..end]));
            taken.picks.clear();
            while let Some(pick) = picks.next_if(|pick| (pick.step as usize) < end) {
                taken.picks.push((pick.value, pick.arity));
            }
        }
        Some(first_new)
    }
}

/// The next operation of each thread, for the steps of a run from some step on.
struct NextOperations<'a> {
    trace: &'a Trace,
    /// Per thread: its events from that step on.
    of: Vec<Vec<usize>>,
}

impl<'a> NextOperations<'a> {
    fn new(run: &RunSummary<'a>, first: usize) -> NextOperations<'a> {
        let mut of = vec![Vec::new(); run.thread_count()];
        for (index, event) in run.trace.events.iter().enumerate().skip(first) {
            of[event.thread.index()].push(index);
        }
        NextOperations { trace: run.trace, of }
    }

    /// Returns the operation that `thread` has announced before event `step`, whether it is executed later or not.
    fn of(&self, thread: ThreadId, step: usize) -> Option<&'a Operation> {
        let events = &self.of[thread.index()];
        let executed = events.get(events.partition_point(|&index| index < step)).copied();
        let is_of = |replaced: &&Replaced| {
            let at = replaced.step as usize;
            replaced.thread == thread && at >= step && executed.is_none_or(|index| at < index)
        };
        if let Some(replaced) = self.trace.replaced.iter().find(is_of) {
            return Some(&replaced.operation);
        }
        match executed {
            Some(index) => Some(&self.trace.events[index].operation),
            None => self.trace.pending.get(thread.index())?.as_ref(),
        }
    }
}

/// Returns true if a run had operations that count as independent and do not commute.
pub(crate) fn is_inexact(run: &RunSummary<'_>) -> bool {
    run.trace.timeouts_anytime && has_time_limits(run.trace) || run.has_contested_barrier()
}

/// Returns true if a thread waited, or was about to wait, with a time limit.
fn has_time_limits(trace: &Trace) -> bool {
    let mut operations =
        trace.events.iter().map(|event| event.operation).chain(trace.pending.iter().flatten().copied());
    operations.any(|operation| operation.kind.info().timed && operation.argument != Operation::UNTIMED)
}

/// Returns true if the last event of a run ended it while others could have continued.
pub(crate) fn was_ended(verdict: &Verdict) -> bool {
    match verdict.failure() {
        Some(Failure::Deadlock { .. } | Failure::StepLimit { .. }) | None => false,
        Some(_) => true,
    }
}

impl Strategy for Dpor {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.steps = 0;
        self.asleep.clear();
        if self.exhausted && self.inexact {
            return self.rest.get_or_insert_default().begin(rng);
        }
        if self.exhausted { Plan::Exhausted } else { Plan::Run }
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if let Some(rest) = &mut self.rest {
            return rest.choose(point);
        }
        let step = self.steps;
        self.steps += 1;
        self.picks = 0;
        self.planned.clear();
        if let Some(node) = self.stack.get(step) {
            let thread = node.taken.thread;
            self.planned.clone_from(&node.taken.picks);
            return if point.is_enabled(thread) { Choice::Run(thread) } else { Choice::CutOff };
        }
        let Some(last) = point.last().map(|_| point.latest()) else {
            return Choice::Run(*point.enabled().iter().min().expect("a point has an enabled thread"));
        };
        if step == self.stack.len()
            && let Some(node) = self.stack.last()
        {
            self.asleep.extend(node.asleep().cloned());
        }
        self.asleep.retain(|sleeper| {
            sleeper.sleeps_through(last.iter().map(|event| event.operation))
                && *point.operation(sleeper.thread) == sleeper.transaction.first
        });
        let asleep = |thread| self.asleep.iter().find(|sleeper| sleeper.thread == thread);
        let awake = |thread| asleep(thread).is_none_or(|sleeper| !sleeper.ends.is_empty());
        let Some(thread) = point.enabled().iter().copied().filter(|&thread| awake(thread)).min() else {
            return Choice::CutOff;
        };
        if let Some(picks) = asleep(thread).and_then(|sleeper| sleeper.ends.last()) {
            self.planned.clone_from(picks);
        }
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        if let Some(rest) = &mut self.rest {
            return rest.pick(arity);
        }
        let planned = self.planned.get(self.picks);
        self.picks += 1;
        planned.map_or(0, |&(value, _)| value.min(arity - 1))
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        if let Some(rest) = &mut self.rest {
            return rest.learn(run);
        }
        self.complete += u64::from(*run.verdict != Verdict::CutOff);
        self.inexact = self.inexact || is_inexact(run);
        if let Some(first_new) = self.extend(run) {
            let ended = was_ended(run.verdict);
            if let (true, Some(node)) = (ended, self.stack.last_mut()) {
                node.taken.ends.push(node.taken.picks.clone());
            }
            let stack = &mut self.stack;
            Races::new(run, ended).find(first_new, |step, initials| stack[step].want_one_of(initials));
        }
        while let Some(node) = self.stack.last_mut() {
            if node.next_step() {
                return;
            }
            self.stack.pop();
        }
        self.exhausted = true;
    }

    fn needs(&self) -> Needs {
        Needs { enabled: true, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn space(&self) -> Option<f64> {
        if self.exhausted && !self.inexact {
            return Some(self.complete as f64);
        }
        let share = self.share();
        (share > 0.0).then(|| self.complete as f64 / share)
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
