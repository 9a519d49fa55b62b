//! Futures under control: a deterministic executor.
//!
//! Each task is a thread of the run that polls its future. Between two polls it waits to be woken; a lost
//! wake-up leaves it waiting, and the run is reported as a deadlock if another thread waits for the task.
//! Waking another thread is an operation, so everything may happen between a poll that is `Pending` and the
//! wake-up. The code inside a poll is under control as far as the future uses the types of this crate.
//!
//! Tasks do not keep a run going, as in other executors: when all threads have ended, the run may end at any
//! moment, even before a task was polled at all, and ends when no task can take a step. Tasks that are left
//! then are dropped. The strategy chooses when it ends; most runs of strategies that choose at random let
//! tasks run as far as they can. For tasks alone the virtual clock stands still. A thread that a task starts
//! after that counts as a task.
//!
//! Reports locate a wake-up, a wait and the end of a task where the task was started or [`block_on`] was
//! called: neither a waker nor a poll knows its caller.

mod error;
mod task;
mod wakeup;

pub use error::{JoinError, Payload};
pub use task::{AbortHandle, JoinHandle, spawn, spawn_local};

use crate::runtime;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use wakeup::Wakeup;

/// Polls `future` on the current thread until it is ready, waiting to be woken after each poll that is `Pending`.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let wakeup = Wakeup::new(runtime::with(|runtime| runtime.current()));
    let waker = Waker::from(Arc::clone(&wakeup));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        let closing = runtime::is_closing();
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        if closing && !wakeup.has_woken_itself() {
            runtime::make_way();
        }
        wakeup.wait();
    }
}

/// Lets other threads run: pending once, with a wake-up already set.
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "other tasks run only if it is awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut YieldNow>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
