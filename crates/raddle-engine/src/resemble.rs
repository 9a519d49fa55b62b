//! A strategy that follows a recorded run of a program that has changed since.

use crate::Rng;
use crate::strategy::{Choice, Plan, Point, Strategy};
use raddle_model::{Event, Kind, Pick, ThreadId};

/// Number of recorded steps searched for one that matches a thread's next operation.
const WINDOW: usize = 256;

/// A strategy that follows a recorded run as closely as possible. Recorded steps that a thread no longer
/// takes are skipped; a thread whose next steps are not in the recording takes them at once. Steps are
/// compared by kind alone, because locations and objects have other numbers in a changed program. After the
/// recorded steps, there are no preemptions.
#[derive(Clone, Debug)]
pub struct Resemble {
    events: Vec<Event>,
    picks: Vec<Pick>,
    /// The steps of every thread in `events`.
    own: Vec<Vec<usize>>,
    /// For every thread, the number of its own steps that were taken or skipped.
    done: Vec<usize>,
    /// The recorded step that is due.
    at: usize,
    pick: usize,
    current: Option<ThreadId>,
    /// The recorded step that corresponds to the latest step, if any.
    taken: Option<usize>,
}

impl Resemble {
    /// Creates a strategy that follows these events and decisions.
    pub fn new(events: Vec<Event>, picks: Vec<Pick>) -> Resemble {
        let threads = events.iter().map(|event| event.thread.index() + 1).max().unwrap_or(0);
        let mut own = vec![Vec::new(); threads];
        for (step, event) in events.iter().enumerate() {
            own[event.thread.index()].push(step);
        }
        Resemble { events, picks, own, done: vec![0; threads], at: 0, pick: 0, current: None, taken: None }
    }

    /// Returns the number of steps of `thread` to skip so that the next one is of this kind.
    fn ahead(&self, thread: usize, kind: Kind) -> Option<usize> {
        let rest = &self.own[thread][self.done[thread]..];
        rest.iter().take(WINDOW).position(|&step| self.events[step].operation.kind == kind)
    }

    /// Returns the next thread according to the recording, if a recorded step is left.
    fn due(&mut self, point: &Point<'_>) -> Option<ThreadId> {
        while let Some(&Event { thread, .. }) = self.events.get(self.at) {
            let index = thread.index();
            let is_over = self.own[index].get(self.done[index]).is_none_or(|&step| step > self.at);
            if is_over {
                self.at += 1;
                continue;
            }
            if index >= point.thread_count() || !point.is_enabled(thread) {
                self.done[index] += 1;
                self.at += 1;
                continue;
            }
            match self.ahead(index, point.operation(thread).kind) {
                Some(0) => {
                    self.taken = Some(self.at);
                    self.done[index] += 1;
                    self.at += 1;
                    return Some(thread);
                }
                Some(gone) => self.done[index] += gone,
                None => return Some(thread),
            }
        }
        None
    }
}

impl Strategy for Resemble {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.done.fill(0);
        (self.at, self.pick, self.current, self.taken) = (0, 0, None, None);
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.taken = None;
        let due = self.due(point);
        let current = self.current.filter(|&thread| point.is_enabled(thread));
        self.current = due.or(current).or_else(|| point.enabled().iter().copied().min());
        self.current.map_or(Choice::CutOff, Choice::Run)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        // Answers of skipped steps are skipped too.
        let Some(step) = self.taken else { return 0 };
        while self.picks.get(self.pick).is_some_and(|pick| (pick.step as usize) < step) {
            self.pick += 1;
        }
        let recorded = self.picks.get(self.pick).filter(|pick| pick.step as usize == step);
        self.pick += usize::from(recorded.is_some());
        recorded.map_or(0, |pick| pick.value.min(arity - 1))
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
