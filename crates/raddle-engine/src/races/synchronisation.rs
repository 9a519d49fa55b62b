//! The happens-before edges of synchronisation. The parent module lists the rules.

use super::{Shadow, Tracker};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::semantics::Effect;
use raddle_model::{Handoff, Kind, MemoryOrder, ObjectId, Operation, ThreadId};

impl Tracker {
    /// Joins the published clock of `object` into that of `thread`.
    fn acquire(&mut self, thread: ThreadId, object: ObjectId) {
        let (clocks, shadow) = self.parts(thread, object);
        clocks.now.join(&shadow.published);
    }

    /// Joins the clock of `thread` into the published clock of `object`.
    fn publish(&mut self, thread: ThreadId, object: ObjectId) {
        let (clocks, shadow) = self.parts(thread, object);
        shadow.published.join(&clocks.now);
    }

    fn take_back(&mut self, thread: ThreadId, object: ObjectId) {
        let (clocks, shadow) = self.parts(thread, object);
        clocks.now.join(&shadow.given_back);
    }

    fn give_back(&mut self, thread: ThreadId, object: ObjectId) {
        let (clocks, shadow) = self.parts(thread, object);
        shadow.given_back.join(&clocks.now);
    }

    fn fence(&mut self, thread: ThreadId, operation: &Operation) {
        let Some(order) = operation.memory_order() else { return };
        let clocks = &mut self.threads[thread.index()];
        if order.acquires() {
            clocks.now.join(&clocks.acquirable);
        }
        if self.is_weak && order == MemoryOrder::SequentiallyConsistent {
            self.fence_sequentially(thread);
        }
        let clocks = &mut self.threads[thread.index()];
        if order.releases() {
            clocks.fenced.set(&clocks.now);
        }
    }

    /// Joins the clock of `other` into that of `thread`.
    fn learn(&mut self, thread: ThreadId, other: ThreadId) {
        self.make_room(thread.max(other));
        if let Ok([learner, teacher]) = self.threads.get_disjoint_mut([thread.index(), other.index()]) {
            learner.now.join(&teacher.now);
        }
    }

    /// Joins the clocks of all `threads`.
    fn meet(&mut self, threads: impl Iterator<Item = ThreadId> + Clone) {
        let Some(first) = threads.clone().next() else { return };
        threads.clone().for_each(|thread| self.learn(first, thread));
        threads.for_each(|thread| self.learn(thread, first));
    }

    /// Records that a value was put into a channel.
    fn send(&mut self, thread: ThreadId, object: ObjectId, bounded: bool) {
        if bounded {
            self.take_back(thread, object);
        }
        let (clocks, shadow) = self.parts(thread, object);
        shadow.values.push_back(clocks.now.clone());
    }

    /// Records that the oldest value was taken out of a channel that holds `queued` now. If there were more
    /// values than clocks, the value was sent before tracking began and carries no clock.
    fn receive(&mut self, thread: ThreadId, object: ObjectId, queued: u64) {
        let (clocks, Shadow { values, .. }) = self.parts(thread, object);
        if values.len() as u64 > queued
            && let Some(clock) = values.pop_front()
        {
            clocks.now.join(&clock);
        }
        self.give_back(thread, object);
    }
}

impl Engine {
    /// Publishes the clock of `thread` on `object` without a step, for threads that
    /// [acquire](Engine::acquire_silently) it.
    pub fn publish_silently(&mut self, thread: ThreadId, object: ObjectId) {
        if self.races.is_on() {
            self.settle_exchange();
            self.races.make_room(thread);
            self.races.publish(thread, object);
        }
    }

    /// Joins the published clock of `object` into that of `thread`, without a step.
    pub fn acquire_silently(&mut self, thread: ThreadId, object: ObjectId) {
        if self.races.is_on() {
            self.settle_exchange();
            self.races.make_room(thread);
            self.races.acquire(thread, object);
        }
    }

    /// Returns true if `thread` holds the read-write lock of `operation` for writing.
    pub(crate) fn has_for_writing(&self, thread: ThreadId, operation: &Operation) -> bool {
        operation.object().is_some_and(|object| {
            let resource = &self.objects.get(object).resource;
            matches!(resource, Resource::ReadWriteLock { writer: Some(writer), .. } if *writer == thread)
        })
    }

    /// Records the operation that `thread` has just executed and its effect. `wrote` is true if the thread
    /// held the read-write lock of the operation for writing.
    #[cold]
    #[inline(never)]
    pub(crate) fn follow(&mut self, thread: ThreadId, operation: &Operation, effect: Effect, wrote: bool) {
        use Reply::{Acquired, Go, Spawned};
        let races = &mut self.races;
        races.tick(thread);
        let reply = match effect {
            Effect::Goes(reply) => Some(reply),
            Effect::Stays => None,
        };
        if operation.kind == Kind::Fence {
            return races.fence(thread, operation);
        }
        if let Some(Spawned(child)) = reply {
            return races.learn(child, thread);
        }
        let Some(object) = operation.object() else { return };
        match operation.kind {
            Kind::Barrier => {
                let step = self.trace.events.len() as u32 - 1;
                let opened = self.freed.iter().rev().take_while(|(at, _)| *at == step);
                races.meet(opened.map(|&(_, arrived)| arrived));
            }
            Kind::ConditionWait => {
                let mutex = operation.touches[1].object();
                mutex.into_iter().for_each(|mutex| races.publish(thread, mutex));
            }
            Kind::ConditionReacquire | Kind::OnceBegin => races.acquire(thread, object),
            Kind::Lock | Kind::TryLock | Kind::ReadLock | Kind::TryReadLock | Kind::ReadLockAgain => {
                if reply == Some(Acquired) {
                    races.acquire(thread, object);
                }
            }
            Kind::SemaphoreWait | Kind::SemaphoreTryWait | Kind::OnceTry | Kind::OnceWait | Kind::Park => {
                if reply == Some(Acquired) {
                    races.acquire(thread, object);
                }
            }
            Kind::WriteLock | Kind::TryWriteLock => {
                if reply == Some(Acquired) {
                    races.acquire(thread, object);
                    races.take_back(thread, object);
                }
            }
            Kind::ReadWriteUnlock if wrote => races.publish(thread, object),
            Kind::ReadWriteUnlock | Kind::ReceiveBegin => races.give_back(thread, object),
            Kind::Unlock | Kind::Downgrade => {
                if reply == Some(Go) {
                    races.publish(thread, object);
                }
            }
            Kind::SemaphorePost | Kind::OnceEnd | Kind::Unpark | Kind::Close => races.publish(thread, object),
            Kind::Join => {
                if let (Some(Acquired), Resource::Thread(target)) =
                    (reply, &self.objects.get(object).resource)
                {
                    races.learn(thread, *target);
                }
            }
            Kind::Send | Kind::TrySend | Kind::SendEnd | Kind::Receive | Kind::TryReceive => {
                self.follow_message(thread, object, operation.kind, reply);
            }
            Kind::Local | Kind::Read | Kind::Write | Kind::ReadModifyWrite => {}
            Kind::Signal | Kind::Broadcast | Kind::Spawn | Kind::Fence => {}
            Kind::Yield | Kind::Sleep | Kind::Choose | Kind::Destroy | Kind::Exit => {}
            // The operations that write and read the connection order the threads.
            Kind::Start | Kind::ParkBegin | Kind::Call | Kind::Return | Kind::Deliver => {}
        }
    }

    /// Records an executed operation on a channel other than its beginning and end.
    fn follow_message(&mut self, thread: ThreadId, object: ObjectId, kind: Kind, reply: Option<Reply>) {
        let races = &mut self.races;
        match (reply, &self.objects.get(object).resource) {
            (Some(Reply::Closed), _) => races.acquire(thread, object),
            (Some(Reply::Acquired), _) if kind == Kind::SendEnd => races.take_back(thread, object),
            (Some(Reply::Acquired), &Resource::Channel { capacity, queued, .. }) => {
                if let Handoff::Gives(_) = kind.info().handoff {
                    races.send(thread, object, capacity != u64::MAX);
                } else {
                    races.receive(thread, object, queued);
                }
            }
            _ => {}
        }
    }
}
