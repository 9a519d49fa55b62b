//! `std::sync::atomic` under control, sequentially consistent whatever order is asked for.

use crate::runtime::{self, Object};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, Operation};
use std::panic::Location;
pub use std::sync::atomic::Ordering;

/// An integer that threads share, as in std.
#[derive(Debug)]
pub struct AtomicUsize {
    object: Object,
    value: std::sync::atomic::AtomicUsize,
}

impl AtomicUsize {
    /// An atomic with a first value.
    #[track_caller]
    pub const fn new(value: usize) -> AtomicUsize {
        AtomicUsize { object: Object::new(), value: std::sync::atomic::AtomicUsize::new(value) }
    }

    #[inline]
    fn step(&self, kind: Kind, access: Access, place: &'static Location<'static>) {
        runtime::step(|runtime| {
            let object = self.object.id(runtime, || Resource::Memory);
            Operation::new(kind, runtime.location(place)).on(object, access)
        });
    }

    /// Reads it.
    #[track_caller]
    pub fn load(&self, _order: Ordering) -> usize {
        self.step(Kind::Read, Access::Read, Location::caller());
        self.value.load(Ordering::SeqCst)
    }

    /// Adds to it, and gives the value before.
    #[track_caller]
    pub fn fetch_add(&self, amount: usize, _order: Ordering) -> usize {
        self.step(Kind::ReadModifyWrite, Access::Write, Location::caller());
        self.value.fetch_add(amount, Ordering::SeqCst)
    }
}
