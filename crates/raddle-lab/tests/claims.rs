//! The claims of a search that found nothing, compared with the results of an independent enumerator on
//! generated programs.

use exact::generate::{Size, generated};
use exact::graph::Graph;
use exact::machine::End;
use exact::shares::{self, Shares};
use raddle_engine::Config;
use raddle_lab::{Job, compile, sample};
use raddle_model::{Claim, Claims, Exhaustion};
use raddle_search::{Budget, Lanes, MOST_MISSED, Portfolio, Stop, Tally, claims};

/// Generates programs of which no run fails.
fn passing(seed: u64, size: Size, count: usize) -> Vec<(String, Graph)> {
    let programs = (0..).map(|number| generated(seed, number, &size));
    let passes = |(_, graph): &(_, Graph)| graph.ends().all(|(_, end)| end == End::Passed);
    programs.filter(passes).map(|(program, graph)| (program.to_string(), graph)).take(count).collect()
}

fn small() -> Size {
    Size { nodes: 400, schedules: 5_000, orders: 2..=30 }
}

fn searched(program: &str, strategies: &str, runs: u64) -> (Tally, Claims) {
    let lanes = || Lanes::parse(strategies, Portfolio::Tests).unwrap();
    let program = compile(program, &[]).unwrap();
    let budget = Budget { runs, time: None, stop: Stop::Never };
    let job = Job { program: Box::new(program), lanes: lanes(), config: Config::default(), seed: 1, budget };
    let tally = sample(job, 1).unwrap().tally;
    let claims = claims(&tally, &lanes());
    (tally, claims)
}

fn probability(shares: &Shares, node: usize) -> f64 {
    let number = |text: String| text.parse::<f64>().unwrap();
    shares
        .get(&node)
        .map_or(0.0, |share| number(share.numer().to_string()) / number(share.denom().to_string()))
}

#[test]
fn pct_is_claimed_only_for_its_own_runs() {
    let is_depth = |claim: &Claim| matches!(claim, Claim::Depth { .. });
    let mut with_pct = 0;
    for (program, _) in passing(1, small(), 20) {
        for strategies in
            ["random-walk", "pos", "basic-pos", "upo", "surw", "rapos", "pos+upo", "pct:depth=drawn"]
        {
            let (_, claims) = searched(&program, strategies, 500);
            assert!(!claims.statements.iter().any(is_depth), "{strategies}: {claims:?}\n{program}");
        }
        let (tally, claims) = searched(&program, "pct:depth=1", 500);
        with_pct += usize::from(claims.statements.iter().any(is_depth));
        assert!(tally.runs == 500);
    }
    assert!(with_pct >= 15, "{with_pct}");
}

#[test]
fn the_bound_for_any_partial_order_is_never_below_the_true_miss_rate() {
    let mut claimed = 0;
    for (program, graph) in passing(2, small(), 60) {
        let Ok(pos) = shares::pos(&graph, true, 20_000) else { continue };
        for (strategy, shares) in [("random-walk", &shares::random_walk(&graph)), ("pos", &pos)] {
            for runs in [20, 200, 2_000] {
                let (_, claims) = searched(&program, strategy, runs);
                let [Claim::AnyOrder { missed, runs: counted, .. }, ..] = claims.statements[..] else {
                    continue;
                };
                claimed += 1;
                assert!(counted == runs && missed <= MOST_MISSED);
                for (node, _) in graph.ends() {
                    let truth = (1.0 - probability(shares, node)).powi(runs as i32);
                    assert!(
                        truth <= missed * (1.0 + 1e-9),
                        "{strategy}: {truth} is above {missed}\n{program}"
                    );
                }
            }
        }
    }
    assert!(claimed > 30, "{claimed} statements were compared");
}

#[test]
fn the_bound_for_a_depth_is_never_below_the_true_miss_rate() {
    let mut compared = 0;
    // With two threads, whatever PCT can reach has a probability of at least 1 / (2 k^(d-1)).
    let two = |(_, graph): &(String, Graph)| graph.threads == 2;
    for (program, graph) in passing(3, small(), 120).into_iter().filter(two) {
        for depth in [1, 2, 3] {
            let (_, claims) = searched(&program, &format!("pct:depth={depth}"), 2_000);
            let depths = claims.statements.iter().filter_map(|claim| match *claim {
                Claim::Depth { depth, missed, runs, threads, steps } => {
                    Some((depth, missed, runs, threads, steps))
                }
                _ => None,
            });
            for (claimed, missed, runs, threads, steps) in depths {
                assert!(claimed == depth && threads == 2 && runs < 2_000 && steps <= graph.steps() as u64);
                let shares = shares::pct(&graph, depth as usize, steps as usize, 20_000).unwrap();
                for (node, _) in graph.ends().filter(|(node, _)| probability(&shares, *node) > 0.0) {
                    let truth = (1.0 - probability(&shares, node)).powi(runs as i32);
                    assert!(
                        truth <= missed * (1.0 + 1e-9),
                        "depth {depth}: {truth} above {missed}\n{program}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared} partial orders were compared");
}

#[test]
fn nothing_is_claimed_of_runs_that_the_spin_rule_changed() {
    let spins = "shared x = 0\nthread A { while x == 0 { } }\nthread B { x = 1 }";
    for strategy in ["pct:depth=1", "pos", "random-walk"] {
        let (tally, claims) = searched(spins, strategy, 2_000);
        let bound = |claim: &Claim| matches!(claim, Claim::AnyOrder { .. } | Claim::Depth { .. });
        assert_eq!(tally.rests > 0, strategy == "pct:depth=1", "{strategy}");
        assert!(tally.rests == 0 || !claims.statements.iter().any(bound), "{strategy}: {claims:?}");
        assert_eq!(claims.rests, tally.rests);
    }
}

#[test]
fn exhaustion_is_claimed_exactly_if_everything_was_run() {
    for (program, graph) in passing(4, small(), 30) {
        let orders = graph.ends().count() as u64;
        let (_, all) = searched(&program, "dpor", 100_000);
        assert_eq!(all.statements, [Claim::Exhausted { partial_orders: orders }], "{program}");
        let (_, most) = searched(&program, "dpor", orders - 1);
        assert!(!most.statements.iter().any(|claim| matches!(claim, Claim::Exhausted { .. })), "{program}");
        let (_, bounded) = searched(&program, "preemption:bound=0", 100_000);
        assert!(matches!(bounded.statements[..], [Claim::WithinBounds { .. }]), "{program}");
    }
}

#[test]
fn guarantees_leave_out_timeouts_that_did_not_fire() {
    let overtaken = "shared x = 0\nthread A { sleep 5; x = 1 }\nthread B { x = 2; assert x == 2 }";
    let untimed = "shared x = 0\nthread A { x = 1 }\nthread B { x = 2 }";
    for strategy in ["dpor", "pos", "pct:depth=1"] {
        let (tally, claims) = searched(overtaken, strategy, 2_000);
        assert!(tally.failures == 0 && claims.statements[0].is_guarantee(), "{strategy}: {claims:?}");
        assert!(claims.idle_timeouts, "{strategy}: the bug needs a sleep that ends early");
        assert!(!searched(untimed, strategy, 2_000).1.idle_timeouts, "{strategy}");
    }
    // Runs in which timeouts fire at any moment find it.
    assert!(searched(overtaken, "early-timeouts:pos", 2_000).0.failures > 0);
}

#[test]
fn the_exhaustion_of_bounded_strategies_is_limited_even_if_runs_failed() {
    let fails = "shared x = 0\nthread A { x = 1 }\nthread B { assert x == 0 }";
    for (strategy, exhaustion) in [
        ("dpor", Exhaustion::Everything),
        ("dpor+pos", Exhaustion::Everything),
        ("preemption:bound=1", Exhaustion::WithinBounds),
        ("maple", Exhaustion::Predicted),
    ] {
        let (tally, claims) = searched(fails, strategy, 10_000);
        assert!(tally.failures > 0 && claims.statements.is_empty(), "{strategy}: {claims:?}");
        assert_eq!(claims.exhaustion, Some(exhaustion), "{strategy}");
    }
}

/// A thread that never gets the unit of the semaphore takes no step, so `period` plans none for it.
#[test]
fn strategies_that_leave_schedules_out_claim_no_exhaustion() {
    let program = "semaphore s = 0\nthread a { signal s }\nthread b { wait s }\nthread c { wait s }\n";
    let orders = searched(program, "dfs", 1_000).0.partial_orders();
    for (strategy, complete) in [("dfs", true), ("preemption", true), ("period", false), ("chess", false)] {
        let (tally, claims) = searched(program, strategy, 1_000);
        assert!(tally.exhausted, "{strategy}");
        assert!(!complete || tally.partial_orders() == orders, "{strategy}");
        let expected = if complete { Exhaustion::Everything } else { Exhaustion::Planned };
        assert_eq!(claims.exhaustion, Some(expected), "{strategy}");
    }
    assert!(searched(program, "period", 1_000).0.partial_orders() < orders);
}

#[test]
fn no_bound_is_claimed_of_runs_that_the_step_limit_cut_short() {
    let long = "shared x = 0\nthread A { repeat 300 { x++ } }\nthread B { step }";
    for strategy in ["random-walk", "pct:depth=1", "dfs"] {
        let mut config = Config::default();
        config.step_limit = 200;
        let lanes = || Lanes::parse(strategy, Portfolio::Tests).unwrap();
        let (program, budget) = (Box::new(compile(long, &[]).unwrap()), Budget::all(2_000));
        let tally = sample(Job { program, lanes: lanes(), config, seed: 1, budget }, 1).unwrap().tally;
        let claims = claims(&tally, &lanes());
        assert_eq!((claims.cut_short, claims.exhaustion), (tally.runs, None), "{strategy}");
        assert!(!claims.statements.iter().any(Claim::is_guarantee), "{strategy}: {claims:?}");
    }
}

#[test]
fn a_probability_too_small_for_a_number_is_not_claimed_to_be_none() {
    let (_, claims) = searched("shared x = 0\nthread A { x = 1 }\nthread B { x = 2 }", "pct:depth=1", 3_000);
    let Claim::Depth { missed, .. } = claims.statements[0] else { panic!("{claims:?}") };
    assert!(missed > 0.0 && missed < 1e-300, "2^-2999 is not 0, nor {missed}");
}

/// The share of programs whose number of partial orders has to lie in the interval.
const COVERED: f64 = 0.9;
/// The same if only a few of the runs are those of the strategy with the estimate.
const COVERED_BESIDE: f64 = 0.85;

/// Counts claims about the number of partial orders: all, those whose interval contains the true number, and those
/// whose estimate is within a fifth of it.
fn intervals(strategies: &str, shares: &[f64]) -> [u32; 3] {
    let size = Size { nodes: 20_000, schedules: 1_000_000, orders: 20..=600 };
    let mut counts = [0; 3];
    for (program, graph) in passing(5, size, 60) {
        let orders = graph.ends().count();
        for share in shares {
            let (tally, claims) = searched(&program, strategies, (orders as f64 * share) as u64);
            let found = claims.statements.iter().find_map(|claim| match *claim {
                Claim::Share { seen, estimate, low, high } => Some((seen, estimate, low, high)),
                _ => None,
            });
            let Some((seen, estimate, low, high)) = found else { continue };
            assert_eq!(seen, tally.partial_orders());
            counts[0] += 1;
            counts[1] += u32::from((low..=high).contains(&(orders as f64)));
            counts[2] += u32::from((estimate / orders as f64 - 1.0).abs() <= 0.2);
        }
    }
    counts
}

#[test]
fn the_interval_covers_the_true_number() {
    let shares = [0.25, 0.5, 0.75, 0.95];
    let [total, covered, near] = intervals("upo", &shares);
    assert_eq!(total, 240, "UPO always has an estimate");
    assert!(f64::from(covered) >= COVERED * f64::from(total), "{covered} of {total}");
    assert!(2 * near >= total, "within a fifth of the true number: {near} of {total}");
}

/// Other strategies see partial orders that the one with the estimate has not seen.
#[test]
fn the_interval_covers_the_true_number_beside_other_strategies() {
    let [total, covered, _] = intervals("upo+pos+random-walk+surw", &[0.5, 1.0, 2.0, 5.0]);
    assert!(total >= 60, "{total} estimates");
    assert!(f64::from(covered) >= COVERED_BESIDE * f64::from(total), "{covered} of {total}");
}

#[test]
fn good_turing_is_close_to_the_true_probability() {
    let (mut total, mut above, mut off) = (0, 0, 0.0_f64);
    for (program, graph) in passing(6, Size { orders: 10..=30, ..small() }, 40) {
        let shares = shares::random_walk(&graph);
        for runs in [10, 100] {
            let (_, claims) = searched(&program, "random-walk", runs);
            let found = claims.statements.iter().find_map(|claim| match *claim {
                Claim::NextNew { chance, high, .. } => Some((chance, high)),
                _ => None,
            });
            let (chance, high) = found.expect("runs of random walk are a sample");
            // The expected mass that no run has hit is about that of the estimate for one more run.
            let unseen =
                |node| probability(&shares, node) * (1.0 - probability(&shares, node)).powi(runs as i32);
            let truth: f64 = graph.ends().map(|(node, _)| unseen(node)).sum();
            total += 1;
            above += usize::from(truth > high);
            off += chance - truth;
        }
    }
    assert_eq!(above, 0, "of {total}");
    assert!((off / f64::from(total)).abs() < 0.05, "on average {}", off / f64::from(total));
}

#[test]
fn the_new_orders_of_the_last_tenth_are_counted_for_any_number_of_jobs() {
    for (program, _) in passing(7, small(), 10) {
        for strategies in ["pos", "portfolio"] {
            let lanes = || Lanes::parse(strategies, Portfolio::Tests).unwrap();
            let orders = |runs, jobs| {
                let program = Box::new(compile(&program, &[]).unwrap());
                let budget = Budget { runs, time: None, stop: Stop::Never };
                let job = Job { program, lanes: lanes(), config: Config::default(), seed: 1, budget };
                sample(job, jobs).unwrap().tally
            };
            let whole = orders(100, 1);
            let expected = (whole.partial_orders() - orders(90, 1).partial_orders(), 10);
            assert_eq!(whole.new_at_the_end(), Some(expected), "{strategies}\n{program}");
            assert_eq!(orders(100, 3).new_at_the_end(), Some(expected), "{strategies}\n{program}");
        }
    }
}
