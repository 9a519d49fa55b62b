//! The fork server: stands before `main` and makes each run in a child.
//!
//! The strategies live here. A child has all memory as a copy, chooses in it and dies; the server learns from the
//! operations that it left behind ([`crate::enact`]).
#![expect(unsafe_code, reason = "processes are forked and waited for")]

mod coverage;
mod learn;
mod output;
mod processor;
mod signals;

use crate::halt::{Halt, UnseenEnd};
use crate::results::{self, Results, Whole};
use crate::runtime::{self, Runtime, SHARED};
use crate::stack::Callers;
use crate::table::Table;
use crate::values::Values;
use crate::wire::Wire;
use crate::{enact, fiber, memory, pool, raw, record, text};
use coverage::Lane;
use output::memory_file;
use processor::Processors;
use raddle_engine::{Config, Engine, Follow, Needs, Plan, Races, Replay, Resemble, Rng, Strategy, Timeouts};
use raddle_model::native::{Answer, Order, Points, Ran, Setup, Threads};
use raddle_model::{Name, Settings, Verdict};
use raddle_strategies::coverage::Coverage;
use signals::Signals;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process makes a run.
static RUN: AtomicBool = AtomicBool::new(false);

/// Whether this process is about to serve runs and has not begun.
static STARTING: AtomicBool = AtomicBool::new(false);

/// Takes note that this process is about to serve runs.
pub(crate) fn starts() {
    STARTING.store(true, Ordering::Relaxed);
}

/// Whether this process is about to serve runs.
pub(crate) fn is_starting() -> bool {
    STARTING.load(Ordering::Relaxed)
}

/// Whether this process makes a run and is not one that the program forked.
pub(crate) fn is_run() -> bool {
    RUN.load(Ordering::Relaxed)
}

/// This process is one that the program forked.
pub(crate) fn is_foreign() {
    RUN.store(false, Ordering::Relaxed);
}

/// Makes runs as the command line orders. Returns only in children, each of which is to make one run.
pub(crate) fn serve(socket: i32) {
    STARTING.store(false, Ordering::Relaxed);
    let mut wire = Wire::new(socket);
    if !results::prepare() {
        wire.send(&Answer::Refused { message: "there is no memory to be shared with runs".to_owned() });
        raw::exit(0);
    }
    wire.send(&Answer::Ready { fibers: fiber::is_supported() });
    let Ok(setup) = serde_json::from_slice::<Setup>(wire.receive()) else { raw::exit(0) };
    if setup.threads == Threads::Os {
        fiber::use_os_threads();
    }
    pool::fill();
    let mut server = Server::new(wire, setup);
    text::settle();
    if server.learn_shared() {
        return;
    }
    loop {
        let Ok(order) = serde_json::from_slice::<Order>(server.wire.receive()) else { raw::exit(0) };
        let Some(answer) = server.obey(&order) else { return };
        let passed = matches!(&answer, Answer::Ran(ran) if ran.kind.is_none());
        if passed && matches!(order, Order::Run { awaited: false, .. }) {
            server.wire.hold_or_send(&answer);
        } else {
            server.wire.send(&answer);
        }
        if matches!(order, Order::Replay { .. }) {
            // A debugger that starts the program again does so on the same socket, and the next order is for that one.
            raw::exit(0);
        }
    }
}

struct Server {
    wire: Wire,
    setup: Setup,
    /// All are there but, in a child, the one under which it makes its run.
    strategies: Vec<Option<Box<dyn Strategy>>>,
    /// Per strategy: whether it learns by itself, and the iRoots that were told.
    lanes: Vec<Lane>,
    /// For learning.
    engine: Engine,
    /// Address ranges of the files that the program is made of.
    modules: &'static record::Modules,
    /// The names of the places that runs came to, by their addresses and those of their callers, if a strategy asks for them.
    places: BTreeMap<Vec<u64>, Name>,
    /// A file in memory for what the program prints.
    output: i32,
    /// If the standard output is expected to be this, another file for that alone.
    expected: Option<(Vec<u8>, i32)>,
    /// Memory that is known to be shared.
    shared: Table,
    /// Why the first run was lost of those that were to tell that, if one was.
    unlearnt: Option<String>,
    /// What the program calls its main thread.
    main: u64,
    signals: Signals,
    processors: Processors,
}

/// What somebody wants to know of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Its steps if it fails.
    IfFailing,
    /// Its steps.
    Steps,
    /// Its steps and what they read and wrote.
    Values,
}

/// How a child's process ended.
enum End {
    /// This is the child; the number is that of the server.
    Child(i32),
    /// By itself.
    Ended(i32),
    /// Not within the time that a run has; it was ended.
    Late(String),
    /// It could not be made.
    Refused(String),
}

impl Server {
    /// A server, in memory of its own: what is on the stack is copied by every child.
    #[inline(never)]
    fn new(mut wire: Wire, setup: Setup) -> Box<Server> {
        let modules = Box::leak(Box::new(record::Modules::read()));
        // What changes from run to run is on few pages.
        memory::settle();
        let (mut strategies, mut lanes): (Vec<Option<Box<dyn Strategy>>>, _) = (Vec::new(), Vec::new());
        for spec in &setup.strategies {
            match raddle_strategies::build(spec) {
                Ok(mut strategy) => {
                    lanes.push(Lane::new(strategy.learns(), &setup.known));
                    if let Some(window) = setup.coverage {
                        strategy = Box::new(Coverage::new(strategy, window));
                    }
                    strategy.recall(&setup.known);
                    strategies.push(Some(strategy));
                }
                Err(error) => {
                    wire.send(&Answer::Lost { message: error.to_string() });
                    raw::exit(0);
                }
            }
        }
        let output = memory_file(wire.socket);
        let expected = setup.expected.as_ref().map(|path| match std::fs::read(path) {
            Ok(text) => (text, memory_file(wire.socket)),
            Err(error) => {
                wire.send(&Answer::Lost { message: format!("cannot read {path}: {error}") });
                raw::exit(0);
            }
        });
        let engine = Engine::new(config(setup.settings));
        let (places, shared, unlearnt) = (BTreeMap::new(), Table::default(), None);
        let is_alone = setup.alone;
        // SAFETY: it has no condition.
        let main = unsafe { libc::pthread_self() };
        Box::new(Server {
            wire,
            setup,
            strategies,
            lanes,
            engine,
            modules,
            places,
            output,
            expected,
            shared,
            unlearnt,
            main,
            signals: Signals::take(),
            processors: Processors::known(is_alone),
        })
    }

    /// Carries out an order. Gives nothing in the child that is to make the run.
    fn obey(&mut self, order: &Order) -> Option<Answer> {
        match order {
            Order::Run { strategy, run, trace, .. } => self.run_under(*strategy, *run, *trace),
            Order::Coverage { strategy } => Some(Answer::Coverage(Box::new(self.covered(*strategy)))),
            Order::Replay { steps, picks, shared, random } => {
                let replay = Replay::of(enact::events(steps), Order::picks(picks));
                self.repeat(Box::new(replay), steps, (shared, *random))
            }
            Order::Resemble { steps, picks, shared, random } => {
                let resemble = Resemble::new(enact::events(steps), Order::picks(picks));
                self.repeat(Box::new(resemble), steps, (shared, *random))
            }
            Order::Follow { schedule, any, values, shared, random } => {
                let mut follow = Follow::new(schedule.clone());
                // It has a seed of its own, where it draws at all.
                follow.begin(Rng::for_run(0, 0));
                let follow = |_: &mut Server| -> Option<Box<dyn Strategy>> { Some(Box::new(follow.clone())) };
                let points = self.setup.points;
                let wanted = if *values { Wanted::Values } else { Wanted::Steps };
                let mut whole = match self.make_run(&follow, *random, points, Some(&table(shared)), wanted)? {
                    Ok(whole) => whole,
                    Err(answer) => return Some(answer),
                };
                self.check_end(&mut whole);
                let mut ran = self.ran(&whole);
                if *any || ran.kind.is_some() {
                    let needs = Needs { enabled: true, ..Needs::default() };
                    if enact::enact(&mut self.engine, &whole, needs, &[]) {
                        ran.preemptions = self.engine.summary().trace.preemptions() as u64;
                    }
                    self.add_trace(&mut ran, &whole, String::new(), 0);
                }
                Some(Answer::Ran(Box::new(ran)))
            }
        }
    }

    /// Makes a run under a strategy, which learns from it. Gives nothing in the child that is to make the run.
    fn run_under(&mut self, number: usize, run: u64, trace: bool) -> Option<Answer> {
        let strategy = self.strategies.get_mut(number)?.as_mut()?;
        if strategy.begin(Rng::for_run(self.setup.seed, run)) == Plan::Exhausted {
            return Some(Answer::Exhausted);
        }
        let (learns, needs) = (strategy.learns(), strategy.needs());
        let random = if self.lanes[number].learns { 0 } else { run };
        let wants_steps = learns || self.expected.is_some() || self.judges_ends();
        let wanted = if wants_steps { Wanted::Steps } else { Wanted::IfFailing };
        let take = |server: &mut Server| server.strategies[number].take();
        let mut whole = match self.make_run(&take, random, self.setup.points, None, wanted)? {
            Ok(whole) => whole,
            Err(answer) => return Some(answer),
        };
        let names = if learns && needs.places { self.names(&whole) } else { Vec::new() };
        if learns
            && enact::enact(&mut self.engine, &whole, needs, &names)
            && let Some(strategy) = &mut self.strategies[number]
        {
            strategy.learn(&self.engine.summary());
        }
        self.check_end(&mut whole);
        let mut ran = self.ran(&whole);
        ran.exposed = self.newly_exposed(number);
        if trace && ran.kind.is_some() {
            let spec = self.setup.strategies[number].clone();
            self.add_trace(&mut ran, &whole, spec, run);
            if let Some(trace) = &mut ran.trace {
                trace.settings.exit_last |= needs.exit_last;
            }
        }
        Some(Answer::Ran(Box::new(ran)))
    }

    /// Makes a run with `strategy`, which follows `steps`, and tells where it left them.
    fn repeat(
        &mut self,
        mut strategy: Box<dyn Strategy>,
        steps: &[raddle_model::TraceStep],
        (shared, random): (&[u64], u64),
    ) -> Option<Answer> {
        // A replay draws nothing; any stream will do.
        strategy.begin(Rng::for_run(0, 0));
        let fork = |_: &mut Server| Some(strategy.fork());
        let mut whole =
            match self.make_run(&fork, random, self.setup.points, Some(&table(shared)), Wanted::Values)? {
                Ok(whole) => whole,
                Err(answer) => return Some(answer),
            };
        self.check_end(&mut whole);
        // The copy that followed the run is gone; following what was executed tells where it left.
        let mut ran = self.ran(&whole);
        ran.divergence = divergence(steps, &whole);
        self.add_trace(&mut ran, &whole, String::new(), 0);
        Some(Answer::Ran(Box::new(ran)))
    }

    fn ran(&self, whole: &Whole) -> Ran {
        Ran {
            kind: whole.verdict.failure().map(|failure| failure.kind().to_owned()),
            cut_off: whole.verdict == Verdict::CutOff,
            fingerprint: whole.fingerprint,
            steps: whole.steps,
            threads: whole.ended.len() as u64,
            rests: whole.rests,
            status: Some(whole.status),
            outside_waits: whole.outside_waits,
            processes: whole.processes,
            unlearnt: self.unlearnt.clone(),
            ..Ran::default()
        }
    }

    fn add_trace(&self, ran: &mut Ran, whole: &Whole, strategy: String, run: u64) {
        ran.trace = Some(Box::new(record::record(whole, self.modules, &self.setup, strategy, run)));
        ran.output = self.printed();
        let mut shared: Vec<u64> = self.shared.iter().map(|(unit, _)| unit).collect();
        shared.sort_unstable();
        ran.shared = shared;
    }

    /// Makes one run, under the strategy that `strategy` gives in the child, where this memory is known to be shared; if it is not said,
    /// that which was learnt. Gives nothing in the child that is to make it, or if there is no
    /// strategy.
    ///
    /// A process may end in a way that the runtime does not see, and then leaves nothing but how many steps it had taken. So the
    /// run is made once more, to end by itself at that point.
    fn make_run(
        &mut self,
        strategy: &dyn Fn(&mut Server) -> Option<Box<dyn Strategy>>,
        random: u64,
        points: Points,
        shared: Option<&Table>,
        wanted: Wanted,
    ) -> Option<Result<Box<Whole>, Answer>> {
        let mut halt = None;
        loop {
            results::clear();
            let end = self.fork();
            let status = match (end, results::read()) {
                (End::Child(server), _) => {
                    // Here and not before: what the server writes before a fork is copied in the child and faulted in the server.
                    memory::begin_run();
                    let strategy = strategy(self)?;
                    self.install(strategy, wanted);
                    runtime::with(|runtime| {
                        runtime.points = points;
                        runtime.accesses.touched = shared.unwrap_or(&self.shared).clone();
                        runtime.random = (self.setup.seed, random);
                        runtime.halt = halt;
                    });
                    self.become_run(server);
                    return None;
                }
                (_, Results::Whole(whole)) => return Some(Ok(whole)),
                (_, Results::Lost(message)) | (End::Late(message), Results::None) => {
                    return Some(Err(Answer::Lost { message }));
                }
                (_, Results::Refused(message)) | (End::Refused(message), Results::None) => {
                    return Some(Err(Answer::Refused { message }));
                }
                (End::Ended(status), Results::None) => status,
            };
            if halt.is_some() {
                return Some(Err(Answer::Lost { message: crate::crash::unseen(status) }));
            }
            let (thread, place) = results::running();
            let end = if libc::WIFSIGNALED(status) {
                UnseenEnd::Signal(libc::WTERMSIG(status))
            } else {
                UnseenEnd::Exit(libc::WEXITSTATUS(status))
            };
            halt = Some(Halt { steps: results::steps(), thread, place, end });
        }
    }

    /// Makes this process the one of a run. Apart from others for the sake of the stack, of which only what a child writes to is copied.
    #[inline(never)]
    fn install(&self, strategy: Box<dyn Strategy>, wanted: Wanted) {
        let engine = Engine::new(config(self.setup.settings));
        runtime::install(Runtime::new(engine, strategy, self.modules, self.main));
        runtime::with(|runtime| {
            runtime.accesses.parts = self.setup.settings.races.then(Table::default);
            runtime.wants_steps = wanted != Wanted::IfFailing;
            runtime.values = (wanted == Wanted::Values).then(|| Box::new(Values::wanted()));
            runtime.callers = self.setup.callers.then(|| Callers::new(self.modules.own()));
        });
    }

    fn fork(&mut self) -> End {
        for file in self.files() {
            // SAFETY: the file is ours.
            unsafe { libc::ftruncate(file, 0) };
        }
        // SAFETY: it tells a number.
        let server = unsafe { libc::getpid() };
        let child = self.processors.stay(pool::fork);
        if child < 0 {
            let error = std::io::Error::last_os_error();
            return End::Refused(format!(
                "a process for the run could not be made: {error}; this is a limit of the system (`ulimit -u`, memory), not a \
                 failure of the program; raise it, or make fewer runs at a time with --jobs"
            ));
        }
        if child == 0 {
            return End::Child(server);
        }
        self.wait(child)
    }

    /// In the child: what it prints goes to the file, and it has nothing to read.
    fn become_run(&self, server: i32) {
        RUN.store(true, Ordering::Relaxed);
        self.signals.give_back();
        // Without libc, whose functions for these lie on pages that nothing else in a short run touches.
        // SAFETY: these numbers are open files of ours, and 0 to 2 are the standard ones.
        let call = |number, [a, b]: [i32; 2]| unsafe {
            raw::syscall(number, [a as usize, b as usize, libc::SEEK_SET as usize, 0, 0, 0])
        };
        // A child that outlives the server, because that was ended, is of no use.
        call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG, libc::SIGKILL]);
        if call(libc::SYS_getppid, [0, 0]) != server as isize {
            // It was ended before this one could be tied to it.
            raw::exit(0);
        }
        for file in self.files() {
            call(libc::SYS_lseek, [file, 0]);
        }
        call(libc::SYS_dup2, [self.expected.as_ref().map_or(self.output, |(_, file)| *file), 1]);
        call(libc::SYS_dup2, [self.output, 2]);
        for file in self.files().chain([self.wire.socket]) {
            call(libc::SYS_close, [file, 0]);
        }
    }

    fn wait(&self, child: i32) -> End {
        let patience = i32::try_from(self.setup.patience_ms).unwrap_or(i32::MAX);
        let mut late = None;
        let status = loop {
            let in_time = self.signals.wait(patience);
            if let Some(status) = signals::status(child) {
                break status;
            }
            if !in_time {
                late.get_or_insert_with(|| record::stuck(child, patience, self.modules));
                // SAFETY: the child was not waited for, so the number is still its own.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
        };
        match late {
            Some(message) if !results::are_there() => End::Late(message),
            _ => End::Ended(status),
        }
    }
}

/// The units of memory that are known to be shared.
fn table(shared: &[u64]) -> Table {
    let mut known = Table::default();
    shared.iter().for_each(|&unit| known.set(unit, SHARED));
    known
}

/// Where a replay left the recorded steps.
fn divergence(steps: &[raddle_model::TraceStep], whole: &Whole) -> Option<(usize, String)> {
    let same = |index: usize| {
        let (step, event) = (steps.get(index), whole.events.get(index));
        step.zip(event).is_some_and(|(s, e)| s.thread == e.thread.0 && s.operation == e.operation)
    };
    let left = (0..steps.len().max(whole.events.len())).find(|&index| !same(index));
    let cut = whole.verdict == Verdict::CutOff;
    let step = left.or(cut.then_some(whole.events.len()))?;
    let pending = steps.get(step).and_then(|s| Some((s, whole.pending.get(s.thread as usize)?)));
    let what = match pending {
        _ if step >= steps.len() => "the program goes on, the recorded run was over".to_owned(),
        Some((recorded, Some(now))) => format!(
            "thread {} is about to execute {:?}, in the recorded run it was {:?}",
            recorded.thread, now.kind, recorded.operation.kind
        ),
        _ => format!("the program ended, the recorded run has {} steps", steps.len()),
    };
    Some((step, what))
}

fn config(settings: Settings) -> Config {
    let mut config = Config::default();
    config.step_limit = settings.step_limit;
    config.patience = settings.patience;
    config.timeouts = if settings.timeouts_anytime { Timeouts::Anytime } else { Timeouts::WhenIdle };
    config.exit_last = settings.exit_last;
    config.races = if settings.races { Races::All } else { Races::Ignored };
    config
}
