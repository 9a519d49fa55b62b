//! Whose turn it is, where several strategies make the runs in one VM.

use raddle_strategies::portfolio::{NAME, PORTFOLIO, Round, Rounds, Turn};
use rustler::Resource;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The turns of some strategies. A turn is noted before the next one is asked for.
pub struct Turns {
    rounds: Rounds,
    state: Mutex<State>,
}

struct State {
    round: Option<Round>,
    /// Partial orders of this round with whoever found them.
    seen: Vec<(usize, u64)>,
    exhausted: Vec<bool>,
}

#[rustler::resource_impl]
impl Resource for Turns {}

impl Turns {
    /// The strategies of a specification.
    pub fn lanes(spec: &str) -> Vec<&str> {
        if spec == NAME { PORTFOLIO.to_vec() } else { spec.split('+').collect() }
    }

    /// The turns of the strategies of a specification.
    pub fn of(spec: &str) -> Turns {
        let lanes = Turns::lanes(spec).len();
        let rounds = if spec == NAME { Rounds::portfolio(1) } else { Rounds::equal(lanes) };
        let round = Some(rounds.begin());
        Turns { rounds, state: Mutex::new(State { round, seen: Vec::new(), exhausted: vec![false; lanes] }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next turn of a strategy that has schedules left, if there is one.
    pub fn next(&self) -> Option<Turn> {
        let mut state = self.lock();
        let State { round, seen, exhausted } = &mut *state;
        while !exhausted.iter().all(|&over| over) {
            if let Some(turn) = round.as_mut()?.find(|turn| !exhausted[turn.lane]) {
                return Some(turn);
            }
            let over: Vec<usize> = (0..exhausted.len()).filter(|&lane| exhausted[lane]).collect();
            *round = self.rounds.meet(seen, &over);
            seen.clear();
        }
        None
    }

    /// Notes what came of a turn: a partial order, or nothing if the strategy has no schedule left.
    pub fn note(&self, lane: usize, fingerprint: Option<u64>) {
        let mut state = self.lock();
        match fingerprint {
            Some(fingerprint) if self.rounds.adapts() => state.seen.push((lane, fingerprint)),
            Some(_) => {}
            None => state.exhausted.iter_mut().skip(lane).take(1).for_each(|over| *over = true),
        }
    }
}
