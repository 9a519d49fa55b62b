//! The wait-for graph of a run in which no thread can continue.

use crate::Engine;
use crate::objects::Resource;
use crate::threads::{Status, Thread, Wake};
use raddle_model::{BlockReason, Blocked, Failure, Kind, ObjectId, ThreadId, Verdict, Waits};

impl Engine {
    /// Returns the verdict on a run in which threads are left and none can continue.
    pub(crate) fn deadlock(&self) -> Verdict {
        // A connection with nothing in flight waits for no thread.
        let counts =
            |thread: &Thread| thread.status != Status::Done && thread.operation.kind != Kind::Deliver;
        let waiting = self.threads.iter().filter(|(_, thread)| counts(thread));
        let blocked: Vec<Blocked> = waiting.map(|(id, thread)| self.blocked(id, thread)).collect();
        let cycle = cycle(&blocked);
        Verdict::Failed { failure: Failure::Deadlock { blocked, cycle } }
    }

    fn blocked(&self, id: ThreadId, thread: &Thread) -> Blocked {
        let operation = &thread.operation;
        let mut object = operation.object();
        let reason = match operation.kind.info().waits {
            Waits::Before(BlockReason::Condition) => {
                // Until it is woken it waits for a signal, after that for the mutex.
                let condition = self.condition_of(id);
                object = condition.or(object);
                if condition.is_some() { BlockReason::Condition } else { BlockReason::Mutex }
            }
            Waits::Before(BlockReason::Channel) if self.is_mailbox(object) => BlockReason::Mailbox,
            Waits::Before(BlockReason::Park) => match operation.touches[1].object() {
                // The object that its token represents.
                Some(awaited) => {
                    object = Some(awaited);
                    BlockReason::Descriptor
                }
                None => BlockReason::Park,
            },
            Waits::Before(reason) | Waits::Inside(reason) => reason,
            // A thread that waits only for time waits forever only if it sleeps without a limit.
            Waits::Never | Waits::Time | Waits::Quiet => BlockReason::Mutex,
        };
        let held_by = match object {
            Some(_) if thread.wake == Wake::Delayed => self.writers_ahead(id),
            Some(object) => self.holders(object),
            None => Vec::new(),
        };
        Blocked { thread: id, reason, object, location: operation.location, held_by }
    }

    fn is_mailbox(&self, object: Option<ObjectId>) -> bool {
        object.is_some_and(|object| matches!(self.objects.get(object).resource, Resource::Mailbox { .. }))
    }

    pub(crate) fn condition_of(&self, thread: ThreadId) -> Option<ObjectId> {
        (0..self.objects.len() as u32).map(ObjectId).find(|&object| {
            match &self.objects.get(object).resource {
                Resource::Condition { waiters } => waiters.contains(&thread),
                _ => false,
            }
        })
    }

    fn holders(&self, object: ObjectId) -> Vec<ThreadId> {
        match &self.objects.get(object).resource {
            Resource::Mutex { owner, .. } => owner.iter().copied().collect(),
            Resource::ReadWriteLock { writer, readers } => writer.iter().chain(readers).copied().collect(),
            Resource::Once { runner, .. } => runner.iter().copied().collect(),
            Resource::Thread(thread) => vec![*thread],
            _ => Vec::new(),
        }
    }
}

/// Returns a cycle of threads each of which waits for the next, found by following holders from each thread
/// in turn.
fn cycle(blocked: &[Blocked]) -> Vec<ThreadId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Dead,
    }
    // The waiting threads are sorted by id, so that a holder is found by a binary search.
    let place = |thread: ThreadId| blocked.binary_search_by_key(&thread, |entry| entry.thread).ok();
    let mut marks = vec![Mark::New; blocked.len()];
    for start in 0..blocked.len() {
        if marks[start] != Mark::New {
            continue;
        }
        // Per thread on the path: the number of its holders that were followed.
        let mut path = vec![(start, 0)];
        marks[start] = Mark::OnPath;
        while let Some((at, followed)) = path.last_mut() {
            let Some(&holder) = blocked[*at].held_by.get(*followed) else {
                marks[*at] = Mark::Dead;
                path.pop();
                continue;
            };
            *followed += 1;
            let Some(next) = place(holder) else { continue };
            match marks[next] {
                Mark::Dead => {}
                Mark::New => {
                    marks[next] = Mark::OnPath;
                    path.push((next, 0));
                }
                Mark::OnPath => {
                    let ring = path.iter().map(|&(at, _)| at).skip_while(|&at| at != next);
                    return ring.map(|at| blocked[at].thread).collect();
                }
            }
        }
    }
    Vec::new()
}
