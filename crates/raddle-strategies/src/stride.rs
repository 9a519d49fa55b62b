//! Randomized stride: a random walk in which the chosen thread takes several steps.
//!
//! Paper: Abdelrasoul, "Promoting Secondary Orders of Event Pairs in Randomized Scheduling using a Randomized
//! Stride", ASE 2017. Guarantee: with `confidence`, at least one of the planned runs has the least likely
//! order of two events of threads that do not block (the last event of one thread before the first of
//! another), if the threads are no longer than learnt. Tests: `covers_the_least_likely_order`,
//! `a_thread_that_outlasts_the_others_is_covered`. Departures from the paper: its equation (5),
//! [`edge_probability`], gives weight `2^-i` to "`i` strides are enough", but it takes another factor of 1/2
//! to pick the other thread after them (for a thread of one event the equation gives 1, the correct value is
//! 1/2). So `confidence` demands twice the probability of equation (5), and gives a lower ratio of thread
//! length to stride than the paper's 6.6 and 3.4; these are `ratio=6.6` and `ratio=3.4`. The equation was
//! solved by Monte Carlo sampling there; here it is integrated. A thread's length counts all its steps from
//! the first one of the run at which two threads were enabled; the paper leaves out those at which no other
//! thread was enabled, which makes a thread that outlasts the others too short.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::roster::Roster;
use crate::spec::SpecError;
use crate::values::Values;
use libm::{exp, pow};
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "stride",
    family: Family::Randomized,
    summary: "a random walk in which the chosen thread takes several steps",
    parameters: &[
        parameter("max", "2", "the longest stride, the same for all threads"),
        parameter(
            "ratio",
            "none",
            "instead of max: the longest stride is the thread's length divided by this",
        ),
        parameter(
            "confidence",
            "none",
            "instead of ratio: the ratio that gives this probability of a hit in all runs",
        ),
        parameter("runs", "10000", "with confidence: the number of planned runs"),
        parameter("edges", "1", "with confidence: the number of least likely orders in one run"),
    ],
    source: "Abdelrasoul, ASE 2017",
    guarantee: "with confidence: that probability of the least likely order of two events of threads that do not block",
    capabilities: Capabilities::NONE,
    build: Build::Alone(|values| Ok(Box::new(RandomizedStride::new(limit(values)?)))),
};

fn limit(values: &Values<'_>) -> Result<Stride, SpecError> {
    Ok(match values.confidence()? {
        Some(confidence) => {
            let (runs, edges) = (values.positive("runs", 10_000)?, values.positive("edges", 1)?);
            Stride::from_confidence(confidence, runs, edges as u32)
        }
        None => match values.ratio()? {
            Some(ratio) => Stride::Ratio(ratio),
            None => Stride::Fixed(values.positive("max", 2)?),
        },
    })
}

/// The limit on the length of a stride.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stride {
    /// At most this long, for every thread.
    Fixed(u64),
    /// At most the length of the thread divided by this ratio, rounded up. Lengths are learnt in the first ten runs,
    /// which have strides of one step.
    Ratio(f64),
}

impl Stride {
    /// Returns the ratio with which `edges` independent least likely orders occur together in at least one of
    /// `runs` runs with this confidence. The runs include the ten from which the lengths are learnt.
    pub fn from_confidence(confidence: f64, runs: u64, edges: u32) -> Stride {
        Stride::Ratio(ratio_for(2.0 * needed(confidence, runs, edges)))
    }
}

/// Returns the probability in one run that each of `edges` independent orders needs to occur together in at
/// least one of `runs` runs with this confidence. The ten runs from which the lengths are learnt do not
/// count.
pub fn needed(confidence: f64, runs: u64, edges: u32) -> f64 {
    let planned = runs.saturating_sub(PROFILE_RUNS).max(1) as f64;
    pow(1.0 - pow(1.0 - confidence, 1.0 / planned), 1.0 / f64::from(edges))
}

/// Returns the paper's probability that a thread whose length is `ratio` times its longest stride ends before
/// another one begins: equation (5), the sum over `i >= 1` of `2^-i * P(U_1 + .. + U_i >= ratio)` for uniform
/// `U_j` in 0..1.
///
/// Splitting off the first stride gives `h(x) = P(U >= x) / 2 + E[h(x - U)] / 2` with `h = 1` up to 0. So
/// `h(x) = 2 - e^(x/2)` up to 1, and `h'(x) = (h(x) - h(x-1)) / 2` beyond, which is integrated.
pub fn edge_probability(ratio: f64) -> f64 {
    integrate(|x, _| x < ratio).1
}

/// Returns the ratio that gives an edge this probability by equation (5): the inverse of
/// [`edge_probability`].
pub fn ratio_for(probability: f64) -> f64 {
    integrate(|_, h| h > probability).0
}

/// Integrates `h` from 0 upwards while `go_on(x, h(x))`; returns the point at which it stopped.
fn integrate(go_on: impl Fn(f64, f64) -> bool) -> (f64, f64) {
    const GRID: usize = 1_000;
    let width = 1.0 / GRID as f64;
    let mut h: Vec<f64> = (0..=GRID).map(|i| 2.0 - exp(i as f64 * width / 2.0)).collect();
    let mut at = 0;
    while go_on(at as f64 * width, h[at]) && at < 60 * GRID {
        at += 1;
        if at == h.len() {
            // The trapezoidal rule, which is implicit in the new value.
            let (last, delayed) = (h[at - 1], h[at - 1 - GRID] + h[at - GRID]);
            h.push((last * (1.0 + width / 4.0) - delayed * width / 4.0) / (1.0 - width / 4.0));
        }
    }
    (at as f64 * width, h[at])
}

/// Number of runs from which thread lengths are learnt.
const PROFILE_RUNS: u64 = 10;

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct RandomizedStride {
    stride: Stride,
    rng: Rng,
    roster: Roster,
    /// Per number of the roster: the largest number of steps after the beginning of the run, in which only
    /// one thread is enabled.
    length: Vec<u64>,
    learnt_runs: u64,
    current: Option<ThreadId>,
    /// Steps that `current` has left.
    left: u64,
}

impl RandomizedStride {
    /// Creates randomized stride with this limit.
    pub fn new(stride: Stride) -> RandomizedStride {
        RandomizedStride {
            stride,
            rng: Rng::for_run(0, 0),
            roster: Roster::default(),
            length: Vec::new(),
            learnt_runs: 0,
            current: None,
            left: 0,
        }
    }

    fn longest(&self, thread: ThreadId) -> u64 {
        match self.stride {
            Stride::Fixed(longest) => longest,
            Stride::Ratio(_) if self.learnt_runs < PROFILE_RUNS => 1,
            Stride::Ratio(ratio) => {
                let length = self.roster.number(thread).map_or(1, |number| self.length[number]);
                (length as f64 / ratio).ceil().max(1.0) as u64
            }
        }
    }
}

impl Strategy for RandomizedStride {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.roster.begin();
        self.current = None;
        self.left = 0;
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.roster.update(point);
        if let Some(thread) = self.current.filter(|&thread| self.left > 0 && point.is_enabled(thread)) {
            self.left -= 1;
            return Choice::Run(thread);
        }
        let enabled = point.enabled();
        let thread = enabled[self.rng.below(enabled.len() as u64) as usize];
        self.current = Some(thread);
        self.left = self.rng.below(self.longest(thread));
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        if !self.learns() || self.learnt_runs >= PROFILE_RUNS {
            return;
        }
        self.learnt_runs += 1;
        let mut steps = vec![0_u64; run.thread_count()];
        let events = run.trace.events.iter().enumerate();
        for (_, event) in events.skip_while(|&(step, _)| run.trace.enabled_at(step).len() == 1) {
            steps[event.thread.index()] += 1;
        }
        for (index, &count) in steps.iter().enumerate() {
            let number = self.roster.learn(run.thread_name(ThreadId(index as u32)));
            self.length.resize(self.roster.len(), 0);
            self.length[number] = self.length[number].max(count);
        }
    }

    fn needs(&self) -> Needs {
        Needs { enabled: self.learns() && self.learnt_runs < PROFILE_RUNS, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        matches!(self.stride, Stride::Ratio(_))
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::{Script, affordable, assert_hit_rate, assert_never, is_thorough};

    #[test]
    fn the_ratios_of_the_paper_are_reproduced() {
        for (edges, published) in [(1, 6.6), (2, 3.4)] {
            let ratio = ratio_for(needed(0.95, 10_000, edges));
            // The paper cuts off after one digit.
            assert!(
                ratio >= published && ratio < published + 0.1,
                "{ratio} for {edges} edges, published {published}"
            );
        }
    }

    #[test]
    fn equation_5_agrees_with_sampling() {
        let mut rng = Rng::for_run(3, 0);
        for ratio in [0.5, 1.5, 3.4] {
            let mut reached = 0_u32;
            for _ in 0..affordable(200_000) {
                let mut sum = rng.unit();
                while sum < ratio && rng.bits() >> 63 == 1 {
                    sum += rng.unit();
                }
                // The first stride is the thread's with probability 1/2, like every other one.
                reached += u32::from(sum >= ratio && rng.bits() >> 63 == 1);
            }
            let (sampled, exact) = (f64::from(reached) / 200_000.0, edge_probability(ratio) / 2.0);
            let close = (sampled - exact).abs() < 4.0 * (exact / 200_000.0).sqrt();
            assert!(!is_thorough() || close, "{ratio}: {sampled} {exact}");
        }
    }

    /// Returns randomized stride for a confidence of 0.95 in 100 runs, after it has learnt `program`.
    fn confident(program: &mut Script) -> RandomizedStride {
        let mut stride = RandomizedStride::new(Stride::from_confidence(0.95, 110, 1));
        for seed in 0..affordable(10) {
            program.run(&mut stride, seed);
        }
        stride
    }

    /// The probability that a run needs for a confidence of 0.95 in 100 runs: 1 - 0.05^(1/100).
    const NEEDED: f64 = 0.029_513;

    #[test]
    fn covers_the_least_likely_order() {
        // 300 steps against 300: a random walk has 2^-300 for each of the two orders. The longer the threads are, the less
        // the rounding of strides helps.
        let long = ["W0"; 300].join(" ");
        let mut program = Script::straight(1, &[&long, &long]);
        let mut stride = confident(&mut program);
        for first in [0, 1] {
            assert_hit_rate(10_000, NEEDED, |seed| {
                let (events, _) = program.run(&mut stride, seed);
                events[..300].iter().all(|event| event.thread.0 == first)
            });
        }
        let mut walk = RandomizedStride::new(Stride::Fixed(1));
        assert_never(2_000, |seed| program.run(&mut walk, seed).0[..300].iter().all(|e| e.thread.0 == 0));
    }

    #[test]
    fn a_thread_that_outlasts_the_others_is_covered() {
        let (long, short) = (["W0"; 300].join(" "), ["W0"; 5].join(" "));
        let mut program = Script::straight(1, &[&long, &short]);
        let mut stride = confident(&mut program);
        assert_hit_rate(10_000, NEEDED, |seed| {
            let (events, _) = program.run(&mut stride, seed);
            events[..300].iter().all(|event| event.thread.0 == 0)
        });
    }

    #[test]
    fn the_longest_stride_is_rounded_up() {
        let mut program = Script::straight(1, &["W0 W0 W0 W0 W0 W0 W0", "W0"]);
        let mut stride = RandomizedStride::new(Stride::Ratio(6.6));
        for seed in 0..10 {
            program.run(&mut stride, seed);
        }
        // Seven steps: 7 / 6.6 is more than 1, so strides of two steps must occur.
        let longest = stride.longest(ThreadId(0));
        assert_eq!((longest, stride.longest(ThreadId(1))), (2, 1));
    }

    #[test]
    fn strides_are_uniform_up_to_the_maximum() {
        // A thread's first stride in a program of two long threads: 1, 2 or 3 steps if another thread follows.
        let mut program = Script::straight(1, &["W0 W0 W0 W0 W0 W0 W0 W0", "W0 W0 W0 W0 W0 W0 W0 W0"]);
        let mut stride = RandomizedStride::new(Stride::Fixed(3));
        let mut lengths = [0_u32; 9];
        for seed in 0..affordable(40_000) {
            let (events, _) = program.run(&mut stride, seed);
            let first = events[0].thread;
            lengths[events.iter().take_while(|event| event.thread == first).count()] += 1;
        }
        if !is_thorough() {
            return;
        }
        // P(1) = 1/3 * 1/2, P(2) = 1/2 * (1/3 + 1/3 * 1/3 * ...): exactly 1 of 6 and (1/3 + 1/3*1/2*1/3) / 2.
        for (length, exact) in [(1, 1.0 / 6.0), (2, (1.0 / 3.0 + 1.0 / 18.0) / 2.0)] {
            let mean = exact * 40_000.0;
            assert!((f64::from(lengths[length]) - mean).abs() < 4.0 * mean.sqrt(), "{lengths:?}");
        }
    }
}
