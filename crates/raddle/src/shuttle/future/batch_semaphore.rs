//! Shuttle's semaphore, of which several permits are taken at once.
//!
//! It is made of a [`Mutex`] and wakers, so a step of it is one of these in reports.

use crate::future::block_on;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Who gets permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fairness {
    /// Who has waited longest; nobody overtakes.
    StrictlyFair,
    /// Who comes first while there are enough; a waiter may starve.
    Unfair,
}

/// Why permits were not taken at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few permits, or others wait for theirs.
    NoPermits,
}

impl Display for TryAcquireError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "the semaphore is closed",
            TryAcquireError::NoPermits => "there are not enough permits",
        })
    }
}

impl std::error::Error for TryAcquireError {}

/// The semaphore was closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireError(());

impl Display for AcquireError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl std::error::Error for AcquireError {}

/// A number of permits that are taken and given back.
#[derive(Debug)]
pub struct BatchSemaphore {
    fairness: Fairness,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    permits: usize,
    closed: bool,
    /// Invariant: in the order in which they came, none of whom has its permits.
    waiters: VecDeque<Waiter>,
    /// The ticket of the next waiter.
    next: u64,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    waker: Waker,
}

impl State {
    /// Whether the waiter with this ticket, or one that comes now, may take so many permits.
    fn may_take(&self, permits: usize, ticket: Option<u64>, fairness: Fairness) -> bool {
        let first = self.waiters.front().map(|waiter| waiter.ticket);
        let overtakes = fairness == Fairness::StrictlyFair && first.is_some() && first != ticket;
        self.permits >= permits && !overtakes
    }

    /// Those who have to look again after a change: the first, or all if nobody is first.
    fn to_wake(&self, fairness: Fairness) -> Vec<Waker> {
        let count = if fairness == Fairness::StrictlyFair && !self.closed { 1 } else { usize::MAX };
        self.waiters.iter().take(count).map(|waiter| waiter.waker.clone()).collect()
    }
}

impl BatchSemaphore {
    /// With so many permits.
    #[track_caller]
    pub fn new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        BatchSemaphore::const_new(num_permits, fairness)
    }

    /// As [`new`](BatchSemaphore::new), for constants.
    #[track_caller]
    pub const fn const_new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        let state = State { permits: num_permits, closed: false, waiters: VecDeque::new(), next: 0 };
        BatchSemaphore { fairness, state: Mutex::new(state) }
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many permits nobody has.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.lock().permits
    }

    /// Refuses all who wait and who come. Permits can still be given back.
    #[track_caller]
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let wakers = state.to_wake(self.fairness);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether it was closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Takes so many permits, if that is possible without waiting.
    #[track_caller]
    pub fn try_acquire(&self, num_permits: usize) -> Result<(), TryAcquireError> {
        let mut state = self.lock();
        if state.closed {
            return Err(TryAcquireError::Closed);
        }
        if !state.may_take(num_permits, None, self.fairness) {
            return Err(TryAcquireError::NoPermits);
        }
        state.permits -= num_permits;
        Ok(())
    }

    /// Takes so many permits, all at once, as soon as there are enough. It waits in line from its first poll on, until it
    /// is ready or dropped.
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        Acquire { semaphore: self, permits: num_permits, ticket: None }
    }

    /// As [`acquire`](BatchSemaphore::acquire), and blocks the thread.
    #[track_caller]
    pub fn acquire_blocking(&self, num_permits: usize) -> Result<(), AcquireError> {
        block_on(self.acquire(num_permits))
    }

    /// Gives so many permits back, or adds them.
    #[track_caller]
    pub fn release(&self, num_permits: usize) {
        let mut state = self.lock();
        state.permits += num_permits;
        let wakers = state.to_wake(self.fairness);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The future of [`BatchSemaphore::acquire`].
#[derive(Debug)]
#[must_use = "nothing is taken unless it is awaited"]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    permits: usize,
    /// While it waits in line.
    ticket: Option<u64>,
}

impl Acquire<'_> {
    /// Leaves the line, and wakes those whose turn it may be now.
    fn leave(&mut self, mut state: MutexGuard<'_, State>) {
        let Some(ticket) = self.ticket.take() else { return };
        state.waiters.retain(|waiter| waiter.ticket != ticket);
        let wakers = state.to_wake(self.semaphore.fairness);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        let mut state = self.semaphore.lock();
        if state.closed {
            self.leave(state);
            return Poll::Ready(Err(AcquireError(())));
        }
        if state.may_take(self.permits, self.ticket, self.semaphore.fairness) {
            state.permits -= self.permits;
            self.leave(state);
            return Poll::Ready(Ok(()));
        }
        let waker = context.waker().clone();
        let ticket = self.ticket;
        match state.waiters.iter_mut().find(|waiter| Some(waiter.ticket) == ticket) {
            Some(waiter) => waiter.waker = waker,
            None => {
                let ticket = state.next;
                state.next += 1;
                state.waiters.push_back(Waiter { ticket, waker });
                self.ticket = Some(ticket);
            }
        }
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            let state = self.semaphore.lock();
            self.leave(state);
        }
    }
}
