//! Programs whose outcome depends on which wait times out: dpor has to find what depth-first search finds.

use raddle_engine::{Config, Timeouts};
use raddle_lab::{Job, compile, sample};
use raddle_search::{Budget, Lanes, Portfolio, Tally};

const SEMAPHORE: &str = "\
semaphore s = 1
thread A { local got = 0
  got = wait s for 10
  assert got != 0 }
thread B { local got = 0
  got = wait s for 1 }
";

const MUTEX: &str = "\
mutex m
thread A { local got = 0
  got = lock m for 10
  assert got != 0
  sleep 100
  unlock m }
thread B { local got = 0
  got = lock m for 1
  if got { sleep 100; unlock m } }
";

const HELD_WHILE_ASLEEP: &str = "\
shared x = 0
mutex m
thread A { lock m; sleep 10; x = x + 1; unlock m }
thread B { lock m; assert x == 1; unlock m }
";

const CONDITION: &str = "\
shared x = 0
mutex m
condition c
thread A { lock m; x = 1; signal c; unlock m }
thread B { local woken = 0, seen = 0
  lock m; woken = wait c m for 5; seen = x; unlock m
  assert seen * 10 + woken != 0 }
main { local a, b
  a = spawn A
  b = spawn B
  join a; join b }
";

/// Every program, with its name.
const PROGRAMS: [(&str, &str); 4] = [
    ("semaphore", SEMAPHORE),
    ("mutex", MUTEX),
    ("held while asleep", HELD_WHILE_ASLEEP),
    ("condition", CONDITION),
];

fn sampled(program: &str, strategy: &str, timeouts: Timeouts, runs: u64) -> Tally {
    let lanes = Lanes::parse(strategy, Portfolio::Tests).unwrap();
    let mut config = Config::default();
    config.timeouts = timeouts;
    let program = Box::new(compile(program, &[]).unwrap());
    sample(Job { program, lanes, config, seed: 1, budget: Budget::all(runs) }, 1).unwrap().tally
}

fn searched(program: &str, strategy: &str, timeouts: Timeouts) -> Tally {
    let tally = sampled(program, strategy, timeouts, 100_000);
    assert!(tally.exhausted, "{strategy} ends");
    tally
}

/// The clock, which all threads read, makes independent operations depend on each other.
#[test]
fn upo_does_not_estimate_where_timeouts_fire_at_any_moment() {
    for (name, program) in PROGRAMS {
        assert_eq!(sampled(program, "upo", Timeouts::Anytime, 1_000).estimate, None, "{name}");
        let orders = searched(program, "dfs", Timeouts::WhenIdle).partial_orders();
        let estimate = sampled(program, "upo", Timeouts::WhenIdle, 1_000).estimate;
        assert_eq!(estimate, Some(orders as f64), "{name}");
    }
}

#[test]
fn dpor_finds_what_depth_first_search_finds() {
    for (name, program) in PROGRAMS {
        for timeouts in [Timeouts::WhenIdle, Timeouts::Anytime] {
            let [dfs, dpor] = ["dfs", "dpor"].map(|strategy| searched(program, strategy, timeouts));
            assert_eq!(dpor.partial_orders(), dfs.partial_orders(), "{name}, {timeouts:?}");
            assert_eq!(dpor.kinds.keys().collect::<Vec<_>>(), dfs.kinds.keys().collect::<Vec<_>>(), "{name}");
        }
    }
    assert!(searched(SEMAPHORE, "dpor", Timeouts::WhenIdle).failures > 0);
    assert!(searched(CONDITION, "dpor", Timeouts::Anytime).failures > 0);
}
