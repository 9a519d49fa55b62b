//! Waiting for a wake-up, and the wakers that bring it.

use crate::runtime::{self, Object, Runtime};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, ObjectId, Operation, ThreadId};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// What a thread waits for between two polls: a token of its own, so that a future that parks its thread does no harm.
/// Waking puts the token there, which is an operation; a token that nobody puts there is a deadlock.
pub(super) struct Wakeup {
    token: Object,
    /// The thread that polls.
    owner: ThreadId,
    /// The run that it belongs to.
    epoch: u32,
    /// Whether the owner has woken itself since the last poll. Nobody else sees that, so that it is no operation.
    by_itself: AtomicBool,
    /// Where polling began: the place of all operations here, as a waker does not know who calls it.
    place: &'static Location<'static>,
}

impl Wakeup {
    /// A wake-up for `owner`, which begins to poll at the place of the caller.
    #[track_caller]
    pub(super) fn new(owner: ThreadId) -> Arc<Wakeup> {
        let mut wakeup = Wakeup {
            token: Object::new(),
            owner,
            epoch: 0,
            by_itself: AtomicBool::new(false),
            place: Location::caller(),
        };
        runtime::with(|runtime| {
            wakeup.epoch = runtime.epoch();
            // Known from the start, so that its name does not depend on who comes first.
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
            Operation::new(kind, runtime.location(self.place)).on(token, access)
        });
    }

    /// Waits until the owner, which calls this after a poll, has reason to poll again. If it has woken itself, others may
    /// run.
    pub(super) fn wait(&self) {
        if self.by_itself.swap(false, Ordering::Relaxed) {
            self.step(Kind::Yield, Access::Read);
        } else {
            self.step(Kind::Park, Access::Write);
        }
    }

    /// Whether the owner has woken itself since the last poll.
    pub(super) fn has_woken_itself(&self) -> bool {
        self.by_itself.load(Ordering::Relaxed)
    }

    /// Looks at the token, so that what is learnt by that depends on who has put it there.
    pub(super) fn look(&self) {
        self.step(Kind::Read, Access::Read);
    }

    /// Puts the token there; `place` is where that is done. Without an effect in another run or outside of any.
    pub(super) fn put(&self, place: &'static Location<'static>) {
        if !self.is_of_this_run() {
            return;
        }
        runtime::step(|runtime| {
            let token = self.id(runtime);
            Operation::new(Kind::Unpark, runtime.location(place)).on(token, Access::Write)
        });
    }

    /// Puts the token there without a step.
    fn put_silently(&self) {
        runtime::with(|runtime| {
            if !runtime.is_closing() {
                let token = self.id(runtime);
                runtime.engine.give_token(token);
            }
        });
    }

    /// Whether this run is the one it belongs to.
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
            self.put(self.place);
        }
    }
}
