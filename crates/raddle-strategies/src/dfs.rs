//! Depth-first search: every schedule, each exactly once.
//!
//! Paper: none of its own; the exhaustive search that Yuan's thesis, section 2.1, calls systematic
//! concurrency testing and that all reductions and bounds are measured against.
//! Guarantee: in a program whose runs all end, every sequence of decisions (threads, and all other
//! decisions) is run exactly once. Tests: `store_buffering_has_six_schedules`, `every_number_is_tried`.
//! Limits: a program that does not repeat itself under equal decisions ends a branch early; the
//! guarantee is then void. Schedules that the engine's rule against spinning removes are not run either.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::ThreadId;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "dfs",
    family: Family::Systematic,
    summary: "every schedule, depth first",
    parameters: &[],
    source: "textbook",
    guarantee: "every schedule exactly once",
    capabilities: Capabilities { complete: true, ..Capabilities::NONE },
    build: Build::Alone(|_| Ok(Box::new(Dfs::new()))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Dfs {
    /// The decisions that the next run has to repeat, the last of them new. Memory: the depth times the
    /// branching.
    stack: Vec<Node>,
    exhausted: bool,
    /// Number of decisions of the current run.
    at: usize,
}

/// A decision and the untried alternatives.
#[derive(Clone, Debug)]
enum Node {
    /// `left` holds the threads above `taken` that were enabled, the highest first.
    Thread {
        taken: ThreadId,
        left: Vec<ThreadId>,
    },
    Pick {
        value: u32,
        arity: u32,
    },
}

impl Dfs {
    /// Creates a search that has not run anything.
    pub fn new() -> Dfs {
        Dfs::default()
    }

    fn next_decision(&mut self) -> Option<&Node> {
        self.at += 1;
        self.stack.get(self.at - 1)
    }

    /// Replaces the deepest decision that has an untried alternative by the next one.
    fn backtrack(&mut self) {
        while let Some(node) = self.stack.last_mut() {
            match node {
                Node::Thread { taken, left } => {
                    if let Some(next) = left.pop() {
                        *taken = next;
                        return;
                    }
                }
                Node::Pick { value, arity } => {
                    if *value + 1 < *arity {
                        *value += 1;
                        return;
                    }
                }
            }
            self.stack.pop();
        }
        self.exhausted = true;
    }
}

impl Strategy for Dfs {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.at = 0;
        if self.exhausted { Plan::Exhausted } else { Plan::Run }
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        match self.next_decision() {
            Some(&Node::Thread { taken, .. }) if point.is_enabled(taken) => Choice::Run(taken),
            Some(_) => Choice::CutOff,
            None => Choice::Run(*point.enabled().iter().min().expect("a point has an enabled thread")),
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        match self.next_decision() {
            Some(&Node::Pick { value, .. }) => value.min(arity - 1),
            _ => 0,
        }
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let trace = run.trace;
        let mut picks = trace.picks.iter().peekable();
        let mut position = 0;
        let mut joined = trace.joined.iter().map(|&event| event as usize).peekable();
        for (step, event) in trace.events.iter().enumerate() {
            // There was no choice before a step inside a transaction.
            if joined.next_if_eq(&step).is_some() {
                continue;
            }
            if position >= self.stack.len() {
                let above = trace.enabled_at(step).iter().rev().take_while(|&&thread| thread > event.thread);
                self.stack.push(Node::Thread { taken: event.thread, left: above.copied().collect() });
            }
            position += 1;
            while let Some(pick) = picks.next_if(|pick| pick.step as usize == step) {
                if position >= self.stack.len() {
                    self.stack.push(Node::Pick { value: pick.value, arity: pick.arity });
                }
                position += 1;
            }
        }
        self.backtrack();
    }

    fn needs(&self) -> Needs {
        Needs { enabled: true, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::{Engine, Totals, explore};
    use raddle_model::Kind;
    use raddle_testkit::{Act, Script};
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;

    /// Runs `program` to exhaustion; returns the totals and the different sequences of threads and numbers.
    fn search(program: &mut Script) -> (Totals, BTreeSet<Vec<u32>>) {
        let mut seen = BTreeSet::new();
        let mut engine = Engine::new(Default::default());
        let totals = explore(&mut engine, program, &mut Dfs::new(), (0, 0, 10_000), |_, run| {
            let threads = run.trace.events.iter().map(|event| event.thread.0);
            seen.insert(threads.chain(run.trace.picks.iter().map(|pick| pick.value)).collect());
            ControlFlow::Continue(())
        });
        (totals, seen)
    }

    #[test]
    fn store_buffering_has_six_schedules() {
        let (totals, seen) = search(&mut Script::straight(2, &["W0 R1", "W1 R0"]));
        assert_eq!(totals, Totals { complete: 6, cut_off: 0, exhausted: true });
        assert_eq!(seen.len(), 6);
    }

    #[test]
    fn two_threads_of_four_steps_have_seventy_schedules() {
        let (totals, seen) = search(&mut Script::straight(1, &["W0 W0 W0 W0", "W0 W0 W0 W0"]));
        assert_eq!(totals, Totals { complete: 70, cut_off: 0, exhausted: true });
        assert_eq!(seen.len(), 70);
    }

    #[test]
    fn every_number_is_tried() {
        let choose = Act::Bare(Kind::Choose, 3);
        let (totals, seen) = search(&mut Script::new().thread(&[choose, choose]).thread(&[Act::Step]));
        assert_eq!(totals, Totals { complete: 27, cut_off: 0, exhausted: true });
        assert_eq!(seen.len(), 27);
    }

    #[test]
    fn an_empty_program_has_one_schedule() {
        let (totals, _) = search(&mut Script::new());
        assert_eq!(totals, Totals { complete: 1, cut_off: 0, exhausted: true });
    }
}
