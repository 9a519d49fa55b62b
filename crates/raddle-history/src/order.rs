//! The search for an order of the calls.
//!
//! Papers: Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 1993: depth-first search for the next call of the
//! order, among those before which no other call has to come. Lowe, "Testing for Linearizability", Concurrency and Computation
//! 2017: a pair of the set of calls in the order so far and the state after them is visited once.
//! Departure: calls that never returned may be left out, or appear with any result.

use crate::{History, Outcome};
use std::collections::BTreeSet;

/// The maximum number of calls of a history.
pub const MOST_CALLS: usize = 64;

/// The answer of a specification to a call in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The call ends with this result, in this state.
    Returns {
        /// The number of the result.
        result: u32,
        /// The state after it.
        state: u32,
    },
    /// The call waits in this state.
    Waits,
}

/// A sequential machine whose states are numbers; it begins in state 0.
pub trait Specification {
    /// Executes `call` in `state`.
    fn execute(&mut self, state: u32, call: usize) -> Answer;
}

/// Returns an order of the calls in which `specification` gives the results of `history`, or else the longest beginning of
/// one. If `stuck`, no thread of the run could continue: then each pending call waits in the last state.
pub fn order(
    history: &History,
    specification: &mut dyn Specification,
    stuck: bool,
) -> Result<Vec<usize>, Vec<usize>> {
    assert!(history.outcomes.len() <= MOST_CALLS, "a history has at most {MOST_CALLS} calls");
    let completed = history
        .outcomes
        .iter()
        .enumerate()
        .filter(|(_, outcome)| matches!(outcome, Some(Outcome::Returned(_))))
        .fold(0, |set, (call, _)| set | 1 << call);
    let mut search =
        Search { history, specification, stuck, completed, visited: BTreeSet::new(), best: Vec::new() };
    let mut path = Vec::new();
    if search.go_on(0, 0, &mut path) { Ok(path) } else { Err(search.best) }
}

struct Search<'a> {
    history: &'a History,
    specification: &'a mut dyn Specification,
    stuck: bool,
    /// The calls that returned, as bits.
    completed: u64,
    /// The sets of calls with the states after them from which no order was found.
    visited: BTreeSet<(u64, u32)>,
    /// The longest beginning of an order.
    best: Vec<usize>,
}

impl Search<'_> {
    /// Extends `path`, the calls of `done` in an order that ends in `state`. Returns true if it is complete.
    fn go_on(&mut self, done: u64, state: u32, path: &mut Vec<usize>) -> bool {
        if self.completed & !done == 0 && (!self.stuck || self.all_wait(done, state)) {
            return true;
        }
        if !self.visited.insert((done, state)) {
            return false;
        }
        if path.len() > self.best.len() {
            self.best.clone_from(path);
        }
        for call in 0..self.history.outcomes.len() {
            let Some(outcome) = self.history.outcomes[call] else { continue };
            let is_ready = done >> call & 1 == 0 && self.history.before[call] & !done == 0;
            // A call that is stuck has had no effect.
            if !is_ready || self.stuck && outcome == Outcome::Pending {
                continue;
            }
            let Answer::Returns { result, state } = self.specification.execute(state, call) else { continue };
            if outcome != Outcome::Pending && outcome != Outcome::Returned(result) {
                continue;
            }
            path.push(call);
            if self.go_on(done | 1 << call, state, path) {
                return true;
            }
            path.pop();
        }
        false
    }

    fn all_wait(&mut self, done: u64, state: u32) -> bool {
        let pending =
            |call: &usize| self.history.outcomes[*call] == Some(Outcome::Pending) && done >> call & 1 == 0;
        let calls: Vec<usize> = (0..self.history.outcomes.len()).filter(pending).collect();
        calls.into_iter().all(|call| self.specification.execute(state, call) == Answer::Waits)
    }
}
