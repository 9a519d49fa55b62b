//! Several strategies that take turns, on one or more jobs.
//!
//! A list of strategies has equally many turns each. In the default portfolio turns come in rounds. The first has shares that the
//! corpus of bugs speaks for (`docs/design/benchmarks.md`); then whoever found more new partial orders in a round has more
//! turns in the next, and nobody has none: a bug may hide from whoever covers most. What counts is what was new to all before
//! the round began, so a round does not depend on who finished first, and all jobs agree on the next one when they meet at
//! its end.
//!
//! The runs of each strategy are those that it would make alone with the same seed.

use crate::{build, entry, pct_depth};
use raddle_engine::Census;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The name of the default portfolio, where one of a strategy may stand.
pub const NAME: &str = "portfolio";

/// The strategies of the default portfolio, in the order of their turns. None is best for every program: OOS and POS vary the
/// order of conflicting accesses, SURW and UPO sample what they have learnt to count, the random walk assumes nothing, and PCT
/// finds bugs that need few ordered events in long runs.
pub const PORTFOLIO: &[&str] = &["oos", "surw", "upo", "pos", "random-walk", "pct:depth=3"];

/// The strategies of the default portfolio for programs that end when their first thread does. What other threads would have done
/// then is looked at first, so most strategies let the end wait. PCT and UPO take the program as it is, for their guarantee and
/// their count. If `early` time-outs are wanted, those that learn nothing, and so do not count on runs that are alike, have them in some
/// runs.
pub fn of_programs(early: bool) -> Vec<String> {
    let counts = |spec: &str| entry(spec).is_some_and(|entry| entry.capabilities.counts_orders);
    let exact = |spec: &str| counts(spec) || pct_depth(spec).is_some();
    let learns = |spec: &str| build(spec).is_ok_and(|strategy| strategy.learns());
    let of = |&spec: &&str| match spec {
        _ if exact(spec) => spec.to_owned(),
        _ if early && !learns(spec) => format!("exit-last:early-timeouts:{spec}"),
        _ => format!("exit-last:{spec}"),
    };
    PORTFOLIO.iter().map(of).collect()
}

/// How many turns each of them has at first, in proportion.
const SHARES: [u64; PORTFOLIO.len()] = [6, 2, 4, 1, 1, 1];

/// The first turns are all of the first strategy. OOS learns in its first runs, and what it has learnt finds most bugs of the
/// corpus in few more; with other runs in between it would take longer to get there.
const HEAD_START: u64 = 16;

/// The turns of each strategy in the first round, on average.
const FIRST: u64 = 32;
/// No round has more turns for each strategy, on average.
const LONGEST: u64 = 4096;
/// So many partial orders of earlier rounds are known one by one; of more, a sample is, and only what would be in it counts as found.
const MOST_KNOWN: usize = 1 << 16;
/// How much more often the most successful strategy has its turn than one that finds nothing new.
const PREFERENCE: u64 = 4;

/// One run: its number among all, which strategy makes it, and its number among the runs of that one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Among all.
    pub number: u64,
    /// The strategy's index.
    pub lane: usize,
    /// Among the runs of that strategy.
    pub run: u64,
}

/// The turns of a round, in order.
#[derive(Clone, Debug)]
pub struct Round {
    /// How many turns each strategy has, in proportion.
    weights: Vec<u64>,
    /// Who is next: the one with the most credit.
    credits: Vec<i64>,
    runs: Vec<u64>,
    number: u64,
    /// Up to here all turns are those of the first strategy.
    head: u64,
    end: u64,
}

impl Round {
    fn new(weights: Vec<u64>, head: u64, end: u64) -> Round {
        let lanes = weights.len();
        Round { weights, credits: vec![0; lanes], runs: vec![0; lanes], number: 0, head, end }
    }

    /// Whose turn is next.
    fn lane(&mut self) -> Option<usize> {
        if self.number < self.head || self.weights.len() == 1 {
            return Some(0);
        }
        let all: u64 = self.weights.iter().sum();
        for (credit, &weight) in self.credits.iter_mut().zip(&self.weights) {
            *credit += weight as i64;
        }
        let best = self.credits.iter().copied().max()?;
        let lane = self.credits.iter().position(|&credit| credit == best)?;
        self.credits[lane] -= all as i64;
        Some(lane)
    }
}

impl Iterator for Round {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        if self.number >= self.end {
            return None;
        }
        let lane = self.lane()?;
        let turn = Turn { number: self.number, lane, run: self.runs[lane] };
        self.number += 1;
        self.runs[lane] += 1;
        Some(turn)
    }
}

/// Where the jobs of one exploration meet between rounds.
#[derive(Debug)]
pub struct Rounds {
    adapts: bool,
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug)]
struct State {
    jobs: usize,
    waiting: usize,
    count: u64,
    round: Round,
    shares: Vec<u64>,
    /// The partial orders of earlier rounds.
    known: Census,
    /// Those of this round that were not known, for each strategy.
    new: Vec<Census>,
    exhausted: Vec<bool>,
}

impl Rounds {
    /// Equal turns of so many strategies, in one endless round.
    pub fn equal(lanes: usize) -> Rounds {
        Rounds::with(vec![1; lanes], 0, 1, false)
    }

    /// The turns of [`PORTFOLIO`] on so many jobs.
    pub fn portfolio(jobs: usize) -> Rounds {
        Rounds::with(SHARES.to_vec(), HEAD_START, jobs, true)
    }

    /// The turns of [`PORTFOLIO`] with the shares of the first round for ever, for jobs that cannot meet.
    pub fn fixed_portfolio() -> Rounds {
        Rounds::with(SHARES.to_vec(), HEAD_START, 1, false)
    }

    fn with(shares: Vec<u64>, head: u64, jobs: usize, adapt: bool) -> Rounds {
        let lanes = shares.len();
        let end = if adapt { FIRST * lanes as u64 } else { u64::MAX };
        let state = State {
            jobs,
            waiting: 0,
            count: 0,
            round: Round::new(shares.clone(), head, end),
            shares,
            known: Census::bounded(MOST_KNOWN),
            new: vec![Census::default(); lanes],
            exhausted: vec![false; lanes],
        };
        Rounds { adapts: adapt, state: Mutex::new(state), settled: Condvar::new() }
    }

    /// The first round.
    pub fn begin(&self) -> Round {
        self.lock().round.clone()
    }

    /// Whether there is another round after the first. If not, nobody wants to know what was seen.
    pub fn adapts(&self) -> bool {
        self.adapts
    }

    /// Tells what a job has seen in the round that it has come to the end of: partial orders by strategy, and strategies
    /// that have no schedule left. Waits for the other jobs and gives the next round, if there is one.
    pub fn meet(&self, seen: &[(usize, u64)], exhausted: &[usize]) -> Option<Round> {
        if !self.adapts {
            return None;
        }
        let mut state = self.lock();
        state.note(seen, exhausted);
        state.waiting += 1;
        let count = state.count;
        if state.waiting == state.jobs {
            state.settle();
            self.settled.notify_all();
        }
        while state.count == count {
            state = self.settled.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        Some(state.round.clone()).filter(|round| round.number < round.end)
    }

    /// Says that a job makes no further run, so that nobody waits for it.
    pub fn leave(&self) {
        if !self.adapts {
            return;
        }
        let mut state = self.lock();
        state.jobs -= 1;
        if state.jobs > 0 && state.waiting == state.jobs {
            state.settle();
            self.settled.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    fn note(&mut self, seen: &[(usize, u64)], exhausted: &[usize]) {
        for &(lane, fingerprint) in seen {
            if self.known.samples(fingerprint) && self.known.of(fingerprint) == 0 {
                self.new[lane].count(fingerprint);
            }
        }
        exhausted.iter().for_each(|&lane| self.exhausted[lane] = true);
    }

    /// Ends the round, all of whose runs have been noted, and makes the next one.
    fn settle(&mut self) {
        let round = &mut self.round;
        // Everybody has gone through the round with a copy.
        let before = round.runs.clone();
        round.by_ref().for_each(drop);
        let made = round.runs.iter().zip(&before).map(|(after, before)| after - before);
        let rates: Vec<u64> =
            made.zip(&self.new).map(|(made, new)| 1_000 * new.distinct() as u64 / made.max(1)).collect();
        let best = rates.iter().copied().max().unwrap_or(0).max(1);
        let preferred =
            rates.iter().zip(&self.shares).map(|(rate, share)| share * (best + (PREFERENCE - 1) * rate));
        round.weights = preferred.collect();
        for (weight, _) in round.weights.iter_mut().zip(&self.exhausted).filter(|(_, over)| **over) {
            *weight = 0;
        }
        round.credits.iter_mut().for_each(|credit| *credit = 0);
        let lanes = round.weights.len() as u64;
        let length = (FIRST << (self.count + 1).min(32)).min(LONGEST) * lanes;
        round.end = if round.weights.iter().all(|&weight| weight == 0) { 0 } else { round.number + length };
        for new in &mut self.new {
            new.iter().for_each(|(fingerprint, _)| {
                self.known.count(fingerprint);
            });
            *new = Census::default();
        }
        self.waiting = 0;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_testkit::affordable;

    /// Rounds that begin with equal shares.
    fn even(lanes: usize, jobs: usize) -> Rounds {
        Rounds::with(vec![1; lanes], 0, jobs, true)
    }

    fn lanes(round: Round) -> Vec<usize> {
        round.map(|turn| turn.lane).collect()
    }

    #[test]
    fn the_portfolio_begins_with_its_shares() {
        let turns: Vec<Turn> = Rounds::portfolio(1).begin().take(HEAD_START as usize + 15 * 10).collect();
        let (head, turns) = turns.split_at(HEAD_START as usize);
        assert!(head.iter().enumerate().all(|(run, turn)| (turn.lane, turn.run) == (0, run as u64)));
        for (lane, share) in SHARES.into_iter().enumerate() {
            let own = turns.iter().filter(|turn| turn.lane == lane);
            assert_eq!(own.count() as u64, 10 * share);
        }
        let begin: std::collections::BTreeSet<usize> = turns[..15].iter().map(|turn| turn.lane).collect();
        assert_eq!(begin.len(), PORTFOLIO.len(), "all have a turn soon");
    }

    #[test]
    fn programs_have_the_same_strategies_most_of_which_let_the_end_wait() {
        let specs = of_programs(false);
        let inner: Vec<&str> =
            specs.iter().map(|spec| spec.strip_prefix("exit-last:").unwrap_or(spec)).collect();
        assert_eq!(inner, PORTFOLIO);
        let early = of_programs(true);
        let plain: Vec<String> = early.iter().map(|spec| spec.replace("early-timeouts:", "")).collect();
        assert_eq!(plain, specs);
        assert_eq!(early.iter().filter(|spec| spec.contains("early-timeouts:")).count(), 2, "{early:?}");
        assert!(specs.iter().all(|spec| crate::build(spec).is_ok()));
        let turns = |waits: bool| -> u64 {
            let lanes = specs.iter().zip(SHARES).filter(|(spec, _)| spec.starts_with("exit-last:") == waits);
            lanes.map(|(_, share)| share).sum()
        };
        assert!(turns(true) >= 2 * turns(false), "{} and {} turns", turns(true), turns(false));
        assert!(specs.iter().any(|spec| pct_depth(spec).is_some()), "PCT keeps its guarantee");
    }

    #[test]
    fn at_first_all_have_equally_many_turns() {
        let round = even(3, 1).begin();
        for (number, turn) in round.enumerate() {
            let number = number as u64;
            assert_eq!(turn, Turn { number, lane: (number % 3) as usize, run: number / 3 });
        }
        let endless = Rounds::equal(2).begin();
        let turns = affordable(1_000_000);
        assert!(endless.take(turns as usize).last().is_some_and(|turn| turn.run == turns / 2 - 1));
    }

    #[test]
    fn whoever_finds_more_has_more_turns_and_nobody_none() {
        let rounds = even(3, 1);
        let first: Vec<Turn> = rounds.begin().collect();
        // The first strategy finds something new every time, the second once, the third what the first found.
        let seen = first.iter().map(|turn| (turn.lane, if turn.lane == 1 { 7 } else { 100 + turn.run }));
        let seen: Vec<(usize, u64)> =
            seen.map(|(lane, order)| (lane, if lane == 2 { 100 } else { order })).collect();
        let second = lanes(rounds.meet(&seen, &[]).expect("it goes on"));
        let count = |lane| second.iter().filter(|&&other| other == lane).count();
        assert_eq!(second.len(), 2 * first.len(), "rounds grow");
        assert!(count(0) > 3 * count(1) && count(0) > 3 * count(2), "{} {} {}", count(0), count(1), count(2));
        assert!(count(1) > second.len() / 10 && count(2) > second.len() / 10);
        // Nothing is new to anybody any more.
        let third = lanes(rounds.meet(&seen, &[]).expect("it goes on"));
        assert_eq!(third[..6], [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn runs_of_a_strategy_go_on_from_round_to_round() {
        let rounds = even(2, 1);
        let mut next = [0, 0];
        let mut round = rounds.begin();
        for _ in 0..4 {
            for turn in round {
                assert_eq!(turn.run, next[turn.lane]);
                next[turn.lane] += 1;
            }
            round = rounds.meet(&[(0, next[0])], &[]).expect("it goes on");
        }
    }

    #[test]
    fn a_strategy_without_schedules_has_no_turns() {
        let rounds = even(2, 1);
        let second = rounds.meet(&[(0, 1)], &[0]).expect("one is left");
        assert!(lanes(second).iter().all(|&lane| lane == 1));
        assert!(rounds.meet(&[], &[1]).is_none(), "nobody is left");
    }

    #[test]
    fn the_next_round_does_not_depend_on_the_number_of_jobs() {
        let order = |turn: &Turn| (turn.lane, (turn.run * 7 + turn.lane as u64) % 90);
        let alone = even(3, 1);
        let mut expected = alone.begin();
        for _ in 0..3 {
            let seen: Vec<(usize, u64)> = expected.map(|turn| order(&turn)).collect();
            expected = alone.meet(&seen, &[]).expect("it goes on");
        }
        let together = even(3, 3);
        let found: Vec<Round> = std::thread::scope(|scope| {
            let job = |job| {
                let together = &together;
                scope.spawn(move || {
                    let mut round = together.begin();
                    for _ in 0..3 {
                        let mine = round.filter(|turn| turn.run % 3 == job);
                        let seen: Vec<(usize, u64)> = mine.map(|turn| order(&turn)).collect();
                        round = together.meet(&seen, &[]).expect("it goes on");
                    }
                    together.leave();
                    round
                })
            };
            [0, 1, 2].map(job).map(|job| job.join().expect("it ends")).to_vec()
        });
        let expected = lanes(expected);
        assert!(found.into_iter().all(|round| lanes(round) == expected));
    }

    #[test]
    fn nobody_waits_for_a_job_that_has_left() {
        let rounds = even(1, 2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| rounds.meet(&[], &[]));
            rounds.leave();
            assert!(waits.join().expect("it ends").is_some());
        });
    }
}
