//! Exit last: an inner strategy in most of whose runs the program exit waits for the other threads.
//!
//! Our own. A program that exits while some of its threads could still run hides what they would have done,
//! and a strategy that treats the exit like any other operation executes mostly runs in which little happens.
//! In three of four runs, drawn for each, the exit happens when nothing else can run ([`Needs::exit_last`](raddle_engine::Needs::exit_last));
//! in the others it may happen at any step.
//!
//! Guarantee: the inner strategy's for the program whose exit waits, in three of four runs; and a quarter of
//! its probability for the unmodified program. Test: `three_of_four_runs_wait`.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use crate::some_runs::Change;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "exit-last",
    family: Family::Wrapper,
    summary: "in three of four runs of the inner strategy (any randomized one) the program exits only when nothing else can run",
    parameters: &[],
    source: "Raddle",
    guarantee: "the inner strategy's in a quarter of the runs; in the others for the program whose exit waits",
    capabilities: Capabilities::NONE,
    build: Build::Around(|inner| CHANGE.around(inner)),
};

/// One in this many runs lets the program exit at any step.
const PERIOD: u64 = 4;

const CHANGE: Change = Change { draw: |rng| rng.below(PERIOD) > 0, add: |needs| needs.exit_last = true };

#[cfg(test)]
mod tests {
    use crate::build;
    use raddle_model::{Event, Kind, Operation};
    use raddle_testkit::{Act, Script, affordable, assert_hit_rate, is_thorough};

    /// A program that may exit before its thread has taken three steps.
    fn program() -> Script {
        let main = [Act::Spawn(1), Act::Bare(Kind::Exit, Operation::UNTIMED)];
        Script::new().thread(&main).spawned(&[Act::Step; 3])
    }

    fn is_exit(event: &Event) -> bool {
        event.operation.kind == Kind::Exit
    }

    #[test]
    fn three_of_four_runs_wait() {
        for spec in ["exit-last:random-walk", "exit-last:oos", "exit-last:pct:depth=2"] {
            let mut strategy = build(spec).unwrap();
            let mut program = program();
            let mut waited = 0;
            for seed in 0..affordable(4_000) {
                let (events, _) = program.run(&mut *strategy, seed);
                assert!(
                    events.iter().position(is_exit) == Some(events.len() - 1),
                    "nothing comes after the end"
                );
                assert!(events.len() == 5 || !strategy.needs().exit_last, "{spec}: the exit did not wait");
                waited += u64::from(strategy.needs().exit_last);
            }
            assert!(!is_thorough() || waited.abs_diff(3_000) < 4 * 28, "{spec}: {waited} of 4,000");
        }
    }

    #[test]
    fn an_early_exit_still_occurs() {
        // A quarter of the runs, in half of which the walk exits the program at once.
        let mut strategy = build("exit-last:random-walk").unwrap();
        let mut program = program();
        assert_hit_rate(4_000, 0.125, |seed| program.run(&mut *strategy, seed).0.len() == 2);
    }
}
