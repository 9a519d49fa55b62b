//! PERIOD: every schedule of two periods, then of three, and so on; a period is a sequence of steps of one
//! thread.
//!
//! Paper: Wen, He, Wu et al., "Controlled Concurrency Testing via Periodical Scheduling", ICSE 2022.
//! Guarantee: in a program whose threads exist from the start, never block and take the same number of
//! steps in every run, each schedule with at most `periods - 1` switches is run exactly once (the first,
//! profiling run is one of them and is repeated), fewer switches first. Test:
//! `all_schedules_with_few_switches_are_run_fewest_first` (tests/systematic).
//! Departures from the paper: a schedule is run as given, without deadline scheduling by the kernel. A
//! period whose thread does not exist yet, waits or has ended is skipped, and the rest runs by thread id
//! at the end; so if threads block, schedules may be missed and runs may repeat. Other decisions (which
//! waiter a signal wakes, data choices) are always answered with 0. A thread's number of steps is the
//! largest seen; if it grows, the new number counts from the next number of periods on.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Name, ThreadId};
use std::collections::BTreeMap;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "period",
    family: Family::Systematic,
    summary: "every schedule of two periods, then of three, and so on",
    parameters: &[parameter("periods", "none", "the most periods")],
    source: "Wen et al., ICSE 2022",
    guarantee: "every schedule with fewer switches than periods, if no thread waits and lengths are as learnt",
    capabilities: Capabilities { leaves_out: |_| true, ..Capabilities::NONE },
    build: Build::Alone(|values| Ok(Box::new(Period::new(values.bound("periods")?)))),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Period {
    max_periods: Option<u32>,
    phase: Phase,
    /// Every thread that ever took a step, in order of appearance, and its largest number of steps.
    learned: Vec<(Name, u64)>,
    /// The value of `learned` at the start of this number of periods. The threads of `sequence` are indices
    /// into it.
    threads: Vec<(Name, u64)>,
    /// Invariant while `phase` is `Periods`: no equal neighbours, each thread of `threads` occurs, none more
    /// often than it has steps.
    sequence: Vec<usize>,
    /// Number of steps of each period. Invariant: at least one, and those of a thread add up to its steps.
    lengths: Vec<u64>,
    /// The current run: its period, and the number of steps taken in it.
    period: usize,
    taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Profile,
    Periods,
    Exhausted,
}

impl Period {
    /// Creates a strategy for schedules of up to `max_periods` periods, or of any number.
    pub fn new(max_periods: Option<u32>) -> Period {
        Period {
            max_periods,
            phase: Phase::Profile,
            learned: Vec::new(),
            threads: Vec::new(),
            sequence: Vec::new(),
            lengths: Vec::new(),
            period: 0,
            taken: 0,
        }
    }

    /// Advances to the next schedule: another split of the same sequence, or another sequence, or more
    /// periods.
    fn advance(&mut self) {
        if (0..self.threads.len()).any(|thread| self.next_split(thread)) {
            return;
        }
        let mut periods = self.sequence.len();
        let mut more = periods > 0 && self.next_sequence(periods);
        while !more {
            self.threads.clone_from(&self.learned);
            self.sequence.clear();
            periods = if periods == 0 { self.threads.len().max(2) } else { periods + 1 };
            if periods > self.most_periods() {
                self.phase = Phase::Exhausted;
                return;
            }
            more = self.next_sequence(periods);
        }
        self.phase = Phase::Periods;
        self.lengths = vec![1; periods];
        for thread in 0..self.threads.len() {
            self.reset_split(thread);
        }
    }

    /// Returns the largest possible number of periods: the thread with the most steps needs another one
    /// between any two of its periods.
    fn most_periods(&self) -> usize {
        let total: u64 = self.threads.iter().map(|&(_, steps)| steps).sum();
        let most = self.threads.iter().map(|&(_, steps)| steps).max().unwrap_or(0);
        let possible = total.min(2 * (total - most) + 1);
        possible.min(self.max_periods.map_or(u64::MAX, u64::from)) as usize
    }

    /// Advances to the next sequence of `periods` threads in lexicographic order, the first one if it is
    /// empty.
    fn next_sequence(&mut self, periods: usize) -> bool {
        let mut least = self.sequence.pop().map_or(0, |last| last + 1);
        let mut used = vec![0_u64; self.threads.len()];
        self.sequence.iter().for_each(|&thread| used[thread] += 1);
        let mut missing = used.iter().filter(|&&periods| periods == 0).count();
        while self.sequence.len() < periods {
            let left = periods - self.sequence.len();
            // It has steps left, and leaves room for those that have not occurred.
            let fits = |&thread: &usize| {
                self.sequence.last() != Some(&thread)
                    && used[thread] < self.threads[thread].1
                    && missing - usize::from(used[thread] == 0) < left
            };
            if let Some(thread) = (least..self.threads.len()).find(fits) {
                missing -= usize::from(used[thread] == 0);
                used[thread] += 1;
                self.sequence.push(thread);
                least = 0;
            } else if let Some(last) = self.sequence.pop() {
                used[last] -= 1;
                missing += usize::from(used[last] == 0);
                least = last + 1;
            } else {
                return false;
            }
        }
        true
    }

    /// Gives all but the last period of `thread` one step and the last one the rest.
    fn reset_split(&mut self, thread: usize) {
        let mut rest = self.threads[thread].1;
        let mut last = 0;
        for place in (0..self.sequence.len()).filter(|&place| self.sequence[place] == thread) {
            self.lengths[place] = 1;
            rest -= 1;
            last = place;
        }
        self.lengths[last] += rest;
    }

    /// Advances to the next split of the steps of `thread` in lexicographic order. After the last one,
    /// restores the first and returns false.
    fn next_split(&mut self, thread: usize) -> bool {
        let places: Vec<usize> =
            (0..self.sequence.len()).filter(|&place| self.sequence[place] == thread).collect();
        // The rightmost period that can grow is the one before the rightmost that can shrink.
        let Some(shrinks) = (1..places.len()).rev().find(|&nth| self.lengths[places[nth]] > 1) else {
            if !places.is_empty() {
                self.reset_split(thread);
            }
            return false;
        };
        self.lengths[places[shrinks - 1]] += 1;
        let rest = self.lengths[places[shrinks]] - 1;
        self.lengths[places[shrinks]] = 1;
        let last = places[places.len() - 1];
        self.lengths[last] += rest - 1;
        true
    }

    fn thread_of(&self, period: usize, point: &Point<'_>) -> Option<ThreadId> {
        let name = self.threads[self.sequence[period]].0;
        (0..point.thread_count() as u32).map(ThreadId).find(|&thread| point.thread_name(thread) == name)
    }
}

impl Strategy for Period {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.period = 0;
        self.taken = 0;
        if self.phase == Phase::Exhausted { Plan::Exhausted } else { Plan::Run }
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if self.phase == Phase::Profile
            && let Some(last) = point.last()
            && point.is_enabled(last.thread)
        {
            return Choice::Run(last.thread);
        }
        while self.period < self.sequence.len() {
            if self.taken < self.lengths[self.period]
                && let Some(thread) = self.thread_of(self.period, point)
                && point.is_enabled(thread)
            {
                self.taken += 1;
                return Choice::Run(thread);
            }
            self.period += 1;
            self.taken = 0;
        }
        Choice::Run(*point.enabled().iter().min().expect("a point has an enabled thread"))
    }

    fn pick(&mut self, _arity: u32) -> u32 {
        0
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let mut steps: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for event in &run.trace.events {
            *steps.entry(event.thread).or_insert(0) += 1;
        }
        for (thread, steps) in steps {
            let name = run.thread_name(thread);
            match self.learned.iter_mut().find(|(known, _)| *known == name) {
                Some((_, most)) => *most = steps.max(*most),
                None => self.learned.push((name, steps)),
            }
        }
        self.advance();
    }

    fn learns(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
