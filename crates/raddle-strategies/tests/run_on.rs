//! A strategy that lets a thread run on chooses the same schedules as one that is asked before every step.

use raddle_engine::{Choice, Config, Engine, Point, Program, Rng, Strategy, Wrapped, Wrapper, run};
use raddle_model::{Event, Verdict};
use raddle_strategies::build;
use raddle_testkit::{Script, affordable, is_thorough, locked, mixed, spawning, straight};

/// Asks a strategy before every step.
#[derive(Clone)]
struct StepByStep;

impl Wrapper for StepByStep {
    fn choose(&mut self, inner: &mut dyn Strategy, point: &Point<'_>) -> Choice {
        match inner.choose(point) {
            Choice::RunOn(thread, _) => Choice::Run(thread),
            choice => choice,
        }
    }
}

fn outcomes(
    program: &mut Script,
    strategy: &mut dyn Strategy,
    config: Config,
) -> Vec<(Vec<Event>, u64, Verdict)> {
    let mut engine = Engine::new(config);
    let run_once = |number| {
        strategy.begin(Rng::for_run(3, number));
        run(&mut engine, program as &mut dyn Program, strategy);
        let summary = engine.summary();
        strategy.learn(&summary);
        (summary.trace.events.clone(), summary.fingerprint, summary.verdict.clone())
    };
    (0..affordable(30)).map(run_once).collect()
}

#[test]
fn running_on_changes_no_schedule() {
    let mut ran_on = 0;
    for number in 0..affordable(200) {
        let mut rng = Rng::for_run(17, number);
        let threads = 1 + rng.below(4) as u32;
        let mut program = match number % 4 {
            0 => straight(&mut rng, threads, 12),
            1 => locked(&mut rng, threads),
            2 => spawning(&mut rng),
            _ => mixed(&mut rng),
        };
        let mut config = Config::default();
        config.step_limit = if number % 3 == 0 { 9 } else { 1_000 };
        for spec in ["random-walk", "pct:depth=1", "pct:depth=3,steps=12", "pct:depth=4", "pos"] {
            let mut free = Wrapped::new(build(spec).unwrap(), Counting(0));
            let mut bound = Wrapped::new(build(spec).unwrap(), StepByStep);
            let wanted = outcomes(&mut program, &mut bound, config);
            let steps: usize = wanted.iter().map(|(events, ..)| events.len()).sum();
            assert_eq!(outcomes(&mut program, &mut free, config), wanted, "{spec}, program {number}");
            ran_on += steps - free.wrapper().0;
        }
    }
    assert!(!is_thorough() || ran_on > 10_000, "only {ran_on} steps were made without a choice");
}

/// Counts choices.
#[derive(Clone)]
struct Counting(usize);

impl Wrapper for Counting {
    fn choose(&mut self, inner: &mut dyn Strategy, point: &Point<'_>) -> Choice {
        self.0 += 1;
        inner.choose(point)
    }
}
