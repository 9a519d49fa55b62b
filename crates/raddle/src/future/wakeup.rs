//! Waiting for a wake-up, and the wakers that deliver it.

use crate::runtime::{self, Object, Runtime};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, ObjectId, Operation, ThreadId};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// A wake-up that a thread waits for between two polls. It has its own token, so that a future that parks its
/// thread does not interfere. Waking sets the token, which is an operation; a token that is never set is a
/// deadlock.
pub(super) struct Wakeup {
    token: Object,
    /// The thread that polls.
    owner: ThreadId,
    /// The run of this wake-up.
    epoch: u32,
    /// True if the owner has woken itself since the last poll. No other thread sees that, so it is not an
    /// operation.
    by_itself: AtomicBool,
    /// The location where polling began: that of all operations here, as a waker does not know its caller.
    location: &'static Location<'static>,
}

impl Wakeup {
    /// Creates a wake-up for `owner`, which begins to poll at the caller's location.
    #[track_caller]
    pub(super) fn new(owner: ThreadId) -> Arc<Wakeup> {
        let mut wakeup = Wakeup {
            token: Object::new(),
            owner,
            epoch: 0,
            by_itself: AtomicBool::new(false),
            location: Location::caller(),
        };
        runtime::with(|runtime| {
            wakeup.epoch = runtime.epoch();
            // Registered now, so that its name does not depend on which thread comes first.
            wakeup.id(runtime);
        });
        Arc::new(wakeup)
    }

    fn id(&self, runtime: &mut Runtime) -> ObjectId {
        self.token.id(runtime, |_| Resource::token())
    }

    fn step(&self, kind: Kind, access: Access) {
        runtime::step(|runtime| {
            let token = self.id(runtime);
            Operation::new(kind, runtime.location(self.location)).on(token, access)
        });
    }

    /// Waits until the owner, which calls this after a poll, has reason to poll again. If it has woken
    /// itself, other threads may run.
    pub(super) fn wait(&self) {
        if self.by_itself.swap(false, Ordering::Relaxed) {
            self.step(Kind::Yield, Access::Read);
        } else {
            self.step(Kind::Park, Access::Write);
        }
    }

    /// Returns true if the owner has woken itself since the last poll.
    pub(super) fn has_woken_itself(&self) -> bool {
        self.by_itself.load(Ordering::Relaxed)
    }

    /// Reads the token, so that the result depends on the thread that set it.
    pub(super) fn look(&self) {
        self.step(Kind::Read, Access::Read);
    }

    /// Sets the token at the location `location`. No effect in another run or outside runs.
    pub(super) fn put(&self, location: &'static Location<'static>) {
        if !self.is_of_this_run() {
            return;
        }
        runtime::step(|runtime| {
            let token = self.id(runtime);
            Operation::new(Kind::Unpark, runtime.location(location)).on(token, Access::Write)
        });
    }

    /// Sets the token without a step.
    fn put_silently(&self) {
        runtime::with(|runtime| {
            if !runtime.is_closing() {
                let (token, current) = (self.id(runtime), runtime.current());
                runtime.engine.publish_silently(current, token);
                runtime.engine.give_token(token);
            }
        });
    }

    /// Returns true if this wake-up belongs to the current run.
    pub(super) fn is_of_this_run(&self) -> bool {
        runtime::epoch() == Some(self.epoch)
    }
}

impl Wake for Wakeup {
    fn wake(self: Arc<Wakeup>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Wakeup>) {
        if !self.is_of_this_run() {
            return;
        }
        if runtime::with(|runtime| runtime.current()) == self.owner {
            self.by_itself.store(true, Ordering::Relaxed);
        } else if runtime::is_shuttle() {
            self.put_silently();
        } else {
            self.put(self.location);
        }
    }
}
