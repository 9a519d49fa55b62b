//! Learns from the first runs which memory is shared, and how it is divided into objects.

use super::begun::Wanted;
use super::state::Server;
use crate::child::interpose::access;
use crate::child::known::{Known, Unit};
use crate::child::results::RunData;
use raddle_engine::{Choice, Plan, Point, Rng, Strategy};
use raddle_model::native::{Answer, Points};
use raddle_model::{Failure, Verdict};

/// The maximum number of runs, and the number of consecutive runs without new results after which learning
/// ends.
const MOST: u64 = 24;
const CALM: u64 = 5;
/// The number of lost or livelocked runs after which learning ends: each may have taken the full time limit.
const LOST: u64 = 3;

impl Server {
    /// Executes the first runs of an instrumented program only to learn which memory is shared. Every server
    /// learns the same, unless a run exceeds its time limit: that is reported, because another server may
    /// then know more. Returns true in a child that must execute one of them.
    ///
    /// Without steps at its accesses, later runs detect memory that only few schedules share just by chance. So two
    /// runs with opposite orders of threads come before random ones, and a search begins again when a run detects
    /// more ([`Server::discovered`]).
    pub(super) fn learn_shared(&mut self) -> bool {
        // A replay receives the recorded knowledge.
        let is_replay = self.setup.strategies.is_empty();
        if is_replay {
            return false;
        }
        self.known = Known::read(&self.setup.shared);
        let mut is_child = false;
        if self.learns_memory() {
            self.learns = true;
            is_child = self.make_learning_runs();
            self.learns = false;
        }
        self.known_bytes = self.shared_bytes(&self.known.units());
        is_child
    }

    /// Returns all shared memory after a run in which several threads touched some that was not known to be
    /// shared, packed; otherwise nothing.
    pub(super) fn discovered(&self, data: &RunData) -> Vec<u64> {
        // A run reports what was known before, too.
        if self.shared_bytes(&data.shared) <= self.known_bytes {
            return Vec::new();
        }
        let mut known = self.known.clone();
        known.add(&data.shared);
        known.packed()
    }

    /// Returns true if it matters which memory is shared.
    fn learns_memory(&self) -> bool {
        self.setup.points == Points::Shared && access::is_instrumented()
    }

    /// Returns the number of shared bytes that matter.
    fn shared_bytes(&self, units: &[Unit]) -> u64 {
        let learns_memory = self.learns_memory();
        let units = units.iter().filter(|unit| learns_memory || !unit.is_memory());
        units.map(|unit| u64::from(unit.bytes())).sum()
    }

    fn make_learning_runs(&mut self) -> bool {
        let (mut calm, mut lost) = (0, 0);
        for run in 0..MOST {
            let strategy: Box<dyn Strategy> = match run {
                0 => Box::new(InOrder { youngest: false }),
                1 => Box::new(InOrder { youngest: true }),
                _ => {
                    let Ok(mut walk) = raddle_strategies::build("random-walk") else { return false };
                    walk.begin(Rng::for_run(!self.setup.seed, run));
                    walk
                }
            };
            let fork = |_: &mut Server| Some(strategy.fork());
            let Some(made) = self.make_run(&fork, run, Points::Shared, None, Wanted::IfFailing) else {
                return true;
            };
            let data = match made {
                Ok(data) => data,
                Err(why) => {
                    if let Answer::Lost { message } | Answer::Refused { message } = why {
                        self.profiling_error.get_or_insert(message);
                    }
                    lost += 1;
                    if lost == LOST {
                        return false;
                    }
                    continue;
                }
            };
            calm = if self.known.add(&data.shared) { 0 } else { calm + 1 };
            if matches!(data.verdict, Verdict::Failed { failure: Failure::StepLimit { .. } }) {
                lost += 1;
                if lost == LOST {
                    return false;
                }
            }
            if calm >= CALM || data.accesses == 0 {
                return false;
            }
        }
        false
    }
}

/// A strategy that always chooses the oldest enabled thread, or always the youngest.
#[derive(Clone, Debug)]
struct InOrder {
    youngest: bool,
}

impl Strategy for InOrder {
    fn begin(&mut self, _: Rng) -> Plan {
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let threads = point.enabled().iter().copied();
        let chosen = if self.youngest { threads.max() } else { threads.min() };
        chosen.map_or(Choice::CutOff, Choice::Run)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        if self.youngest { arity - 1 } else { 0 }
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
