//! The runs of one `raddle run`, spread over servers.
//!
//! [`raddle_strategies::portfolio`] says whose turn it is. A strategy that does not learn is split between the servers by
//! run number; one that learns stays with one, which makes all of its runs in order. So the results do not depend on the
//! number of servers, but for a time budget.

use super::launch::{Server, Temporary};
use super::window::Window;
use anyhow::{Context, Result, anyhow};
use raddle_engine::Census;
use raddle_model::native::{Answer, Covered, Order, Ran, Setup};
use raddle_model::{IRoot, Surroundings};
use raddle_report::text;
use raddle_strategies::portfolio::{Round, Rounds, Turn};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What is to be explored.
pub(crate) struct Plan<'a> {
    pub(crate) words: &'a [String],
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) setup: &'a Setup,
    pub(crate) runs: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) jobs: usize,
    pub(crate) keep_going: bool,
    /// Whether strategies that find more have more turns.
    pub(crate) adapt: bool,
    /// Called after each run, with what was found so far.
    pub(crate) look: &'a (dyn Fn(&Tally, &str) + Sync),
}

/// Says of a program that its runs cannot be controlled. No other error does.
#[derive(Debug)]
pub(crate) struct NotControllable(pub(super) String);

impl std::fmt::Display for NotControllable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotControllable {}

/// A process that makes runs by order, one after the other.
pub(crate) trait Runs {
    /// Gives orders. Several may be under way; they are answered in their order.
    fn send(&mut self, orders: &[Order]) -> Result<()>;

    /// Waits for what comes of the oldest order that is not answered.
    fn receive(&mut self) -> Result<Answer>;
}

/// What was found.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) cut_off: u64,
    pub(crate) rests: u64,
    /// How often runs waited for something from outside.
    pub(crate) outside_waits: u64,
    /// How many processes runs started.
    pub(crate) processes: u64,
    pub(crate) threads: u64,
    pub(crate) steps: u64,
    pub(crate) kinds: BTreeMap<String, u64>,
    pub(crate) census: Census,
    /// The run that was counted last: its partial order, and how it failed. Nothing if it was cut off.
    pub(crate) latest: Option<(u64, Option<String>)>,
    /// The failing run with the smallest number.
    pub(crate) first: Option<(u64, Box<Ran>)>,
    pub(crate) exhausted: bool,
    /// What strategies know of iRoots, and the places in the code, if that was asked for.
    pub(crate) covered: Covered,
    /// The iRoots that were not known before and the first run that had each, by its number.
    pub(crate) exposed: BTreeMap<IRoot, u64>,
    /// After how many runs how many there were, wherever that grew.
    pub(crate) saturation: Vec<(u64, u64)>,
    /// Why a server gave up, although another one has found a failing run.
    pub(crate) lost: Option<String>,
    /// Why a run was lost that was to tell which memory is shared.
    pub(crate) unlearnt: Option<String>,
    /// Whether the machine lets threads be fibers.
    pub(crate) fibers: bool,
}

impl Tally {
    /// What a person who waits is told, with the strategy of the latest run.
    pub(crate) fn in_short(&self, strategy: &str) -> String {
        let orders = text::plural(self.census.distinct() as u64, "partial order");
        format!("{orders}, {}, {strategy}", text::plural(self.failures, "failure"))
    }

    /// A note if not all may be known of which memory is shared.
    pub(crate) fn missed_memory(&self) -> Option<String> {
        let why = self.unlearnt.as_ref()?;
        Some(format!(
            "shared memory may have been missed, for a run that was to tell which memory is shared was lost: {why}"
        ))
    }

    fn count(&mut self, number: u64, ran: Box<Ran>) {
        self.latest = (!ran.cut_off).then(|| (ran.fingerprint, ran.kind.clone()));
        if ran.cut_off {
            self.cut_off += 1;
            return;
        }
        self.runs += 1;
        if !ran.exposed.is_empty() {
            let before = self.exposed.len();
            for &root in &ran.exposed {
                let first = self.exposed.entry(root).or_insert(number);
                *first = number.min(*first);
            }
            if self.exposed.len() > before {
                self.saturation.push((self.runs, self.exposed.len() as u64));
            }
        }
        if self.unlearnt.is_none() {
            self.unlearnt.clone_from(&ran.unlearnt);
        }
        self.rests += ran.rests;
        self.outside_waits += ran.outside_waits;
        self.processes += ran.processes;
        self.threads = self.threads.max(ran.threads);
        self.steps = self.steps.max(ran.steps);
        self.census.count(ran.fingerprint);
        if let Some(kind) = &ran.kind {
            self.failures += 1;
            *self.kinds.entry(kind.clone()).or_default() += 1;
            if ran.trace.is_some() && self.first.as_ref().is_none_or(|(first, _)| number < *first) {
                self.first = Some((number, ran));
            }
        }
    }
}

struct Shared {
    tally: Mutex<Tally>,
    /// No run with this number or a greater one is needed any more.
    end: AtomicU64,
    /// The trace of a failing run with this number or a greater one is not needed any more.
    traced: AtomicU64,
    exhausted: AtomicUsize,
    /// Whether a server has given up.
    stop: AtomicBool,
    begun: Instant,
    rounds: Rounds,
}

impl Shared {
    /// Whether run `number` is of no use any more.
    fn is_over(&self, number: u64) -> bool {
        number >= self.end.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Lets no server begin another run.
    fn give_up(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The runs of one strategy that one server makes: those whose numbers leave this `rest` when divided by `stride`.
struct Stream {
    rest: u64,
    stride: u64,
    /// It has no schedule left.
    over: bool,
}

impl Plan<'_> {
    /// Makes the runs.
    pub(crate) fn explore(&self) -> Result<Tally> {
        let library = Temporary::library()?;
        let fibers = AtomicBool::new(false);
        let mut tally = self.explore_on(&|| {
            let server = Server::start(&library, self.words, self.surroundings, self.setup)?;
            fibers.fetch_or(server.fibers, Ordering::Relaxed);
            Ok(server)
        })?;
        tally.fibers = fibers.into_inner();
        Ok(tally)
    }

    /// Makes the runs on servers that `start` starts, one for each job.
    #[expect(
        clippy::disallowed_methods,
        reason = "a time budget is looked at between runs and decides nothing in them"
    )]
    pub(crate) fn explore_on<R: Runs>(&self, start: &(dyn Fn() -> Result<R> + Sync)) -> Result<Tally> {
        let learns: Vec<bool> = self
            .setup
            .strategies
            .iter()
            .map(|spec| Ok(raddle_strategies::build(spec)?.learns() || self.setup.coverage.is_some()))
            .collect::<Result<_>>()?;
        let shared = Shared {
            tally: Mutex::default(),
            end: AtomicU64::new(self.runs),
            traced: AtomicU64::new(u64::MAX),
            exhausted: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            begun: Instant::now(),
            rounds: if self.adapt { Rounds::portfolio(self.jobs) } else { Rounds::equal(learns.len()) },
        };
        // The first server is started alone, so that what is wrong with the program is told once.
        let first = start()?;
        let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
            let (shared, learns) = (&shared, &learns);
            let begin = move |job| {
                let work = start()
                    .inspect_err(|_| shared.give_up())
                    .and_then(|server| self.work(shared, server, self.streams(learns, job)));
                shared.rounds.leave();
                work
            };
            let others: Vec<_> = (1..self.jobs)
                .map(|job| std::thread::Builder::new().spawn_scoped(scope, move || begin(job)))
                .collect();
            for _ in others.iter().filter(|other| other.is_err()) {
                shared.give_up();
                shared.rounds.leave();
            }
            let mine = self.work(shared, first, self.streams(learns, 0));
            shared.rounds.leave();
            let others = others.into_iter().map(|other| {
                let other =
                    other.context("a thread for another job cannot be made; --jobs sets their number")?;
                other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
            });
            [mine].into_iter().chain(others).collect()
        });
        let lost = outcomes.into_iter().find_map(Result::err);
        let mut tally = shared.tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(error) = lost {
            if tally.first.is_none() {
                return Err(error);
            }
            tally.lost = Some(format!("{error:#}"));
        }
        tally.exhausted = shared.exhausted.into_inner() == learns.len();
        Ok(tally)
    }

    /// For each strategy what of it is this server's, if anything.
    fn streams(&self, learns: &[bool], job: usize) -> Vec<Option<Stream>> {
        let mut learning = 0;
        let stream = |&learns: &bool| {
            if !learns {
                return Some(Stream { rest: job as u64, stride: self.jobs as u64, over: false });
            }
            learning += 1;
            ((learning - 1) % self.jobs == job).then_some(Stream { rest: 0, stride: 1, over: false })
        };
        learns.iter().map(stream).collect()
    }

    /// Whether a run is not to be made any more, or not to be waited for.
    fn is_over(&self, shared: &Shared, number: u64) -> bool {
        // One run is made in any case; without it nothing could be said of the program.
        let late = number > 0 && self.time.is_some_and(|time| shared.begun.elapsed() >= time);
        late || shared.is_over(number)
    }

    /// The next turn of a round that is this server's; nothing inside if the round has none left, nothing at all if no further
    /// run is to be made.
    fn next(&self, shared: &Shared, round: &mut Round, streams: &[Option<Stream>]) -> Option<Option<Turn>> {
        if streams.iter().flatten().all(|stream| stream.over) {
            return Some(None);
        }
        for turn in round {
            if self.is_over(shared, turn.number) {
                return None;
            }
            let own = |own: &Stream| !own.over && turn.run % own.stride == own.rest;
            if streams[turn.lane].as_ref().is_some_and(own) {
                return Some(Some(turn));
            }
        }
        Some(None)
    }

    /// Makes the runs of one server, and asks it what it knows of iRoots, if that is wanted.
    fn work(&self, shared: &Shared, mut server: impl Runs, mut streams: Vec<Option<Stream>>) -> Result<()> {
        let unanswered = self.make_runs(shared, &mut server, &mut streams)?;
        if self.setup.coverage.is_none() {
            return Ok(());
        }
        for _ in 0..unanswered {
            server.receive()?;
        }
        for (strategy, _) in streams.iter().enumerate().filter(|(_, stream)| stream.is_some()) {
            server.send(&[Order::Coverage { strategy }])?;
            if let Answer::Coverage(covered) = server.receive()? {
                let mut tally = shared.tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                tally.covered.ledger.join(&covered.ledger, &self.setup.known);
                tally.covered.places.extend(covered.places);
            }
        }
        Ok(())
    }

    /// Makes the runs of one server by number. Tells how many answers were not waited for.
    fn make_runs<R: Runs>(
        &self,
        shared: &Shared,
        server: &mut R,
        streams: &mut [Option<Stream>],
    ) -> Result<usize> {
        let mut round = shared.rounds.begin();
        let mut window = Window::new(self.setup.coverage.is_some());
        loop {
            let (mut seen, mut over) = (Vec::new(), Vec::new());
            let (mut given, mut orders) = (VecDeque::new(), Vec::new());
            let mut goes_on = true;
            loop {
                let room = window.room(given.len());
                while goes_on && orders.len() < room {
                    let next = self.next(shared, &mut round, streams);
                    goes_on = next.is_some();
                    let Some(Some(turn)) = next else { break };
                    let trace = turn.number < shared.traced.load(Ordering::Relaxed);
                    orders.push(Order::Run { strategy: turn.lane, run: turn.run, trace, awaited: false });
                    given.push_back(turn);
                }
                if let Some(Order::Run { awaited, .. }) = orders.last_mut() {
                    *awaited = true;
                    server.send(&orders).inspect_err(|_| shared.give_up())?;
                    orders.clear();
                    window.note_orders();
                }
                let Some(turn) = given.pop_front() else { break };
                if self.is_over(shared, turn.number) {
                    return Ok(given.len() + 1);
                }
                match self.count(shared, server.receive(), turn)? {
                    Some(fingerprint) if self.adapt => seen.push((turn.lane, fingerprint)),
                    Some(_) => {}
                    // The order after it may have been for the same strategy.
                    None if over.contains(&turn.lane) => {}
                    None => {
                        over.push(turn.lane);
                        shared.exhausted.fetch_add(1, Ordering::Relaxed);
                        streams[turn.lane].iter_mut().for_each(|stream| stream.over = true);
                    }
                }
            }
            if !goes_on {
                return Ok(0);
            }
            let Some(next) = shared.rounds.meet(&seen, &over) else { return Ok(0) };
            round = next;
        }
    }

    /// Counts a run that was made. Gives its partial order, or nothing if the strategy has no schedule left.
    fn count(&self, shared: &Shared, answer: Result<Answer>, turn: Turn) -> Result<Option<u64>> {
        let Turn { number, lane, .. } = turn;
        match answer {
            Ok(Answer::Ran(ran)) => {
                if ran.kind.is_some() {
                    shared.traced.fetch_min(number, Ordering::Relaxed);
                    if !self.keep_going {
                        // Earlier runs of other servers may fail as well; the first one counts.
                        shared.end.fetch_min(number, Ordering::Relaxed);
                    }
                }
                let fingerprint = ran.fingerprint;
                let mut tally = shared.tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                tally.count(number, ran);
                (self.look)(&tally, &self.setup.strategies[lane]);
                Ok(Some(fingerprint))
            }
            Ok(Answer::Exhausted) => Ok(None),
            Ok(Answer::Lost { message }) => {
                shared.give_up();
                let what = format!("{}: run {number} cannot be controlled", self.words[0]);
                Err(anyhow::Error::new(NotControllable(message)).context(what))
            }
            Ok(Answer::Refused { message }) => {
                shared.give_up();
                Err(anyhow!(message).context(format!("{}: run {number} cannot be made", self.words[0])))
            }
            Ok(Answer::Ready { .. } | Answer::Coverage(_)) => {
                Err(anyhow!("the native runtime has answered another question"))
            }
            Err(error) => {
                shared.give_up();
                Err(error)
            }
        }
    }
}
