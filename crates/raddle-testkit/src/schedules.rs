//! Every schedule of a small program, by brute force: run, change the last decision that has an answer left, repeat.

use crate::is_thorough;
use raddle_engine::{Choice, Config, Engine, Plan, Point, Program, Rng, Strategy, run};
use raddle_model::ThreadId;

/// More runs than this are no small program.
const TOO_MANY: usize = 2_000_000;

/// As many runs as there is time for under Miri.
const AFFORDABLE: usize = 60;

/// Repeats the decisions of `path` and answers 0 after it.
#[derive(Clone, Default, Debug)]
struct Exhaustive {
    /// Each decision so far: how many answers it had, and the answer.
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

    /// Moves on to the next path; tells whether there is one.
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

/// Runs `program` under every schedule and with every answer to every pick; shows each finished run to `look`. Returns
/// how many there were. Under Miri these are the first sixty at most, so that a test must not tell what is in none of them.
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
