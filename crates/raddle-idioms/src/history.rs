//! Immediate dependencies between accesses, object by object.

use crate::access::Access;
use raddle_model::Action;

/// What an object has seen that a later access may depend on.
#[derive(Default)]
pub(crate) struct History {
    /// The latest write, or the latest to give the lock back after writing.
    write: Option<Access>,
    /// Per thread that has read since: its latest read, or the latest time that it gave a lock back that it had for reading.
    reads: Vec<Access>,
}

impl History {
    /// Calls `found` with each access that `access` depends on immediately, then makes it part of the history.
    pub(crate) fn add(&mut self, access: &Access, mut found: impl FnMut(&Access)) {
        if access.site.action != Action::Unlock {
            let from =
                if access.writes && !self.reads.is_empty() { &self.reads[..] } else { self.write.as_slice() };
            from.iter().filter(|earlier| earlier.thread != access.thread).for_each(&mut found);
        }
        // To take a lock is not what others depend on.
        if access.site.action == Action::Lock {
            return;
        }
        if access.writes {
            self.write = Some(*access);
            self.reads.clear();
        } else {
            self.reads.retain(|earlier| earlier.thread != access.thread);
            self.reads.push(*access);
        }
    }
}
