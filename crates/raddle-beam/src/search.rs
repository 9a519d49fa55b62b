//! The search for a smaller failing run, and for the order that makes it fail, of which the VM makes the runs.
//!
//! [`raddle_explain`] asks for one run after the other and waits for each. It does so on a thread of its own, which has the next question
//! ready when the VM asks for it. Nothing here reads a clock, so what is found is the same on every machine.

use crate::handle::{Handle, Shared};
use crate::record::{Names, Told};
use raddle_engine::Follow;
use raddle_explain::{
    Budget, Effort, Execute, Execution, Explanation, MOST_AUTOMATIC_STEPS, Smallest, Wanted, explain,
    minimize, sentence,
};
use raddle_model::{FileError, Schedule, TraceFile};
use rustler::{Resource, ResourceArc};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// The most runs that are made to find a smaller one, and after how many steps of all of them none begins: less than a second, as those who
/// wait have time-outs of a few.
const RUNS: u64 = 300;
const STEPS: u64 = 300_000;
/// The same for the order that makes it fail.
const EXPLAINING: Effort = Effort { executions: 150, samples: 20, depth: false };
const EXPLAINING_STEPS: u64 = 150_000;
/// A longer run is not explained.
const LONGEST_EXPLAINED: usize = 2_000;

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The smallest run.
    pub file: TraceFile,
    /// Which two operations have to be swapped for it to pass, in a sentence, if that was found out.
    pub explained: Option<String>,
}

/// What the thread of the search says.
enum Word {
    /// It wants to see such a run.
    Wants(Schedule, Wanted),
    /// It is over. There is nothing if the failure does not come again.
    Ends(Option<Box<Found>>),
}

/// What became of a run: what it cost, and the run, if it was wanted.
struct Made {
    steps: u64,
    execution: Option<Execution>,
}

/// A search that goes on.
pub struct Search {
    /// The failing run that was found, without its steps.
    origin: TraceFile,
    ends: Mutex<Ends>,
}

/// The ends of the channels to the thread.
struct Ends {
    words: Receiver<Word>,
    made: Sender<Made>,
}

#[rustler::resource_impl]
impl Resource for Search {}

/// What is to be done next for a search.
pub enum Next {
    /// A run, of which the trace is wanted if it fails, or in any case.
    Run(Shared, Wanted),
    /// Nothing: this was found.
    Over(Option<Box<Found>>),
}

impl Search {
    /// A search that begins with the failing run in the text of a failure file.
    pub fn begin(text: &str) -> Result<Search, FileError> {
        let file = TraceFile::from_json(text)?;
        let origin =
            TraceFile { steps: Vec::new(), picks: Vec::new(), parameters: Vec::new(), ..file.clone() };
        let (say, words) = channel();
        let (made, hear) = channel();
        std::thread::spawn(move || {
            let found = search(file, &mut Runs { say: &say, hear, steps: Rc::default() });
            // Nobody hears it who has gone away.
            _ = say.send(Word::Ends(found.map(Box::new)));
        });
        Ok(Search { origin, ends: Mutex::new(Ends { words, made }) })
    }

    /// What is to be done next. A thread that has ended without a word has found nothing.
    pub fn next(&self) -> Next {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        match ends.words.recv() {
            Ok(Word::Wants(schedule, wanted)) => {
                let follow = Follow::new(schedule);
                let handle = Handle::follow(follow, self.origin.settings, &self.origin.strategy);
                Next::Run(ResourceArc::new(handle), wanted)
            }
            Ok(Word::Ends(found)) => Next::Over(found),
            Err(_) => Next::Over(None),
        }
    }

    /// The run that was asked for was made, if it could be. It is wanted if there are names for it.
    pub fn made(&self, handle: &Handle, names: Option<Names>) {
        let origin = &self.origin;
        let execution = names.map(|(threads, objects, locations)| {
            let told = Told {
                program: origin.program.clone(),
                arguments: origin.arguments.clone(),
                seed: origin.seed,
                run: origin.run,
                threads,
                objects,
                locations,
            };
            let run = handle.record(told);
            let run = TraceFile { strategy: origin.strategy.clone(), id: origin.id.clone(), ..run };
            Execution { run, preemptions: handle.preemptions() }
        });
        let made = Made { steps: handle.lock().effort(), execution };
        // A thread that is no more has been heard, or will be.
        _ = self.ends.lock().unwrap_or_else(PoisonError::into_inner).made.send(made);
    }
}

/// The whole search, on its thread.
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
    let found = explain(&small, EXPLAINING, &mut go_on, runs);
    let explained = found.and_then(|found| match (&found.swapped[..], &found.run) {
        ([pair], Some(run)) => {
            Some(format!("{}; swap them and the run passes", sentence(run, &found, *pair)))
        }
        _ => None,
    });
    Some(Found { file: small, explained })
}

/// Lets the VM make runs.
struct Runs<'a> {
    say: &'a Sender<Word>,
    hear: Receiver<Made>,
    /// What all runs have cost.
    steps: Rc<Cell<u64>>,
}

impl Execute for Runs<'_> {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        // If nobody is there any more, no run is made, nor are those after it.
        self.say.send(Word::Wants(schedule.clone(), wanted)).ok()?;
        let made = self.hear.recv().ok()?;
        self.steps.set(self.steps.get() + made.steps);
        made.execution
    }
}
