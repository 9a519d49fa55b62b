//! `Notify`.

use crate::runtime::{self, Object};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, Operation};
use std::panic::Location;

/// A token that one thread sets and another one waits for and takes.
#[derive(Debug)]
pub struct Notify {
    token: Object,
}

impl Notify {
    /// Creates an unset token.
    #[expect(clippy::new_without_default, reason = "Loom's has none")]
    #[track_caller]
    pub fn new() -> Notify {
        Notify { token: Object::new() }
    }

    /// Sets the token.
    #[track_caller]
    pub fn notify(&self) {
        self.step(Kind::Unpark, Location::caller());
    }

    /// Waits until the token is set and takes it. Unlike Loom's, it has no spurious wake-ups.
    #[track_caller]
    pub fn wait(&self) {
        self.step(Kind::Park, Location::caller());
    }

    fn step(&self, kind: Kind, location: &'static Location<'static>) {
        runtime::step(|runtime| {
            let token = self.token.id(runtime, |_| Resource::token());
            let operation = Operation::new(kind, runtime.location(location)).on(token, Access::Write);
            if kind == Kind::Park { operation.with_argument(Operation::UNTIMED) } else { operation }
        });
    }
}
