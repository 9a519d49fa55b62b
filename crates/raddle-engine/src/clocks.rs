//! Vector clocks over a finished run.

use crate::objects::Resource;
use crate::strategy::RunSummary;
use raddle_model::{Kind, ObjectId, Reads, ThreadId, dependent};
use std::collections::BTreeMap;

/// Which orders between threads count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edges {
    /// All: accesses to any common object, one of which writes.
    All,
    /// Only those that synchronisation makes, not the order of memory accesses.
    Synchronisation,
}

/// For each event, how many events of each thread happen before it or are it.
#[derive(Debug)]
pub struct Clocks {
    threads: usize,
    /// Event after event, one number per thread.
    at: Vec<u32>,
    /// Event after event: the clock of the same thread just before, including what made it exist or woke it.
    before: Vec<u32>,
}

impl Clocks {
    /// The happens-before relation in which any two dependent events are ordered: the partial order of the run.
    pub fn partial_order(run: &RunSummary<'_>) -> Clocks {
        Builder::new(run, Edges::All).build()
    }

    /// The relation in which only synchronisation orders events; two unordered dependent accesses are a data race.
    pub fn synchronisation(run: &RunSummary<'_>) -> Clocks {
        Builder::new(run, Edges::Synchronisation).build()
    }

    /// Whether event `earlier`, the `nth` event of `thread` (from 1), happens before or is event `later`.
    #[inline]
    pub fn ordered(&self, thread: ThreadId, nth: u32, later: usize) -> bool {
        self.at[later * self.threads + thread.index()] >= nth
    }

    /// Whether the `nth` event of `thread` (from 1) was already known to the thread of event `later` just before that
    /// event, so that no schedule can swap the two without changing what came before.
    #[inline]
    pub fn known_before(&self, thread: ThreadId, nth: u32, later: usize) -> bool {
        self.before[later * self.threads + thread.index()] >= nth
    }

    /// The clock of an event: one number per thread.
    pub fn of(&self, event: usize) -> &[u32] {
        &self.at[event * self.threads..][..self.threads]
    }
}

/// Pairs of events of different threads that are dependent and could have come in the other order, as far as
/// synchronisation tells: the conflicts of conflict analysis (thesis, section 4.2.3).
pub fn conflicts(run: &RunSummary<'_>, mut found: impl FnMut(usize, usize)) {
    let clocks = Clocks::synchronisation(run);
    let events = &run.trace.events;
    let mut nth = vec![0_u32; run.thread_count()];
    let mut on: BTreeMap<ObjectId, Vec<(usize, u32)>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        nth[event.thread.index()] += 1;
        for (object, _) in event.operation.objects() {
            let earlier = on.entry(object).or_default();
            for &(other, count) in earlier.iter() {
                let thread = events[other].thread;
                if thread != event.thread
                    && !clocks.known_before(thread, count, index)
                    && dependent(&events[other].operation, &event.operation, Reads::Independent)
                {
                    found(other, index);
                }
            }
            earlier.push((index, nth[event.thread.index()]));
        }
    }
}

struct Builder<'a> {
    run: &'a RunSummary<'a>,
    edges: Edges,
    threads: usize,
    now: Vec<Vec<u32>>,
    /// Per object: the clock of the last write, and the joined clocks of the reads since.
    writes: BTreeMap<ObjectId, Vec<u32>>,
    reads: BTreeMap<ObjectId, Vec<u32>>,
    waiters: BTreeMap<ObjectId, Vec<ThreadId>>,
    /// Per barrier and opening: the joined clocks of those who arrived.
    openings: BTreeMap<(ObjectId, u32), Vec<u32>>,
    arrivals: BTreeMap<ObjectId, u32>,
    /// What a thread has still to learn before its next event: an opening of a barrier.
    leaves: Vec<Option<(ObjectId, u32)>>,
}

impl<'a> Builder<'a> {
    fn new(run: &'a RunSummary<'a>, edges: Edges) -> Builder<'a> {
        let threads = run.thread_count();
        Builder {
            run,
            edges,
            threads,
            now: vec![vec![0; threads]; threads],
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
            waiters: BTreeMap::new(),
            openings: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            leaves: vec![None; threads],
        }
    }

    fn build(mut self) -> Clocks {
        let trace = self.run.trace;
        let size = trace.events.len() * self.threads;
        let mut clocks =
            Clocks { threads: self.threads, at: Vec::with_capacity(size), before: Vec::with_capacity(size) };
        let mut next_thread = trace.parents.iter().take_while(|parent| parent.is_none()).count();
        let mut picks = trace.picks.iter().peekable();
        for (index, event) in trace.events.iter().enumerate() {
            let thread = event.thread.index();
            let operation = &event.operation;
            if let Some(opening) = self.leaves[thread].take() {
                join(&mut self.now[thread], &self.openings[&opening]);
            }
            clocks.before.extend_from_slice(&self.now[thread]);
            let memory = operation.kind <= Kind::ReadModifyWrite;
            if self.edges == Edges::All || !memory {
                self.learn_from_objects(thread, event.operation.objects());
            }
            if let (Kind::Join, Some(object)) = (operation.kind, operation.object())
                && let Resource::Thread(target) = self.run.objects.get(object).resource
            {
                let ended = self.now[target.index()].clone();
                join(&mut self.now[thread], &ended);
            }
            self.now[thread][thread] += 1;
            if self.edges == Edges::All || !memory {
                self.tell_objects(thread, event.operation.objects());
            }
            let mut pick = None;
            while let Some(taken) = picks.next_if(|pick| pick.step as usize == index) {
                pick = Some(taken.value);
            }
            match operation.kind {
                Kind::Spawn if next_thread < self.threads => {
                    self.now[next_thread] = self.now[thread].clone();
                    next_thread += 1;
                }
                Kind::Barrier => self.arrive(event.thread, operation.object()),
                Kind::ConditionWait => {
                    let condition = operation.object().expect("a wait names its condition variable");
                    self.waiters.entry(condition).or_default().push(event.thread);
                }
                Kind::ConditionReacquire => {
                    for queue in self.waiters.values_mut() {
                        queue.retain(|&waiter| waiter != event.thread);
                    }
                }
                Kind::Signal | Kind::Broadcast => {
                    let condition = operation.object().expect("a signal names its condition variable");
                    let queue = self.waiters.entry(condition).or_default();
                    let woken: Vec<ThreadId> = match operation.kind {
                        Kind::Broadcast => std::mem::take(queue),
                        _ if queue.is_empty() => Vec::new(),
                        _ => vec![queue.remove((pick.unwrap_or(0) as usize).min(queue.len() - 1))],
                    };
                    let clock = self.now[thread].clone();
                    for woken in woken {
                        join(&mut self.now[woken.index()], &clock);
                    }
                }
                _ => {}
            }
            clocks.at.extend_from_slice(&self.now[thread]);
        }
        clocks
    }

    fn learn_from_objects(&mut self, thread: usize, objects: impl Iterator<Item = (ObjectId, bool)>) {
        for (object, writes) in objects {
            if let Some(clock) = self.writes.get(&object) {
                join(&mut self.now[thread], clock);
            }
            if let (true, Some(clock)) = (writes, self.reads.get(&object)) {
                join(&mut self.now[thread], clock);
            }
        }
    }

    fn tell_objects(&mut self, thread: usize, objects: impl Iterator<Item = (ObjectId, bool)>) {
        for (object, writes) in objects {
            let clock = &self.now[thread];
            if writes {
                self.writes.insert(object, clock.clone());
                self.reads.remove(&object);
            } else {
                join(self.reads.entry(object).or_insert_with(|| vec![0; clock.len()]), clock);
            }
        }
    }

    fn arrive(&mut self, thread: ThreadId, object: Option<ObjectId>) {
        let Some(object) = object else { return };
        let Resource::Barrier { needed, .. } = self.run.objects.get(object).resource else { return };
        let arrivals = self.arrivals.entry(object).or_insert(0);
        let opening = (object, *arrivals / needed);
        *arrivals += 1;
        let clock = &self.now[thread.index()];
        join(self.openings.entry(opening).or_insert_with(|| vec![0; clock.len()]), clock);
        self.leaves[thread.index()] = Some(opening);
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = (*mine).max(*theirs);
    }
}
