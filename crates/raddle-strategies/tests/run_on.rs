//! A strategy that lets a thread run on chooses the same schedules as one that is asked before every step.

use raddle_engine::{Choice, Config, Engine, Needs, Plan, Point, Program, Rng, RunSummary, Strategy, run};
use raddle_model::{Event, Verdict};
use raddle_strategies::build;
use raddle_testkit::{Script, affordable, is_thorough, locked, mixed, spawning, straight};

/// A strategy that is asked before every step.
struct StepByStep(Box<dyn Strategy>);

impl Strategy for StepByStep {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.0.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        match self.0.choose(point) {
            Choice::RunOn(thread, _) => Choice::Run(thread),
            choice => choice,
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.0.pick(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.0.learn(run);
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn learns(&self) -> bool {
        self.0.learns()
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(StepByStep(self.0.fork()))
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
            let mut free = Counting(build(spec).unwrap(), 0);
            let mut bound = StepByStep(build(spec).unwrap());
            let wanted = outcomes(&mut program, &mut bound, config);
            let steps: usize = wanted.iter().map(|(events, ..)| events.len()).sum();
            assert_eq!(outcomes(&mut program, &mut free, config), wanted, "{spec}, program {number}");
            ran_on += steps - free.1;
        }
    }
    assert!(!is_thorough() || ran_on > 10_000, "only {ran_on} steps were made without a choice");
}

/// Counts choices.
struct Counting(Box<dyn Strategy>, usize);

impl Strategy for Counting {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.0.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.1 += 1;
        self.0.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.0.pick(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.0.learn(run);
    }

    fn learns(&self) -> bool {
        self.0.learns()
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(Counting(self.0.fork(), self.1))
    }
}
