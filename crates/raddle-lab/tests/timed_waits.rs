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

fn searched(program: &str, strategy: &str, timeouts: Timeouts) -> Tally {
    let lanes = Lanes::parse(strategy, Portfolio::Tests).unwrap();
    let mut config = Config::default();
    config.timeouts = timeouts;
    let program = Box::new(compile(program, &[]).unwrap());
    let tally =
        sample(Job { program, lanes, config, seed: 1, budget: Budget::all(100_000) }, 1).unwrap().tally;
    assert!(tally.exhausted, "{strategy} ends");
    tally
}

#[test]
fn dpor_finds_what_depth_first_search_finds() {
    for (name, program) in [
        ("semaphore", SEMAPHORE),
        ("mutex", MUTEX),
        ("held while asleep", HELD_WHILE_ASLEEP),
        ("condition", CONDITION),
    ] {
        for timeouts in [Timeouts::WhenIdle, Timeouts::Anytime] {
            let [dfs, dpor] = ["dfs", "dpor"].map(|strategy| searched(program, strategy, timeouts));
            assert_eq!(dpor.partial_orders(), dfs.partial_orders(), "{name}, {timeouts:?}");
            assert_eq!(dpor.kinds.keys().collect::<Vec<_>>(), dfs.kinds.keys().collect::<Vec<_>>(), "{name}");
        }
    }
    assert!(searched(SEMAPHORE, "dpor", Timeouts::WhenIdle).failures > 0);
    assert!(searched(CONDITION, "dpor", Timeouts::Anytime).failures > 0);
}
