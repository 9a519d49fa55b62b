//! Decides whether a run that fails under weak memory can happen: `runtime/judge.rs` says why it may not.

use super::panics;
use crate::runtime::{self, Runtime};
use raddle_engine::{Choice, Needs, Plan, Point, Replay, Rng, Strategy};
use std::sync::Arc;

/// Repeats the run that `runtime` has just ended. Returns true if it reads an old value that the count of an `Arc` forbids.
pub(super) fn is_impossible(mut runtime: Box<Runtime>, test: &super::driver::Test) -> (Box<Runtime>, bool) {
    let trace = runtime.engine.summary().trace;
    if !runtime.engine.is_weak() || trace.picks.iter().all(|pick| pick.value == 0) {
        return (runtime, false);
    }
    let replay = Replay::of(trace.events.clone(), trace.picks.clone());
    let mut again: Box<dyn Strategy> = Box::new(Again { replay, needs: runtime.strategy.needs() });
    // A replay draws nothing.
    again.begin(Rng::for_run(0, 0));
    std::mem::swap(&mut runtime.strategy, &mut again);
    runtime.judges_old_reads = true;
    runtime = runtime::run(runtime, Arc::clone(test));
    runtime.judges_old_reads = false;
    std::mem::swap(&mut runtime.strategy, &mut again);
    panics::take();
    let is_impossible = std::mem::take(&mut runtime.has_impossible_read);
    (runtime, is_impossible)
}

/// A replay with the needs of the strategy that made the run.
#[derive(Clone)]
struct Again {
    replay: Replay,
    needs: Needs,
}

impl Strategy for Again {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.replay.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.replay.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.replay.pick(arity)
    }

    fn needs(&self) -> Needs {
        Needs { enabled: false, state: false, ..self.needs }
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
