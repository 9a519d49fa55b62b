//! The effect of each operation on each kind of object, and its enabling condition. One file per family.

mod barrier;
mod channel;
mod condition;
mod mailbox;
mod mutex;
mod once;
mod park;
mod rwlock;
mod semaphore;

use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::strategy::Strategy;
use crate::threads::Status;
use raddle_model::{Failure, Kind, ObjectId, Operation, ThreadId, Verdict, mix};

/// The effect of an executed operation on its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// The thread continues with this reply.
    Goes(Reply),
    /// The thread waits inside the operation, or the run is over.
    Stays,
}

impl Engine {
    /// Returns true if the announced operation of `thread` can be executed now.
    #[inline(always)] // One comparison and a call.
    pub(crate) fn can_run(&self, thread: ThreadId) -> bool {
        let operation = self.threads.operation(thread);
        if operation.kind == Kind::Lock {
            // The most common wait.
            return self.can_lock(thread, first(operation)) || self.may_time_out(thread);
        }
        self.can_run_otherwise(thread, operation)
    }

    #[inline(never)] // Several callers that are to stay short.
    fn can_run_otherwise(&self, thread: ThreadId, operation: &Operation) -> bool {
        match operation.kind {
            Kind::Lock => self.can_lock(thread, first(operation)) || self.may_time_out(thread),
            Kind::ReadLock => self.can_read_lock(thread, first(operation)) || self.may_time_out(thread),
            Kind::WriteLock => self.can_write_lock(first(operation)) || self.may_time_out(thread),
            Kind::ConditionReacquire => self.can_reacquire(thread, operation),
            Kind::SemaphoreWait => self.can_wait(first(operation)) || self.may_time_out(thread),
            Kind::OnceBegin => self.can_begin_once(first(operation)),
            Kind::OnceWait => self.can_end_once_wait(operation),
            Kind::Join => self.has_ended(first(operation)) || self.may_time_out(thread),
            Kind::Sleep => self.may_time_out(thread),
            Kind::Send => self.can_send(first(operation)),
            Kind::SendEnd => self.can_end_send(operation),
            Kind::Receive => self.can_receive(first(operation)) || self.may_time_out(thread),
            Kind::Park => self.can_park(first(operation)) || self.may_time_out(thread),
            Kind::Deliver => self.can_receive(first(operation)),
            Kind::Exit => self.may_exit(thread),
            Kind::Local | Kind::Read | Kind::Write | Kind::ReadModifyWrite => true,
            Kind::TryLock | Kind::Unlock | Kind::ConditionWait | Kind::Signal | Kind::Broadcast => true,
            Kind::TryReadLock | Kind::TryWriteLock | Kind::ReadWriteUnlock | Kind::Downgrade => true,
            Kind::SemaphoreTryWait | Kind::SemaphorePost | Kind::Barrier | Kind::OnceEnd | Kind::OnceTry => {
                true
            }
            Kind::TrySend | Kind::ReceiveBegin | Kind::TryReceive | Kind::Close | Kind::Unpark => true,
            Kind::Spawn | Kind::Yield | Kind::Choose | Kind::Fence | Kind::Destroy => true,
            Kind::Start | Kind::ParkBegin | Kind::ReadLockAgain | Kind::Call | Kind::Return => true,
        }
    }

    /// Executes an operation other than a memory access.
    pub(crate) fn perform(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Effect {
        match operation.kind {
            Kind::Local | Kind::Read | Kind::Write | Kind::ReadModifyWrite | Kind::Yield | Kind::Fence => {
                Effect::Goes(Reply::Go)
            }
            Kind::Call | Kind::Return => Effect::Goes(Reply::Go),
            Kind::Start => {
                self.unprint(thread);
                Effect::Goes(Reply::Go)
            }
            Kind::Sleep => self.slept(thread),
            Kind::Lock => self.lock(thread, operation),
            Kind::TryLock => self.try_lock(thread, operation),
            Kind::Unlock => self.unlock(thread, operation),
            Kind::ReadLock | Kind::TryReadLock => self.read_lock(thread, operation),
            Kind::ReadLockAgain => self.read_lock_again(thread, operation, strategy),
            Kind::WriteLock | Kind::TryWriteLock => self.write_lock(thread, operation),
            Kind::ReadWriteUnlock => self.read_write_unlock(thread, operation),
            Kind::Downgrade => self.downgrade(thread, operation),
            Kind::ConditionWait => self.condition_wait(thread, operation),
            Kind::ConditionReacquire => self.condition_reacquire(thread, operation),
            Kind::Signal => self.signal(thread, operation, strategy),
            Kind::Broadcast => self.broadcast(thread, operation),
            Kind::SemaphoreWait | Kind::SemaphoreTryWait => self.semaphore_wait(thread, operation),
            Kind::SemaphorePost => self.semaphore_post(thread, operation),
            Kind::Barrier => self.barrier(thread, operation, strategy),
            Kind::OnceBegin => self.once_begin(thread, operation),
            Kind::OnceEnd => self.once_end(thread, operation),
            Kind::OnceTry | Kind::OnceWait => self.once_try(thread, operation),
            Kind::Send | Kind::TrySend => self.send(thread, operation),
            Kind::SendEnd => self.send_end(thread, operation),
            Kind::ReceiveBegin => self.receive_begin(thread, operation),
            Kind::Receive | Kind::TryReceive => self.receive(thread, operation),
            Kind::Deliver => self.deliver(thread, operation, strategy),
            Kind::Close => self.close(thread, operation),
            Kind::Spawn => {
                let parent = self.threads.get_mut(thread);
                let name = parent.name.child(u64::from(parent.children));
                parent.children += 1;
                Effect::Goes(Reply::Spawned(self.new_thread((name, mix(name.0)), Some(thread))))
            }
            Kind::Join if self.has_ended(first(operation)) => Effect::Goes(Reply::Acquired),
            Kind::Join => {
                // The end of a thread is not an access, so nothing else in the fingerprint shows that it came
                // later.
                self.print_outcome(thread, 0);
                Effect::Goes(Reply::TimedOut)
            }
            Kind::Choose => {
                let arity = u32::try_from(operation.argument).unwrap_or(u32::MAX);
                Effect::Goes(Reply::Number(self.ask(thread, arity, strategy)))
            }
            Kind::Destroy => self.destroy(thread, operation),
            Kind::ParkBegin => {
                let value = self.draw(2, strategy);
                match value {
                    0 => self.unprint(thread),
                    _ => self.print_outcome(thread, u64::from(value)),
                }
                Effect::Goes(Reply::Number(value))
            }
            Kind::Park => self.park(thread, operation),
            Kind::Unpark => self.unpark(thread, operation),
            Kind::Exit => {
                if operation.argument == Operation::ADDED {
                    self.unprint(thread);
                }
                self.end(Verdict::Passed);
                Effect::Stays
            }
        }
    }

    fn slept(&mut self, thread: ThreadId) -> Effect {
        let deadline = self.threads.get(thread).deadline;
        self.now = self.now.max(deadline);
        if self.now > self.config.time_limit {
            self.end(self.out_of_time());
            return Effect::Stays;
        }
        Effect::Goes(Reply::TimedOut)
    }

    fn has_ended(&self, object: ObjectId) -> bool {
        match self.objects.get(object).resource {
            Resource::Thread(thread) => self.threads.get(thread).status == Status::Done,
            _ => true,
        }
    }

    /// Destroys a synchronisation object that no thread uses.
    fn destroy(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let object = first(operation);
        let busy = match &self.objects.get(object).resource {
            Resource::Mutex { owner, .. } => owner.is_some(),
            Resource::ReadWriteLock { writer, readers } => writer.is_some() || !readers.is_empty(),
            Resource::Condition { waiters } => !waiters.is_empty(),
            Resource::Barrier { arrived, .. } => !arrived.is_empty(),
            Resource::Destroyed => return self.misuse(thread, operation, "destroyed twice"),
            _ => false,
        };
        if busy {
            return self.misuse(thread, operation, "destroyed while in use");
        }
        self.objects.get_mut(object).resource = Resource::Destroyed;
        self.refresh(object);
        Effect::Goes(Reply::Go)
    }

    /// Ends the run because a synchronisation object was misused.
    pub(crate) fn misuse(&mut self, thread: ThreadId, operation: &Operation, rule: &str) -> Effect {
        self.misuse_of(thread, first(operation), operation, rule)
    }

    /// Does [`Engine::misuse`] for an object that is not the first one touched.
    pub(crate) fn misuse_of(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        operation: &Operation,
        rule: &str,
    ) -> Effect {
        let location = operation.location;
        self.fail(Failure::Misuse { thread, object, location, message: rule.to_owned() });
        Effect::Stays
    }

    /// Ends the run because the object is destroyed or has another type.
    pub(crate) fn not_usable(&mut self, thread: ThreadId, object: ObjectId, operation: &Operation) -> Effect {
        let rule = match self.objects.get(object).resource {
            Resource::Destroyed => "used after it was destroyed",
            _ => "used as an object of another type",
        };
        self.misuse_of(thread, object, operation, rule)
    }
}

/// Returns the object of a synchronisation operation.
#[inline]
fn first(operation: &Operation) -> ObjectId {
    operation.object().expect("a synchronisation operation names its object")
}
