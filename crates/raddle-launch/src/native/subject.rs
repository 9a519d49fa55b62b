//! The program of a failing run of a pthreads program, restarted.

use super::launch::{Server, library};
use super::program::find;
use super::{debug, observe, target};
use crate::server::Server as _;
use crate::subject::{Namer, Output, Repeated, Subject};
use crate::temporary::Temporary;
use anyhow::{Context, Result, bail, ensure};
use raddle_cc::was_compiled_here;
use raddle_explain::{Execute, Execution, Wanted};
use raddle_model::native::{Answer, LAYOUTS, Order, Points, RunResult, SHARED, Setup, Threads};
use raddle_model::{Environment, Failure, FrontEnd, Schedule, TraceFile};
use raddle_search::{Deadline, Lanes, Portfolio};
use raddle_symbols::Symbols;
use raddle_symbols::runs::translate;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The parameter of a failure file with the accesses that were scheduling points.
const POINTS: &str = "points";

/// The parameter of a failure file that records that locations with different callers were distinguished.
const CALLERS: &str = "callers";

/// The time limit of one of many runs.
const ONE_OF_MANY: Duration = Duration::from_secs(5);

/// The time limit of a replay, which is a single run.
const REPLAY: Duration = Duration::from_secs(600);

/// Returns the failing run `ran` with its program.
pub fn trace_file(ran: &RunResult, words: &[String], environment: &Environment, setup: &Setup) -> TraceFile {
    let mut file = ran.trace.as_deref().cloned().expect("the first failing run was asked for with its trace");
    file.front_end = FrontEnd::Native;
    file.program = words[0].clone();
    file.arguments = words[1..].to_vec();
    file.environment = environment.clone();
    file.build = raddle_symbols::build(Path::new(&words[0])).ok();
    file.parameters = vec![(POINTS.to_owned(), setup.points as i64), (LAYOUTS.to_owned(), 1)];
    if setup.callers {
        file.parameters.push((CALLERS.to_owned(), 1));
    }
    file.parameters.extend(ran.shared.iter().map(|&unit| (SHARED.to_owned(), unit as i64)));
    file
}

/// Names the locations of runs by the symbols of the program.
pub fn namer() -> Namer {
    namer_with(Rc::default())
}

fn namer_with(symbols: Rc<RefCell<Symbols>>) -> Namer {
    Box::new(move |run| translate(run, &mut symbols.borrow_mut()))
}

/// The program of a failing run.
pub struct Program {
    /// The original run.
    origin: TraceFile,
    shown: String,
    threads: Threads,
    library: Temporary,
    /// Executes the runs that follow a schedule.
    server: Option<Server>,
    symbols: Rc<RefCell<Symbols>>,
    /// The output of failing runs, by fingerprint.
    printed: Vec<(u64, String)>,
    /// No run is waited for after it.
    deadline: Deadline,
}

impl Program {
    /// Prepares the program of `file`, called `shown` in messages.
    pub fn open(file: &TraceFile, shown: &str, threads: Threads) -> Result<Program> {
        let mut origin = raddle_search::origin(file);
        origin.verdict = file.verdict.clone();
        setup(&origin, shown, threads, REPLAY)?;
        let (library, symbols) = (library()?, Rc::default());
        let shown = shown.to_owned();
        let deadline = Deadline::new(None);
        Ok(Program { origin, shown, threads, library, server: None, symbols, printed: Vec::new(), deadline })
    }

    /// Repeats the run of `file` under gdb, with additional arguments for it.
    pub fn debug(&self, file: &TraceFile, more: &[String]) -> Result<Repeated> {
        let (words, setup) = setup(&self.origin, &self.shown, self.threads, REPLAY)?;
        let order = Order::replay(file, random(file));
        let ran = debug::replay(&words, &file.environment, &setup, &order, more)
            .with_context(|| self.shown.clone())?;
        if let Some((step, what)) = &ran.divergence {
            let (shown, step, of) = (&self.shown, step + 1, file.steps.len());
            bail!("{shown}: the run did not come to its end under gdb: at step {step} of {of}: {what}");
        }
        self.repeated(*ran)
    }

    fn start(&self, environment: &Environment, threads: Threads, time: Duration) -> Result<Server> {
        let (words, setup) = setup(&self.origin, &self.shown, threads, time)?;
        Server::start(&self.library, &words, environment, &setup)
    }

    /// Executes one run in a separate process.
    fn make(&self, order: &Order) -> Result<Repeated> {
        let shown = &self.shown;
        let mut server = self.start(&self.origin.environment, self.threads, REPLAY)?;
        match server.order_until(order, &self.deadline)? {
            Answer::RunResult(ran) => self.repeated(*ran),
            Answer::Lost { message } | Answer::Refused { message } => {
                bail!("{shown}: the run cannot be repeated: {message}")
            }
            Answer::Ready { .. } | Answer::Exhausted | Answer::Coverage(_) | Answer::Estimate(_) => {
                bail!("{shown}: the native runtime has made no run")
            }
        }
    }

    fn repeated(&self, ran: RunResult) -> Result<Repeated> {
        let mut run = *ran.trace.context("the native runtime returned no trace of the run")?;
        translate(&mut run, &mut self.symbols.borrow_mut());
        let output = Output { printed: ran.output, callers: Vec::new() };
        Ok(Repeated { run, output, divergence: ran.divergence })
    }

    /// Returns the server for runs that follow a schedule. `None` if the program cannot be started, or has
    /// ended.
    fn follower(&mut self) -> Option<&mut Server> {
        if self.server.is_none() {
            // The backtrace of a Rust panic takes longer than the run, and is not displayed.
            let mut quiet = self.origin.environment.clone();
            quiet.environment.push(("RUST_BACKTRACE".to_owned(), "0".to_owned()));
            self.server = Some(self.start(&quiet, Threads::Fibers, ONE_OF_MANY).ok()?);
        }
        self.server.as_mut()
    }
}

impl Program {
    /// Drops a server whose answer was not awaited: its next answer would belong to that request.
    fn give_up<T>(&mut self) -> Option<T> {
        if self.deadline.is_over() {
            self.server = None;
        }
        None
    }
}

impl Execute for Program {
    fn execute(&mut self, schedule: &Schedule, wanted: Wanted) -> Option<Execution> {
        let order = Order::follow(&self.origin, schedule, random(&self.origin), wanted == Wanted::Any);
        // A server that does not answer executes neither this run nor later ones.
        let deadline = self.deadline;
        let Ok(Answer::RunResult(ran)) = self.follower()?.order_until(&order, &deadline) else {
            return self.give_up();
        };
        let run = *ran.trace?;
        if !ran.output.is_empty() {
            self.printed.push((run.fingerprint, ran.output));
        }
        Some(Execution { run, preemptions: ran.preemptions })
    }
}

impl Subject for Program {
    fn replay(&mut self, file: &TraceFile) -> Result<Repeated> {
        self.make(&Order::replay(file, random(file)))
    }

    fn resemble(&mut self, file: &TraceFile) -> Result<Repeated> {
        self.make(&Order::resemble(file, random(file)))
    }

    fn limit(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    fn namer(&self) -> Namer {
        namer_with(Rc::clone(&self.symbols))
    }

    fn observe(&mut self, run: &mut TraceFile) -> Output {
        let (order, deadline) = (Order::show(&self.origin, run, random(&self.origin)), self.deadline);
        if let Some(Ok(Answer::RunResult(ran))) =
            self.follower().map(|server| server.order_until(&order, &deadline))
        {
            observe::add(run, *ran, &mut self.symbols.borrow_mut());
        }
        let printed = self.printed.iter().find(|(fingerprint, _)| *fingerprint == run.fingerprint);
        Output {
            printed: printed.map(|(_, printed)| printed.clone()).unwrap_or_default(),
            ..Output::default()
        }
    }
}

/// Returns the program of `file` with its arguments, and the setup of runs like the recorded one.
fn setup(file: &TraceFile, shown: &str, threads: Threads, time: Duration) -> Result<(Vec<String>, Setup)> {
    ensure!(!file.program.is_empty(), "{shown}: the file names no program");
    let program = Path::new(&file.program);
    if !program.exists() && was_compiled_here(program) {
        bail!(
            "{shown}: the program was compiled by `raddle run` and is no longer in the cache, at {}; the same `raddle run` of the \
             same source makes it again",
            file.program
        );
    }
    ensure!(
        program.exists(),
        "{shown}: its program, {}, does not exist\nhelp: put it back, or find the failure again with another one",
        file.program
    );
    find(&file.program).with_context(|| {
        format!(
            "{shown}: its program cannot be started\nhelp: put it back, or find the failure again with another one"
        )
    })?;
    let words = [std::slice::from_ref(&file.program), &file.arguments[..]].concat();
    let points = file.parameters.iter().find(|(name, _)| name == POINTS).map_or(0, |&(_, points)| points);
    let points = [Points::All, Points::Shared, Points::Sync]
        .into_iter()
        .find(|known| *known as i64 == points)
        .with_context(|| format!("{shown}: the parameter `{POINTS}` has no known value"))?;
    let expected = match file.verdict.failure() {
        Some(Failure::Output { file, .. }) => Some(file.clone()),
        _ => None,
    };
    let nothing = Lanes::none();
    let setup = Setup {
        points,
        threads,
        expected,
        fail_on_exit: matches!(file.verdict.failure(), Some(Failure::Exit { .. })),
        panics: match file.verdict.failure() {
            Some(Failure::Panic { last, .. }) => Some(last.thread.clone()),
            _ => None,
        },
        callers: file.parameters.iter().any(|(name, value)| name == CALLERS && *value != 0),
        alone: true,
        ..target::setup(&nothing, file.seed, file.settings, time)
    };
    Ok((words, setup))
}

/// Returns the seed of the random numbers of the run of `file`. A strategy that learns has the same in all
/// runs.
fn random(file: &TraceFile) -> u64 {
    let lanes = Lanes::parse(&file.strategy, Portfolio::Programs);
    let learns = lanes.is_ok_and(|lanes| lanes.iter().any(|lane| lane.learns));
    if learns { 0 } else { file.run }
}

/// Returns true if the program is another build than the recorded one, as far as known.
pub fn is_another_build(file: &TraceFile) -> bool {
    let now = raddle_symbols::build(Path::new(&file.program)).ok();
    now.zip(file.build.as_ref()).is_some_and(|(now, then)| now != *then)
}
