//! Whether the same schedule gives the same run.

use super::config::{self, Config};
use super::driver::{Test, failed};
use super::panics;
use super::record::{Origin, record};
use super::replay::{Left, repeat};
use super::turns;
use crate::runtime::{self, Conflict, Runtime};
use raddle_engine::{Engine, Plan, Rng};
use raddle_model::{TraceFile, Verdict};
use raddle_search::{Lanes, Portfolio};
use std::sync::Arc;

/// Makes run `run` of the first strategy of `config` twice. The error tells how the test failed, or where the second run did
/// something else.
pub(super) fn repeats(name: &str, config: &Config, run: u64, test: &Test) -> Result<(), String> {
    panics::install();
    runtime::overflow::install();
    let Some((trace, panics)) = turns::take(|_| make(name, config, run, test)) else { return Ok(()) };
    let steps = trace.steps.len();
    match repeat(&trace, test) {
        Ok(_) if trace.verdict.failure().is_some() => Err(failed(trace, panics, Some(run)).to_string()),
        Ok(_) => Ok(()),
        Err(Left { step, what }) => Err(format!(
            "uncontrolled nondeterminism: run {run} was made twice with the same schedule, and the second one was different \
             at step {} of {steps}: {what}\nthe test depends on something besides the schedule (time, random numbers, \
             addresses, state kept between runs)",
            step + 1
        )),
    }
}

/// Makes the run and records it; nothing inside if there is no such run. Gives nothing at all if it met another check at a
/// static.
fn make(
    name: &str,
    config: &Config,
    run: u64,
    test: &Test,
) -> Option<Option<(TraceFile, Vec<panics::Panic>)>> {
    let lanes = Lanes::parse(&config.strategy, Portfolio::Tests).unwrap_or_else(|error| panic!("{error}"));
    let mut strategy = lanes.get(0).strategy();
    if strategy.begin(Rng::for_run(config.seed, run)) == Plan::Exhausted {
        return Some(None);
    }
    let conflict = Conflict::default();
    let engine = Engine::new(config::engine(config.settings()));
    let mut runtime = Runtime::new(engine, strategy, conflict.clone());
    runtime.fail_on_leaked_threads = config.fail_on_leaked_threads;
    let body = Arc::clone(test);
    runtime = runtime::run(runtime, Box::new(move || body()));
    runtime.let_go();
    let panics = panics::take();
    if conflict.is_met() {
        return None;
    }
    if *runtime.engine.summary().verdict == Verdict::CutOff {
        return Some(None);
    }
    let origin = Origin {
        program: name,
        settings: config.settings(),
        fail_on_leaked_threads: config.fail_on_leaked_threads,
        strategy: &lanes.get(0).spec,
        seed: config.seed,
        run,
        locations: &[],
    };
    let trace = record(&runtime, &panics, origin);
    Some(Some((trace, panics)))
}
