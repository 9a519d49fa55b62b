//! Weak memory: how strategies choose among messages.

use raddle_engine::Rng;
use raddle_strategies::{CATALOGUE, Family, build};
use raddle_testkit::{affordable, is_thorough};

/// Every randomized strategy, with those that need one around it.
fn specs() -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    for entry in CATALOGUE.iter().filter(|entry| entry.family != Family::Systematic) {
        specs.extend([entry.name.to_owned(), format!("{}:pos", entry.name)]);
    }
    // UPO is uniform over whole runs, as far as it knows them; PCTWM has a rule of its own.
    let has_own_rule = |spec: &str| spec.starts_with("upo") || spec.starts_with("pctwm");
    specs.retain(|spec| build(spec).is_ok() && !has_own_rule(spec));
    specs
}

#[test]
fn randomized_strategies_read_the_newest_message_in_half_of_their_runs() {
    let specs = specs();
    assert!(specs.len() >= 15, "{specs:?}");
    for spec in specs {
        let mut strategy = build(&spec).unwrap();
        let runs = affordable(2_000);
        let mut newest_only = 0;
        for run in 0..runs {
            strategy.begin(Rng::for_run(5, run));
            newest_only += u64::from((0..20).all(|_| strategy.pick_message(3) == 0));
        }
        // Sigma is 22.
        assert!(!is_thorough() || newest_only.abs_diff(1_000) < 5 * 22, "{spec}: {newest_only}");
    }
}
