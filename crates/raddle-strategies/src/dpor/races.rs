//! Reversible races of a run, and the threads that have to go first to reverse them.
//!
//! An event is a transaction here, in most runs a single operation. If the later transaction of a race has several operations,
//! only the first of them is certain to be executed once the race is reversed. So its thread counts as one that may go
//! first only if nothing else has to be executed before it.

use raddle_engine::{Clocks, RunSummary};
use raddle_model::{Event, Holding, Kind, LockMode, ObjectId, Operation, Reads, ThreadId, Trace, dependent};
use std::collections::BTreeMap;

/// The events of a run with their order.
pub(super) struct Races<'a> {
    trace: &'a Trace,
    run: RunSummary<'a>,
    clocks: Clocks,
    /// The index of the first operation of each event, then the number of operations.
    starts: Vec<usize>,
    /// Per event: the 1-based index of its first operation in its thread.
    nth: Vec<u32>,
    /// Per object: the events that touch it.
    on: BTreeMap<ObjectId, Vec<usize>>,
    /// Per thread: its events.
    of: Vec<Vec<usize>>,
    /// Per thread: the operation that created it, if it did not exist from the start.
    made_at: Vec<Option<usize>>,
    /// The event that ended the run while others could have continued.
    ending: Option<usize>,
}

/// The later operation of a race: executed, or announced at the end of the run.
struct Later<'a> {
    thread: ThreadId,
    /// The first operation.
    operation: Operation,
    /// The other ones.
    rest: &'a [Event],
    /// The index of the event; the number of events if it was not executed.
    index: usize,
}

impl Later<'_> {
    fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        std::iter::once(self.operation).chain(self.rest.iter().map(|event| event.operation))
    }

    /// Returns the objects that are touched, each once, with true if it is written.
    fn objects(&self) -> Vec<(ObjectId, bool)> {
        let mut objects: Vec<(ObjectId, bool)> = Vec::new();
        for (object, writes) in self.operations().flat_map(|operation| operation.objects()) {
            match objects.iter_mut().find(|known| known.0 == object) {
                Some(known) => known.1 |= writes,
                None => objects.push((object, writes)),
            }
        }
        objects
    }
}

impl<'a> Races<'a> {
    /// Indexes the events of a run. `ended` is true if the last event ended the run, even if it is not an
    /// exit.
    pub(super) fn new(run: &RunSummary<'a>, ended: bool) -> Races<'a> {
        let trace = run.trace;
        let mut on: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        let mut of = vec![Vec::new(); run.thread_count()];
        let mut nth = Vec::with_capacity(trace.events.len());
        let mut starts = trace.transactions();
        starts.push(trace.events.len());
        let mut counts = vec![0; run.thread_count()];
        for (index, range) in starts.windows(2).enumerate() {
            let events = &trace.events[range[0]..range[1]];
            for (object, _) in events.iter().flat_map(|event| event.operation.objects()) {
                let list = on.entry(object).or_default();
                if list.last() != Some(&index) {
                    list.push(index);
                }
            }
            let thread = events[0].thread.index();
            of[thread].push(index);
            nth.push(counts[thread] + 1);
            counts[thread] += events.len() as u32;
        }
        let is_exit = || trace.events.last().is_some_and(|event| event.operation.kind == Kind::Exit);
        let ending = starts.len().checked_sub(2).filter(|_| ended || is_exit());
        let made_at = (0..run.thread_count()).map(|thread| run.made_at(ThreadId(thread as u32))).collect();
        Races { trace, run: *run, clocks: Clocks::partial_order(run), starts, nth, on, of, made_at, ending }
    }

    /// Calls `found` with a step and the threads one of which has to be tried at that step, for each race
    /// whose later operation is event `first` or a later one, or was not executed.
    pub(super) fn find(&self, first: usize, mut found: impl FnMut(usize, &[ThreadId])) {
        let count = self.nth.len();
        for index in first..count {
            let (event, rest) = (self.event(index), &self.events(index)[1..]);
            let later = Later { thread: event.thread, operation: event.operation, rest, index };
            self.find_before(&later, &mut found);
        }
        for thread in (0..self.of.len()).map(|thread| ThreadId(thread as u32)) {
            if let Some(step) = self.removed_at(thread).filter(|&step| step >= first) {
                found(step, &[thread]);
            }
        }
        // In a run that was cut off, the threads that could have continued are asleep: other runs cover them.
        let asleep = self.enabled_at(count);
        for (number, pending) in self.trace.pending.iter().enumerate() {
            let thread = ThreadId(number as u32);
            if let (Some(operation), false) = (*pending, asleep.contains(&thread)) {
                self.find_before(&Later { thread, operation, rest: &[], index: count }, &mut found);
            }
        }
    }

    /// Returns the step at which another thread ended `thread`, which was enabled and did nothing more.
    fn removed_at(&self, thread: ThreadId) -> Option<usize> {
        if self.trace.pending.get(thread.index()).is_some_and(Option::is_some) {
            return None;
        }
        let after = self.of[thread.index()].last().map_or(0, |&last| last + 1);
        (after..self.nth.len()).rev().find(|&step| self.enabled_at(step).contains(&thread))
    }

    fn find_before(&self, later: &Later<'_>, found: &mut impl FnMut(usize, &[ThreadId])) {
        let mut initials = Vec::new();
        for earlier in self.candidates(later) {
            self.initials(earlier, later, &mut initials);
            found(earlier, &initials);
        }
    }

    /// Returns the earlier events with which the order of `later` has to be reversed.
    fn candidates(&self, later: &Later<'_>) -> Vec<usize> {
        let mut candidates = Vec::new();
        if self.ending == Some(later.index) {
            let last = self.of.iter().filter_map(|events| events.last().copied());
            let may_end_before = |&earlier: &usize| !self.exits_last() || self.was_ready(earlier, later);
            candidates.extend(last.filter(may_end_before).filter(|&earlier| self.may_swap(earlier, later)));
        } else {
            if later.rest.is_empty() {
                for (object, writes) in later.operation.objects() {
                    self.candidates_on(object, writes, later, &mut candidates);
                }
            } else {
                for (object, writes) in later.objects() {
                    self.candidates_on(object, writes, later, &mut candidates);
                }
            }
            let ending = self.ending.filter(|&ending| ending < later.index);
            let ending = ending.filter(|&ending| !self.exits_last() || self.was_ready(ending, later));
            candidates.extend(ending.filter(|&earlier| self.may_swap(earlier, later)));
        }
        candidates.sort_unstable();
        candidates.dedup();
        if self.ending == Some(later.index) || self.is_never_blocked(later) {
            // Such an operation is never blocked, so only immediate races count; the others follow from them.
            let all = candidates.clone();
            candidates.retain(|&earlier| !all.iter().any(|&other| self.precedes(earlier, other)));
        }
        candidates
    }

    /// Returns true if the run ended by an exit that waited until no other thread could continue. It can be swapped only with
    /// what was enabled together with it, because time had to pass for both.
    fn exits_last(&self) -> bool {
        self.trace.exit_last
            && self.ending.is_some_and(|ending| self.event(ending).operation.kind == Kind::Exit)
    }

    /// Adds the candidates on one object. Races with events before a write follow from the race with that
    /// write, but only if that one can be reversed; if this is not certain, the earlier events are examined
    /// as well. (An acquisition can be swapped with an earlier one, but not with the release between them.)
    fn candidates_on(&self, object: ObjectId, writes: bool, later: &Later<'_>, candidates: &mut Vec<usize>) {
        for &earlier in self.touching(object, later.index).iter().rev() {
            let mut touched = self.events(earlier).iter().flat_map(|event| event.operation.objects());
            let wrote = touched.any(|(other, wrote)| other == object && wrote);
            let swaps = (writes || wrote) && self.may_swap(earlier, later);
            if swaps {
                candidates.push(earlier);
            }
            if wrote
                && (self.is_never_blocked(later)
                    || self.known(earlier, later)
                    || (swaps && self.was_ready(earlier, later)))
            {
                break;
            }
        }
    }

    /// Returns the events before `before` that touch `object`.
    fn touching(&self, object: ObjectId, before: usize) -> &[usize] {
        let all = self.on.get(&object).map_or(&[][..], Vec::as_slice);
        &all[..all.partition_point(|&index| index < before)]
    }

    /// Returns true if the order of two dependent operations may be reversible.
    fn may_swap(&self, earlier: usize, later: &Later<'_>) -> bool {
        self.event(earlier).thread != later.thread
            && !self.known(earlier, later)
            && !self.excludes(earlier, later)
            && (!self.awaits_mail(later) || self.was_ready(earlier, later))
    }

    /// Returns true if `later` itself could have been executed instead of `earlier`.
    fn was_ready(&self, earlier: usize, later: &Later<'_>) -> bool {
        let own = &self.of[later.thread.index()];
        let before = own[..own.partition_point(|&index| index < later.index)].last();
        before.is_none_or(|&before| before < earlier) && self.enabled_at(earlier).contains(&later.thread)
    }

    /// Returns true if the thread of `later` could not execute that operation just before `earlier`, whatever
    /// else is swapped, because the thread of `earlier` then holds what it needs. Returns false if unsure.
    fn excludes(&self, earlier: usize, later: &Later<'_>) -> bool {
        let Some(object) = later.operation.object() else { return false };
        let timed = later.operation.argument != Operation::UNTIMED;
        let event = self.event(earlier);
        let held = || self.held(event.thread, object, earlier);
        match later.operation.kind.info().holding {
            Holding::Takes(_) if timed => false,
            Holding::Takes(LockMode::Exclusive) | Holding::TakesBack => held().is_some(),
            Holding::Takes(LockMode::Shared) => held() == Some(LockMode::Exclusive),
            Holding::BeginsOnce => {
                event.operation.kind == Kind::OnceEnd && event.operation.object() == Some(object)
            }
            Holding::None | Holding::Tries(_) | Holding::GivesBack | Holding::GivesBackToWait => false,
            Holding::Downgrades | Holding::AwaitsOnce | Holding::EndsOnce => false,
        }
    }

    /// Returns the mode in which `thread` certainly holds a lock just before event `before`. Attempts that
    /// may have failed do not count.
    fn held(&self, thread: ThreadId, lock: ObjectId, before: usize) -> Option<LockMode> {
        let decisive = |&index: &usize| {
            let event = self.event(index);
            let sure = event.operation.argument == Operation::UNTIMED;
            match event.operation.kind.info().holding {
                _ if event.thread != thread => None,
                Holding::Takes(_) if !sure => None,
                Holding::Takes(mode) => Some(Some(mode)),
                Holding::TakesBack => Some(Some(LockMode::Exclusive)),
                Holding::Downgrades => Some(Some(LockMode::Shared)),
                Holding::GivesBack | Holding::GivesBackToWait => Some(None),
                Holding::None | Holding::Tries(_) => None,
                Holding::BeginsOnce | Holding::AwaitsOnce | Holding::EndsOnce => None,
            }
        };
        self.touching(lock, before).iter().rev().find_map(decisive).flatten()
    }

    /// Collects the initials of the sequence that consists of all events between `earlier` and `later` that
    /// do not depend on `earlier`, then `later`: the threads whose first event may come first in it. The
    /// thread of `later` is first in the list if it is one of them.
    fn initials(&self, earlier: usize, later: &Later<'_>, initials: &mut Vec<ThreadId>) {
        initials.clear();
        // Per thread its first event of the sequence.
        let mut first: Vec<Option<usize>> = vec![None; self.of.len()];
        let mut free = true;
        for index in earlier + 1..later.index {
            if self.precedes(earlier, index) {
                continue;
            }
            let event = self.event(index);
            first[event.thread.index()].get_or_insert(index);
            free = free
                && later.rest.is_empty()
                && event.thread != later.thread
                && !self.known(index, later)
                && !self.depends(index, &later.operation);
        }
        if free {
            initials.push(later.thread);
        }
        let is_first = |&index: &usize| {
            first.iter().flatten().all(|&other| other >= index || !self.precedes(other, index))
        };
        initials
            .extend(first.iter().flatten().filter(|index| is_first(index)).map(|&i| self.event(i).thread));
    }

    /// Returns true if an operation is a local step, a memory access, or one on a mailbox that does not wait;
    /// such an operation is never blocked.
    fn is_never_blocked(&self, later: &Later<'_>) -> bool {
        let kind = later.operation.kind;
        later.operations().all(|operation| operation.kind.is_memory())
            || ((kind == Kind::Send || kind == Kind::TryReceive)
                && later.operation.object().is_some_and(|object| self.run.is_mailbox(object)))
    }

    /// Returns true if an operation waits until something comes to a mailbox. Messages from before its thread
    /// began to wait do not end the wait, and of the later ones the first is needed. So it can be swapped
    /// only with messages that come when it is already enabled. A background thread may be given something by
    /// an operation that does not touch its mailbox, so this returns false for it.
    fn awaits_mail(&self, later: &Later<'_>) -> bool {
        later.operation.kind == Kind::Receive
            && !self.run.is_background(later.thread)
            && later.operation.object().is_some_and(|object| self.run.is_mailbox(object))
    }

    /// Returns the first operation of an event.
    fn event(&self, index: usize) -> &'a Event {
        &self.trace.events[self.starts[index]]
    }

    /// Returns the operations of an event.
    fn events(&self, index: usize) -> &'a [Event] {
        &self.trace.events[self.starts[index]..self.starts[index + 1]]
    }

    /// Returns the threads that were enabled before an event, or at the end.
    fn enabled_at(&self, index: usize) -> &'a [ThreadId] {
        self.trace.enabled_at(self.starts[index])
    }

    fn depends(&self, index: usize, operation: &Operation) -> bool {
        let depends = |event: &Event| dependent(&event.operation, operation, Reads::Independent);
        self.ending == Some(index) || self.events(index).iter().any(depends)
    }

    /// Returns true if one executed event precedes another in the partial order.
    fn precedes(&self, earlier: usize, later: usize) -> bool {
        earlier < later
            && (self.ending == Some(later)
                || self.clocks.ordered(self.event(earlier).thread, self.nth[earlier], self.starts[later]))
    }

    /// Returns true if the thread of `later` knew of `earlier` just before it, so that the two cannot be
    /// swapped. For an operation that was not executed, the event that woke its thread is ignored, so the
    /// result may be false although the two cannot be swapped.
    fn known(&self, earlier: usize, later: &Later<'_>) -> bool {
        let (thread, nth) = (self.event(earlier).thread, self.nth[earlier]);
        if later.index < self.nth.len() {
            return self.clocks.known_before(thread, nth, self.starts[later.index]);
        }
        let last = self.of[later.thread.index()].last().map(|&last| self.starts[last + 1] - 1);
        let source = last.or(self.made_at[later.thread.index()]);
        source.is_some_and(|source| self.clocks.ordered(thread, nth, source))
    }
}
