//! Selects the next strategy, if several strategies execute runs in one VM: a search with one job, whose runs
//! Erlang executes.

use raddle_search::{Lanes, Portfolio, Turns as OwnTurns};
use raddle_strategies::SpecError;
use raddle_strategies::portfolio::{Rounds, Turn};
use rustler::Resource;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The turns of several strategies. A turn must be recorded before the next one is requested.
pub struct Turns {
    specs: Vec<String>,
    rounds: Rounds,
    turns: Mutex<OwnTurns>,
}

#[rustler::resource_impl]
impl Resource for Turns {}

impl Turns {
    /// Creates the turns of the strategies of a specification.
    pub fn of(text: &str) -> Result<Turns, SpecError> {
        let lanes = Lanes::parse(text, Portfolio::Tests)?;
        let rounds = lanes.rounds(1, false);
        let turns = Mutex::new(OwnTurns::new(&lanes, &rounds, 0, 1));
        Ok(Turns { specs: lanes.specs(), rounds, turns })
    }

    /// Returns the specifications of the strategies.
    pub fn specs(&self) -> &[String] {
        &self.specs
    }

    fn lock(&self) -> MutexGuard<'_, OwnTurns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next turn of a strategy that has schedules left, if there is one.
    pub fn next(&self) -> Option<Turn> {
        let mut turns = self.lock();
        loop {
            if let Some(turn) = turns.next_turn() {
                return Some(turn);
            }
            if !turns.end_round(&self.rounds) {
                return None;
            }
        }
    }

    /// Records the partial order of a turn, or nothing if its strategy has no schedule left.
    pub fn note(&self, lane: usize, fingerprint: Option<u64>) {
        let mut turns = self.lock();
        match fingerprint {
            _ if lane >= self.specs.len() => {}
            Some(fingerprint) => turns.note(lane, fingerprint),
            None => _ = turns.note_exhausted(lane),
        }
    }
}
