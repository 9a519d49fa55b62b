//! A strategy that repeats a recorded schedule and detects divergence.

use crate::Rng;
use crate::strategy::{Choice, Plan, Point, Strategy};
use raddle_model::{Event, Pick, Trace};

/// A strategy that follows a recorded run. If the program diverges from it, the run is cut off and
/// [`Replay::divergence`] returns the first difference.
#[derive(Clone, Debug)]
pub struct Replay {
    events: Vec<Event>,
    picks: Vec<Pick>,
    step: usize,
    pick: usize,
    divergence: Option<Divergence>,
}

/// The first difference of a replay from the recorded run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at step {step}: {what}")]
pub struct Divergence {
    /// The first step that could not be repeated, from 0.
    pub step: usize,
    /// A description of the difference.
    pub what: String,
}

impl Replay {
    /// Creates a replay of `trace`.
    pub fn new(trace: &Trace) -> Replay {
        Replay::of(trace.events.clone(), trace.picks.clone())
    }

    /// Creates a replay of these events and decisions.
    pub fn of(events: Vec<Event>, picks: Vec<Pick>) -> Replay {
        Replay { events, picks, step: 0, pick: 0, divergence: None }
    }

    /// Returns the first difference of the latest run from the recorded one, if any. A run that ended before
    /// all recorded steps were taken differs too.
    pub fn divergence(&self) -> Option<Divergence> {
        self.divergence.clone().or_else(|| self.missing_pick()).or_else(|| self.missing_step())
    }

    /// Returns a recorded decision of a repeated step that was not requested again.
    fn missing_pick(&self) -> Option<Divergence> {
        let pick = self.picks.get(self.pick).filter(|pick| (pick.step as usize) < self.step)?;
        let what = format!("the recorded choice among {} was not requested", pick.arity);
        Some(Divergence { step: pick.step as usize, what })
    }

    fn missing_step(&self) -> Option<Divergence> {
        (self.step < self.events.len()).then(|| Divergence {
            step: self.step,
            what: format!("the program ended, but the recorded run has {} steps", self.events.len()),
        })
    }

    fn diverge(&mut self, what: String) -> Choice {
        self.divergence = Some(Divergence { step: self.step, what });
        Choice::CutOff
    }
}

impl Strategy for Replay {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.step = 0;
        self.pick = 0;
        self.divergence = None;
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        // It was not asked about steps inside transactions.
        self.step = point.step as usize;
        if self.divergence.is_none() {
            self.divergence = self.missing_pick();
        }
        if self.divergence.is_some() {
            return Choice::CutOff;
        }
        let Some(&Event { thread, operation }) = self.events.get(self.step) else {
            return self.diverge("the program continues, but the recorded run ended here".to_owned());
        };
        if !point.is_enabled(thread) {
            return self.diverge(format!("thread {} cannot run, but did in the recorded run", thread.0));
        }
        let next = *point.operation(thread);
        if next != operation {
            return self.diverge(next.departure(thread, &operation));
        }
        self.step += 1;
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        // The step that makes this decision has been counted already.
        let step = self.step.saturating_sub(1);
        let recorded = self.picks.get(self.pick);
        let recorded = recorded.filter(|pick| pick.arity == arity && pick.step as usize == step);
        let recorded = recorded.map(|pick| pick.value);
        self.pick += 1;
        recorded.unwrap_or_else(|| {
            if self.divergence.is_none() {
                let what = format!("a choice among {arity} was requested, unlike in the recorded run");
                self.divergence = Some(Divergence { step, what });
            }
            0
        })
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
