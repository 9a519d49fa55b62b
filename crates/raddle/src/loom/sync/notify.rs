//! `Notify`.

use crate::runtime::{self, Object};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, Operation};
use std::panic::Location;

/// A token that one thread puts there and another one waits for and takes.
#[derive(Debug)]
pub struct Notify {
    token: Object,
}

impl Notify {
    /// Creates one without the token.
    #[expect(clippy::new_without_default, reason = "Loom's has none")]
    #[track_caller]
    pub fn new() -> Notify {
        Notify { token: Object::new() }
    }

    /// Puts the token there.
    #[track_caller]
    pub fn notify(&self) {
        self.step(Kind::Unpark, Location::caller());
    }

    /// Waits until the token is there and takes it. Unlike Loom's it does not return without reason.
    #[track_caller]
    pub fn wait(&self) {
        self.step(Kind::Park, Location::caller());
    }

    fn step(&self, kind: Kind, place: &'static Location<'static>) {
        runtime::step(|runtime| {
            let token = self.token.id(runtime, |_| Resource::token());
            let operation = Operation::new(kind, runtime.location(place)).on(token, Access::Write);
            if kind == Kind::Park { operation.with_argument(Operation::UNTIMED) } else { operation }
        });
    }
}
