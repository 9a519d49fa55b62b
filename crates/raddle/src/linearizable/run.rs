//! One run of a scenario, and its judgement.

use super::reference::{Machine, Subject};
use super::scenario::{Call, Scenario};
use crate::check::Test;
use crate::runtime::{self, Calls};
use crate::thread::Builder;
use raddle_history::{Condition, Event, History, Outcome, Part, Row, order, picture, table};
use raddle_model::{Failure, ThreadId};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{Location, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a run of a scenario does besides calling operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Interference {
    /// The thread that halts, and the step before which it does.
    pub(super) halt: Option<(usize, u32)>,
    /// The most steps that a call may take.
    pub(super) most_steps: Option<u32>,
    /// Counts steps.
    pub(super) counts: bool,
}

/// The test of a scenario.
pub(super) struct Plan<S> {
    subject: Subject<S>,
    scenario: Scenario,
    /// The calls by number.
    calls: Vec<Call>,
    callers: Vec<Part>,
    condition: Condition,
    interference: Interference,
    machine: Mutex<Box<dyn Machine>>,
    /// Histories that are known to meet the condition.
    accepted: Mutex<BTreeSet<History>>,
    /// What the runs have shown about progress.
    pub(super) progress: Mutex<Progress>,
    /// The line of the test that begins the check.
    location: &'static Location<'static>,
}

/// What runs have shown about progress.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress {
    /// True if the thread that is to halt did so in some run.
    pub(super) has_halted: bool,
    /// The most steps of a call.
    pub(super) steps: u32,
}

/// The happens-before clocks of a call.
#[derive(Clone, Default)]
struct Clocks {
    /// The clock of its thread when it began.
    begun: Vec<u32>,
    /// Its thread, and the number of events of that when it ended.
    ended: Option<(ThreadId, u32)>,
}

/// The events of the latest run on this OS thread.
#[derive(Default)]
struct Record {
    events: Vec<Event>,
    panicked: Option<usize>,
    /// The clocks of each call.
    clocks: Vec<Clocks>,
    /// A failure that was found during the run.
    complaint: Option<String>,
}

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

impl<S: Sync + 'static> Plan<S> {
    pub(super) fn new(
        subject: Subject<S>,
        scenario: &Scenario,
        condition: Condition,
        interference: Interference,
        machine: Box<dyn Machine>,
        location: &'static Location<'static>,
    ) -> Arc<Plan<S>> {
        let (callers, calls) = scenario.calls().into_iter().unzip();
        Arc::new(Plan {
            subject,
            scenario: scenario.clone(),
            calls,
            callers,
            condition,
            interference,
            machine: Mutex::new(machine),
            accepted: Mutex::default(),
            progress: Mutex::default(),
            location,
        })
    }

    /// Returns the test of the scenario.
    pub(super) fn test(self: &Arc<Plan<S>>) -> Test {
        let plan = Arc::clone(self);
        Arc::new(move || plan.run())
    }

    fn run(self: &Arc<Plan<S>>) {
        RECORD.set(Record { clocks: vec![Clocks::default(); self.calls.len()], ..Record::default() });
        let threads = self.scenario.threads.len();
        let is_weak = runtime::with(|runtime| runtime.engine.is_weak());
        let ordered = !is_weak && self.condition != Condition::SequentiallyConsistent;
        let marks = Arc::new(Calls::new(threads, ordered, self.location));
        marks.begin_run();
        let Interference { halt, most_steps, counts } = self.interference;
        if halt.is_some() || most_steps.is_some() || counts {
            runtime::with(runtime::Runtime::count_steps);
        }
        let structure = Arc::new((self.subject.create)());
        let numbers = |part: Part| (0..self.calls.len()).filter(move |&call| self.callers[call] == part);
        for call in numbers(Part::First) {
            self.call(&structure, call);
        }
        // The thread that halts comes last: it waits for all others.
        let mut order: Vec<usize> = (0..threads).collect();
        order.sort_by_key(|&thread| halt.is_some_and(|(victim, _)| victim == thread));
        let mut started: Vec<ThreadId> = Vec::new();
        for thread in order {
            let (plan, structure) = (Arc::clone(self), Arc::clone(&structure));
            let (marks, others) = (Arc::clone(&marks), started.clone());
            let calls: Vec<usize> = numbers(Part::Thread(thread as u32)).collect();
            let victim = halt.filter(|&(victim, _)| victim == thread);
            let builder = Builder::new().name(format!("T{}", thread + 1));
            let handle = builder.spawn_local_at(self.location, move || {
                if let Some((_, step)) = victim {
                    runtime::with(|runtime| runtime.halt_before(step, others));
                }
                for call in calls {
                    let location = plan.subject.operations[plan.calls[call].operation].location;
                    marks.begin(thread, location);
                    plan.call(&structure, call);
                    marks.end(thread, location);
                    plan.note_return(call);
                }
            });
            started.push(handle.number());
        }
        let may_wait = self.calls.iter().any(|call| self.subject.operations[call.operation].waits);
        let mut is_stuck = false;
        for thread in started {
            if !may_wait {
                runtime::join(thread, self.location);
            } else if !runtime::join_while_possible(thread, self.location) {
                runtime::set_background(thread);
                is_stuck = true;
            }
        }
        if runtime::is_closing() || RECORD.with_borrow(|record| record.panicked.is_some()) {
            return;
        }
        if !is_stuck {
            for call in numbers(Part::Last) {
                self.call(&structure, call);
            }
        }
        if runtime::with(|runtime| runtime.has_halted()) {
            lock(&self.progress).has_halted = true;
        }
        if let Some(complaint) = self.judge(is_weak, is_stuck) {
            self.fail(complaint);
        }
    }

    /// Calls an operation. A call of the main thread ends here.
    fn call(&self, structure: &S, number: usize) {
        let Call { operation, argument } = self.calls[number];
        let operation = &self.subject.operations[operation];
        let (steps, clock) = runtime::with(|runtime| {
            let current = runtime.current();
            let clock =
                if runtime.engine.is_weak() { runtime.engine.clock(current).to_vec() } else { Vec::new() };
            (runtime.counted_steps(), clock)
        });
        RECORD.with_borrow_mut(|record| {
            record.events.push(Event::Call(number));
            record.clocks[number].begun = clock;
        });
        let value = match runtime::catch(|| (operation.run)(structure, argument)) {
            Ok(value) => value,
            Err(payload) => {
                if runtime::with(|runtime| runtime.is_forced()) {
                    // The run is over and this thread unwinds; the unwinding must not stop here.
                    resume_unwind(payload);
                }
                RECORD.with_borrow_mut(|record| record.panicked = Some(number));
                runtime::resume(payload);
            }
        };
        let steps = runtime::with(|runtime| runtime.counted_steps()) - steps;
        let result = lock(&self.machine).results().number(number, value);
        RECORD.with_borrow_mut(|record| {
            if let Some(most) = self.interference.most_steps.filter(|&most| steps > most) {
                let text = (operation.text)(argument);
                record.complaint.get_or_insert(format!(
                    "not wait-free: {text} took {steps} steps, and {most} are allowed"
                ));
            }
            record.events.push(Event::Return(number, Outcome::Returned(result)));
        });
        if steps > 0 && !matches!(self.callers[number], Part::First | Part::Last) {
            let mut progress = lock(&self.progress);
            progress.steps = progress.steps.max(steps);
        }
    }

    /// Moves the end of the latest call to the moment after its last step.
    fn note_return(&self, number: usize) {
        let ended = runtime::with(|runtime| {
            let current = runtime.current();
            let is_weak = runtime.engine.is_weak();
            is_weak
                .then(|| (current, runtime.engine.clock(current).get(current.index()).copied().unwrap_or(0)))
        });
        RECORD.with_borrow_mut(|record| {
            record.clocks[number].ended = ended;
            let at = record
                .events
                .iter()
                .rposition(|event| matches!(event, Event::Return(call, _) if *call == number));
            if let Some(at) = at {
                let event = record.events.remove(at);
                record.events.push(event);
            }
        });
    }

    /// Returns what is wrong with the run that has just ended.
    fn judge(&self, is_weak: bool, is_stuck: bool) -> Option<String> {
        RECORD.with_borrow(|record| {
            if let Some(complaint) = &record.complaint {
                return Some(complaint.clone());
            }
            let history = if is_weak {
                self.by_happens_before(record)
            } else {
                History::new(&self.callers, &record.events, self.condition)
            };
            if !is_stuck && lock(&self.accepted).contains(&history) {
                return None;
            }
            let found = order(&history, lock(&self.machine).as_specification(), is_stuck);
            if found.is_ok() {
                lock(&self.accepted).insert(history);
                return None;
            }
            let is_pending =
                is_stuck && order(&history, lock(&self.machine).as_specification(), false).is_ok();
            let what = match self.condition {
                _ if is_pending => {
                    "a call waits forever although it need not: no order of the other calls makes it wait"
                }
                Condition::Linearizable => "not linearizable: no order of the calls has these results",
                Condition::SequentiallyConsistent => {
                    "not sequentially consistent: no order of the calls has these results"
                }
                Condition::QuiescentlyConsistent => {
                    "not quiescently consistent: no order of the calls has these results"
                }
            };
            Some(what.to_owned())
        })
    }

    fn by_happens_before(&self, record: &Record) -> History {
        let mut outcomes = vec![None; self.calls.len()];
        for event in &record.events {
            match *event {
                Event::Call(call) => outcomes[call] = Some(Outcome::Pending),
                Event::Return(call, outcome) => outcomes[call] = Some(outcome),
            }
        }
        let condition = self.condition;
        History::of_happens_before(&self.callers, outcomes, condition, |before, after| {
            let ended = record.clocks[before].ended.filter(|_| condition == Condition::Linearizable);
            let knows =
                |thread: ThreadId| record.clocks[after].begun.get(thread.index()).copied().unwrap_or(0);
            ended.is_some_and(|(thread, events)| knows(thread) >= events)
        })
    }

    /// Fails the run at the line that begins the check.
    fn fail(&self, complaint: String) {
        runtime::with(|runtime| {
            let location = runtime.location(self.location);
            runtime.engine.fail(Failure::Assertion { thread: ThreadId(0), location, message: complaint });
        });
    }

    /// Returns the calls of the latest run on this OS thread as a table and as a picture.
    pub(super) fn history(&self) -> Vec<String> {
        RECORD.with_borrow(|record| {
            let end = |call: usize| {
                let returned = record.events.iter().find_map(|event| match *event {
                    Event::Return(other, Outcome::Returned(result)) if other == call => Some(result),
                    _ => None,
                });
                let begun = record.events.contains(&Event::Call(call));
                match returned {
                    Some(result) => lock(&self.machine).results().text(call, result),
                    None if record.panicked == Some(call) => "panicked".to_owned(),
                    None if begun => "did not return".to_owned(),
                    None => "did not begin".to_owned(),
                }
            };
            let rows: Vec<Row> = (0..self.calls.len())
                .map(|call| Row { part: self.callers[call], call: self.text(call), end: end(call) })
                .collect();
            format!("{}\n{}", table(&rows), picture(&rows, &record.events))
                .lines()
                .map(str::to_owned)
                .collect()
        })
    }

    /// Returns the call that panicked in the latest run on this OS thread.
    pub(super) fn panicked(&self) -> Option<String> {
        RECORD.with_borrow(|record| record.panicked).map(|call| self.named(call))
    }

    /// Returns the calls of the latest run on this OS thread that began and did not return.
    pub(super) fn unfinished(&self) -> Vec<(u32, String)> {
        RECORD.with_borrow(|record| {
            let has_returned = |call: usize| {
                record.events.iter().any(|event| matches!(event, Event::Return(other, _) if *other == call))
            };
            let begun = record.events.iter().filter_map(|event| match event {
                Event::Call(call) if !has_returned(*call) => Some(*call),
                _ => None,
            });
            let of_threads = begun.filter_map(|call| match self.callers[call] {
                Part::Thread(thread) => Some((thread, self.text(call))),
                Part::First | Part::Last => None,
            });
            of_threads.collect()
        })
    }

    fn text(&self, call: usize) -> String {
        let Call { operation, argument } = self.calls[call];
        (self.subject.operations[operation].text)(argument)
    }

    fn named(&self, call: usize) -> String {
        match self.callers[call] {
            Part::Thread(thread) => format!("{} on T{}", self.text(call), thread + 1),
            Part::First | Part::Last => self.text(call),
        }
    }
}

/// Locks a mutex that is never kept across a step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
