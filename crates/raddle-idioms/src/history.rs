//! Immediate dependencies between accesses, object by object.

use crate::access::Access;
use raddle_model::Action;

/// The accesses to an object that a later access may depend on.
#[derive(Default)]
pub(crate) struct History {
    /// The latest write, or the latest release of the lock after writing.
    write: Option<Access>,
    /// Per thread that has read since: its latest read, or its latest release of a read lock.
    reads: Vec<Access>,
}

impl History {
    /// Calls `found` with each access that `access` depends on immediately, then adds `access`.
    pub(crate) fn add(&mut self, access: &Access, mut found: impl FnMut(&Access)) {
        if access.site.action != Action::Unlock {
            let from =
                if access.writes && !self.reads.is_empty() { &self.reads[..] } else { self.write.as_slice() };
            from.iter().filter(|earlier| earlier.thread != access.thread).for_each(&mut found);
        }
        // Other accesses do not depend on taking a lock.
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
