//! Preemption and delay bounding against depth-first search.

use crate::common::{Seen, distinct_fingerprints, exhaust, verdicts};
use crate::random::program;
use raddle_engine::Strategy;
use raddle_model::Kind;
use raddle_strategies::{
    delay_bounding::DelayBounding, dfs::Dfs, dpor::Dpor, preemption_bounding::PreemptionBounding,
};
use raddle_testkit::{Act, Script, affordable_searches, is_thorough};
use std::collections::BTreeSet;

/// Returns programs with few enough schedules for three searches of each.
fn programs() -> Vec<(Script, Vec<Seen>)> {
    let threads = ["W0 R1 W0", "W1 R0", "W0 W1"];
    let straight = Script::straight(2, if is_thorough() { &threads } else { &threads[1..] });
    let random = (0..affordable_searches(60)).map(program);
    std::iter::once(straight)
        .chain(random)
        .map(|mut program| {
            let (full, _) = exhaust(&mut program, &mut Dfs::new());
            (program, full)
        })
        .collect()
}

fn schedules<'a>(seen: impl IntoIterator<Item = &'a Seen>) -> BTreeSet<Vec<u32>> {
    let mut schedules = BTreeSet::new();
    for run in seen {
        assert!(schedules.insert(run.schedule.clone()), "a schedule was run twice: {run:?}");
    }
    schedules
}

#[test]
fn each_bucket_holds_exactly_the_schedules_with_that_many_preemptions() {
    let mut most = 0;
    for (mut program, full) in programs() {
        let (seen, _) = exhaust(&mut program, &mut PreemptionBounding::new(None));
        assert_eq!(schedules(&seen), schedules(&full));
        assert!(seen.is_sorted_by_key(|run| run.preemptions), "fewer preemptions come first");
        most = most.max(seen.last().map_or(0, |run| run.preemptions));
        for bound in 0..3 {
            let (seen, _) = exhaust(&mut program, &mut PreemptionBounding::new(Some(bound)));
            let wanted = full.iter().filter(|run| run.preemptions <= bound as usize);
            assert_eq!(schedules(&seen), schedules(wanted));
        }
    }
    assert!(!is_thorough() || most >= 3, "the programs leave room for preemptions");
}

#[test]
fn each_bucket_holds_exactly_the_schedules_with_that_many_delays() {
    for (mut program, full) in programs() {
        let (seen, _) = exhaust(&mut program, &mut DelayBounding::new(None));
        assert_eq!(schedules(&seen), schedules(&full));
        assert!(seen.is_sorted_by_key(|run| run.delays), "fewer delays come first");
        for bound in 0..4 {
            let (some, _) = exhaust(&mut program, &mut DelayBounding::new(Some(bound)));
            let wanted = full.iter().filter(|run| run.delays <= bound as usize);
            assert_eq!(schedules(&some), schedules(wanted));
        }
    }
}

#[test]
fn sleep_sets_leave_one_run_per_partial_order() {
    let mut saved = 0;
    for (mut program, full) in programs() {
        let orders = |seen: &[Seen]| seen.iter().map(|run| run.fingerprint).collect::<BTreeSet<u64>>();
        let (seen, _) = exhaust(&mut program, &mut PreemptionBounding::new(None).with_sleep_sets());
        assert_eq!(distinct_fingerprints(&seen), orders(&full), "{:?}", program.acts());
        saved += full.len() - seen.len();
        for bound in 0..3 {
            let (seen, _) =
                exhaust(&mut program, &mut PreemptionBounding::new(Some(bound)).with_sleep_sets());
            let complete = seen.iter().filter(|run| run.verdict != "cut off");
            assert!(complete.clone().all(|run| run.preemptions <= bound as usize));
            assert!(complete.count() > 0);
            distinct_fingerprints(&seen);
        }
    }
    assert!(!is_thorough() || saved > 1_000, "only {saved} runs were saved");
}

#[test]
fn all_find_the_deadlock_of_opposite_lock_orders() {
    let lock = |mutex| Act::On(Kind::Lock, mutex);
    let unlock = |mutex| Act::On(Kind::Unlock, mutex);
    let mut program = Script::new()
        .mutex()
        .mutex()
        .thread(&[lock(0), lock(1), unlock(1), unlock(0)])
        .thread(&[lock(1), lock(0), unlock(0), unlock(1)]);
    let strategies: [Box<dyn Strategy>; 5] = [
        Box::new(Dfs::new()),
        Box::new(Dpor::new()),
        Box::new(PreemptionBounding::new(Some(1))),
        Box::new(DelayBounding::new(Some(1))),
        Box::new(PreemptionBounding::new(Some(1)).with_sleep_sets()),
    ];
    for mut strategy in strategies {
        assert!(verdicts(&exhaust(&mut program, &mut *strategy).0).contains("deadlock"));
    }
    let (seen, _) = exhaust(&mut program, &mut PreemptionBounding::new(Some(0)));
    assert_eq!(verdicts(&seen), BTreeSet::from(["passed"]), "it takes a preemption");
}
