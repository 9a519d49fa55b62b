//! Known probabilities, and agreement with sampling on every figure.

use super::*;
use crate::syntax::compile;
use crate::{Job, Machine, Straight, sample};
use num_bigint::BigUint;
use raddle_engine::Strategy;
use raddle_model::Reads;
use raddle_search::{Budget, CopyProgram, Lanes};
use raddle_strategies::basic_pos::BasicPos;
use raddle_strategies::pct::{Pct, PctConfig};
use raddle_strategies::pos::Pos;
use raddle_strategies::random_walk::RandomWalk;

const POS: ExactStrategy = ExactStrategy::Pos(Reads::Independent);

fn figure(name: &str, overrides: &[(&str, i64)]) -> Machine {
    let path = format!("{}/figures/{name}.rdl", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Machine::new(compile(&source, overrides).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn straight(threads: &[&str]) -> Straight {
    let words = |text: &&str| text.split(' ').map(str::to_owned).collect();
    Straight::new(&threads.iter().map(words).collect::<Vec<_>>(), false).unwrap()
}

fn exact(program: &dyn CopyProgram, strategy: ExactStrategy) -> Exact {
    let found: Exact = compute(program, Config::default(), &strategy, &Limits::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut sum = BigRational::ratio(0, 1);
    for order in &found.orders {
        sum.add(&order.probability);
    }
    assert_eq!(sum, BigRational::ratio(1, 1), "{strategy:?}: the probabilities of all partial orders");
    found
}

fn texts(exact: &Exact) -> Vec<String> {
    let mut all: Vec<_> = exact.orders.iter().map(|order| order.probability.clone()).collect();
    all.sort();
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn the_running_example_is_as_published() {
    let source = include_str!("../../figures/pos_fig2.rdl");
    let program = Machine::new(compile(source, &[]).unwrap());
    let pct = ExactStrategy::Pct { depth: 3, steps: Some(10) };
    for (strategy, hit, least, covered) in [
        (ExactStrategy::RandomWalk, "1/128", "3/512", 12),
        (pct, "1/200", "0", 11),
        (ExactStrategy::Pct { depth: 4, steps: Some(10) }, "21/2000", "1/400", 12),
        (ExactStrategy::BasicPos, "1/120", "1/120", 12),
        (POS, "1/48", "5/288", 12),
    ] {
        let found = exact(&program, strategy);
        assert_eq!(found.hit.to_string(), hit, "{strategy:?}");
        assert_eq!(found.least.to_string(), least, "{strategy:?}");
        assert_eq!((found.covered, found.partial_orders, found.failing), (covered, 12, 1), "{strategy:?}");
        assert_eq!((found.threads, found.steps), (2, 10));
    }
    assert_eq!(exact(&program, pct).least_covered.to_string(), "1/200");
    assert!(exact(&program, POS).least >= BigRational::ratio(1, 60), "the paper's claim");
}

#[test]
fn every_partial_order_of_the_running_example_has_its_probability() {
    let program = figure("pos_fig2", &[]);
    let pos = [
        "5/288", "1/48", "65/2304", "1/32", "1/24", "95/1728", "1/16", "19/288", "3/32", "1/8", "319/2304",
        "553/1728",
    ];
    assert_eq!(texts(&exact(&program, POS)), pos);
    let basic =
        ["1/120", "1/120", "1/60", "1/40", "1/40", "1/20", "7/120", "1/15", "3/40", "7/60", "1/5", "7/20"];
    assert_eq!(texts(&exact(&program, ExactStrategy::BasicPos)), basic);
    let walk = [
        "3/512", "1/128", "1/128", "7/512", "3/128", "3/128", "7/128", "7/128", "29/512", "21/128", "89/512",
        "53/128",
    ];
    assert_eq!(texts(&exact(&program, ExactStrategy::RandomWalk)), walk);
}

#[test]
fn partial_orders_are_counted() {
    for (name, orders, schedules) in [
        ("pos_fig2", 12, 95_u32),
        ("thesis_fig1_2", 3, 4),
        ("pos_fig1b", 3, 6 * 6),
        ("store_buffering", 3, 6),
        ("thesis_fig2_3", 3, 1716),
    ] {
        let graph = Graph::unfold(&figure(name, &[]), Config::default(), 100_000).unwrap();
        assert_eq!(graph.ends().count(), orders, "{name}");
        assert_eq!(graph.schedules(), BigUint::from(schedules), "{name}");
    }
}

#[test]
fn pct_on_figures() {
    for (name, depth, steps, hit) in [
        ("shuttle_depth3", 3, Some(6), "1/108"),
        ("shuttle_depth3", 3, None, "1/108"),
        ("pos_fig1a", 1, None, "1/2"),
        ("pct_fig2", 2, Some(3), "1/6"),
        ("pct_fig5", 1, None, "1"),
        ("philosophers", 2, Some(15), "1/30"),
    ] {
        assert_eq!(
            exact(&figure(name, &[]), ExactStrategy::Pct { depth, steps }).hit.to_string(),
            hit,
            "{name}"
        );
    }
}

#[test]
fn pos_on_figures() {
    assert_eq!(exact(&figure("pos_fig1b", &[]), POS).hit.to_string(), "1/3");
    // Read-read pairs: the middle one of three priorities, or a coin thrown twice.
    let reads = straight(&["Rx Rx", "Rx", "Wx"]);
    let relaxed = exact(&reads, POS);
    let strict = exact(&reads, ExactStrategy::Pos(Reads::Dependent));
    assert_eq!(relaxed.partial_orders, strict.partial_orders);
    assert_ne!(texts(&relaxed), texts(&strict));
}

/// The bug of the corpus's work-stealing queue, with one item and one thief: the thief looks before it moves
/// the head.
const STEALING: &str = "shared head = 0, tail = 0, taken = 0
    thread owner { local h; tail = 1; tail = 0; h = head; if h == 0 { taken++; assert taken == 1 } }
    thread thief { local h, t; h = head; t = tail; if h < t { head = h + 1; taken++; assert taken == 1 } }";

/// The owner is stopped between push and pop, and the thief between look and move: two change points.
#[test]
fn the_work_stealing_queue_has_a_bug_of_depth_3() {
    let program = Machine::new(compile(STEALING, &[]).unwrap());
    let hit = |depth| exact(&program, ExactStrategy::Pct { depth, steps: Some(10) }).hit;
    assert_eq!(hit(2).to_string(), "0");
    assert!(hit(3) >= BigRational::ratio(1, 2 * 10 * 10), "{}", hit(3));
}

/// A thread takes a lock four times before another one gets it, which is about to take it from the start.
const OVERTAKEN: &str = "shared x = 0; mutex m
    thread A { lock m; unlock m; lock m; unlock m; lock m; unlock m; lock m; x = 1; unlock m }
    thread B { lock m; assert x == 0; unlock m }";

#[test]
fn a_blocked_event_keeps_its_priority_under_basic_pos() {
    let program = Machine::new(compile(OVERTAKEN, &[]).unwrap());
    // The lowest of five priorities; POS draws again at each conflict, and random walk has no memory.
    assert_eq!(exact(&program, ExactStrategy::BasicPos).hit.to_string(), "1/5");
    assert_eq!(exact(&program, POS).hit.to_string(), "1/16");
    for strategy in [ExactStrategy::BasicPos, POS] {
        assert_sampling_agrees("overtaken", &program, strategy);
    }
}

/// Returns the strategy that samples what `exact` computes.
fn sampled(strategy: ExactStrategy) -> Box<dyn Strategy> {
    match strategy {
        ExactStrategy::RandomWalk => Box::new(RandomWalk::new()),
        ExactStrategy::Pct { depth, steps } => {
            Box::new(Pct::new(PctConfig { steps, ..PctConfig::fixed(depth) }))
        }
        ExactStrategy::BasicPos => Box::new(BasicPos::new()),
        ExactStrategy::Pos(reads) => Box::new(Pos::new(reads)),
    }
}

/// Compares the hit ratio, and the share of each partial order, with 20,000 runs.
fn assert_sampling_agrees(name: &str, program: &dyn CopyProgram, strategy: ExactStrategy) {
    let config = Config::default();
    let found = compute_in::<f64>(program, config, &strategy, &Limits::default())
        .unwrap_or_else(|error| panic!("{name} {strategy:?}: {error}"));
    let runs = 20_000;
    let job = Job {
        program: program.copy(),
        lanes: Lanes::of(name, sampled(strategy)),
        config,
        seed: 11,
        budget: Budget::all(runs),
    };
    let tally = sample(job, 1).unwrap().tally;
    assert!((tally.threads, tally.steps) <= (found.threads as u64, found.steps), "{name}");
    let check = |what: &str, hits: u64, probability: f64, sigmas: f64, slack: f64| {
        let mean = probability * runs as f64;
        let sigma = (mean * (1.0 - probability).max(0.0)).sqrt();
        let off = (hits as f64 - mean).abs();
        assert!(
            off <= sigmas * sigma + slack,
            "{name} {strategy:?} {what}: {hits}, expected {mean} +- {sigma}"
        );
    };
    check("failures", tally.failures, found.hit, 4.0, 1e-6);
    let mut seen = 0;
    for order in &found.orders {
        let hits = tally.census.of(order.fingerprint);
        seen += hits;
        // A partial order that cannot be reached is never seen; for rare ones the normal distribution is too narrow.
        let slack = if order.probability > 0.0 { 3.0 } else { 0.0 };
        check("partial order", hits, order.probability, 5.0, slack);
    }
    assert_eq!(seen, runs, "{name} {strategy:?}: a sampled partial order is not in the graph");
}

#[test]
fn sampling_agrees_on_every_figure() {
    let folder = format!("{}/figures", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of figures")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".rdl")?.to_owned()))
        .filter(|name| name != "spinlock")
        .collect();
    names.sort();
    assert_eq!(names.len(), 25, "spinlock is in `spinning_is_refused`");
    for name in names {
        let overrides: &[(&str, i64)] = match &*name {
            "reorder" => &[("n", 3)],
            "twostage" => &[("n", 2)],
            "thesis_fig3_2" => &[("n", 2)],
            _ => &[],
        };
        let program = figure(&name, overrides);
        let steps = Graph::unfold(&program, Config::default(), 100_000).unwrap().steps();
        let pct = ExactStrategy::Pct { depth: 3, steps: Some(steps) };
        for strategy in [
            ExactStrategy::RandomWalk,
            pct,
            ExactStrategy::BasicPos,
            POS,
            ExactStrategy::Pos(Reads::Dependent),
        ] {
            assert_sampling_agrees(&name, &program, strategy);
        }
    }
}

#[test]
fn sampling_agrees_on_small_straight_lines() {
    for (name, threads) in [
        ("two objects", ["Wx Wy Wx", "Wy Wx Ry", "Rx Wy Rx"]),
        ("mostly reads", ["Rx Wx Ry Rx", "Rx Ry Rx", "Wy Rx"]),
    ] {
        let program = straight(&threads);
        let pct = ExactStrategy::Pct { depth: 3, steps: Some(9) };
        for strategy in [
            ExactStrategy::RandomWalk,
            pct,
            ExactStrategy::BasicPos,
            POS,
            ExactStrategy::Pos(Reads::Dependent),
        ] {
            assert_sampling_agrees(name, &program, strategy);
        }
    }
}

/// Programs with waiters woken by signals, data choices, threads numbered differently in equivalent runs, and
/// serial threads of barriers.
#[test]
fn sampling_agrees_where_numbers_are_picked() {
    for (name, source) in [
        (
            "signal",
            "shared x = 0, waiting = 0, done = 0; mutex m; condition c
             thread W * 2 { lock m; waiting++; wait c m; x = x * 2 + self; unlock m; done++ }
             thread S { lock m; signal c; unlock m; lock m; signal c; unlock m; assert x != 1 }",
        ),
        (
            "choose",
            "shared x = 0
             thread A { local t; t = choose 3; if t == 2 { x++ }; x = x * 2 }
             thread B { local t; t = choose 2; x += t; assert x != 3 }",
        ),
        (
            "spawn",
            "shared x = 0
             thread leaf(a) { x = x * 2 + a }
             thread twig(a) { x += a; spawn leaf(a) }
             main { spawn twig(1); spawn twig(2); spawn leaf(0); assert x != 5 }",
        ),
        (
            "barrier",
            "shared x = 0; barrier b = 2
             thread T * 2 { local s; s = barrier b; x = x * 2 + s; assert x != 2 }",
        ),
    ] {
        let program = Machine::new(compile(source, &[]).unwrap_or_else(|error| panic!("{name}: {error}")));
        let steps = Graph::unfold(&program, Config::default(), 100_000).unwrap().steps();
        let pct = ExactStrategy::Pct { depth: 2, steps: Some(steps) };
        for strategy in [ExactStrategy::RandomWalk, pct, ExactStrategy::BasicPos, POS] {
            assert_sampling_agrees(name, &program, strategy);
        }
        let whole = exact(&program, POS);
        assert!(whole.failing > 0 && whole.failing < whole.partial_orders, "{name}");
    }
}

#[test]
fn spinning_is_refused() {
    let program = figure("spinlock", &[]);
    let error = Graph::unfold(&program, Config::default(), 100_000).unwrap_err();
    assert!(matches!(error, ExactError::Spins { .. }), "{error}");
    let mut tireless = Config::default();
    tireless.patience = 0;
    let error = Graph::unfold(&program, tireless, 5_000).unwrap_err();
    assert!(matches!(error, ExactError::TooLarge { reached: 5_000, limit: 5_000, .. }), "{error}");
    assert!(error.to_string().contains("5000 prefixes") && error.to_string().contains("raise --exact-limit"));
}

#[test]
fn limits_hold() {
    let program = straight(&["Wx Wy Wz", "Wy Wx Wz", "Wz Wy Wx"]);
    let with = |limits: Limits, strategy| {
        compute(&program, Config::default(), &strategy, &limits).map(|_| ()).unwrap_err()
    };
    let limits = Limits::default();
    let error = with(Limits { nodes: 50, ..limits }, POS);
    assert!(matches!(error, ExactError::TooLarge { reached: 50, .. }), "{error}");
    let error = with(Limits { states: 50, ..limits }, POS);
    assert!(matches!(error, ExactError::TooManyStates { limit: 50, reached: 51.., .. }), "{error}");
    let error = with(Limits { runs: 485, ..limits }, ExactStrategy::Pct { depth: 3, steps: None });
    assert!(error.to_string().contains("486 different draws"), "{error}");
    let error = with(limits, ExactStrategy::Pct { depth: 30, steps: Some(u64::MAX) });
    assert!(matches!(error, ExactError::TooManyRuns { .. }), "{error}");
    let error = with(limits, ExactStrategy::Pct { depth: 0, steps: None });
    assert!(matches!(error, ExactError::BadParameters { depth: 0, .. }), "{error}");
}

#[test]
fn a_failure_before_the_first_step_is_certain() {
    let program = Machine::new(compile("shared x = 0; thread A { assert 1 == 2; x = 1 }", &[]).unwrap());
    for strategy in [ExactStrategy::RandomWalk, ExactStrategy::Pct { depth: 2, steps: None }, POS] {
        let found = exact(&program, strategy);
        assert_eq!((found.hit.to_string().as_str(), found.partial_orders, found.steps), ("1", 1, 0));
    }
}
