//! `AtomicBool`.

use super::shared::{self, common, pointed};
use crate::runtime::{self, Object, Past, ValueUses, Word};
use raddle_model::{Access, Format, Kind};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// A boolean that threads share, as in std.
pub struct AtomicBool {
    object: Object,
    value: std::sync::atomic::AtomicBool,
    /// The initial value of the first run.
    first: std::sync::atomic::AtomicBool,
}

pointed!([] AtomicBool, bool);
common!([] AtomicBool, bool, std::sync::atomic::AtomicBool, |_| true, |value| Some((u64::from(value), 1, Format::Bool)), u128::from, |bits| bits != 0);

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

impl AtomicBool {
    /// Logical and with `value`; returns the previous value.
    #[track_caller]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        self.modify(order, |before| before & value)
    }

    /// Logical nand with `value`; returns the previous value.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        self.modify(order, |before| !(before & value))
    }

    /// Logical or with `value`; returns the previous value.
    #[track_caller]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        self.modify(order, |before| before | value)
    }

    /// Logical exclusive or with `value`; returns the previous value.
    #[track_caller]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        self.modify(order, |before| before ^ value)
    }

    /// Negates the value; returns the previous value.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.modify(order, |before| !before)
    }
}
