//! Barriers. Arriving is the operation; the threads that arrived continue, without a further step, when all
//! are there.
//!
//! Arrivals commute (their order cannot be observed) as long as no more threads use the barrier than it takes, so an arrival
//! touches the barrier as a reader; see [`RunSummary::has_contested_barrier`] for other programs. Where one of the threads asks
//! which is the serial one, the strategy picks it when the barrier opens.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::strategy::{RunSummary, Strategy};
use crate::threads::Status;
use raddle_model::{Kind, ObjectId, Operation, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// Arrives at a barrier. `operation.argument` is 1 if the thread asks for the serial one; if no thread does,
    /// there is none.
    pub(crate) fn barrier(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Effect {
        let object = first(operation);
        let mut arrived = match &mut self.objects.get_mut(object).resource {
            Resource::Barrier { needed, arrived } => {
                arrived.push(thread);
                if arrived.len() < *needed as usize {
                    self.threads.get_mut(thread).status = Status::Inside;
                    self.threads.set_enabled(thread, false);
                    self.threads.note_change(thread);
                    return Effect::Stays;
                }
                std::mem::take(arrived)
            }
            _ => return self.not_usable(thread, object, operation),
        };
        // In thread order, so that the result does not depend on the order of arrival.
        arrived.sort_unstable();
        let asks = arrived.iter().any(|&thread| self.threads.get(thread).operation.argument == 1);
        let serial = asks.then(|| arrived[self.draw(arrived.len() as u32, strategy) as usize]);
        if let Some(serial) = serial {
            // Printed for the thread itself: neither the last arrival nor the numbers of threads are part of
            // the partial order.
            self.print_outcome(serial, 0);
        }
        for &waiting in arrived.iter().rev() {
            self.note_freed(waiting);
            self.threads.get_mut(waiting).status = Status::Running;
            self.make_ready(waiting, Reply::Number(u32::from(serial == Some(waiting))));
        }
        arrived.clear();
        if let Resource::Barrier { arrived: kept, .. } = &mut self.objects.get_mut(object).resource {
            *kept = arrived;
        }
        Effect::Stays
    }
}

impl RunSummary<'_> {
    /// Returns true if more threads arrived at a barrier, or were about to, than it takes. Then who passes together depends on the
    /// order of arrival, although arrivals count as independent.
    pub fn has_contested_barrier(&self) -> bool {
        let mut operations =
            self.trace.events.iter().map(|event| &event.operation).chain(self.trace.pending.iter().flatten());
        operations.any(|operation| operation.kind == Kind::Barrier) && self.has_contested()
    }

    #[cold] // Few programs have barriers.
    fn has_contested(&self) -> bool {
        let is_arrival = |operation: &&Operation| operation.kind == Kind::Barrier;
        let mut users: BTreeMap<ObjectId, BTreeSet<ThreadId>> = BTreeMap::new();
        // What a barrier takes that was destroyed is known from those who passed it.
        let mut passed: BTreeMap<ObjectId, usize> = BTreeMap::new();
        for (index, event) in self.trace.events.iter().enumerate() {
            if is_arrival(&&event.operation) {
                let object = first(&event.operation);
                users.entry(object).or_default().insert(event.thread);
                let freed = self.freed.iter().filter(|(at, _)| *at as usize == index).count();
                if freed > 0 {
                    passed.insert(object, freed);
                }
            }
        }
        for (thread, pending) in self.trace.pending.iter().enumerate() {
            if let Some(operation) = pending.as_ref().filter(is_arrival) {
                users.entry(first(operation)).or_default().insert(ThreadId(thread as u32));
            }
        }
        users.iter().any(|(object, threads)| {
            let needed = match self.objects.get(*object).resource {
                Resource::Barrier { needed, .. } => Some(needed as usize),
                _ => passed.get(object).copied(),
            };
            needed.is_some_and(|needed| threads.len() > needed)
        })
    }
}
