//! Strategies simple enough for a test to predict.

use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::ThreadId;

/// Runs the threads of a list in turn, then always the enabled thread with the lowest number. A listed thread
/// that is not enabled is an error in the test.
#[derive(Clone, Default, Debug)]
pub struct Follow {
    threads: Vec<u32>,
    picks: Vec<u32>,
    at: usize,
    picked: usize,
}

impl Follow {
    /// Creates a strategy that runs these threads first.
    pub fn new(threads: &[u32]) -> Follow {
        Follow { threads: threads.to_vec(), ..Follow::default() }
    }

    /// Answers picks with these numbers first, and 0 afterwards.
    #[must_use]
    pub fn picking(mut self, picks: &[u32]) -> Follow {
        self.picks = picks.to_vec();
        self
    }
}

impl Strategy for Follow {
    fn begin(&mut self, _rng: Rng) -> Plan {
        (self.at, self.picked) = (0, 0);
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let lowest = point.enabled().iter().min().expect("a point has an enabled thread");
        let wanted = self.threads.get(self.at).map_or(*lowest, |&thread| ThreadId(thread));
        let step = point.step;
        assert!(point.is_enabled(wanted), "step {step}: {wanted:?} is not among {:?}", point.enabled());
        self.at += 1;
        Choice::Run(wanted)
    }

    fn pick(&mut self, _arity: u32) -> u32 {
        self.picked += 1;
        self.picks.get(self.picked - 1).copied().unwrap_or(0)
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// Always runs the enabled thread that comes first in a list; threads not in it come last, in order of number.
#[derive(Clone, Debug)]
pub struct Priorities(Vec<u32>);

impl Priorities {
    /// Creates a strategy in which the first thread has the highest priority.
    pub fn new(order: &[u32]) -> Priorities {
        Priorities(order.to_vec())
    }
}

impl Strategy for Priorities {
    fn begin(&mut self, _rng: Rng) -> Plan {
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let rank = |thread: ThreadId| {
            (self.0.iter().position(|&listed| listed == thread.0).unwrap_or(usize::MAX), thread)
        };
        let first = point.enabled().iter().copied().min_by_key(|&thread| rank(thread));
        Choice::Run(first.expect("a point has an enabled thread"))
    }

    fn pick(&mut self, _arity: u32) -> u32 {
        0
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// Runs any enabled thread with equal probability.
#[derive(Clone, Debug)]
pub struct Walk(Rng);

impl Default for Walk {
    fn default() -> Walk {
        Walk(Rng::for_run(0, 0))
    }
}

impl Strategy for Walk {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.0 = rng;
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let enabled = point.enabled();
        Choice::Run(enabled[self.0.below(enabled.len() as u64) as usize])
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.0.below(u64::from(arity)) as u32
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
