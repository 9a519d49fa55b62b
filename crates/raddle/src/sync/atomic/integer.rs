//! The atomic integers.

use super::shared::{self, common, pointed};
use super::wide::Wide;
use crate::runtime::{self, Object, Past, ValueUses, Word};
use raddle_model::{Access, Format, Kind};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering;

macro_rules! integer {
    ($name:ident, $int:ty) => {
        integer!($name, $int, std::sync::atomic::$name, |value| {
            let format = if <$int>::MIN == 0 { Format::Unsigned } else { Format::Signed };
            Some((value as u64, size_of::<$int>() as u8, format))
        });
        pointed!([] $name, $int);
    };
    ($name:ident, $int:ty, $std:ty, $word:expr) => {
        #[doc = concat!("A `", stringify!($int), "` that threads share, as in std.")]
        pub struct $name {
            object: Object,
            value: $std,
            /// The initial value of the first run.
            first: $std,
        }

        common!([] $name, $int, $std, |_| true, $word, |value| value as u128, |bits| bits as $int);

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl $name {
            /// Adds, wrapping around; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| before.wrapping_add(value))
            }

            /// Subtracts, wrapping around; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| before.wrapping_sub(value))
            }

            /// Bitwise and; returns the previous value.
            #[track_caller]
            pub fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| before & value)
            }

            /// Bitwise nand; returns the previous value.
            #[track_caller]
            pub fn fetch_nand(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| !(before & value))
            }

            /// Bitwise or; returns the previous value.
            #[track_caller]
            pub fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| before | value)
            }

            /// Bitwise exclusive or; returns the previous value.
            #[track_caller]
            pub fn fetch_xor(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| before ^ value)
            }

            /// Stores the maximum; returns the previous value.
            #[track_caller]
            pub fn fetch_max(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| before.max(value))
            }

            /// Stores the minimum; returns the previous value.
            #[track_caller]
            pub fn fetch_min(&self, value: $int, order: Ordering) -> $int {
                self.modify(order, |before| before.min(value))
            }
        }
    };
}

integer!(AtomicI8, i8);
integer!(AtomicI16, i16);
integer!(AtomicI32, i32);
integer!(AtomicI64, i64);
integer!(AtomicIsize, isize);
integer!(AtomicU8, u8);
integer!(AtomicU16, u16);
integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);

// Std has no stable ones. Reports do not show their values.
integer!(AtomicI128, i128, Wide<i128>, |_| None);
integer!(AtomicU128, u128, Wide<u128>, |_| None);
