//! Several strategies that take turns, on one or more jobs.
//!
//! The strategies of a list have equally many turns. In the default portfolio turns come in rounds. The first
//! round has shares based on the corpus of bugs (`docs/design/benchmarks.md`); then a strategy that found
//! more new partial orders in a round has more turns in the next, and none has zero: a bug may hide from the
//! strategy that covers most. New means not known to any strategy before the round began, so a round does not
//! depend on timing, and all jobs agree on the next one when they meet at its end.
//!
//! The runs of each strategy are those that it would execute alone with the same seed.

use crate::{entry, pct_depth};
use raddle_engine::Census;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The name of the default portfolio, which can stand for a strategy.
pub const NAME: &str = "portfolio";

/// The strategies of the default portfolio, in the order of their turns. None is best for every program: OOS
/// and POS vary the order of conflicting accesses, SURW and UPO sample by learnt counts, the random walk
/// assumes nothing, and PCT finds bugs that need few ordered events in long runs.
pub const PORTFOLIO: &[&str] = &["oos", "surw", "upo", "pos", "random-walk", "pct:depth=3"];

/// Returns the strategies of the default portfolio for programs that end when their first thread does. Most
/// strategies let the program exit wait, to see what other threads would have done. PCT and UPO take the
/// unmodified program, for their guarantee and their count. With `early`, the others have early timeouts in
/// half of their runs.
pub fn of_programs(early: bool) -> Vec<String> {
    let counts = |spec: &str| entry(spec).is_some_and(|entry| entry.capabilities.counts_orders);
    let exact = |spec: &str| counts(spec) || pct_depth(spec).is_some();
    let of = |&spec: &&str| match spec {
        _ if exact(spec) => spec.to_owned(),
        _ if early => format!("exit-last:early-timeouts:{spec}"),
        _ => format!("exit-last:{spec}"),
    };
    PORTFOLIO.iter().map(of).collect()
}

/// The strategies of the default portfolio that explore weak memory in some runs of programs with weak memory orders: those
/// whose runs support no claim, half of all turns. The others keep the runs that a claim is about.
const WEAK: &[&str] = &["oos", "surw"];

/// Returns the strategies of a default portfolio, some of which explore [weak memory](crate::weak_memory) in some runs.
pub fn with_weak_memory(specs: &[String]) -> Vec<String> {
    let of = |spec: &String| {
        let (wrappers, inner) = spec.rsplit_once(':').filter(|(_, inner)| WEAK.contains(inner)).unzip();
        match (wrappers, inner.unwrap_or(spec)) {
            (Some(wrappers), inner) => format!("{wrappers}:weak-memory:{inner}"),
            (None, inner) if WEAK.contains(&inner) => format!("weak-memory:{inner}"),
            (None, _) => spec.clone(),
        }
    };
    specs.iter().map(of).collect()
}

/// Initial shares of the turns.
const SHARES: [u64; PORTFOLIO.len()] = [6, 2, 4, 1, 1, 1];

/// The first turns all belong to the first strategy. OOS learns in its first runs, and then finds most bugs
/// of the corpus in few more; other runs in between would delay that.
const HEAD_START: u64 = 16;

/// Average number of turns of each strategy in the first round.
const FIRST: u64 = 32;
/// The largest average number of turns of each strategy in a round.
const LONGEST: u64 = 4096;
/// The largest number of partial orders of earlier rounds that are known individually; beyond that, a sample
/// is known, and only orders that would be in it count as found.
const MOST_KNOWN: usize = 1 << 16;
/// The ratio of the turns of the most successful strategy to those of one that finds nothing new.
const PREFERENCE: u64 = 4;

/// One run: its number among all, its strategy, and its number among the runs of that strategy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The number among all runs.
    pub number: u64,
    /// The strategy's index.
    pub lane: usize,
    /// The number among the runs of that strategy.
    pub run: u64,
}

/// The turns of a round, in order.
#[derive(Clone, Debug)]
pub struct Round {
    /// The share of turns of each strategy.
    weights: Vec<u64>,
    /// The strategy with the most credit is next.
    credits: Vec<i64>,
    runs: Vec<u64>,
    number: u64,
    /// All turns before this one belong to the first strategy.
    head: u64,
    end: u64,
}

impl Round {
    fn new(weights: Vec<u64>, head: u64, end: u64) -> Round {
        let lanes = weights.len();
        Round { weights, credits: vec![0; lanes], runs: vec![0; lanes], number: 0, head, end }
    }

    /// Skips the turns before this number.
    pub fn skip_to(&mut self, number: u64) {
        let head = self.head.min(number);
        if self.number == 0 && self.weights.len() > 1 && number > head {
            // The credits are all 0 again after as many turns as there are shares.
            let all: u64 = self.weights.iter().sum();
            let cycles = (number - head) / all.max(1);
            self.number = head + cycles * all;
            self.runs = self.weights.iter().map(|weight| weight * cycles).collect();
            self.runs[0] += head;
        } else if self.weights.len() == 1 {
            (self.number, self.runs[0]) = (self.number.max(number), self.runs[0].max(number));
        }
        while self.number < number && self.next().is_some() {}
    }

    /// Returns the number after its last turn.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the strategy of the next turn.
    fn lane(&mut self) -> Option<usize> {
        if self.number < self.head || self.weights.len() == 1 {
            return Some(0);
        }
        let (mut all, mut best, mut lane) = (0, i64::MIN, None);
        for (index, (credit, &weight)) in self.credits.iter_mut().zip(&self.weights).enumerate() {
            all += weight as i64;
            *credit += weight as i64;
            if *credit > best {
                (best, lane) = (*credit, Some(index));
            }
        }
        self.credits[lane?] -= all;
        lane
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

/// The meeting point of the jobs of one search between rounds.
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
    /// The unknown partial orders of this round, for each strategy.
    new: Vec<Census>,
    exhausted: Vec<bool>,
}

impl Rounds {
    /// Creates one endless round with equal turns for `lanes` strategies.
    pub fn equal(lanes: usize) -> Rounds {
        Rounds::with(vec![1; lanes], 0, 1, false)
    }

    /// Creates the turns of [`PORTFOLIO`] for `jobs` jobs.
    pub fn portfolio(jobs: usize) -> Rounds {
        Rounds::with(SHARES.to_vec(), HEAD_START, jobs, true)
    }

    /// Creates the turns of [`PORTFOLIO`] with the shares of the first round throughout, for jobs that cannot
    /// meet.
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

    /// Returns the first round.
    pub fn begin(&self) -> Round {
        self.lock().round.clone()
    }

    /// Returns true if there is another round after the first. If not, the partial orders seen are not
    /// needed.
    pub fn adapts(&self) -> bool {
        self.adapts
    }

    /// Ends a round of a job, with the partial orders it has seen by strategy, and strategies that have no
    /// schedule left. Waits for the other jobs and returns the next round, if there is one.
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

    /// Records that a job executes no further run, so that no other job waits for it.
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

    /// Ends the round, all of whose runs have been recorded, and creates the next one.
    fn settle(&mut self) {
        let round = &mut self.round;
        // Every job has executed the round with a copy.
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

    /// Creates rounds that begin with equal shares.
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
    fn skipped_turns_are_those_before_a_number() {
        for rounds in [Rounds::fixed_portfolio(), Rounds::equal(1), Rounds::equal(3)] {
            for number in [0, 1, 15, 16, 17, 31, 46, 100] {
                let mut skipped = rounds.begin();
                skipped.skip_to(number);
                let expected: Vec<Turn> = rounds.begin().skip(number as usize).take(40).collect();
                assert_eq!(skipped.take(40).collect::<Vec<_>>(), expected, "{number}");
            }
        }
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
        assert_eq!(early.iter().filter(|spec| spec.contains("early-timeouts:")).count(), 4, "{early:?}");
        assert!(specs.iter().all(|spec| crate::build(spec).is_ok()));
        let turns = |waits: bool| -> u64 {
            let lanes = specs.iter().zip(SHARES).filter(|(spec, _)| spec.starts_with("exit-last:") == waits);
            lanes.map(|(_, share)| share).sum()
        };
        assert!(turns(true) >= 2 * turns(false), "{} and {} turns", turns(true), turns(false));
        assert!(specs.iter().any(|spec| pct_depth(spec).is_some()), "PCT keeps its guarantee");
    }

    #[test]
    fn half_of_the_turns_can_be_under_weak_memory() {
        let plain: Vec<String> = PORTFOLIO.iter().map(|&spec| spec.to_owned()).collect();
        let mixed = with_weak_memory(&plain);
        assert_eq!(mixed[..3], ["weak-memory:oos", "weak-memory:surw", "upo"]);
        for (plain, mixed) in [(&plain, &mixed), (&of_programs(true), &with_weak_memory(&of_programs(true)))]
        {
            let inner: Vec<String> = mixed.iter().map(|spec| spec.replace("weak-memory:", "")).collect();
            assert_eq!(inner, *plain);
            assert!(mixed.iter().all(|spec| crate::build(spec).is_ok()), "{mixed:?}");
            assert_eq!(mixed.iter().filter(|spec| spec.contains("weak-memory:")).count(), WEAK.len());
        }
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
    fn strategies_that_find_more_have_more_turns_and_none_has_zero() {
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
        // Nothing is new any more.
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
        assert!(rounds.meet(&[], &[1]).is_none(), "no thread is left");
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
    fn no_job_waits_for_one_that_has_left() {
        let rounds = even(1, 2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| rounds.meet(&[], &[]));
            rounds.leave();
            assert!(waits.join().expect("it ends").is_some());
        });
    }
}
