//! Condition variables. A wait is two operations: releasing the mutex and queueing, then taking the mutex
//! back.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::strategy::Strategy;
use crate::threads::Wake;
use raddle_model::{Access, Kind, ObjectId, Operation, ThreadId};

impl Engine {
    /// Executes the first half of a wait. `operation` names the condition variable and then the mutex.
    pub(crate) fn condition_wait(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let condition = first(operation);
        let mutex = second(operation);
        let deadline = self.threads.get(thread).deadline;
        match &mut self.objects.get_mut(mutex).resource {
            Resource::Mutex { owner, depth, .. } if *owner == Some(thread) && *depth == 1 => {
                *owner = None;
                *depth = 0;
            }
            Resource::Mutex { owner, .. } if *owner == Some(thread) => {
                return self.misuse_of(
                    thread,
                    mutex,
                    operation,
                    "used in a wait while locked more than once",
                );
            }
            Resource::Mutex { .. } => {
                return self.misuse_of(
                    thread,
                    mutex,
                    operation,
                    "used in a wait by a thread that does not hold it",
                );
            }
            _ => return self.not_usable(thread, mutex, operation),
        }
        match &mut self.objects.get_mut(condition).resource {
            Resource::Condition { waiters } => waiters.push_back(thread),
            _ => return self.not_usable(thread, condition, operation),
        }
        let mut back = Operation::new(Kind::ConditionReacquire, operation.location).on(mutex, Access::Write);
        let timed = operation.argument != Operation::UNTIMED;
        if timed {
            // A timeout takes the thread out of the queue, so it does not commute with a signal.
            back = back.on(condition, Access::Write);
        }
        let entry = self.threads.get_mut(thread);
        entry.wake = Wake::None;
        entry.deadline = if timed { deadline } else { u64::MAX };
        self.advance_local(thread);
        self.await_turn(thread, back);
        self.refresh_mutex(mutex, true);
        if std::mem::take(&mut self.threads.get_mut(thread).interrupted) {
            self.interrupt(thread);
        }
        Effect::Stays
    }

    pub(crate) fn can_reacquire(&self, thread: ThreadId, operation: &Operation) -> bool {
        let entry = self.threads.get(thread);
        let woken = entry.wake != Wake::None || (entry.deadline != u64::MAX && self.trace.timeouts_anytime);
        woken && self.can_lock(thread, first(operation))
    }

    /// Executes the second half of a wait. `operation` names the mutex first.
    pub(crate) fn condition_reacquire(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let mutex = first(operation);
        let signalled = self.threads.get(thread).wake == Wake::Signalled;
        if !signalled {
            for (object, _) in operation.objects() {
                if let Resource::Condition { waiters } = &mut self.objects.get_mut(object).resource {
                    waiters.retain(|&waiter| waiter != thread);
                }
            }
        }
        match self.lock(thread, operation) {
            Effect::Goes(Reply::Acquired) if signalled => Effect::Goes(Reply::Go),
            Effect::Goes(Reply::Acquired) => Effect::Goes(Reply::TimedOut),
            Effect::Goes(_) => unreachable!("object {} was free when the wait was enabled", mutex.0),
            Effect::Stays => Effect::Stays,
        }
    }

    /// Returns true if a signal asks the strategy for nothing: at most one thread waits.
    pub(crate) fn has_no_choice_of_waiters(&self, signal: &Operation) -> bool {
        matches!(&self.objects.get(first(signal)).resource, Resource::Condition { waiters } if waiters.len() < 2)
    }

    pub(crate) fn signal(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Effect {
        let condition = first(operation);
        let waiting = match &self.objects.get(condition).resource {
            Resource::Condition { waiters } => waiters.len() as u32,
            _ => return self.not_usable(thread, condition, operation),
        };
        if waiting > 0 {
            let index = self.ask(thread, waiting, strategy);
            let Resource::Condition { waiters } = &mut self.objects.get_mut(condition).resource else {
                unreachable!("the object was a condition variable a moment ago");
            };
            let woken = waiters.remove(index as usize).expect("the index is below the number of waiters");
            self.wake(woken, Wake::Signalled);
        }
        Effect::Goes(Reply::Go)
    }

    pub(crate) fn broadcast(&mut self, thread: ThreadId, operation: &Operation) -> Effect {
        let condition = first(operation);
        loop {
            match &mut self.objects.get_mut(condition).resource {
                Resource::Condition { waiters } => match waiters.pop_front() {
                    Some(woken) => self.wake(woken, Wake::Signalled),
                    None => return Effect::Goes(Reply::Go),
                },
                _ => return self.not_usable(thread, condition, operation),
            }
        }
    }
}

fn second(operation: &Operation) -> ObjectId {
    operation.touches[1].object().expect("a wait names its mutex")
}
