//! The permits of a semaphore and its waiters.

use super::{Fairness, TryAcquireError};
use crate::runtime;
use raddle_model::ThreadId;
use std::collections::VecDeque;
use std::task::{Poll, Waker};

/// The priority of a request among the waiters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Priority {
    /// It waits behind all others.
    Back,
    /// Like `Back`, but others may overtake it while it cannot be granted.
    Bypassable,
    /// It overtakes all others.
    Front,
    /// It withholds all permits from others as soon as this many are free. Only in unfair semaphores.
    Reserving(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    permits: usize,
    priority: Priority,
}

impl Request {
    pub(super) fn new(permits: usize, priority: Priority) -> Request {
        Request { permits, priority }
    }

    /// Returns the number of permits that lets it make progress.
    fn least(self) -> usize {
        match self.priority {
            Priority::Reserving(least) => least,
            _ => self.permits,
        }
    }
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    request: Request,
    waker: Waker,
    /// The thread that polled it last.
    poller: Option<ThreadId>,
    /// True if its permits are granted and it only has to be polled.
    granted: bool,
}

impl Waiter {
    /// Returns true if its task has ended without dropping it.
    fn is_left_behind(&self) -> bool {
        let ended = |thread| runtime::with(|runtime| runtime.has_ended(thread));
        runtime::epoch().is_some() && self.poller.is_some_and(ended)
    }
}

#[derive(Debug)]
pub(super) struct State {
    fairness: Fairness,
    permits: usize,
    closed: bool,
    /// In the order in which they are served.
    waiters: VecDeque<Waiter>,
    /// The waiter for which all permits are kept.
    reserved: Option<u64>,
    /// The ticket of the next waiter.
    next: u64,
}

impl State {
    pub(super) const fn new(permits: usize, fairness: Fairness) -> State {
        State { fairness, permits, closed: false, waiters: VecDeque::new(), reserved: None, next: 0 }
    }

    pub(super) fn is_fair(&self) -> bool {
        self.fairness == Fairness::StrictlyFair
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn available(&self) -> usize {
        if self.reserved.is_some() { 0 } else { self.permits }
    }

    /// Acquires permits, if possible without waiting.
    pub(super) fn try_take(&mut self, permits: usize, priority: Priority) -> Result<(), TryAcquireError> {
        if self.closed {
            return Err(TryAcquireError::Closed);
        }
        let blocks = |waiter: &Waiter| !waiter.granted && waiter.request.priority != Priority::Bypassable;
        let overtakes = self.is_fair() && priority != Priority::Front && self.waiters.iter().any(blocks);
        if self.permits < permits || overtakes || self.reserved.is_some() {
            return Err(TryAcquireError::NoPermits);
        }
        self.permits -= permits;
        Ok(())
    }

    /// Polls a request, which has this ticket if it already waits. Returns its ticket, the result, and the
    /// wakers to wake.
    pub(super) fn poll(
        &mut self,
        request: Request,
        ticket: Option<u64>,
        waker: &Waker,
        poller: Option<ThreadId>,
    ) -> (Option<u64>, Poll<Result<(), ()>>, Vec<Waker>) {
        let index = ticket.and_then(|ticket| self.waiters.iter().position(|waiter| waiter.ticket == ticket));
        if let Some(index) = index.filter(|&index| self.waiters[index].granted) {
            self.waiters.remove(index);
            return (None, Poll::Ready(Ok(())), Vec::new());
        }
        if self.closed {
            _ = index.and_then(|index| self.waiters.remove(index));
            return (None, Poll::Ready(Err(())), Vec::new());
        }
        let is_holder = ticket.is_some() && self.reserved == ticket;
        let taken = match index {
            // Waiters in line are granted their permits.
            Some(_) if self.is_fair() => false,
            _ if is_holder => self.permits >= request.permits,
            _ => self.try_take(request.permits, request.priority).is_ok(),
        };
        if taken {
            if is_holder {
                self.permits -= request.permits;
                self.reserved = None;
            }
            _ = index.and_then(|index| self.waiters.remove(index));
            let wakers = if is_holder { self.serve() } else { Vec::new() };
            return (None, Poll::Ready(Ok(())), wakers);
        }
        let ticket = match index {
            Some(index) => {
                let waiter = &mut self.waiters[index];
                waiter.waker.clone_from(waker);
                waiter.poller = poller;
                waiter.ticket
            }
            None => self.enqueue(request, waker.clone(), poller),
        };
        if matches!(request.priority, Priority::Reserving(least) if self.permits >= least) {
            self.reserved.get_or_insert(ticket);
        }
        (Some(ticket), Poll::Pending, Vec::new())
    }

    fn enqueue(&mut self, request: Request, waker: Waker, poller: Option<ThreadId>) -> u64 {
        let ticket = self.next;
        self.next += 1;
        let waiter = Waiter { ticket, request, waker, poller, granted: false };
        match request.priority {
            Priority::Front => self.waiters.push_front(waiter),
            _ => self.waiters.push_back(waiter),
        }
        ticket
    }

    /// Adds permits. Returns the wakers to wake.
    pub(super) fn give(&mut self, permits: usize) -> Vec<Waker> {
        self.permits += permits;
        self.serve()
    }

    /// Removes a waiter, and releases its permits if granted. Returns the wakers to wake.
    pub(super) fn leave(&mut self, ticket: u64) -> Vec<Waker> {
        let index = self.waiters.iter().position(|waiter| waiter.ticket == ticket);
        let waiter = index.and_then(|index| self.waiters.remove(index));
        if self.reserved == Some(ticket) {
            self.reserved = None;
        }
        if let Some(waiter) = waiter.filter(|waiter| waiter.granted) {
            self.permits += waiter.request.permits;
        }
        self.serve()
    }

    /// Rejects all requests. Returns the wakers to wake.
    pub(super) fn close(&mut self) -> Vec<Waker> {
        self.closed = true;
        self.reserved = None;
        self.waiters.iter().map(|waiter| waiter.waker.clone()).collect()
    }

    /// Grants the free permits to the waiters in line, or wakes those that may find enough. Returns the
    /// wakers to wake.
    fn serve(&mut self) -> Vec<Waker> {
        if self.closed {
            return Vec::new();
        }
        if !self.waiters.is_empty() {
            // Their tasks cannot acquire anything. A later poll starts again.
            self.waiters.retain(|waiter| waiter.granted || !waiter.is_left_behind());
            let reserved = self.reserved;
            self.reserved =
                reserved.filter(|&ticket| self.waiters.iter().any(|waiter| waiter.ticket == ticket));
        }
        if !self.is_fair() {
            let (permits, reserved) = (self.permits, self.reserved);
            let may_look = |waiter: &&Waiter| match reserved {
                Some(ticket) => ticket == waiter.ticket && permits >= waiter.request.permits,
                None => permits >= waiter.request.least(),
            };
            return self.waiters.iter().filter(may_look).map(|waiter| waiter.waker.clone()).collect();
        }
        let mut wakers = Vec::new();
        for waiter in self.waiters.iter_mut().filter(|waiter| !waiter.granted) {
            if waiter.request.permits <= self.permits {
                self.permits -= waiter.request.permits;
                waiter.granted = true;
                wakers.push(waiter.waker.clone());
            } else if waiter.request.priority != Priority::Bypassable {
                break;
            }
        }
        wakers
    }
}
