//! The variables that each thread has for itself.

use super::with;
use std::any::Any;
use std::rc::Rc;

/// The values of one thread, in the order in which they were first used.
#[derive(Default)]
pub(crate) struct Locals {
    /// By the address of the key. A value that was dropped leaves an empty entry behind.
    values: Vec<(usize, Option<Rc<dyn Any>>)>,
}

/// What a thread has under a key.
pub(crate) enum Local {
    /// Nothing so far.
    Absent,
    /// A value.
    Value(Rc<dyn Any>),
    /// A value that was dropped, as the thread ends.
    Dropped,
}

impl Locals {
    pub(crate) fn get(&self, key: usize) -> Local {
        match self.values.iter().find(|(other, _)| *other == key) {
            None => Local::Absent,
            Some((_, Some(value))) => Local::Value(Rc::clone(value)),
            Some((_, None)) => Local::Dropped,
        }
    }

    /// Sets the value and returns the one before, which the caller has to drop outside of [`with`].
    pub(crate) fn set(&mut self, key: usize, value: Rc<dyn Any>) -> Option<Rc<dyn Any>> {
        match self.values.iter_mut().find(|(other, _)| *other == key) {
            Some((_, slot)) => slot.replace(value),
            None => {
                self.values.push((key, Some(value)));
                None
            }
        }
    }

    /// Whether there is nothing to drop.
    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(|(_, value)| value.is_none())
    }

    fn take_last(&mut self) -> Option<Rc<dyn Any>> {
        self.values.iter_mut().rev().find_map(|(_, value)| value.take())
    }
}

/// Drops all values of the current thread, the youngest first, and those that come into being by that.
pub(super) fn drop_all() {
    while let Some(value) = with(|runtime| runtime.locals().take_last()) {
        drop(value);
    }
}
