//! The order of turns.

use crate::lanes::Lanes;
use raddle_strategies::portfolio::{Round, Rounds, Turn};

/// The turns of one job of a search.
///
/// A strategy that does not learn is split between the jobs by run number; one that learns stays with one
/// job, which executes all of its runs in order. So the runs of a search do not depend on the number of jobs.
#[derive(Debug)]
pub struct Turns {
    /// The remaining turns of the round; `None` after the last round.
    round: Option<Round>,
    own: Vec<Own>,
    /// Partial orders of this round, with the strategy that found each.
    seen: Vec<(usize, u64)>,
    /// Strategies that ran out of schedules in this round.
    over: Vec<usize>,
    adapts: bool,
    /// Number of strategies that have schedules left for this job.
    left: usize,
}

/// The runs of one strategy that one job executes: those whose number leaves `rest` when divided by `stride`.
#[derive(Clone, Copy, Debug)]
struct Own {
    is_own: bool,
    rest: u64,
    stride: u64,
    /// True if it has no schedule left.
    is_over: bool,
}

impl Turns {
    /// Returns the turns of job `index` of `count`.
    pub fn new(lanes: &Lanes, rounds: &Rounds, index: usize, count: usize) -> Turns {
        let mut learning = 0;
        let own = lanes.iter().map(|lane| {
            let (is_own, rest, stride) = if lane.learns {
                learning += 1;
                ((learning - 1) % count == index, 0, 1)
            } else {
                (true, index as u64, count as u64)
            };
            Own { is_own, rest, stride, is_over: false }
        });
        let own: Vec<Own> = own.collect();
        let left = own.iter().filter(|own| own.is_own).count();
        Turns {
            round: Some(rounds.begin()),
            own,
            seen: Vec::new(),
            over: Vec::new(),
            adapts: rounds.adapts(),
            left,
        }
    }

    /// Returns the same turns without those before run `number`.
    #[must_use]
    pub fn starting_at(mut self, number: u64) -> Turns {
        self.round.iter_mut().for_each(|round| round.skip_to(number));
        self
    }

    /// Returns the indices of the strategies of which this job executes runs.
    pub fn lanes(&self) -> impl Iterator<Item = usize> + '_ {
        self.own.iter().enumerate().filter(|(_, own)| own.is_own).map(|(lane, _)| lane)
    }

    /// Returns the next turn of this job in this round.
    #[inline]
    pub fn next_turn(&mut self) -> Option<Turn> {
        let round = self.round.as_mut()?;
        if self.left == 0 {
            return None;
        }
        round.find(|turn| {
            let own = &self.own[turn.lane];
            own.is_own && !own.is_over && (own.stride == 1 || turn.run % own.stride == own.rest)
        })
    }

    /// Returns the number after the last turn of this round.
    pub fn end_of_round(&self) -> u64 {
        self.round.as_ref().map_or(u64::MAX, Round::end)
    }

    /// Records the partial order of a turn.
    #[inline]
    pub fn note(&mut self, lane: usize, fingerprint: u64) {
        if self.adapts {
            self.seen.push((lane, fingerprint));
        }
    }

    /// Records that a strategy has no schedule left. Returns true if that is new.
    pub fn note_exhausted(&mut self, lane: usize) -> bool {
        let own = &mut self.own[lane];
        let is_new = !std::mem::replace(&mut own.is_over, true);
        if is_new {
            self.left -= usize::from(own.is_own);
            self.over.push(lane);
        }
        is_new
    }

    /// Ends the round, all of whose turns are recorded, and waits for the other jobs to do so. Returns true
    /// if there is another round.
    pub fn end_round(&mut self, rounds: &Rounds) -> bool {
        self.round = rounds.meet(&self.seen, &self.over);
        self.seen.clear();
        self.over.clear();
        self.round.is_some()
    }
}
