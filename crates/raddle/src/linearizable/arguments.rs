//! The arguments that operations are called with.

use std::ops::{Range, RangeInclusive};

/// A finite list of arguments, the simplest first. A failing scenario is shown with the earliest ones that still fail.
///
/// Ranges of integers, arrays and vectors of values, and tuples of lists, which have all combinations.
pub trait Arguments<T>: Send + Sync + 'static {
    /// Returns the number of arguments.
    fn count(&self) -> u64;

    /// Returns the argument with this number, which is below [`Arguments::count`].
    fn get(&self, index: u64) -> T;
}

/// An integer whose ranges are [`Arguments`].
pub trait Integer: Copy + Send + Sync + 'static {
    /// Returns the number of integers from `self` to `end`, without `end`; 0 if there are none.
    fn up_to(self, end: Self) -> u64;

    /// Returns the integer that is `steps` above `self`.
    fn above(self, steps: u64) -> Self;
}

macro_rules! integer {
    ($($int:ty)*) => {$(
        impl Integer for $int {
            fn up_to(self, end: $int) -> u64 {
                u64::try_from((end as i128).saturating_sub(self as i128).max(0)).unwrap_or(u64::MAX)
            }

            fn above(self, steps: u64) -> $int {
                (self as i128 + i128::from(steps)) as $int
            }
        }
    )*};
}

integer!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl<T: Integer> Arguments<T> for Range<T> {
    fn count(&self) -> u64 {
        self.start.up_to(self.end)
    }

    fn get(&self, index: u64) -> T {
        self.start.above(index)
    }
}

impl<T: Integer + PartialOrd> Arguments<T> for RangeInclusive<T> {
    fn count(&self) -> u64 {
        if self.is_empty() { 0 } else { self.start().up_to(*self.end()).saturating_add(1) }
    }

    fn get(&self, index: u64) -> T {
        self.start().above(index)
    }
}

impl<T: Clone + Send + Sync + 'static> Arguments<T> for Vec<T> {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn get(&self, index: u64) -> T {
        self[index as usize].clone()
    }
}

impl<T: Clone + Send + Sync + 'static, const N: usize> Arguments<T> for [T; N] {
    fn count(&self) -> u64 {
        N as u64
    }

    fn get(&self, index: u64) -> T {
        self[index as usize].clone()
    }
}

/// No argument.
impl Arguments<()> for () {
    fn count(&self) -> u64 {
        1
    }

    fn get(&self, _: u64) {}
}

impl<X, Y, A: Arguments<X>, B: Arguments<Y>> Arguments<(X, Y)> for (A, B) {
    fn count(&self) -> u64 {
        self.0.count().saturating_mul(self.1.count())
    }

    fn get(&self, index: u64) -> (X, Y) {
        let others = self.1.count();
        (self.0.get(index / others), self.1.get(index % others))
    }
}

impl<X, Y, Z, A: Arguments<X>, B: Arguments<Y>, C: Arguments<Z>> Arguments<(X, Y, Z)> for (A, B, C) {
    fn count(&self) -> u64 {
        self.0.count().saturating_mul(self.1.count()).saturating_mul(self.2.count())
    }

    fn get(&self, index: u64) -> (X, Y, Z) {
        let (second, third) = (self.1.count(), self.2.count());
        let rest = index / third;
        (self.0.get(rest / second), self.1.get(rest % second), self.2.get(index % third))
    }
}
