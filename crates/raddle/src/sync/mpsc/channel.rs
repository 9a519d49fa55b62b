//! The state that both sides of a channel share.

use crate::runtime::{self, Object, Runtime};
use crate::value::{Taken, Value};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, ObjectId, Operation};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::mpsc::{RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// A channel. The engine decides which threads may send and receive; the values are stored here.
pub(super) struct Channel<T> {
    object: Object,
    capacity: u64,
    state: Value<State<T>>,
}

struct State<T> {
    /// The values that were sent and not received, oldest first, each with its number.
    values: VecDeque<(u64, T)>,
    /// The number of values sent.
    sent: u64,
    senders: u64,
    /// True if the receiver is gone.
    closed: bool,
}

impl<T> Channel<T> {
    /// Creates a channel with one sender.
    #[track_caller]
    pub(super) fn new(capacity: u64) -> Channel<T> {
        let state = State { values: VecDeque::new(), sent: 0, senders: 1, closed: false };
        Channel { object: Object::new(), capacity, state: Value::new(state) }
    }

    /// Registers it with the engine where it is created, so that its name does not depend on its first user.
    pub(super) fn make_known(&self) {
        if !runtime::is_closing() {
            runtime::with(|runtime| self.id(runtime));
        }
    }

    fn id(&self, runtime: &mut Runtime) -> ObjectId {
        self.object.id(runtime, |_| Resource::channel(self.capacity, self.state().senders))
    }

    /// Returns the state. No operation executes while it is taken, so only the OS thread of another check may have it.
    #[inline]
    fn state(&self) -> Taken<'_, State<T>> {
        loop {
            if let Some(state) = self.state.take() {
                return state;
            }
            std::thread::yield_now();
        }
    }

    #[track_caller]
    fn step(&self, kind: Kind, argument: u64, location: &'static Location<'static>) -> Reply {
        runtime::step(|runtime| {
            let object = self.id(runtime);
            Operation::new(kind, runtime.location(location)).on(object, Access::Write).with_argument(argument)
        })
    }

    fn is_rendezvous(&self) -> bool {
        self.capacity == 0
    }

    /// Appends a value that the engine has admitted, and returns its number.
    fn push(&self, value: T) -> u64 {
        let mut state = self.state();
        let number = state.sent;
        state.sent += 1;
        state.values.push_back((number, value));
        number
    }

    fn pop(&self) -> T {
        let oldest = self.state().values.pop_front();
        oldest.expect("the engine admits a receiver only if there is a value").1
    }

    #[track_caller]
    pub(super) fn send(&self, value: T, location: &'static Location<'static>) -> Result<(), SendError<T>> {
        match self.step(Kind::Send, Operation::UNTIMED, location) {
            Reply::Acquired => {}
            Reply::Go => return self.send_closing(value),
            _ => return Err(SendError(value)),
        }
        let number = self.push(value);
        if !self.is_rendezvous() || self.step(Kind::SendEnd, number, location) == Reply::Acquired {
            return Ok(());
        }
        let mut state = self.state();
        let index = state.values.iter().position(|(other, _)| *other == number);
        let value = index.and_then(|index| state.values.remove(index));
        value.map_or(Ok(()), |(_, value)| Err(SendError(value)))
    }

    pub(super) fn try_send(
        &self,
        value: T,
        location: &'static Location<'static>,
    ) -> Result<(), TrySendError<T>> {
        match self.step(Kind::TrySend, Operation::UNTIMED, location) {
            Reply::Acquired => {
                self.push(value);
                Ok(())
            }
            Reply::Busy => Err(TrySendError::Full(value)),
            Reply::Go if self.has_room() => {
                self.send_closing(value).map_err(|error| TrySendError::Disconnected(error.0))
            }
            Reply::Go => Err(TrySendError::Full(value)),
            _ => Err(TrySendError::Disconnected(value)),
        }
    }

    /// Returns true if a value can be sent immediately; after the end of the run, true if it ever can.
    fn has_room(&self) -> bool {
        let state = self.state();
        state.closed || (state.values.len() as u64) < self.capacity
    }

    /// Sends a value after the end of the run, when the engine does not answer. A receiver that never takes
    /// it counts as gone.
    #[cold]
    fn send_closing(&self, value: T) -> Result<(), SendError<T>> {
        while !self.has_room() {
            if !runtime::close_others() {
                runtime::fail_by_blocked();
                return Err(SendError(value));
            }
        }
        if self.state().closed {
            return Err(SendError(value));
        }
        self.push(value);
        Ok(())
    }

    /// Receives a value after the end of the run. Senders that never send one count as gone.
    #[cold]
    fn receive_closing(&self, nanoseconds: u64) -> Result<T, RecvTimeoutError> {
        loop {
            let (oldest, senders) = {
                let mut state = self.state();
                (state.values.pop_front(), state.senders)
            };
            match oldest {
                Some((_, value)) => return Ok(value),
                None if senders == 0 => return Err(RecvTimeoutError::Disconnected),
                None if runtime::close_others() => {}
                None if nanoseconds != Operation::UNTIMED => return Err(RecvTimeoutError::Timeout),
                None => {
                    runtime::fail_by_blocked();
                    return Err(RecvTimeoutError::Disconnected);
                }
            }
        }
    }

    #[track_caller]
    pub(super) fn receive(
        &self,
        nanoseconds: u64,
        location: &'static Location<'static>,
    ) -> Result<T, RecvTimeoutError> {
        if self.is_rendezvous() {
            self.step(Kind::ReceiveBegin, Operation::UNTIMED, location);
        }
        match self.step(Kind::Receive, nanoseconds, location) {
            Reply::Acquired => Ok(self.pop()),
            Reply::TimedOut => Err(RecvTimeoutError::Timeout),
            Reply::Go => self.receive_closing(nanoseconds),
            _ => Err(RecvTimeoutError::Disconnected),
        }
    }

    #[track_caller]
    pub(super) fn try_receive(&self, location: &'static Location<'static>) -> Result<T, TryRecvError> {
        match self.step(Kind::TryReceive, Operation::UNTIMED, location) {
            Reply::Acquired => Ok(self.pop()),
            Reply::Busy => Err(TryRecvError::Empty),
            Reply::Go => {
                let mut state = self.state();
                let none = if state.senders == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty };
                state.values.pop_front().map(|(_, value)| value).ok_or(none)
            }
            _ => Err(TryRecvError::Disconnected),
        }
    }

    /// Adds a sender.
    pub(super) fn add_sender(&self) {
        if !runtime::is_closing() {
            runtime::with(|runtime| {
                let object = self.id(runtime);
                runtime.engine.add_sender(object);
            });
        }
        self.state().senders += 1;
    }

    /// Removes a sender.
    #[track_caller]
    pub(super) fn remove_sender(&self, location: &'static Location<'static>) {
        // In Shuttle, dropping a sender that is not the last one is not an operation.
        let is_silent = runtime::is_shuttle() && self.state().senders > 1;
        if is_silent && !runtime::is_closing() {
            runtime::with(|runtime| {
                let object = self.id(runtime);
                runtime.engine.drop_sender(object);
            });
        } else if !runtime::is_closing() {
            self.step(Kind::Close, 0, location);
        }
        self.state().senders -= 1;
    }

    /// Removes the receiver and the values that will not be received. A sender that waits for its value to be
    /// taken gets it back.
    #[track_caller]
    pub(super) fn remove_receiver(&self, location: &'static Location<'static>) {
        if !runtime::is_closing() {
            self.step(Kind::Close, 1, location);
        }
        self.state().closed = true;
        if !self.is_rendezvous() {
            let values = std::mem::take(&mut self.state().values);
            drop(values);
        }
    }
}
