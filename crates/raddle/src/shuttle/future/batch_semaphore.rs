//! Shuttle's semaphore, which acquires several permits at once.
//!
//! Acquiring, releasing and closing are one operation each. Reading its state is not an operation in a run of
//! Shuttle's functions; it is in any other run, so that no strategy misses an order.

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

/// The order in which waiters get permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fairness {
    /// The longest waiter first; none overtakes, except by [`BatchSemaphore::acquire_bypassable`] and
    /// [`BatchSemaphore::upgrade`].
    StrictlyFair,
    /// The first to ask while there are enough; a waiter may starve.
    Unfair,
}

/// The reason why permits were not acquired immediately.
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

/// The identity of a resource, which is the same in each run for the n-th resource that the same task creates
/// at the same location.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResourceSignature {
    location: &'static Location<'static>,
    name: u64,
}

impl ResourceSignature {
    /// Returns a hash of all components.
    pub fn signature_hash(&self) -> u64 {
        self.static_create_location_hash().rotate_left(32) ^ self.name
    }

    /// Returns a hash of the creation location.
    pub fn static_create_location_hash(&self) -> u64 {
        let file = self
            .location
            .file()
            .bytes()
            .fold(0_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        file ^ (u64::from(self.location.line()) << 32 | u64::from(self.location.column()))
    }
}

/// A counter of permits that are acquired and released.
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

    /// Like [`new`](BatchSemaphore::new), for constants. Constants at one location have equal signatures.
    #[track_caller]
    pub const fn const_new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        BatchSemaphore {
            object: Object::new(),
            state: Mutex::new(State::new(num_permits, fairness)),
            signature: ResourceSignature { location: Location::caller(), name: 0 },
        }
    }

    /// Returns its signature.
    pub fn signature(&self) -> &ResourceSignature {
        &self.signature
    }

    /// Executes an operation.
    fn step(&self, kind: Kind, access: Access, location: &'static Location<'static>) {
        if runtime::epoch().is_some() {
            runtime::step(|runtime| {
                let object = self.object.id(runtime, |_| Resource::Memory);
                Operation::new(kind, runtime.location(location)).on(object, access)
            });
        }
    }

    /// Executes an operation that is not one in Shuttle.
    fn look(&self, kind: Kind, access: Access, location: &'static Location<'static>) {
        if !runtime::is_shuttle() {
            self.step(kind, access, location);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the wakers that `change` returns.
    fn change(&self, change: impl FnOnce(&mut State) -> Vec<Waker>) {
        self.object.publish();
        let wakers = change(&mut self.lock());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns the number of free permits; 0 while they are kept for a reservation.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.look(Kind::Read, Access::Read, Location::caller());
        self.lock().available()
    }

    /// Rejects all current and future waiters. Permits can still be released.
    #[track_caller]
    pub fn close(&self) {
        self.step(Kind::Write, Access::Write, Location::caller());
        self.change(State::close);
    }

    /// Like [`close`](BatchSemaphore::close), without a step in Shuttle.
    #[track_caller]
    pub fn close_no_scheduling_point(&self) {
        self.look(Kind::Write, Access::Write, Location::caller());
        self.change(State::close);
    }

    /// Returns true if it was closed.
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

    /// Acquires permits, if possible without waiting.
    ///
    /// # Errors
    ///
    /// If there are too few permits, others wait for theirs, or it is closed.
    #[track_caller]
    pub fn try_acquire(&self, num_permits: usize) -> Result<(), TryAcquireError> {
        self.step(Kind::ReadModifyWrite, Access::Write, Location::caller());
        self.try_take(num_permits, Priority::Back)
    }

    /// Acquires permits, all at once, as soon as there are enough. It waits in line from its first poll until
    /// it is ready or dropped.
    #[track_caller]
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        self.request(Request::new(num_permits, Priority::Back))
    }

    /// Like [`acquire`](BatchSemaphore::acquire), but others may overtake while there are too few permits for
    /// this one.
    #[track_caller]
    pub fn acquire_bypassable(&self, num_permits: usize) -> Acquire<'_> {
        self.request(Request::new(num_permits, Priority::Bypassable))
    }

    /// Like [`acquire`](BatchSemaphore::acquire), but withholds all permits from others as soon as
    /// `min_permits` are free.
    ///
    /// # Panics
    ///
    /// If the semaphore is strictly fair, or if `num_permits` is zero or less than `min_permits`.
    #[track_caller]
    pub fn acquire_reserving(&self, min_permits: usize, num_permits: usize) -> Acquire<'_> {
        assert!(!self.lock().is_fair(), "only unfair semaphores support reservations");
        assert!(num_permits > 0, "a reservation needs at least one permit");
        assert!(min_permits <= num_permits, "`min_permits` must not exceed `num_permits`");
        self.request(Request::new(num_permits, Priority::Reserving(min_permits)))
    }

    #[track_caller]
    fn request(&self, request: Request) -> Acquire<'_> {
        Acquire { semaphore: self, request, ticket: None, done: false, location: Location::caller() }
    }

    /// Like [`acquire`](BatchSemaphore::acquire), but blocks the thread.
    ///
    /// # Errors
    ///
    /// If it is closed.
    #[track_caller]
    pub fn acquire_blocking(&self, num_permits: usize) -> Result<(), AcquireError> {
        block_on(self.acquire(num_permits))
    }

    /// Acquires the permits that a holder of `permits_currently_held` lacks, before all other waiters.
    #[track_caller]
    pub fn upgrade(&self, permits_currently_held: usize, permits_to_be_held: usize) -> Acquire<'_> {
        let missing = missing(permits_currently_held, permits_to_be_held);
        let priority = if self.lock().is_fair() { Priority::Front } else { Priority::Reserving(0) };
        self.request(Request::new(missing, priority))
    }

    /// Like [`upgrade`](BatchSemaphore::upgrade), if possible without waiting.
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

    /// Releases permits, or adds them.
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
    wanted.checked_sub(held).expect("an upgrade needs more permits than are held")
}

/// The future of [`BatchSemaphore::acquire`].
#[derive(Debug)]
#[must_use = "permits are acquired only if it is awaited"]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    request: Request,
    /// Set while it waits in line, or after its permits were granted there.
    ticket: Option<u64>,
    done: bool,
    location: &'static Location<'static>,
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), AcquireError>> {
        assert!(!self.done, "an acquired permit is awaited once");
        // A later poll follows a step that was a wait.
        match self.ticket {
            None => self.semaphore.step(Kind::ReadModifyWrite, Access::Write, self.location),
            Some(_) => self.semaphore.look(Kind::ReadModifyWrite, Access::Write, self.location),
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
            self.semaphore.look(Kind::ReadModifyWrite, Access::Write, self.location);
            self.semaphore.change(|state| state.leave(ticket));
        }
    }
}
