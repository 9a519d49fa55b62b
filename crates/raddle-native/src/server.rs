//! The fork server: stands before `main` and makes each run in a child.
//!
//! The strategies live here. A child uses a copy, chooses in its own memory and dies; the server learns from the
//! operations that it left behind ([`crate::enact`]).
#![expect(unsafe_code, reason = "processes are forked and waited for")]

use crate::results::{self, Results, Whole};
use crate::runtime::{self, Runtime, SHARED};
use crate::table::Table;
use crate::wire::Wire;
use crate::{enact, fiber, raw, real, record};
use raddle_engine::{Config, Engine, Follow, Needs, Plan, Races, Replay, Resemble, Rng, Strategy, Timeouts};
use raddle_model::native::{Answer, Order, Points, Ran, Setup};
use raddle_model::{Settings, Verdict};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process makes a run.
static RUN: AtomicBool = AtomicBool::new(false);

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
    let wire = Wire(socket);
    if !fiber::is_supported() {
        wire.send(&Answer::Lost { message: "this machine does not let programs set the FS base".to_owned() });
        raw::exit(0);
    }
    if !results::prepare() {
        wire.send(&Answer::Lost { message: "there is no memory to be shared with runs".to_owned() });
        raw::exit(0);
    }
    wire.send(&Answer::Ready);
    let Ok(setup) = serde_json::from_slice::<Setup>(&wire.receive()) else { raw::exit(0) };
    let mut server = Server::new(wire, setup);
    if server.learn_shared() {
        return;
    }
    loop {
        let Ok(order) = serde_json::from_slice::<Order>(&wire.receive()) else { raw::exit(0) };
        match server.obey(&order) {
            Some(answer) => wire.send(&answer),
            None => return,
        }
    }
}

struct Server {
    wire: Wire,
    setup: Setup,
    strategies: Vec<Box<dyn Strategy>>,
    /// For learning.
    engine: Engine,
    /// Address ranges of the files that the program is made of.
    modules: record::Modules,
    /// A file in memory for what the program prints.
    output: i32,
    /// Memory that is known to be shared.
    shared: Table,
}

/// How a child's process ended.
enum End {
    /// This is the child.
    Child,
    /// By itself.
    Ended(i32),
    /// Not within the time that a run has; it was ended.
    Late(String),
    /// It could not be made.
    Refused(String),
}

impl Server {
    fn new(wire: Wire, setup: Setup) -> Server {
        let mut strategies = Vec::new();
        for spec in &setup.strategies {
            match raddle_strategies::build(spec) {
                Ok(strategy) => strategies.push(strategy),
                Err(error) => {
                    wire.send(&Answer::Lost { message: error.to_string() });
                    raw::exit(0);
                }
            }
        }
        // SAFETY: the name ends with a zero.
        let output = unsafe { libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC) };
        // SAFETY: the number is our own. It is moved out of the way of the program's numbers.
        let output = unsafe {
            let moved = libc::fcntl(output, libc::F_DUPFD_CLOEXEC, wire.0);
            libc::close(output);
            moved
        };
        let engine = Engine::new(config(setup.settings));
        let modules = record::Modules::read();
        Server { wire, setup, strategies, engine, modules, output, shared: Table::default() }
    }

    /// Carries out an order. Gives nothing in the child that is to make the run.
    fn obey(&mut self, order: &Order) -> Option<Answer> {
        match order {
            Order::Run { strategy, run, trace } => {
                let mut copy = self.strategies.get(*strategy)?.fork();
                if copy.begin(Rng::for_run(self.setup.seed, *run)) == Plan::Exhausted {
                    return Some(Answer::Exhausted);
                }
                let points = self.setup.points;
                let whole = match self.make_run(copy.fork(), points, self.shared.clone())? {
                    Ok(whole) => whole,
                    Err(message) => return Some(Answer::Lost { message }),
                };
                if self.strategies[*strategy].learns() && enact::enact(&mut self.engine, &whole, copy.needs())
                {
                    self.strategies[*strategy].learn(&self.engine.summary());
                }
                let mut ran = self.ran(&whole);
                if *trace && ran.kind.is_some() {
                    let spec = self.setup.strategies[*strategy].clone();
                    self.add_trace(&mut ran, &whole, spec, *run);
                }
                Some(Answer::Ran(Box::new(ran)))
            }
            Order::Replay { steps, picks, shared } => {
                let replay = Replay::of(enact::events(steps), Order::picks(picks));
                self.repeat(Box::new(replay), steps, shared)
            }
            Order::Resemble { steps, picks, shared } => {
                let resemble = Resemble::new(enact::events(steps), Order::picks(picks));
                self.repeat(Box::new(resemble), steps, shared)
            }
            Order::Follow { schedule, any, shared } => {
                let mut follow = Follow::new(schedule.clone());
                // It has a seed of its own, where it draws at all.
                follow.begin(Rng::for_run(0, 0));
                let whole = match self.make_run(follow.fork(), self.setup.points, table(shared))? {
                    Ok(whole) => whole,
                    Err(message) => return Some(Answer::Lost { message }),
                };
                let mut ran = self.ran(&whole);
                if *any || ran.kind.is_some() {
                    let needs = Needs { enabled: true, ..Needs::default() };
                    if enact::enact(&mut self.engine, &whole, needs) {
                        ran.preemptions = self.engine.summary().trace.preemptions() as u64;
                    }
                    self.add_trace(&mut ran, &whole, String::new(), 0);
                }
                Some(Answer::Ran(Box::new(ran)))
            }
        }
    }

    /// Makes a run with `strategy`, which follows `steps`, and tells where it left them.
    fn repeat(
        &mut self,
        mut strategy: Box<dyn Strategy>,
        steps: &[raddle_model::TraceStep],
        shared: &[u64],
    ) -> Option<Answer> {
        // A replay draws nothing; any stream will do.
        strategy.begin(Rng::for_run(0, 0));
        let whole = match self.make_run(strategy, self.setup.points, table(shared))? {
            Ok(whole) => whole,
            Err(message) => return Some(Answer::Lost { message }),
        };
        // The copy that followed the run is gone; following what was executed tells where it left.
        let mut ran = self.ran(&whole);
        ran.divergence = divergence(steps, &whole);
        self.add_trace(&mut ran, &whole, String::new(), 0);
        Some(Answer::Ran(Box::new(ran)))
    }

    /// Makes the first runs of an instrumented program only to learn which memory is shared, the same in every server.
    /// Tells whether this is a child that is to make one of them.
    fn learn_shared(&mut self) -> bool {
        /// The most such runs, and how many in a row have to bring nothing new.
        const MOST: u64 = 16;
        const CALM: u64 = 3;
        // A replay is told what was known.
        if self.setup.points != Points::Shared || self.setup.strategies.is_empty() {
            return false;
        }
        let mut calm = 0;
        for run in 0..MOST {
            let Ok(mut walk) = raddle_strategies::build("random-walk") else { return false };
            walk.begin(Rng::for_run(!self.setup.seed, run));
            let Some(made) = self.make_run(walk, Points::Shared, self.shared.clone()) else { return true };
            let Ok(whole) = made else { return false };
            let new = whole.shared.iter().filter(|&&unit| self.shared.get(unit).is_none()).count();
            whole.shared.iter().for_each(|&unit| self.shared.set(unit, SHARED));
            calm = if new == 0 { calm + 1 } else { 0 };
            if calm >= CALM || whole.accesses == 0 {
                return false;
            }
        }
        false
    }

    fn ran(&self, whole: &Whole) -> Ran {
        Ran {
            kind: whole.verdict.failure().map(|failure| failure.kind().to_owned()),
            cut_off: whole.verdict == Verdict::CutOff,
            fingerprint: whole.fingerprint,
            steps: whole.events.len() as u64,
            threads: whole.ended.len() as u64,
            rests: whole.rests,
            status: Some(whole.status),
            ..Ran::default()
        }
    }

    fn add_trace(&self, ran: &mut Ran, whole: &Whole, strategy: String, run: u64) {
        ran.trace = Some(Box::new(record::record(whole, &self.modules, &self.setup, strategy, run)));
        ran.output = self.printed();
        let mut shared: Vec<u64> = self.shared.iter().map(|(unit, _)| unit).collect();
        shared.sort_unstable();
        ran.shared = shared;
    }

    /// Makes one run. Gives nothing in the child that is to make it, and otherwise what came of it or why it was lost.
    fn make_run(
        &mut self,
        strategy: Box<dyn Strategy>,
        points: Points,
        shared: Table,
    ) -> Option<Result<Box<Whole>, String>> {
        let engine = Engine::new(config(self.setup.settings));
        let mut runtime = Runtime::new(engine, strategy, self.modules.ranges());
        runtime.points = points;
        runtime.accesses.touched = shared;
        runtime.accesses.parts = self.setup.settings.races.then(Table::default);
        runtime::install(runtime);
        results::clear();
        let end = self.fork();
        Some(match (end, results::read()) {
            (End::Child, _) => return None,
            (_, Results::Whole(whole)) => Ok(whole),
            (_, Results::Lost(message)) | (End::Refused(message), _) => Err(message),
            (End::Late(message), Results::None) => Err(message),
            (End::Ended(status), Results::None) => Err(unseen(status)),
        })
    }

    fn fork(&mut self) -> End {
        // SAFETY: the file is ours.
        unsafe { libc::ftruncate(self.output, 0) };
        // SAFETY: this process has one thread.
        let child = unsafe { real::fork() };
        if child < 0 {
            return End::Refused("a run could not be forked: no process is left".to_owned());
        }
        if child == 0 {
            self.become_run();
            return End::Child;
        }
        self.wait(child)
    }

    /// In the child: what it prints goes to the file, and it has nothing to read.
    fn become_run(&self) {
        RUN.store(true, Ordering::Relaxed);
        // SAFETY: these numbers are open files of ours, and 0 to 2 are the standard ones. A child that outlives the
        // server, because that was ended, is of no use.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::lseek(self.output, 0, libc::SEEK_SET);
            libc::dup2(self.output, 1);
            libc::dup2(self.output, 2);
            libc::close(self.output);
            libc::close(self.wire.0);
        }
    }

    fn wait(&self, child: i32) -> End {
        let mut status = 0;
        // SAFETY: the number is that of a child that was not waited for.
        let watch = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) } as i32;
        let mut poll = libc::pollfd { fd: watch, events: libc::POLLIN, revents: 0 };
        let patience = i32::try_from(self.setup.patience_ms).unwrap_or(i32::MAX);
        // SAFETY: one entry.
        let ready = if watch >= 0 { unsafe { libc::poll(&raw mut poll, 1, patience) } } else { 1 };
        let mut late = None;
        if ready == 0 {
            late = Some(record::stuck(child, patience, &self.modules));
            // SAFETY: the child was not waited for, so the number is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        // SAFETY: as above.
        unsafe {
            while libc::waitpid(child, &raw mut status, 0) < 0 && *libc::__errno_location() == libc::EINTR {}
            libc::close(watch);
        }
        match late {
            Some(message) if !results::are_there() => End::Late(message),
            _ => End::Ended(status),
        }
    }

    /// What the latest run printed; of much, the end.
    fn printed(&self) -> String {
        const MOST: usize = 64 << 10;
        // SAFETY: the file is ours, and the buffer is writable for its length.
        let text = unsafe {
            let length = libc::lseek(self.output, 0, libc::SEEK_END).max(0) as usize;
            let mut text = vec![0_u8; length.min(MOST)];
            let from = length - text.len();
            let count = libc::pread(self.output, text.as_mut_ptr().cast(), text.len(), from as i64);
            text.truncate(count.max(0) as usize);
            text
        };
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The units of memory that are known to be shared.
fn table(shared: &[u64]) -> Table {
    let mut known = Table::default();
    shared.iter().for_each(|&unit| known.set(unit, SHARED));
    known
}

/// Why a run left nothing behind, by the status of its process.
fn unseen(status: i32) -> String {
    if libc::WIFSIGNALED(status) {
        let signal = crate::crash::name(libc::WTERMSIG(status));
        return format!("a run was ended from outside by {signal}");
    }
    "a run ended by a system call that raddle does not see".to_owned()
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
    config.races = if settings.races { Races::All } else { Races::Ignored };
    config
}
