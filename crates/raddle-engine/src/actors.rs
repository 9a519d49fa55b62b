//! Operations for runs of actors: threads that appear without an operation, and threads that others end.

use crate::engine::Engine;
use crate::pending::bit;
use crate::threads::Status;
use raddle_model::{Event, Operation, Replaced, ThreadId, Verdict, mix};

impl Engine {
    /// Adds a thread as part of the latest step of `parent`: a timer, for example. It is resumed before the
    /// next choice.
    pub fn add_child(&mut self, parent: ThreadId) -> ThreadId {
        self.burst = 0;
        let entry = self.threads.get_mut(parent);
        let name = entry.name.child(u64::from(entry.children));
        entry.children += 1;
        self.new_thread((name, mix(name.0)), Some(parent))
    }

    /// Replaces the announced operation of `thread` by `operation`, as part of a step of another thread. Must
    /// not be called for a thread that runs, has ended, or waits inside an operation.
    pub fn replace(&mut self, thread: ThreadId, operation: Operation) {
        self.burst = 0;
        let entry = self.threads.get_mut(thread);
        debug_assert_eq!(entry.status, Status::Pending, "only an announced operation can be replaced");
        let (known, old) = ((thread, entry.bit), entry.operation);
        if entry.resting {
            entry.resting = false;
            self.resting.retain(|&resting| resting != thread);
        }
        self.pending.withdraw(known, &old);
        let step = self.trace.events.len().saturating_sub(1) as u32;
        self.trace.replaced.push(Replaced { step, thread, operation: old });
        self.plain_lockers &= !bit(thread);
        self.await_turn(thread, operation);
    }

    /// Returns the operations executed so far, in order.
    pub fn events(&self) -> &[Event] {
        &self.trace.events
    }

    /// Ends the run as passed, whatever threads are about to do. A run that has failed stays failed.
    pub fn conclude(&mut self) {
        if self.verdict.is_none() {
            self.end(Verdict::Passed);
        }
    }
}
