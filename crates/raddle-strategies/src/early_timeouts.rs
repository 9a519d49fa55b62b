//! Early timeouts: an inner strategy in half of whose runs a sleep or timed wait may end while other threads
//! could still run.
//!
//! Our own. If time passes only when nothing else can run, a sleeping thread never overtakes a working one,
//! and bugs that need that are out of reach. In one of two runs, drawn for each, timeouts fire at any step
//! ([`Needs::timeouts_anytime`](raddle_engine::Needs::timeouts_anytime)), as a choice of the inner strategy. The clock of the program moves to the
//! end of a wait that has timed out, so no thread sees its own time go backwards or a wait that was too
//! short.
//!
//! Guarantee: the inner strategy's in each half of the runs, for the program with and without early timeouts.
//! Test: `half_of_the_runs_let_sleepers_overtake`.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use crate::some_runs::Change;
use raddle_model::mix;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "early-timeouts",
    family: Family::Wrapper,
    summary: "in one of two runs of the inner strategy (any randomized one) timeouts may fire at any step",
    parameters: &[],
    source: "Raddle",
    guarantee: "the inner strategy's in half of the runs; in the others for the program with timeouts at any step",
    capabilities: Capabilities::NONE,
    build: Build::Around(|inner| {
        let change = if inner.learns() { LEARNING } else { CHANGE };
        change.around(inner)
    }),
};

/// One in this many runs has early timeouts.
const PERIOD: u64 = 2;

const CHANGE: Change =
    Change { draw: |rng| rng.below(PERIOD) == 0, add: |needs| needs.timeouts_anytime = true };

/// The same for strategies that learn, which keep their random numbers: in a program without timeouts, they
/// behave as if alone.
const LEARNING: Change = Change { draw: |rng| mix(rng.clone().bits()).is_multiple_of(PERIOD), ..CHANGE };

#[cfg(test)]
mod tests {
    use crate::build;
    use raddle_model::{Event, Kind};
    use raddle_testkit::{Act, Script, affordable, is_thorough};

    #[test]
    fn half_of_the_runs_let_sleepers_overtake() {
        let mut program = Script::new().thread(&[Act::Bare(Kind::Sleep, 500)]).thread(&[Act::Step; 3]);
        for spec in ["early-timeouts:random-walk", "exit-last:early-timeouts:pos", "early-timeouts:oos"] {
            let mut strategy = build(spec).unwrap();
            let (mut early, mut overtakes) = (0, 0);
            for seed in 0..affordable(4_000) {
                let (events, _) = program.run(&mut *strategy, seed);
                let is_sleep = |event: &Event| event.operation.kind == Kind::Sleep;
                let overtook = events.iter().position(is_sleep) != Some(events.len() - 1);
                assert!(
                    !overtook || strategy.needs().timeouts_anytime,
                    "{spec}: time passed although others could run"
                );
                early += u64::from(strategy.needs().timeouts_anytime);
                overtakes += u64::from(overtook);
            }
            assert!(!is_thorough() || early.abs_diff(2_000) < 4 * 32, "{spec}: {early} of 4,000");
            assert!(!is_thorough() || overtakes > 1_000, "{spec}: {overtakes} of 4,000");
        }
    }
}
