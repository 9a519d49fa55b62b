//! Every schedule of a small program, by brute force: run, change the last decision that has an answer left, repeat.

use crate::is_thorough;
use raddle_engine::{Choice, Config, Engine, Plan, Point, Program, Rng, Strategy, run};
use raddle_model::ThreadId;

/// A program with more runs is not small.
const TOO_MANY: usize = 2_000_000;

/// Number of runs under Miri.
const AFFORDABLE: usize = 60;

/// Repeats the decisions of `path` and answers 0 after it.
#[derive(Clone, Default, Debug)]
struct Exhaustive {
    /// Each decision so far: its number of answers, and the answer.
    path: Vec<(usize, usize)>,
    at: usize,
    sorted: Vec<ThreadId>,
}

impl Exhaustive {
    fn decide(&mut self, arity: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((arity, 0));
        }
        let (recorded, value) = self.path[self.at];
        assert_eq!(recorded, arity, "equal decisions lead to equal points");
        self.at += 1;
        value
    }

    /// Advances to the next path. Returns false if there is none.
    fn advance(&mut self) -> bool {
        while let Some((arity, value)) = self.path.pop() {
            if value + 1 < arity {
                self.path.push((arity, value + 1));
                return true;
            }
        }
        false
    }
}

impl Strategy for Exhaustive {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.at = 0;
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.sorted.clear();
        self.sorted.extend_from_slice(point.enabled());
        self.sorted.sort_unstable();
        let index = self.decide(self.sorted.len());
        Choice::Run(self.sorted[index])
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.decide(arity as usize) as u32
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// Runs `program` under every schedule and with every answer to every pick, and passes each finished run to
/// `look`. Returns the number of runs. Under Miri it stops after sixty runs, so a test must not assert that
/// something never happens.
pub fn every_schedule<P: Program>(
    config: Config,
    program: &mut P,
    mut look: impl FnMut(&P, &Engine),
) -> usize {
    let mut engine = Engine::new(config);
    let mut strategy = Exhaustive::default();
    for runs in 1..TOO_MANY {
        strategy.begin(Rng::for_run(0, 0));
        run(&mut engine, program, &mut strategy);
        look(program, &engine);
        if !strategy.advance() || !is_thorough() && runs == AFFORDABLE {
            return runs;
        }
    }
    panic!("the program has more than {TOO_MANY} schedules");
}

/// Runs `program` once and returns the engine with the finished run in it.
pub fn once_under<P: Program>(
    config: Config,
    program: &mut P,
    strategy: &mut dyn Strategy,
    seed: u64,
) -> Engine {
    let mut engine = Engine::new(config);
    let _ = strategy.begin(Rng::for_run(seed, 0));
    run(&mut engine, program, strategy);
    engine
}
