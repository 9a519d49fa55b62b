//! The announcement of an operation: what its thread is about to touch, and whether it can go on.

use crate::engine::Engine;
use crate::threads::{Status, Wake};
use raddle_model::{Kind, Operation, ThreadId, Touch, Waits};

impl Engine {
    /// Announces the next operation of `thread`, which was resumed.
    #[inline]
    pub fn announce(&mut self, thread: ThreadId, operation: Operation) {
        debug_assert_eq!(self.threads.get(thread).status, Status::Running, "only a resumed thread announces");
        self.await_turn(thread, operation);
    }

    /// Makes `operation` the next one of `thread`, on behalf of the front end or of the engine itself.
    #[inline(always)] // The front end has one call of it.
    pub(crate) fn await_turn(&mut self, thread: ThreadId, operation: Operation) {
        let entry = self.threads.get_mut(thread);
        let known = (thread, entry.bit);
        entry.operation = operation;
        entry.status = Status::Pending;
        let returned = entry.spin.has_returned();
        if let Some(object) = operation.touches[0].object() {
            self.pending.link(known, 0, object, operation.touches[0]);
        }
        if operation.touches[1] != Touch::NONE {
            self.pending.link_second(known, &operation);
        }
        // By far the most common cases: it was enabled before its last step, and is again.
        let was_enabled = self.threads.enabled_few() & known.1 != 0;
        if operation.kind.is_memory() && !returned && was_enabled {
            return self.threads.note_change_of_few(known.1);
        }
        if !operation.kind.is_memory() {
            if operation.kind != Kind::ConditionReacquire {
                // That wait began when the mutex was released; its deadline was set then.
                let entry = self.threads.get_mut(thread);
                (entry.wake, entry.deadline) = (Wake::None, u64::MAX);
            }
            if operation.kind.is_prompt() && !returned && was_enabled {
                return self.threads.note_change_of_few(known.1);
            }
            if operation.kind == Kind::Lock && operation.argument == Operation::UNTIMED {
                self.plain_lockers |= known.1;
                if !self.threads.get(thread).spin.is_suspect() {
                    let enabled = operation.object().is_none_or(|object| self.can_lock(thread, object));
                    return self.threads.update(thread, known.1, enabled);
                }
            }
        }
        self.await_turn_otherwise(thread);
    }

    /// Determines whether `thread`, which has announced its next operation, is enabled.
    #[inline(never)] // Keeps the path of memory accesses short.
    fn await_turn_otherwise(&mut self, thread: ThreadId) {
        let entry = self.threads.get(thread);
        let Operation { argument, kind, .. } = entry.operation;
        let (bit, suspect) = (entry.bit, entry.spin.is_suspect());
        let enabled = if !suspect && kind.is_prompt() {
            true
        } else if !suspect && kind.is_direct() && argument == Operation::UNTIMED {
            self.can_run(thread)
        } else {
            self.can_run_unless_tired(thread)
        };
        self.threads.update(thread, bit, enabled);
    }

    /// Returns true if the announced operation of `thread` can be executed now, and the thread does not rest before it. Sets its
    /// deadline.
    #[inline(never)] // Keeps the path of locks short.
    fn can_run_unless_tired(&mut self, thread: ThreadId) -> bool {
        let entry = self.threads.get_mut(thread);
        let Operation { argument, kind, .. } = entry.operation;
        let tired = entry.spin.is_suspect()
            && entry.spin.is_over(self.config.patience, kind)
            && self.inside.is_none();
        let info = kind.info();
        if info.timed && argument != Operation::UNTIMED || info.waits == Waits::Quiet {
            self.set_deadline(thread);
        }
        self.can_run(thread) && !(tired && self.rest(thread))
    }
}
