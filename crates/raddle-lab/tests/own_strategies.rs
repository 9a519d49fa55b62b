//! UPO and OOS on programs with locks and branches, compared with DPOR and SURW.

use raddle_engine::Config;
use raddle_lab::{Job, Machine, sample, syntax};
use raddle_search::{Budget, Lanes, Portfolio, Tally};

fn machine(name: &str, parameters: &[(&str, i64)]) -> Machine {
    let path = format!("{}/figures/{name}.rdl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    Machine::new(syntax::compile(&text, parameters).unwrap())
}

fn tally(machine: &Machine, spec: &str, seed: u64, runs: u64) -> Tally {
    let lanes = Lanes::parse(spec, Portfolio::Tests).unwrap();
    let program = Box::new(machine.clone());
    let config = Config::default();
    sample(Job { program, lanes, config, seed, budget: Budget::all(runs) }, 1).unwrap().tally
}

#[test]
fn upo_reaches_every_partial_order_of_the_figures_and_prefers_none() {
    let figures = [
        "abba",
        "branches",
        "lost_update",
        "lost_wakeup",
        "pct_fig1b",
        "pct_fig1c",
        "pct_fig2",
        "pct_fig3",
        "pct_fig4",
        "philosophers",
        "pos_fig1b",
        "pos_fig2",
        "shuttle_depth3",
        "stride_fig1",
        "stride_fig2",
        "store_buffering",
        "thesis_fig1_2",
        "thesis_fig2_3",
    ];
    for name in figures {
        let machine = machine(name, &[]);
        let all = tally(&machine, "dpor", 1, 1_000_000);
        assert!(all.exhausted && all.census.most() == Some(1), "{name}");
        let orders = all.census.distinct();
        // The learning runs are few compared with those that are counted.
        let runs = 400 * orders as u64 + 20_000;
        let upo = tally(&machine, "upo", 1, runs);
        assert_eq!(upo.census.distinct(), orders, "{name}");
        let estimate = upo.estimate.unwrap();
        assert!((estimate - orders as f64).abs() < 0.01 * orders as f64, "{name}: {estimate} of {orders}");
        for (order, _) in all.census.iter() {
            assert!(upo.census.of(order) > 0, "{name}: a partial order was not seen");
        }
        let (least, most) = (upo.census.least().unwrap(), upo.census.most().unwrap());
        assert!(most < 2 * least, "{name}: from {least} to {most} of {runs} for {orders} partial orders");
    }
}

#[test]
fn upo_covers_a_micro_program_in_a_tenth_of_the_runs_of_pos() {
    let program = &raddle_lab::micro::benchmark()[14];
    assert_eq!(program.name, "uniform-rw-4");
    let straight = raddle_lab::Straight::new(&program.threads, false).unwrap();
    let covered_after = |spec: &str, runs: u64| {
        let lanes = Lanes::parse(spec, Portfolio::Tests).unwrap().in_order();
        let program = Box::new(straight.clone());
        let job = Job { program, lanes, config: Config::default(), seed: 1, budget: Budget::all(runs) };
        let tally = sample(job, 1).unwrap().tally;
        assert_eq!(tally.census.distinct(), 1041);
        tally.last_new.unwrap()
    };
    let (upo, pos) = (covered_after("upo", 20_000), covered_after("pos", 1_000_000));
    assert!(upo * 10 <= pos, "{upo} runs of UPO, {pos} of POS");
}

#[test]
fn oos_hits_more_often_than_surw() {
    for (name, size, factor) in [
        ("reorder", 3, 1.4),
        ("reorder", 10, 1.8),
        ("reorder", 20, 1.8),
        ("twostage", 3, 1.4),
        ("twostage", 10, 1.8),
        ("twostage", 20, 1.8),
    ] {
        let machine = machine(name, &[("n", size)]);
        let (oos, surw) =
            (tally(&machine, "oos", 1, 10_000).failures, tally(&machine, "surw", 1, 10_000).failures);
        // Three sigma of the difference, for these seeds.
        let margin = 3.0 * (oos as f64 + factor * factor * surw as f64).sqrt();
        assert!(
            surw > 50 && oos as f64 + margin > factor * surw as f64,
            "{name}_{size}: {oos} and {surw} of 10,000"
        );
        assert!(oos as f64 - margin > 0.0);
    }
}

#[test]
fn oos_finds_the_odd_one_among_any_number_of_equal_threads() {
    // In half of the runs equal threads count as one. Then half of the orders of two objects show the bug of
    // reorder, and a quarter that of twostage.
    for (name, ratio) in [("reorder", 0.25_f64), ("twostage", 0.125)] {
        for size in [20, 100] {
            let machine = machine(name, &[("n", size)]);
            let hits = tally(&machine, "oos", 1, 2_000).failures as f64;
            let margin = 3.0 * (2_000.0 * ratio * (1.0 - ratio)).sqrt();
            assert!(hits + margin > 2_000.0 * ratio, "{name}_{size}: {hits} of 2,000");
        }
    }
}

#[test]
fn a_number_drawn_in_the_step_that_fails_repeats_no_partial_order() {
    // One thread draws and may fail in the same step, after 0 to 2 steps of the other one: 3 ways to fail. If it does
    // not fail, its write goes anywhere among the other writes: 3 ways for each of the two other numbers.
    let among_writes = "shared x = 0
        thread A { local t; t = choose 3; assert t != 1; x = 1 }
        thread B { x = 2; x = 3 }";
    // The draw commutes with the step: 1. It fails before or after the step: 2.
    let beside_a_step = "thread A { local t; t = choose 2; assert t != 1 }
        thread B { step }";
    for (text, orders) in [(among_writes, 9), (beside_a_step, 3)] {
        let machine = Machine::new(syntax::compile(text, &[]).unwrap());
        let all = tally(&machine, "dfs", 1, 10_000);
        assert_eq!((all.exhausted, all.partial_orders()), (true, orders), "{text}");
        let reduced = tally(&machine, "dpor", 1, 10_000);
        assert_eq!(
            (reduced.exhausted, reduced.partial_orders(), reduced.runs),
            (true, orders, orders),
            "{text}"
        );
        for seed in 0..20 {
            let upo = tally(&machine, "upo", seed, 400);
            assert_eq!((upo.partial_orders(), upo.estimate), (orders, Some(orders as f64)), "{text}");
        }
    }
}
