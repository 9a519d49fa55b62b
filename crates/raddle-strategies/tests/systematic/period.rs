//! PERIOD against depth-first search.

use crate::common::{Seen, exhaust, verdicts};
use raddle_engine::{Resource, Totals};
use raddle_model::Kind;
use raddle_strategies::{dfs::Dfs, period::Period};
use raddle_testkit::{Act, Script, is_thorough};
use std::collections::BTreeSet;

fn schedules<'a>(seen: impl IntoIterator<Item = &'a Seen>) -> BTreeSet<&'a [u32]> {
    seen.into_iter().map(|run| run.schedule.as_slice()).collect()
}

#[test]
fn all_schedules_with_few_switches_are_run_fewest_first() {
    let (first, most) = if is_thorough() { (0, 10) } else { (2, 6) };
    // Long threads in few periods have splits that short ones do not have.
    let programs = [
        &["W0 W0 W0 W0 W0 W0", "W0 W0 W0 W0"][..],
        &["W0 W0", "W0", "W0 W0 W0 W0"],
        &["W0", "W0", "W0", "W0 W0"],
        &["W0 W0"],
    ];
    for &threads in &programs[first..] {
        let mut program = Script::straight(1, threads);
        let (full, _) = exhaust(&mut program, &mut Dfs::new());
        for periods in threads.len().max(2)..most {
            let (seen, _) = exhaust(&mut program, &mut Period::new(Some(periods as u32)));
            let wanted = schedules(full.iter().filter(|run| run.switches < periods));
            assert_eq!(schedules(&seen), wanted, "{threads:?} in {periods} periods");
            // The profiling run is repeated, except with a single thread.
            let again = usize::from(threads.len() > 1);
            assert_eq!(seen.len(), wanted.len() + again);
            assert!(seen[1..].is_sorted_by_key(|run| run.switches));
        }
        let (seen, _) = exhaust(&mut program, &mut Period::new(None));
        assert_eq!(schedules(&seen), schedules(&full));
    }
}

#[test]
fn the_deadlock_of_opposite_lock_orders_needs_three_periods() {
    let lock = |mutex| Act::On(Kind::Lock, mutex);
    let unlock = |mutex| Act::On(Kind::Unlock, mutex);
    let mut program = Script::new()
        .mutex()
        .mutex()
        .thread(&[lock(0), lock(1), unlock(1), unlock(0)])
        .thread(&[lock(1), lock(0), unlock(0), unlock(1)]);
    let (seen, _) = exhaust(&mut program, &mut Period::new(Some(2)));
    assert_eq!(verdicts(&seen), BTreeSet::from(["passed"]));
    let (seen, _) = exhaust(&mut program, &mut Period::new(Some(3)));
    assert_eq!(verdicts(&seen), BTreeSet::from(["deadlock", "passed"]));
}

#[test]
fn a_thread_that_ended_early_in_the_profile_is_learned_later() {
    // The signal comes first in the profiling run's order, so the waiter never gets past its wait there.
    let mut program = Script::new()
        .mutex()
        .object(Resource::condition())
        .thread(&[Act::On(Kind::Signal, 1), Act::Step])
        .thread(&[Act::On(Kind::Lock, 0), Act::Wait(1, 0), Act::On(Kind::Unlock, 0), Act::Step]);
    let (seen, _) = exhaust(&mut program, &mut Period::new(None));
    assert_eq!(verdicts(&seen), BTreeSet::from(["deadlock", "passed"]));
    assert!(
        seen.iter().any(|run| run.schedule == [1, 1, 0, 1, 0, 1, 1]),
        "the waiter's later steps are split too"
    );
}

#[test]
fn an_empty_program_has_one_run() {
    let (_, totals) = exhaust(&mut Script::new(), &mut Period::new(None));
    assert_eq!(totals, Totals { complete: 1, cut_off: 0, exhausted: true });
}
