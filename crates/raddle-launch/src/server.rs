//! Servers: processes that execute runs on request. They are the workers of a search.

use anyhow::{Context, Result, anyhow, ensure};
use raddle_model::Ledger;
use raddle_model::native::{Answer, Order, RunResult, Setup};
use raddle_search::{Deadline, Details, FinishedRun, Known, Request, Run, Worker};
use std::collections::VecDeque;

/// The error of a program whose runs cannot be controlled. No other error has this type.
#[derive(Debug)]
pub struct NotControllable(pub String);

impl std::fmt::Display for NotControllable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotControllable {}

/// A process that executes runs on request, one after the other.
pub trait Server {
    /// True if it answers [`Order::Estimate`].
    const ESTIMATES: bool = false;

    /// Sends requests. Several may be in flight; they are answered in order.
    fn send(&mut self, orders: &[Order]) -> Result<()>;

    /// Waits until [`Server::receive`] would return. Returns false if `is_over` returns true before.
    fn wait(&mut self, is_over: &dyn Fn() -> bool) -> bool;

    /// Waits for the answer to the oldest unanswered request.
    fn receive(&mut self) -> Result<Answer>;

    /// Sends a request and waits for the answer until `deadline`.
    fn order_until(&mut self, order: &Order, deadline: &Deadline) -> Result<Answer> {
        self.send(std::slice::from_ref(order))?;
        ensure!(self.wait(&|| deadline.is_over()), "the time limit was reached");
        self.receive()
    }

    /// Sends a request and waits for the answer.
    fn order(&mut self, order: &Order) -> Result<Answer> {
        self.send(std::slice::from_ref(order))?;
        self.receive()
    }
}

/// A server as a worker of a search.
pub struct Remote<S> {
    server: S,
    /// The program, for messages.
    program: String,
    /// The initial iRoots, if iRoots are requested.
    known: Option<Ledger>,
    /// True if all strategies estimate the number of partial orders. In a portfolio, the runs of others would wait for
    /// the estimate: it keeps the runs in flight few.
    estimates: bool,
    /// The numbers of the runs in flight.
    numbers: VecDeque<u64>,
}

impl<S: Server> Remote<S> {
    /// Returns the worker for a server of `program` that was started with `setup`.
    pub fn new(server: S, program: &str, setup: &Setup) -> Remote<S> {
        let known = setup.coverage.is_some().then(|| setup.known.clone());
        let counts = |spec: &String| {
            raddle_strategies::entry(spec).is_some_and(|entry| entry.capabilities.counts_orders)
        };
        let estimates = S::ESTIMATES && setup.strategies.iter().all(counts);
        Remote { server, program: program.to_owned(), known, estimates, numbers: VecDeque::new() }
    }
}

impl<S: Server> Worker for Remote<S> {
    type Failure = Box<RunResult>;
    type Error = anyhow::Error;
    const IS_REMOTE: bool = true;

    fn request(&mut self, requests: &[Request]) -> Result<()> {
        let order = |&Request { turn, trace, awaited }: &Request| {
            self.numbers.push_back(turn.number);
            Order::Run { strategy: turn.lane, run: turn.run, trace, awaited }
        };
        let orders: Vec<Order> = requests.iter().map(order).collect();
        self.server.send(&orders)
    }

    fn wait(&mut self, is_over: &dyn Fn() -> bool) -> bool {
        self.server.wait(is_over)
    }

    fn receive(&mut self) -> Result<Option<FinishedRun<Box<RunResult>>>> {
        let answer = self.server.receive()?;
        let number = self.numbers.pop_front().context("a server has answered more than it was asked")?;
        match answer {
            Answer::RunResult(ran) => Ok(Some(made(ran))),
            Answer::Exhausted => Ok(None),
            Answer::Lost { message } => {
                let what = format!("{}: run {number} cannot be controlled", self.program);
                Err(anyhow::Error::new(NotControllable(message)).context(what))
            }
            Answer::Refused { message } => {
                Err(anyhow!(message).context(format!("{}: run {number} cannot be made", self.program)))
            }
            Answer::Ready { .. } | Answer::Coverage(_) | Answer::Estimate(_) => {
                Err(anyhow!("{}: a server has answered another question", self.program))
            }
        }
    }

    fn knowledge(&mut self, lanes: &[usize]) -> Result<Known> {
        let mut known = Known::default();
        for &strategy in lanes.iter().filter(|_| self.estimates) {
            if let Answer::Estimate(estimate) = self.server.order(&Order::Estimate { strategy })? {
                known.estimate = estimate.or(known.estimate);
            }
        }
        let Some(base) = &self.known else { return Ok(known) };
        for &strategy in lanes {
            if let Answer::Coverage(covered) = self.server.order(&Order::Coverage { strategy })? {
                known.covered.ledger.join(&covered.ledger, base);
                known.covered.locations.extend(covered.locations);
            }
        }
        Ok(known)
    }

    fn has_knowledge(&self) -> bool {
        self.known.is_some() || self.estimates
    }
}

/// Returns a run in the form of the search.
fn made(mut ran: Box<RunResult>) -> FinishedRun<Box<RunResult>> {
    let details = Details {
        kind: ran.kind.clone(),
        inconclusive: ran.inconclusive,
        outside_waits: ran.outside_waits,
        processes: ran.processes,
        exposed: ran.exposed.clone(),
        profiling_error: ran.profiling_error.take(),
        discovered: std::mem::take(&mut ran.discovered),
        reset_difference: ran.reset_difference.take(),
        reset_unsupported: ran.reset_unsupported,
        forgot_writes: ran.forgot_writes,
        has_weak_orders: ran.has_weak_orders,
        interrupts: ran.has_interrupts,
        status: ran.status.unwrap_or_default(),
    };
    let run = Run {
        fingerprint: ran.fingerprint,
        steps: ran.steps,
        threads: ran.threads,
        rests: ran.rests,
        drawn: ran.drawn,
        idle_timeouts: ran.idle_timeouts,
        cut_off: ran.cut_off,
        weak_memory: ran.weak_memory,
        forked: ran.forked,
        details: (details != Details::default()).then(|| Box::new(details)),
    };
    FinishedRun { run, failure: ran.trace.is_some().then_some(ran) }
}
