//! The guarantees of a search: its result depends on neither jobs nor shards, and it stops where requested.

use raddle_engine::{Config, Rng};
use raddle_model::Kind;
use raddle_search::{
    Budget, Identity, InProcess, Lanes, MergeError, Merged, Outcome, Part, Portfolio, Recording, Search,
    Shard, ShardResult, Stop, Tally, merge, search,
};
use raddle_testkit::{Act, Script, mixed};
use std::io;
use std::sync::Mutex;

/// A program of three threads that deadlocks in some schedules.
fn deadlocks() -> Script {
    let both = |a, b| {
        [(Kind::Lock, a), (Kind::Lock, b), (Kind::Unlock, b), (Kind::Unlock, a)]
            .map(|(kind, on)| Act::On(kind, on))
    };
    let script = Script::new().mutex().mutex().mutex();
    script.thread(&both(0, 1)).thread(&both(1, 2)).thread(&both(2, 0))
}

fn searched(script: &Script, spec: &str, jobs: usize, part: Option<Part>, budget: &Budget) -> Found {
    with_search(script, spec, jobs, part, budget, |_, found| found)
}

/// Searches, and passes the search with its result to `and`.
fn with_search<R>(
    script: &Script,
    spec: &str,
    jobs: usize,
    part: Option<Part>,
    budget: &Budget,
    and: impl FnOnce(&Search<'_>, Found) -> R,
) -> R {
    let lanes = Lanes::parse(spec, Portfolio::Tests).unwrap();
    let target = InProcess { program: script, lanes: &lanes, config: Config::default(), seed: 7 };
    let budget = budget.clone();
    let search = Search { lanes: &lanes, budget, jobs, part, known: None, watch: &|_| (), every: 100 };
    and(&search, raddle_search::search(&target, &search).unwrap())
}

type Found = Outcome<Box<Recording>, io::Error>;

/// Returns all numbers of a tally that do not depend on the distribution of runs.
fn numbers(tally: &Tally) -> String {
    let mut census: Vec<_> = tally.census.iter().collect();
    census.sort_unstable();
    let Tally { runs, cut_off, failures, kinds, rests, threads, steps, lanes, exhausted, .. } = tally;
    let rest = (tally.estimate, &tally.exposed, tally.new_at_the_end());
    format!(
        "{runs} {cut_off} {failures} {kinds:?} {rests} {threads} {steps} {lanes:?} {exhausted} {census:?} {rest:?}"
    )
}

fn stops() -> [Budget; 3] {
    let first = Budget { stop: Stop::FirstFailure, ..Budget::all(600) };
    let of = Budget { stop: Stop::FirstOf(vec!["assertion".to_owned()]), ..Budget::all(600) };
    [Budget::all(600), first, of]
}

const SPECS: [&str; 6] = ["pos", "portfolio", "pos+random-walk+pct:depth=2", "dpor", "dpor+pos", "upo+oos"];

#[test]
fn the_number_of_jobs_changes_nothing() {
    let mut rng = Rng::for_run(3, 0);
    let mut scripts = vec![deadlocks()];
    scripts.extend((0..3).map(|_| mixed(&mut rng)));
    for (index, script) in scripts.iter().enumerate() {
        for spec in SPECS {
            for budget in stops() {
                let alone = searched(script, spec, 1, None, &budget);
                for jobs in [2, 5] {
                    let together = searched(script, spec, jobs, None, &budget);
                    let what = format!("program {index} under {spec} with {jobs} jobs, {:?}", budget.stop);
                    assert_eq!(numbers(&together.tally), numbers(&alone.tally), "{what}");
                    let first =
                        |found: &Found| found.first.as_ref().map(|(turn, run)| (*turn, run.fingerprint));
                    assert_eq!(first(&together), first(&alone), "{what}");
                }
            }
        }
    }
}

/// Returns the results of all shards of a search, each through its file. The shards have different numbers of jobs.
fn shards(script: &Script, spec: &str, count: usize, jobs: usize, budget: &Budget) -> Vec<ShardResult<u64>> {
    let shard = |index: usize| Part::shard(format!("{}/{count}", index + 1).parse().unwrap());
    (0..count).map(|index| result(script, spec, jobs + index % 2, shard(index), budget)).collect()
}

/// Returns the result of a part of a search, through its file.
fn result(script: &Script, spec: &str, jobs: usize, part: Part, budget: &Budget) -> ShardResult<u64> {
    let text = with_search(script, spec, jobs, Some(part), budget, |search, found| {
        let failure = found.first.as_ref().map(|(_, recording)| recording.fingerprint);
        let name = Identity::of([("strategies", spec.to_owned())]);
        serde_json::to_string(&ShardResult::new(part, name, search, &found, failure)).unwrap()
    });
    serde_json::from_str(&text).unwrap()
}

#[test]
fn merged_shards_equal_one_process() {
    for spec in SPECS {
        let lanes = Lanes::parse(spec, Portfolio::Tests).unwrap();
        for budget in stops() {
            let whole = searched(&deadlocks(), spec, 1, Some(Part::shard(Shard::WHOLE)), &budget);
            for (count, jobs) in [(1, 1), (3, 1), (4, 2)] {
                let mut results = shards(&deadlocks(), spec, count, jobs, &budget);
                results.reverse();
                let Merged { tally, first } = merge(&results, &lanes, false).unwrap();
                let what = format!("{spec} in {count} shards of {jobs} jobs, {:?}", budget.stop);
                assert_eq!(numbers(&tally), numbers(&whole.tally), "{what}");
                let expected = whole.first.as_ref().map(|(turn, run)| (turn.number, run.fingerprint));
                assert_eq!(first, expected, "{what}");
            }
        }
    }
}

#[test]
fn merged_ranges_of_runs_equal_one_process() {
    for spec in ["pos", "pos+random-walk"] {
        let lanes = Lanes::parse(spec, Portfolio::Tests).unwrap();
        for budget in stops() {
            let whole = searched(&deadlocks(), spec, 1, None, &budget);
            let range = |from, to| result(&deadlocks(), spec, 1, Part::window(from, to), &budget);
            let ranges = [(150, 151), (151, 600), (0, 7), (7, 150)].map(|(from, to)| range(from, to));
            let Merged { tally, first } = merge(&ranges, &lanes, false).unwrap();
            let what = format!("{spec}, {:?}", budget.stop);
            assert_eq!(numbers(&tally), numbers(&whole.tally), "{what}");
            assert_eq!(
                first,
                whole.first.as_ref().map(|(turn, run)| (turn.number, run.fingerprint)),
                "{what}"
            );
            if budget.stop == Stop::Never {
                let error =
                    |ranges: &[ShardResult<u64>]| merge(ranges, &lanes, false).unwrap_err().to_string();
                let missing = [&ranges[..2], &ranges[3..]].concat();
                assert!(error(&missing).contains("the runs from 0 to 7 are missing"), "{}", error(&missing));
                assert!(error(&ranges[2..]).contains("the runs from 150 to 600 are missing"));
                let overlapping = [&ranges[..], &[range(100, 200)]].concat();
                assert!(error(&overlapping).contains("they have the runs up to 150 already"));
                assert_eq!(
                    numbers(&merge(&[&ranges[..], &ranges[..1]].concat(), &lanes, false).unwrap().tally),
                    numbers(&tally)
                );
            }
        }
    }
}

#[test]
fn a_range_that_time_has_ended_says_how_far_it_came() {
    let budget = Budget { time: Some(std::time::Duration::ZERO), ..Budget::all(100) };
    assert_eq!(result(&deadlocks(), "pos", 1, Part::window(0, 50), &budget).window, Some((0, 1)));
    assert_eq!(result(&deadlocks(), "pos", 1, Part::window(50, 100), &budget).window, Some((50, 50)));
}

#[test]
fn a_single_strategy_executes_the_same_runs_with_and_without_shards() {
    let budget = Budget::all(500);
    let plain = searched(&deadlocks(), "pos", 1, None, &budget);
    let sharded = searched(&deadlocks(), "pos", 1, Some(Part::shard(Shard::WHOLE)), &budget);
    assert_eq!(numbers(&plain.tally), numbers(&sharded.tally));
}

fn results_runs(result: &ShardResult<u64>) -> u64 {
    let value = serde_json::to_value(result).unwrap();
    value["counts"]["runs"].as_u64().unwrap()
}

#[test]
fn shards_of_different_searches_are_rejected() {
    let lanes = Lanes::parse("pos", Portfolio::Tests).unwrap();
    let budget = Budget::all(100);
    let results = shards(&deadlocks(), "pos", 3, 1, &budget);
    assert_eq!(
        merge(&results[..2], &lanes, false).unwrap_err(),
        MergeError::Missing { what: "shard 3/3 is".to_owned() }
    );
    assert_eq!(merge::<u64>(&[], &lanes, false).unwrap_err(), MergeError::Empty);
    let other = shards(&deadlocks(), "random-walk", 3, 1, &budget);
    let mixed = [&results[..2], &other[2..]].concat();
    assert!(matches!(merge(&mixed, &lanes, false), Err(MergeError::Another { .. })));
    // A result that is passed twice counts once.
    let twice = [&results[..], &results[..1]].concat();
    assert_eq!(
        numbers(&merge(&twice, &lanes, false).unwrap().tally),
        numbers(&merge(&results, &lanes, false).unwrap().tally)
    );
    // So is an inconsistent one, or another result of the same shard.
    let damaged = |from: &str, to: &str| {
        let text = serde_json::to_string(&results[1]).unwrap();
        assert!(text.contains(from), "{text}");
        serde_json::from_str::<ShardResult<u64>>(&text.replacen(from, to, 1)).unwrap()
    };
    let runs = format!("\"counts\":{{\"runs\":{}", results_runs(&results[1]));
    for to in ["0", "18446744073709551615"] {
        let wrong = damaged(&runs, &format!("\"counts\":{{\"runs\":{to}"));
        let wrong = [&results[..1], &[wrong], &results[2..]].concat();
        assert!(matches!(merge(&wrong, &lanes, false), Err(MergeError::Damaged { .. })), "{to}");
    }
    let other_threads = damaged("\"threads\":3", "\"threads\":4");
    let twice = [&results[..], &[other_threads]].concat();
    assert!(matches!(merge(&twice, &lanes, false), Err(MergeError::Twice { .. })));
    let until = shards(&deadlocks(), "pos", 3, 1, &stops()[1]);
    let mixed = [&results[..2], &until[2..]].concat();
    assert!(matches!(merge(&mixed, &lanes, false), Err(MergeError::Apart { .. })));
    for wrong in ["18446744073709551615/18446744073709551615", "0/3", "4/3", "3", "a/b", "1/0", ""] {
        let error = wrong.parse::<Shard>().unwrap_err().to_string();
        assert!(error.contains("such as 3/100"), "{error}");
    }
}

#[test]
fn a_strategy_that_has_covered_everything_ends_the_search() {
    let budget = Budget::all(100_000);
    for jobs in [1, 3] {
        let both = searched(&deadlocks(), "dpor+random-walk", jobs, None, &budget);
        assert!(both.tally.exhausted && both.tally.runs < 1_000, "{}", both.tally.runs);
        let random = searched(&deadlocks(), "random-walk", jobs, None, &Budget::all(300));
        assert!(!random.tally.exhausted);
    }
}

#[test]
fn the_progress_callback_sees_every_run_once() {
    let lanes = Lanes::parse("portfolio", Portfolio::Tests).unwrap();
    let script = deadlocks();
    let target = InProcess { program: &script, lanes: &lanes, config: Config::default(), seed: 7 };
    let seen = Mutex::new(Vec::new());
    let watch = |now: raddle_search::Seen<'_>| seen.lock().unwrap().push((now.turns, now.turn.number));
    let budget = Budget::all(50);
    search(
        &target,
        &Search { lanes: &lanes, budget, jobs: 1, part: None, known: None, watch: &watch, every: 1 },
    )
    .unwrap();
    let expected: Vec<(u64, u64)> = (0..50).map(|number| (1, number)).collect();
    assert_eq!(seen.into_inner().unwrap(), expected);
}

#[test]
fn without_time_one_run_is_executed() {
    let budget = Budget { time: Some(std::time::Duration::ZERO), ..Budget::all(1_000) };
    assert_eq!(searched(&deadlocks(), "pos", 3, None, &budget).tally.runs, 1);
}
