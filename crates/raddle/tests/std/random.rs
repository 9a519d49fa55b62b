//! Random numbers chosen by the strategy.

use raddle::rand::{Rng, RngCore, random, random_range, rngs, thread_rng};
use raddle::{Config, Failure, check_with};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Returns the frequency of each outcome, and the number of runs.
fn counts<T: Ord + Send + 'static>(
    strategy: &str,
    runs: u64,
    outcome: impl Fn() -> T + Send + Sync + 'static,
) -> (BTreeMap<T, u64>, u64) {
    let counts = Arc::new(Mutex::new(BTreeMap::new()));
    let notes = Arc::clone(&counts);
    let mut config = Config::default();
    config.strategy = strategy.to_owned();
    config.runs = runs;
    let passed = check_with(&config, move || {
        let outcome = outcome();
        *notes.lock().unwrap().entry(outcome).or_insert(0) += 1;
    });
    (std::mem::take(&mut *counts.lock().unwrap()), passed.unwrap().runs)
}

fn once_each<T: Ord + Send + 'static>(values: impl IntoIterator<Item = T>) -> BTreeMap<T, u64> {
    values.into_iter().map(|value| (value, 1)).collect()
}

#[test]
fn every_number_of_a_range_is_tried_once() {
    assert_eq!(counts("dfs", 100, || random_range(5)).0, once_each(0..5));
    assert_eq!(counts("dfs", 100, || thread_rng().gen_range(3..7)).0, once_each(3..7));
    assert_eq!(counts("dfs", 100, || thread_rng().gen_range(-2..=2_i8)).0, once_each(-2..=2));
    assert_eq!(counts("dfs", 1_000, || thread_rng().random_range::<u8>(..)).0, once_each(0..=255));
    assert_eq!(counts("dfs", 100, || thread_rng().r#gen::<bool>()).0, once_each([false, true]));
    let pair = || (random_range(2), thread_rng().gen_range(u64::MAX - 1..=u64::MAX));
    assert_eq!(counts("dfs", 100, pair).1, 4);
}

#[test]
fn a_probability_is_a_choice_among_few() {
    assert_eq!(counts("dfs", 100, || thread_rng().gen_bool(0.5)).0, once_each([false, true]));
    assert_eq!(counts("dfs", 100, || thread_rng().gen_bool(0.3)).0, BTreeMap::from([(false, 7), (true, 3)]));
    assert_eq!(counts("dfs", 100, || thread_rng().gen_bool(0.0)).0, once_each([false]));
    assert_eq!(counts("dfs", 100, || thread_rng().gen_bool(1.0)).0, once_each([true]));
}

#[test]
fn a_random_strategy_draws_evenly_and_repeats_itself() {
    let draw = || counts("random-walk", 6_000, || thread_rng().gen_range(0..6));
    let (counts, _) = draw();
    // Each count is binomial with mean 1,000 and sigma 29.
    assert!(counts.values().all(|count| count.abs_diff(1_000) < 4 * 29), "{counts:?}");
    assert_eq!(draw().0, counts);
}

#[test]
fn wide_numbers_use_all_their_bits() {
    let (words, _) = counts("random-walk", 200, random::<u64>);
    let (any, all) = words.keys().fold((0, u64::MAX), |(any, all), word| (any | word, all & word));
    assert_eq!((any, all, words.len()), (u64::MAX, 0, 200));
    let (units, _) = counts("random-walk", 200, || random::<f64>().to_bits());
    assert!(units.keys().all(|unit| (0.0..1.0).contains(&f64::from_bits(*unit))));
    let (wide, _) = counts("random-walk", 200, || thread_rng().gen_range(i64::MIN..0));
    assert!(wide.keys().all(|number| *number < 0) && wide.keys().any(|number| *number < i64::MIN / 2));
}

#[test]
fn an_empty_range_is_refused() {
    let mut config = Config::default();
    config.runs = 1;
    let empty = 3..3;
    let failed = check_with(&config, move || _ = thread_rng().gen_range(empty.clone())).unwrap_err();
    assert!(
        matches!(&failed.failure, Failure::Assertion { message, .. } if message == "cannot sample empty range")
    );
}

/// Code that is generic over its source of randomness.
fn throw<R: Rng + ?Sized>(source: &mut R) -> u8 {
    source.gen_range(1..=6)
}

#[test]
fn a_source_may_be_lent_and_have_any_name_of_rand() {
    assert_eq!(counts("dfs", 100, || throw(&mut &mut thread_rng())).0, once_each(1..=6));
    let ratio = || rngs::ThreadRng::default().gen_ratio(1, 4);
    assert_eq!(counts("dfs", 100, ratio).0, BTreeMap::from([(false, 3), (true, 1)]));
    assert_eq!(counts("dfs", 100, || thread_rng().random_ratio(4, 4)).0, once_each([true]));
    let byte = || {
        let mut bytes = [0; 2];
        thread_rng().fill_bytes(&mut bytes[..1]);
        bytes
    };
    assert_eq!(counts("dfs", 1_000, byte).0, once_each((0..=255).map(|byte| [byte, 0])));
}

#[test]
fn more_partial_orders_than_are_counted_are_estimated() {
    let runs = |runs| {
        let config = Config::new().with_strategy("random-walk").with_runs(runs);
        check_with(&config, || _ = thread_rng().gen_range(0..u32::MAX)).unwrap()
    };
    let few = runs(1_000);
    assert!(!few.is_estimated && few.partial_orders == 1_000);
    // Nearly all of 200,000 draws are different. The standard deviation of the estimate is below 0.6 percent.
    let many = runs(200_000);
    assert!(
        many.is_estimated && many.partial_orders.abs_diff(200_000) < 4 * 1_200,
        "{}",
        many.partial_orders
    );
    assert!(many.to_string().starts_with("200,000 runs, about "), "{many}");
}
