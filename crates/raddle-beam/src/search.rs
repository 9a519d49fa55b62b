//! The search for a smaller failing run, and for the order that makes it fail, whose runs the VM executes.
//!
//! [`raddle_explain`] requests one run after the other and waits for each. It does so on its own thread,
//! which has the next request ready when the VM asks for it. Nothing here reads a clock, so the result is the
//! same on every machine.

use crate::handle::{Handle, Shared};
use crate::record::{Names, RunInfo};
use raddle_engine::Follow;
use raddle_explain::{
    Budget, Effort, Execute, Execution, Explanation, MOST_AUTOMATIC_STEPS, Smallest, Wanted, explain,
    minimize, reason, sentence,
};
use raddle_model::{FileError, Schedule, TraceFile};
use rustler::{Resource, ResourceArc};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// The maximum number of runs to find a smaller one, and the total number of steps after which none begins:
/// less than a second, because callers have time-outs of a few.
const RUNS: u64 = 300;
const STEPS: u64 = 300_000;
/// The total number of steps of the runs that explain it.
const EXPLAINING_STEPS: u64 = 150_000;
/// Longer runs are not explained.
const LONGEST_EXPLAINED: usize = 2_000;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The smallest run.
    pub file: TraceFile,
    /// A sentence with the two operations that must be swapped for it to pass, if found.
    pub explained: Option<String>,
}

/// A message from the search thread.
enum Message {
    /// A request for a run.
    Wants(Schedule, Wanted),
    /// The end of the search; `None` if the failure does not reproduce.
    Ends(Option<Box<Found>>),
}

/// The outcome of a run: its cost, and the run, if it was requested.
struct RunOutcome {
    steps: u64,
    execution: Option<Execution>,
}

/// A search in progress.
pub struct Search {
    /// The original failing run, without its steps.
    origin: TraceFile,
    ends: Mutex<Ends>,
}

/// The ends of the channels to the thread.
struct Ends {
    messages: Receiver<Message>,
    outcomes: Sender<RunOutcome>,
}

#[rustler::resource_impl]
impl Resource for Search {}

/// The next request of a search.
pub enum Next {
    /// A run, and whether its trace is returned only if it fails, or always.
    Run(Shared, Wanted),
    /// None: the search is over with this result.
    Over(Option<Box<Found>>),
}

impl Search {
    /// Starts a search with the failing run in the text of a failure file.
    pub fn begin(text: &str) -> Result<Search, FileError> {
        let file = TraceFile::from_json(text)?;
        let origin =
            TraceFile { steps: Vec::new(), picks: Vec::new(), parameters: Vec::new(), ..file.clone() };
        let (requests, messages) = channel();
        let (outcome_sender, outcomes) = channel();
        std::thread::spawn(move || {
            let found = search(file, &mut Runs { requests: &requests, outcomes, steps: Rc::default() });
            // The receiver may be gone.
            _ = requests.send(Message::Ends(found.map(Box::new)));
        });
        Ok(Search { origin, ends: Mutex::new(Ends { messages, outcomes: outcome_sender }) })
    }

    /// Returns the next request. A thread that has ended without a message has found nothing.
    pub fn next(&self) -> Next {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        match ends.messages.recv() {
            Ok(Message::Wants(schedule, wanted)) => {
                let follow = Follow::new(schedule);
                let handle = Handle::follow(follow, self.origin.settings, &self.origin.strategy);
                Next::Run(ResourceArc::new(handle), wanted)
            }
            Ok(Message::Ends(found)) => Next::Over(found),
            Err(_) => Next::Over(None),
        }
    }

    /// Passes on the requested run, if it could be executed. Its trace is returned if there are names for it.
    pub fn record_run(&self, handle: &Handle, names: Option<Names>) {
        let origin = &self.origin;
        let execution = names.map(|(threads, objects, locations)| {
            let info = RunInfo {
                program: origin.program.clone(),
                arguments: origin.arguments.clone(),
                seed: origin.seed,
                run: origin.run,
                threads,
                objects,
                locations,
            };
            let run = handle.record(info);
            let run = TraceFile { strategy: origin.strategy.clone(), id: origin.id.clone(), ..run };
            Execution { run, preemptions: handle.preemptions() }
        });
        let outcome = RunOutcome { steps: handle.lock().effort(), execution };
        // The final message of a thread that has ended is received separately.
        _ = self.ends.lock().unwrap_or_else(PoisonError::into_inner).outcomes.send(outcome);
    }
}

/// Runs the whole search, on its thread.
fn search(file: TraceFile, runs: &mut Runs<'_>) -> Option<Found> {
    if file.steps.len() > MOST_AUTOMATIC_STEPS {
        return None;
    }
    let steps = Rc::clone(&runs.steps);
    let mut go_on = |_: &Smallest, _: bool| steps.get() < STEPS;
    let small = minimize(&file, Budget { executions: RUNS, go_on: &mut go_on }, runs)?.run;
    if small.steps.len() > LONGEST_EXPLAINED {
        return Some(Found { file: small, explained: None });
    }
    steps.set(0);
    let mut go_on = |_: &Explanation| steps.get() < EXPLAINING_STEPS;
    let found = explain(&small, Effort::after_a_failure(small.steps.len()), &mut go_on, runs);
    let mut small = small;
    let found = found.and_then(|found| found.run.clone().map(|run| (run, found)));
    let explained = found.and_then(|(run, found)| {
        small.details.reason = reason(&run, &found).filter(|_| run.steps == small.steps);
        match found.swapped[..] {
            [pair] => Some(format!("{}; if they are swapped, the run passes", sentence(&run, &found, pair))),
            _ => None,
        }
    });
    Some(Found { file: small, explained })
}

/// Executes runs in the VM.
struct Runs<'a> {
    requests: &'a Sender<Message>,
    outcomes: Receiver<RunOutcome>,
    /// The cost of all runs.
    steps: Rc<Cell<u64>>,
}

impl Execute for Runs<'_> {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        // If the VM side is gone, neither this run nor later ones are executed.
        self.requests.send(Message::Wants(schedule.clone(), wanted)).ok()?;
        let outcome = self.outcomes.recv().ok()?;
        self.steps.set(self.steps.get() + outcome.steps);
        outcome.execution
    }
}
