//! `raddle run --baseline`: the unmodified program, for comparison.

use crate::args::{BaselineArg, NativeArgs};
use crate::progress::Progress;
use anyhow::Result;
use raddle_launch::native::Uncontrolled;
use raddle_report::shape::NativeRun;
use raddle_search::Seen;

/// Runs the program without control.
pub(super) fn run(args: &NativeArgs, kind: BaselineArg, words: &[String]) -> Result<NativeRun> {
    let budget = args.search.budget();
    let progress = Progress::new(budget.runs);
    let watch = |seen: Seen<'_>| progress.add(seen.turns);
    let target = Uncontrolled::new(words, args.search.seed(), args.run_time, args.fail_on_exit);
    let (target, strategy) = match kind {
        BaselineArg::Delay => (target.with_delays()?, "random delays, uncontrolled"),
        BaselineArg::Stress => (target, "stress, uncontrolled"),
    };
    let found = target.search(budget, args.search.jobs(), &watch)?;
    if let Some(error) = found.lost {
        return Err(error);
    }
    Ok(NativeRun {
        verdict: if found.tally.failures > 0 { "failed" } else { "passed" }.to_owned(),
        kind: found.first.as_ref().map(|(_, kind)| kind.clone()),
        runs: found.tally.runs,
        failures: found.tally.failures,
        kinds: found.tally.kinds,
        first_failure: found.first.map(|(turn, _)| turn.number),
        strategy: strategy.to_owned(),
        seed: args.search.seed(),
        ..NativeRun::default()
    })
}
