//! Shuttle's semaphore, of which several permits are taken at once.
//!
//! Taking, giving back and closing are one operation each. In a run of Shuttle's functions, looking at it is none; in any
//! other run, so that no strategy misses an order, it is.

mod state;

use crate::future::block_on;
use crate::runtime::{self, Object};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, Operation};
use state::{Priority, Request, State};
use std::fmt::{self, Display, Formatter};
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Who gets permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fairness {
    /// Whoever has waited longest; nobody overtakes, but for [`BatchSemaphore::acquire_bypassable`] and
    /// [`BatchSemaphore::upgrade`].
    StrictlyFair,
    /// Whoever comes first while there are enough; a waiter may starve.
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

/// Tells resources apart, and is the same in each run for a resource that the same task makes at the same place as its
/// n-th.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResourceSignature {
    place: &'static Location<'static>,
    name: u64,
}

impl ResourceSignature {
    /// Returns a hash of all that it is made of.
    pub fn signature_hash(&self) -> u64 {
        self.static_create_location_hash().rotate_left(32) ^ self.name
    }

    /// Returns a hash of the place in the code.
    pub fn static_create_location_hash(&self) -> u64 {
        let file = self
            .place
            .file()
            .bytes()
            .fold(0_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        file ^ (u64::from(self.place.line()) << 32 | u64::from(self.place.column()))
    }
}

/// A number of permits that are taken and given back.
#[derive(Debug)]
pub struct BatchSemaphore {
    object: Object,
    state: Mutex<State>,
    signature: ResourceSignature,
}

impl BatchSemaphore {
    /// Creates a semaphore with `num_permits` permits.
    #[track_caller]
    pub fn new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        let mut semaphore = BatchSemaphore::const_new(num_permits, fairness);
        if runtime::epoch().is_some() && !runtime::is_closing() {
            semaphore.signature.name = runtime::with(|runtime| {
                let object = semaphore.object.id(runtime, |_| Resource::Memory);
                runtime.engine.summary_so_far().object_name(object).0
            });
        }
        semaphore
    }

    /// As [`new`](BatchSemaphore::new), for constants. Those made at one place have equal signatures.
    #[track_caller]
    pub const fn const_new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        BatchSemaphore {
            object: Object::new(),
            state: Mutex::new(State::new(num_permits, fairness)),
            signature: ResourceSignature { place: Location::caller(), name: 0 },
        }
    }

    /// Returns its signature.
    pub fn signature(&self) -> &ResourceSignature {
        &self.signature
    }

    /// Executes an operation.
    fn step(&self, kind: Kind, access: Access, place: &'static Location<'static>) {
        if runtime::epoch().is_some() {
            runtime::step(|runtime| {
                let object = self.object.id(runtime, |_| Resource::Memory);
                Operation::new(kind, runtime.location(place)).on(object, access)
            });
        }
    }

    /// Executes an operation that is none in Shuttle.
    fn look(&self, kind: Kind, access: Access, place: &'static Location<'static>) {
        if !runtime::is_shuttle() {
            self.step(kind, access, place);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes those whom `change` names.
    fn change(&self, change: impl FnOnce(&mut State) -> Vec<Waker>) {
        self.object.publish();
        let wakers = change(&mut self.lock());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns how many permits nobody has; none while they are kept for a reservation.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.look(Kind::Read, Access::Read, Location::caller());
        self.lock().available()
    }

    /// Refuses all who wait and who come. Permits can still be given back.
    #[track_caller]
    pub fn close(&self) {
        self.step(Kind::Write, Access::Write, Location::caller());
        self.change(State::close);
    }

    /// As [`close`](BatchSemaphore::close), without a step in Shuttle.
    #[track_caller]
    pub fn close_no_scheduling_point(&self) {
        self.look(Kind::Write, Access::Write, Location::caller());
        self.change(State::close);
    }

    /// Says whether it was closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.look(Kind::Read, Access::Read, Location::caller());
        self.lock().is_closed()
    }

    fn try_take(&self, permits: usize, priority: Priority) -> Result<(), TryAcquireError> {
        let taken = self.lock().try_take(permits, priority);
        if taken.is_ok() {
            self.object.acquire();
        }
        taken
    }

    /// Takes permits, if that is possible without waiting.
    ///
    /// # Errors
    ///
    /// If there are too few permits, others wait for theirs, or it is closed.
    #[track_caller]
    pub fn try_acquire(&self, num_permits: usize) -> Result<(), TryAcquireError> {
        self.step(Kind::ReadModifyWrite, Access::Write, Location::caller());
        self.try_take(num_permits, Priority::Back)
    }

    /// Takes permits, all at once, as soon as there are enough. It waits in line from its first poll on, until it is
    /// ready or dropped.
    #[track_caller]
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        self.request(Request::new(num_permits, Priority::Back))
    }

    /// As [`acquire`](BatchSemaphore::acquire); others may pass while there are too few permits for this one.
    #[track_caller]
    pub fn acquire_bypassable(&self, num_permits: usize) -> Acquire<'_> {
        self.request(Request::new(num_permits, Priority::Bypassable))
    }

    /// As [`acquire`](BatchSemaphore::acquire), and keeps all permits from others as soon as `min_permits` are there.
    ///
    /// # Panics
    ///
    /// If the semaphore is strictly fair, if `num_permits` is zero or less than `min_permits`.
    #[track_caller]
    pub fn acquire_reserving(&self, min_permits: usize, num_permits: usize) -> Acquire<'_> {
        assert!(!self.lock().is_fair(), "only an unfair semaphore can be reserved");
        assert!(num_permits > 0, "a reservation is for at least one permit");
        assert!(min_permits <= num_permits, "a reservation begins with at most the permits that it is for");
        self.request(Request::new(num_permits, Priority::Reserving(min_permits)))
    }

    #[track_caller]
    fn request(&self, request: Request) -> Acquire<'_> {
        Acquire { semaphore: self, request, ticket: None, done: false, place: Location::caller() }
    }

    /// As [`acquire`](BatchSemaphore::acquire), and blocks the thread.
    ///
    /// # Errors
    ///
    /// If it is closed.
    #[track_caller]
    pub fn acquire_blocking(&self, num_permits: usize) -> Result<(), AcquireError> {
        block_on(self.acquire(num_permits))
    }

    /// Takes the permits that are missing to one who has `permits_currently_held`, before all others who wait.
    #[track_caller]
    pub fn upgrade(&self, permits_currently_held: usize, permits_to_be_held: usize) -> Acquire<'_> {
        let missing = missing(permits_currently_held, permits_to_be_held);
        let priority = if self.lock().is_fair() { Priority::Front } else { Priority::Reserving(0) };
        self.request(Request::new(missing, priority))
    }

    /// As [`upgrade`](BatchSemaphore::upgrade), if that is possible without waiting.
    ///
    /// # Errors
    ///
    /// If there are too few permits, or it is closed.
    #[track_caller]
    pub fn try_upgrade(
        &self,
        permits_currently_held: usize,
        permits_to_be_held: usize,
    ) -> Result<(), TryAcquireError> {
        let missing = missing(permits_currently_held, permits_to_be_held);
        self.step(Kind::ReadModifyWrite, Access::Write, Location::caller());
        self.try_take(missing, Priority::Front)
    }

    /// Gives permits back, or adds them.
    #[track_caller]
    pub fn release(&self, num_permits: usize) {
        if num_permits == 0 {
            return;
        }
        self.step(Kind::ReadModifyWrite, Access::Write, Location::caller());
        self.change(|state| state.give(num_permits));
    }
}

#[track_caller]
fn missing(held: usize, wanted: usize) -> usize {
    wanted.checked_sub(held).expect("an upgrade is to more permits")
}

/// The future of [`BatchSemaphore::acquire`].
#[derive(Debug)]
#[must_use = "nothing is taken unless it is awaited"]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    request: Request,
    /// While it waits in line, or has been granted its permits there.
    ticket: Option<u64>,
    done: bool,
    place: &'static Location<'static>,
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        assert!(!self.done, "an acquired permit is awaited once");
        // A later poll comes after a step that was a wait.
        match self.ticket {
            None => self.semaphore.step(Kind::ReadModifyWrite, Access::Write, self.place),
            Some(_) => self.semaphore.look(Kind::ReadModifyWrite, Access::Write, self.place),
        }
        let waker = context.waker();
        let poller = runtime::unwound_or_running();
        let (request, ticket) = (self.request, self.ticket);
        let (ticket, polled, wakers) = self.semaphore.lock().poll(request, ticket, waker, poller);
        self.ticket = ticket;
        self.done = polled.is_ready();
        if self.done {
            self.semaphore.object.acquire();
        }
        wakers.into_iter().for_each(Waker::wake);
        polled.map_err(|()| AcquireError(()))
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.semaphore.look(Kind::ReadModifyWrite, Access::Write, self.place);
            self.semaphore.change(|state| state.leave(ticket));
        }
    }
}
