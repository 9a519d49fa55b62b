//! Thread-local variables.

use super::with;
use std::any::Any;
use std::rc::Rc;

/// The values of one thread, in the order in which they were first used.
#[derive(Default)]
pub(crate) struct Locals {
    /// The values by key address. A dropped value leaves an empty entry.
    values: Vec<(usize, Option<Rc<dyn Any>>)>,
}

/// The value of a thread under a key.
pub(crate) enum Local {
    /// No value yet.
    Absent,
    /// A value.
    Value(Rc<dyn Any>),
    /// A value that was dropped because the thread ends.
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

    /// Sets the value and returns the previous one, which the caller must drop outside [`with`].
    pub(crate) fn set(&mut self, key: usize, value: Rc<dyn Any>) -> Option<Rc<dyn Any>> {
        match self.values.iter_mut().find(|(other, _)| *other == key) {
            Some((_, slot)) => slot.replace(value),
            None => {
                self.values.push((key, Some(value)));
                None
            }
        }
    }

    /// Returns true if there is nothing to drop.
    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(|(_, value)| value.is_none())
    }

    fn take_last(&mut self) -> Option<Rc<dyn Any>> {
        self.values.iter_mut().rev().find_map(|(_, value)| value.take())
    }
}

/// Drops all values of the current thread, the youngest first, including those that destructors create.
pub(super) fn drop_all() {
    while let Some(value) = with(|runtime| runtime.locals().take_last()) {
        drop(value);
    }
}
