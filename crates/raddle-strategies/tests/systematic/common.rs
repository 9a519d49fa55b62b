//! Exhaustive runs of a program and their properties.

use raddle_engine::{Engine, Plan, Program, Rng, RunSummary, Strategy, Totals, explore, run};
use raddle_model::{ThreadId, Verdict};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The properties of a run that the tests compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The threads of all steps, then the answers to other decisions.
    pub(crate) schedule: Vec<u32>,
    pub(crate) verdict: &'static str,
    pub(crate) fingerprint: u64,
    pub(crate) preemptions: usize,
    pub(crate) switches: usize,
    pub(crate) delays: usize,
}

impl Seen {
    fn new(run: &RunSummary<'_>) -> Seen {
        let threads: Vec<u32> = run.trace.events.iter().map(|event| event.thread.0).collect();
        let numbers = run.trace.picks.iter().map(|pick| pick.value);
        Seen {
            verdict: match run.verdict {
                Verdict::Passed => "passed",
                Verdict::CutOff => "cut off",
                Verdict::Inconclusive { .. } => "inconclusive",
                Verdict::Failed { failure } => failure.kind(),
            },
            fingerprint: run.fingerprint,
            preemptions: run.trace.preemptions(),
            delays: delays(run),
            switches: threads.windows(2).filter(|pair| pair[0] != pair[1]).count(),
            schedule: threads.into_iter().chain(numbers).collect(),
        }
    }
}

/// Counts the delays of a run with respect to a round-robin scheduler.
fn delays(run: &RunSummary<'_>) -> usize {
    let (mut turn, mut delays) = (0, 0);
    for (step, event) in run.trace.events.iter().enumerate() {
        while ThreadId(turn) != event.thread {
            delays += usize::from(run.trace.enabled_at(step).contains(&ThreadId(turn)));
            turn = (turn + 1) % run.thread_count() as u32;
        }
    }
    delays
}

/// Runs `program` until `strategy` has no schedule left.
pub(crate) fn exhaust(program: &mut dyn Program, strategy: &mut dyn Strategy) -> (Vec<Seen>, Totals) {
    let mut seen = Vec::new();
    let mut engine = Engine::new(Default::default());
    let totals = explore(&mut engine, program, strategy, (0, 0, 1_000_000), |_, run| {
        seen.push(Seen::new(run));
        ControlFlow::Continue(())
    });
    assert!(totals.exhausted, "a million runs were not enough");
    (seen, totals)
}

/// Does [`exhaust`], but each run happens in a copy of the strategy that is discarded.
pub(crate) fn exhaust_forked(program: &mut dyn Program, strategy: &mut dyn Strategy) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut engine = Engine::new(Default::default());
    for number in 0.. {
        let mut child = strategy.fork();
        if child.begin(Rng::for_run(0, number)) == Plan::Exhausted {
            break;
        }
        run(&mut engine, program, &mut *child);
        let summary = engine.summary();
        strategy.learn(&summary);
        seen.push(Seen::new(&summary));
    }
    seen
}

/// Returns the fingerprints of the runs that were not cut off; fails if one occurs twice.
pub(crate) fn distinct_fingerprints(seen: &[Seen]) -> BTreeSet<u64> {
    let complete = seen.iter().filter(|run| run.verdict != "cut off");
    let mut fingerprints = BTreeSet::new();
    for run in complete {
        assert!(fingerprints.insert(run.fingerprint), "a partial order was completed twice: {run:?}");
    }
    fingerprints
}

/// Returns the different verdicts of runs, except those cut off.
pub(crate) fn verdicts(seen: &[Seen]) -> BTreeSet<&'static str> {
    seen.iter().map(|run| run.verdict).filter(|&verdict| verdict != "cut off").collect()
}
