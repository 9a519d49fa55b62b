//! Knowledge reaches the next run only through `learn`: a run in a copy that is discarded afterwards gives
//! the same schedules as a run in the strategy itself.

use raddle_engine::{
    Choice, Engine, MutexKind, Needs, Plan, Point, Resource, Rng, RunSummary, Strategy, run,
};
use raddle_model::{Event, Kind};
use raddle_strategies::{CATALOGUE, Family, build};
use raddle_testkit::{Act, Script, affordable, is_thorough};

const RUNS: u64 = 60;

/// Returns the schedules of the first runs; each in a copy of the strategy if `forked`.
fn schedules(program: &mut Script, strategy: &mut dyn Strategy, forked: bool) -> Vec<Vec<Event>> {
    let mut engine = Engine::new(Default::default());
    let mut all = Vec::new();
    for number in 0..affordable(RUNS) {
        let mut copy = strategy.fork();
        let rng = Rng::for_run(5, number);
        let plan = if forked { copy.begin(rng) } else { strategy.begin(rng) };
        if plan == Plan::Exhausted {
            break;
        }
        run(&mut engine, program, if forked { &mut *copy } else { strategy });
        let summary = engine.summary();
        all.push(summary.trace.events.clone());
        strategy.learn(&summary);
    }
    all
}

fn specs() -> Vec<String> {
    let mut specs: Vec<String> =
        ["pct:depth=auto", "pct:depth=drawn,count=choices,at=sync", "stride:confidence=0.9,runs=100"]
            .map(str::to_owned)
            .to_vec();
    for entry in CATALOGUE {
        match entry.family {
            Family::Randomized | Family::Systematic => specs.push(entry.name.to_owned()),
            Family::Wrapper => {
                let inner = CATALOGUE
                    .iter()
                    .filter(|inner| inner.family == Family::Randomized && !inner.capabilities.every_step);
                let most = if is_thorough() { usize::MAX } else { 1 };
                specs.extend(inner.take(most).map(|inner| format!("{}:{}", entry.name, inner.name)));
            }
        }
    }
    specs
}

/// Returns programs with memory, locks, threads that appear later, picks and waiting.
fn programs() -> Vec<Script> {
    let section = [Act::On(Kind::Lock, 0), Act::W(1), Act::R(2), Act::On(Kind::Unlock, 0), Act::W(2)];
    let main = [Act::Spawn(1), Act::W(2), Act::Spawn(2), Act::Join(1), Act::R(1)];
    let locks = Script::new()
        .object(Resource::mutex(MutexKind::Normal))
        .object(Resource::Memory)
        .object(Resource::Memory);
    let waiter =
        [Act::On(Kind::Lock, 0), Act::Wait(1, 0), Act::On(Kind::Unlock, 0), Act::Bare(Kind::Choose, 3)];
    let signaller = [
        Act::On(Kind::Lock, 0),
        Act::On(Kind::Signal, 1),
        Act::On(Kind::Signal, 1),
        Act::On(Kind::Unlock, 0),
    ];
    let mut programs = vec![
        Script::straight(3, &["W0 R1 W2 W0", "R0 W1 R2", "W2 W1 R0"]),
        locks.thread(&main).spawned(&section).spawned(&section),
        Script::new()
            .mutex()
            .object(Resource::condition())
            .thread(&waiter)
            .thread(&waiter)
            .thread(&signaller),
    ];
    if is_thorough() { programs } else { programs.split_off(2) }
}

#[test]
fn a_run_in_a_copy_is_the_same_run() {
    for spec in specs() {
        for (index, program) in programs().iter().enumerate() {
            let here = schedules(&mut program.clone(), &mut *build(&spec).unwrap(), false);
            let there = schedules(&mut program.clone(), &mut *build(&spec).unwrap(), true);
            assert!(here == there, "{spec} carries knowledge past `learn` on program {index}");
            assert!(!here.is_empty());
        }
    }
}

#[test]
fn a_run_that_was_not_learnt_from_leaves_nothing() {
    for spec in specs() {
        for program in programs() {
            let mut once = program.clone();
            let mut strategy = build(&spec).unwrap();
            let first = schedules(&mut once, &mut *strategy, false);
            let mut twice = program;
            let mut strategy = Twice(build(&spec).unwrap(), twice.clone());
            assert!(first == schedules(&mut twice, &mut strategy, false), "{spec}");
        }
    }
}

/// Executes each run once before, without learning from it.
struct Twice(Box<dyn Strategy>, Script);

impl Strategy for Twice {
    fn begin(&mut self, rng: Rng) -> Plan {
        if self.0.begin(rng.clone()) == Plan::Exhausted {
            return Plan::Exhausted;
        }
        run(&mut Engine::new(Default::default()), &mut self.1, &mut *self.0);
        self.0.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.0.choose(point)
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
        Box::new(Twice(self.0.fork(), self.1.clone()))
    }
}

#[test]
fn a_strategy_that_does_not_learn_replays_every_seed() {
    for spec in specs() {
        let mut strategy = build(&spec).unwrap();
        if strategy.learns() {
            continue;
        }
        for mut program in programs() {
            let first = schedules(&mut program, &mut *strategy, false);
            assert!(first == schedules(&mut program, &mut *strategy, false), "{spec}");
        }
    }
}
