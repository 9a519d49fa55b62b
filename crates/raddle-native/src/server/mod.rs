//! The fork server: stops before `main` and executes each run in a child.
//!
//! The strategies live here. A child has a copy of all memory, chooses in it and exits; the server learns
//! from the operations that it left ([`enact`]).

mod begun;
pub(crate) mod bind;
mod coverage;
mod enact;
mod follow;
mod learn;
mod orders;
mod orphans;
mod output;
mod panics;
mod processor;
mod record;
mod resident;
mod residents;
mod runs;
mod signals;
mod state;
mod wire;

use crate::child::interpose::thread::run_early;
use crate::child::known::Known;
use crate::child::results::RunData;
use crate::child::{control, fiber, pool, shared_memory, switching};
use crate::platform::{huge_pages, raw};
use begun::{Begun, Wanted};
use raddle_engine::{Needs, Replay, Resemble, Rng, Strategy};
use raddle_model::native::{Answer, Order, RunResult, Setup, Threads};
use raddle_model::{MemoryModel, Pick, ThreadId, Verdict};
use state::Server;
use wire::Wire;

/// Executes runs as the command line requests. Returns only in children, each of which must execute one run.
pub(crate) fn serve(socket: i32) {
    control::set_starting(false);
    orphans::adopt();
    let mut wire = Wire::new(socket);
    if !shared_memory::prepare() {
        wire.send(&Answer::Refused { message: "there is no memory to be shared with runs".to_owned() });
        raw::exit(0);
    }
    wire.send(&Answer::Ready { fibers: fiber::is_supported() });
    let Ok(setup) = serde_json::from_slice::<Setup>(wire.receive()) else { raw::exit(0) };
    if setup.threads == Threads::Os {
        switching::use_os_threads();
    }
    pool::fill(run_early);
    // A child that executes many runs uses it after this function has returned.
    let server = Box::leak(Server::new(wire, setup));
    huge_pages::settle();
    if server.learn_shared() {
        return;
    }
    loop {
        let order = server.orders.next(&mut server.wire);
        let Some(answer) = server.handle(&order) else { return };
        let passed = matches!(&answer, Answer::RunResult(ran) if ran.kind.is_none());
        if passed && matches!(order, Order::Run { awaited: false, .. }) {
            server.wire.hold_or_send(&answer);
        } else {
            server.wire.send(&answer);
        }
        if matches!(order, Order::Replay { .. }) {
            // A debugger that restarts the program does so on the same socket, and the next request is for
            // the new process.
            raw::exit(0);
        }
    }
}

impl Server {
    /// Handles a request. Returns `None` in the child that must execute the run.
    fn handle(&mut self, order: &Order) -> Option<Answer> {
        match order {
            Order::Run { strategy, run, trace, .. } => self.run_under(*strategy, *run, *trace),
            Order::Coverage { strategy } => Some(Answer::Coverage(Box::new(self.covered(*strategy)))),
            Order::Estimate { strategy } => {
                let strategy = self.strategies.get(*strategy).and_then(Option::as_ref);
                Some(Answer::Estimate(strategy.and_then(|strategy| strategy.space())))
            }
            Order::Replay { steps, picks, shared, random } => {
                let replay = Replay::of(enact::events(steps), Order::picks(picks));
                self.repeat(Box::new(replay), steps, (shared, *random))
            }
            Order::Resemble { steps, picks, shared, random } => {
                let resemble = Resemble::new(enact::events(steps), Order::picks(picks));
                self.repeat(Box::new(resemble), steps, (shared, *random))
            }
            Order::Follow { any, .. } => {
                let mut data = match self.follow(order)? {
                    Ok(data) => data,
                    Err(answer) => return Some(answer),
                };
                self.check_end(&mut data);
                let mut ran = self.ran(&data);
                if *any || ran.kind.is_some() {
                    let needs = Needs { enabled: true, ..Needs::default() };
                    if enact::enact(&mut self.engine, &data, needs, &[]) {
                        ran.preemptions = self.engine.summary().trace.preemptions() as u64;
                    }
                    self.add_trace(&mut ran, &data, String::new(), 0);
                }
                Some(Answer::RunResult(Box::new(ran)))
            }
        }
    }

    /// Executes a run under a strategy, which learns from it. Returns `None` in the child that must execute
    /// the run.
    fn run_under(&mut self, number: usize, run: u64, trace: bool) -> Option<Answer> {
        let Some(begun) = self.begin(number, run) else {
            self.batch.next();
            return Some(Answer::Exhausted);
        };
        let (made, is_forked) = self.make_run_of(&begun)?;
        let (mut data, mut difference) = match made {
            Ok(data) => (data, None),
            Err(answer) => return Some(answer),
        };
        if !is_forked {
            (data, difference) = self.check_resident(&begun, data)?;
        }
        self.learn(&begun, &data);
        self.check_end(&mut data);
        let mut ran = self.ran(&data);
        ran.discovered = self.discovered(&data);
        ran.exposed = self.newly_exposed(number);
        if self.division.is_some() {
            ran.sites = data.sites.iter().copied().filter(|&site| self.sites.insert(site)).collect();
            ran.estimate = self.strategies[number].as_ref().and_then(|strategy| strategy.space());
        }
        ran.weak_memory = begun.is_weak;
        ran.forked = is_forked;
        ran.reset_difference = difference;
        ran.reset_unsupported = self.note_no_reset();
        if trace && ran.kind.is_some() {
            let spec = self.setup.strategies[number].clone();
            self.add_trace(&mut ran, &data, spec, run);
            if let Some(trace) = &mut ran.trace {
                trace.settings.exit_last |= begun.needs.exit_last;
                trace.settings.timeouts_anytime |= begun.needs.timeouts_anytime;
                trace.settings.memory = if begun.is_weak { MemoryModel::Weak } else { MemoryModel::Sc };
            }
        }
        Some(Answer::RunResult(Box::new(ran)))
    }

    /// Lets the strategy of a run learn from it.
    fn learn(&mut self, begun: &Begun, data: &RunData) {
        if !begun.learns {
            return;
        }
        let names = if begun.needs.location_names { self.names(data) } else { Vec::new() };
        if enact::enact(&mut self.engine, data, begun.needs, &names)
            && let Some(strategy) = &mut self.strategies[begun.number]
        {
            strategy.learn(&self.engine.summary());
        }
    }

    /// Executes a run with `strategy`, which follows `steps`, and reports where it diverged from them.
    fn repeat(
        &mut self,
        mut strategy: Box<dyn Strategy>,
        steps: &[raddle_model::TraceStep],
        (shared, random): (&[u64], u64),
    ) -> Option<Answer> {
        // A replay draws nothing, so any stream is suitable.
        strategy.begin(Rng::for_run(0, 0));
        let fork = |_: &mut Server| Some(strategy.fork());
        let mut data = match self.make_run(
            &fork,
            random,
            self.setup.points,
            Some(&Known::read(shared)),
            Wanted::Values,
        )? {
            Ok(data) => data,
            Err(answer) => return Some(answer),
        };
        self.check_end(&mut data);
        // The copy that followed the run is gone; following the executed steps locates the divergence.
        let mut ran = self.ran(&data);
        ran.divergence = divergence(steps, &data);
        self.add_trace(&mut ran, &data, String::new(), 0);
        Some(Answer::RunResult(Box::new(ran)))
    }

    fn ran(&self, data: &RunData) -> RunResult {
        RunResult {
            kind: data.verdict.failure().map(|failure| failure.kind().to_owned()),
            cut_off: data.verdict == Verdict::CutOff,
            inconclusive: matches!(data.verdict, Verdict::Inconclusive { .. }),
            fingerprint: data.fingerprint,
            steps: data.steps,
            threads: data.ended.len() as u64,
            rests: data.rests,
            drawn: Pick::drawn(&data.picks),
            idle_timeouts: data.idle_timeouts,
            has_interrupts: data.has_interrupts,
            status: Some(data.status),
            outside_waits: data.outside_waits,
            processes: data.processes,
            forgot_writes: data.forgot_writes,
            has_weak_orders: data.has_weak_orders,
            profiling_error: self.profiling_error.clone(),
            ..RunResult::default()
        }
    }

    fn add_trace(&self, ran: &mut RunResult, data: &RunData, strategy: String, run: u64) {
        ran.trace = Some(Box::new(record::record(data, self.modules, &self.setup, strategy, run)));
        ran.memory = record::memory(data, self.modules);
        ran.output = self.printed();
        ran.shared = self.known.packed();
    }
}

/// Returns the divergence of a replay from the recorded steps.
fn divergence(steps: &[raddle_model::TraceStep], data: &RunData) -> Option<(usize, String)> {
    let same = |index: usize| {
        let (step, event) = (steps.get(index), data.events.get(index));
        step.zip(event).is_some_and(|(s, e)| s.thread == e.thread.0 && s.operation == e.operation)
    };
    let left = (0..steps.len().max(data.events.len())).find(|&index| !same(index));
    let cut = data.verdict == Verdict::CutOff;
    let step = left.or(cut.then_some(data.events.len()))?;
    let pending = steps.get(step).and_then(|s| Some((s, data.pending.get(s.thread as usize)?)));
    let what = match pending {
        _ if step >= steps.len() => "the program continues after the end of the recorded run".to_owned(),
        Some((recorded, Some(now))) => now.departure(ThreadId(recorded.thread), &recorded.operation),
        _ => format!("the program ended, but the recorded run has {} steps", steps.len()),
    };
    Some((step, what))
}
