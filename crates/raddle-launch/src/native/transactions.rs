//! Runs of a program whose operations are divided into transactions, counted.

use super::launch::{Server, library};
use crate::server::{NotControllable, Server as _};
use crate::temporary::Temporary;
use anyhow::{Result, anyhow, bail};
use raddle_model::native::{Answer, Order, RunResult, Setup, Site, Transactions};
use raddle_model::{Completion, Environment, Schedule};
use raddle_search::{Deadline, Lanes, Portfolio};
use std::collections::{BTreeMap, BTreeSet};

/// The number of runs in flight.
const IN_FLIGHT: u64 = 64;
/// The number of times a search begins again because a run has discovered shared memory.
const MOST_RESTARTS: u32 = 20;

/// A program whose operations are known.
pub struct Divided<'a> {
    words: &'a [String],
    environment: &'a Environment,
    setup: Setup,
    library: Temporary,
}

/// The result of the runs under one division.
#[derive(Debug, Default)]
pub struct Counted {
    /// The number of runs that were completed: one for each partial order.
    pub runs: u64,
    /// The number of runs that were cut off, because others cover them.
    pub cut_off: u64,
    /// True if every partial order has had its run.
    pub exhausted: bool,
    /// The estimated number of partial orders.
    pub estimate: Option<f64>,
    /// The failing runs by kind.
    pub failures: BTreeMap<String, u64>,
    /// The first of them.
    pub first: Option<Box<RunResult>>,
    /// The number of runs whose result may miss partial orders: a spinning thread was descheduled, or the step limit reached.
    pub incomplete: u64,
    /// The largest number of steps of a run.
    pub steps: u64,
    /// The accesses of the operations.
    pub sites: BTreeSet<Site>,
}

impl Counted {
    /// Returns the number of partial orders, exact or estimated.
    pub fn number(&self) -> f64 {
        let least = self.runs as f64;
        if self.exhausted { least } else { self.estimate.map_or(least, |estimate| estimate.max(least)) }
    }
}

/// The end of a search.
#[derive(Clone, Copy)]
pub struct Limits {
    /// The largest number of runs.
    pub runs: u64,
    /// No run begins after it.
    pub deadline: Deadline,
    /// True if the first failing run ends it.
    pub stop: bool,
}

impl<'a> Divided<'a> {
    /// Prepares the program `words[0]`, with the other words as arguments.
    pub fn new(words: &'a [String], environment: &'a Environment, setup: Setup) -> Result<Divided<'a>> {
        Ok(Divided { words, environment, setup, library: library()? })
    }

    /// Returns the setup of its runs, with the shared memory that is known.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Executes runs under `strategy`, with the operations divided like this.
    pub fn count(&mut self, transactions: &Transactions, strategy: &str, limits: Limits) -> Result<Counted> {
        let lanes = Lanes::parse(strategy, Portfolio::Programs)?;
        let mut restarts = 0;
        loop {
            let setup = Setup {
                strategies: lanes.specs(),
                transactions: Some(transactions.clone()),
                ..self.setup.clone()
            };
            let mut server = Server::start(&self.library, self.words, self.environment, &setup)?;
            let mut discovered = Vec::new();
            let counted = self.count_once(&mut server, limits, &mut discovered)?;
            if discovered.is_empty() || restarts == MOST_RESTARTS {
                return Ok(counted);
            }
            restarts += 1;
            self.setup.shared = discovered;
        }
    }

    fn count_once(&self, server: &mut Server, limits: Limits, discovered: &mut Vec<u64>) -> Result<Counted> {
        let mut counted = Counted::default();
        let (mut next, mut awaited, mut is_over) = (0, 0, false);
        loop {
            let mut orders = Vec::new();
            while !is_over && awaited < IN_FLIGHT && next < limits.runs {
                is_over = next > 0 && limits.deadline.is_over();
                let is_last = awaited + 1 == IN_FLIGHT || next + 1 == limits.runs || is_over;
                let trace = counted.first.is_none();
                orders.push(Order::Run { strategy: 0, run: next, trace, awaited: is_last });
                (next, awaited) = (next + 1, awaited + 1);
            }
            if !orders.is_empty() {
                server.send(&orders)?;
            }
            if awaited == 0 {
                return Ok(counted);
            }
            // The answers to all orders; only the last one is sent at once.
            while awaited > 0 {
                awaited -= 1;
                match server.receive()? {
                    Answer::RunResult(ran) if !is_over || !counted.exhausted => {
                        self.add(&mut counted, ran, discovered);
                        if !discovered.is_empty() || limits.stop && counted.first.is_some() {
                            return Ok(counted);
                        }
                    }
                    Answer::Exhausted => (counted.exhausted, is_over) = (true, true),
                    Answer::Lost { message } => {
                        return Err(
                            anyhow::Error::new(NotControllable(message)).context(self.words[0].clone())
                        );
                    }
                    Answer::Refused { message } => {
                        return Err(anyhow!(message).context(self.words[0].clone()));
                    }
                    Answer::RunResult(_)
                    | Answer::Ready { .. }
                    | Answer::Coverage(_)
                    | Answer::Estimate(_) => {
                        bail!("{}: a server has answered another question", self.words[0])
                    }
                }
            }
        }
    }

    fn add(&self, counted: &mut Counted, ran: Box<RunResult>, discovered: &mut Vec<u64>) {
        if !ran.discovered.is_empty() {
            discovered.clone_from(&ran.discovered);
        }
        counted.sites.extend(&ran.sites);
        counted.estimate = ran.estimate.or(counted.estimate);
        if ran.cut_off {
            counted.cut_off += 1;
            return;
        }
        counted.runs += 1;
        counted.steps = counted.steps.max(ran.steps);
        counted.incomplete += u64::from(ran.rests > 0 || ran.inconclusive || ran.profiling_error.is_some());
        if let Some(kind) = &ran.kind {
            *counted.failures.entry(kind.clone()).or_default() += 1;
            if counted.first.is_none() && ran.trace.is_some() {
                counted.first = Some(ran);
            }
        }
    }

    /// Executes a few runs in random orders, without transactions, and returns the numbers of steps of the threads of each.
    pub fn lengths(&self, runs: u64) -> Result<Vec<Vec<u64>>> {
        let setup = Setup { strategies: Vec::new(), ..self.setup.clone() };
        let mut server = Server::start(&self.library, self.words, self.environment, &setup)?;
        let mut lengths = Vec::new();
        for seed in 0..runs {
            let schedule = Schedule { completion: Completion::Random(2 * seed), ..Schedule::default() };
            let shared = self.setup.shared.clone();
            let order = Order::Follow { schedule, any: true, values: false, shared, random: 0 };
            if let Answer::RunResult(ran) = server.order(&order)?
                && let Some(run) = &ran.trace
            {
                let mut counts = vec![0; run.threads.len()];
                run.steps.iter().for_each(|step| counts[step.thread as usize] += 1);
                lengths.push(counts);
            }
        }
        Ok(lengths)
    }
}
