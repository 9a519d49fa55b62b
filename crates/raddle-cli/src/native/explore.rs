//! The runs of one `raddle run`, spread over servers.
//!
//! Run `r` with `n` strategies is run `r / n` of strategy `r mod n`. A strategy that does not learn is split between the
//! servers by run number; one that learns stays with one, which makes all of its runs in order. So the results do not
//! depend on the number of servers, but for a time budget.

use super::launch::{Server, Temporary};
use anyhow::{Context, Result, anyhow};
use raddle_engine::Census;
use raddle_model::native::{Answer, Order, Ran, Setup};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What is to be explored.
pub(crate) struct Plan<'a> {
    pub(crate) words: &'a [String],
    pub(crate) setup: &'a Setup,
    pub(crate) runs: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) jobs: usize,
    pub(crate) keep_going: bool,
    /// Called after each run, with what was found so far.
    pub(crate) look: &'a (dyn Fn(&Tally, &str) + Sync),
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
    /// Why a server gave up, although another one has found a failing run.
    pub(crate) lost: Option<String>,
    /// Whether the machine lets threads be fibers.
    pub(crate) fibers: bool,
}

impl Tally {
    fn count(&mut self, number: u64, ran: Box<Ran>) {
        self.latest = (!ran.cut_off).then(|| (ran.fingerprint, ran.kind.clone()));
        if ran.cut_off {
            self.cut_off += 1;
            return;
        }
        self.runs += 1;
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

/// The runs of one strategy that one server makes.
struct Stream {
    lane: usize,
    next: u64,
    stride: u64,
}

impl Plan<'_> {
    /// Makes the runs.
    #[expect(
        clippy::disallowed_methods,
        reason = "a time budget is looked at between runs and decides nothing in them"
    )]
    pub(crate) fn explore(&self) -> Result<Tally> {
        let learns: Vec<bool> = self
            .setup
            .strategies
            .iter()
            .map(|spec| Ok(raddle_strategies::build(spec)?.learns()))
            .collect::<Result<_>>()?;
        let shared = Shared {
            tally: Mutex::default(),
            end: AtomicU64::new(self.runs),
            traced: AtomicU64::new(u64::MAX),
            exhausted: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            begun: Instant::now(),
        };
        let library = Temporary::library()?;
        // The first server is started alone, so that what is wrong with the program is told once.
        let first = Server::start(&library, self.words, self.setup)?;
        let fibers = first.fibers;
        let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
            let (shared, library, learns) = (&shared, &library, &learns);
            let start = move |job| {
                let server =
                    Server::start(library, self.words, self.setup).inspect_err(|_| shared.give_up())?;
                self.work(shared, server, self.streams(learns, job))
            };
            let others: Vec<_> = (1..self.jobs)
                .map(|job| std::thread::Builder::new().spawn_scoped(scope, move || start(job)))
                .collect();
            if others.iter().any(Result::is_err) {
                shared.give_up();
            }
            let mine = self.work(shared, first, self.streams(learns, 0));
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
        tally.fibers = fibers;
        tally.exhausted = shared.exhausted.into_inner() == learns.len();
        Ok(tally)
    }

    fn streams(&self, learns: &[bool], job: usize) -> Vec<Stream> {
        let mut learning = 0;
        let mut streams = Vec::new();
        for (lane, &learns) in learns.iter().enumerate() {
            if learns {
                if learning % self.jobs == job {
                    streams.push(Stream { lane, next: 0, stride: 1 });
                }
                learning += 1;
            } else {
                streams.push(Stream { lane, next: job as u64, stride: self.jobs as u64 });
            }
        }
        streams
    }

    /// The next run that a server is to make, with its number, if there is another one.
    fn next(&self, shared: &Shared, streams: &mut [Stream]) -> Option<(u64, usize, Order)> {
        let lanes = self.setup.strategies.len() as u64;
        let number = |stream: &Stream| stream.next.saturating_mul(lanes).saturating_add(stream.lane as u64);
        let stream = streams.iter_mut().min_by_key(|stream| number(stream))?;
        let number = number(stream);
        let late = self.time.is_some_and(|time| shared.begun.elapsed() >= time);
        if late || shared.is_over(number) {
            return None;
        }
        let (strategy, run) = (stream.lane, stream.next);
        stream.next += stream.stride;
        let trace = number < shared.traced.load(Ordering::Relaxed);
        Some((number, strategy, Order::Run { strategy, run, trace }))
    }

    fn work(&self, shared: &Shared, mut server: Server, mut streams: Vec<Stream>) -> Result<()> {
        /// How many orders a server has at a time, so that it need not wait for the next one.
        const ORDERS: usize = 2;
        let mut given = VecDeque::new();
        loop {
            while given.len() < ORDERS
                && let Some((number, strategy, order)) = self.next(shared, &mut streams)
            {
                server.send(&order).inspect_err(|_| shared.give_up())?;
                given.push_back((number, strategy));
            }
            let Some((number, strategy)) = given.pop_front() else { return Ok(()) };
            if shared.is_over(number) {
                return Ok(());
            }
            match server.receive() {
                Ok(Answer::Ran(ran)) => {
                    if ran.kind.is_some() {
                        shared.traced.fetch_min(number, Ordering::Relaxed);
                        if !self.keep_going {
                            // Earlier runs of other servers may fail as well; the first one counts.
                            shared.end.fetch_min(number, Ordering::Relaxed);
                        }
                    }
                    let mut tally = shared.tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    tally.count(number, ran);
                    (self.look)(&tally, &self.setup.strategies[strategy]);
                }
                Ok(Answer::Exhausted) => {
                    // The order after it may have been for the same strategy.
                    let before = streams.len();
                    streams.retain(|stream| stream.lane != strategy);
                    shared.exhausted.fetch_add(before - streams.len(), Ordering::Relaxed);
                }
                Ok(Answer::Lost { message }) => {
                    shared.give_up();
                    return Err(anyhow!(message)
                        .context(format!("{}: run {number} cannot be controlled", self.words[0])));
                }
                Ok(Answer::Ready { .. }) => return Err(anyhow!("the native runtime has begun anew")),
                Err(error) => {
                    shared.give_up();
                    return Err(error);
                }
            }
        }
    }
}
