//! Random numbers that are part of the schedule, under the most common names of the `rand` crate.
//!
//! Each number is a data choice of the strategy: a random strategy draws it, an exhaustive one tries every
//! value, and a replay repeats it. So request no more values than matter: `gen_range(0..3)` is one choice
//! among three, while `gen::<u64>()` is four choices among 65,536 and is unsuitable for an exhaustive
//! strategy.

use crate::runtime;
use raddle_engine::Reply;
use raddle_model::{Kind, Operation};
use std::ops::{Bound, RangeBounds};
use std::panic::Location;

/// A source of random numbers for all threads.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ThreadRng;

/// The kinds of sources, as in the `rand` crate.
pub mod rngs {
    pub use super::ThreadRng;
}

/// Returns the source of random numbers.
pub fn thread_rng() -> ThreadRng {
    ThreadRng
}

/// Returns a random value.
#[track_caller]
pub fn random<T: Random>() -> T {
    T::random(Location::caller())
}

/// Returns a number below `bound`, which must be positive, as one choice of the strategy.
#[track_caller]
pub fn random_range(bound: u32) -> u32 {
    choose(bound, Location::caller())
}

/// A source of random bits. [`ThreadRng`] is the only kind, because others would not be controlled.
pub trait RngCore: sealed::Sealed {
    /// Returns 32 random bits.
    #[track_caller]
    fn next_u32(&mut self) -> u32 {
        u32::random(Location::caller())
    }

    /// Returns 64 random bits.
    #[track_caller]
    fn next_u64(&mut self) -> u64 {
        u64::random(Location::caller())
    }

    /// Fills `bytes` with random bits.
    #[track_caller]
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        let location = Location::caller();
        bytes.fill_with(|| u8::random(location));
    }
}

/// Random values, for every [`RngCore`].
pub trait Rng: RngCore {
    /// Returns a random value.
    #[track_caller]
    fn r#gen<T: Random>(&mut self) -> T {
        T::random(Location::caller())
    }

    /// Returns a random value; the newer name of `gen`.
    #[track_caller]
    fn random<T: Random>(&mut self) -> T {
        T::random(Location::caller())
    }

    /// Returns a number in `range`, which must not be empty. A range of up to 2^32 - 1 numbers is one choice
    /// of the strategy.
    #[track_caller]
    fn gen_range<T: Integer>(&mut self, range: impl RangeBounds<T>) -> T {
        in_range(&range, Location::caller())
    }

    /// Returns a number in `range`; the newer name of `gen_range`.
    #[track_caller]
    fn random_range<T: Integer>(&mut self, range: impl RangeBounds<T>) -> T {
        in_range(&range, Location::caller())
    }

    /// Returns true with probability `p`, which must be in `0.0..=1.0`; 0 and 1 are not a choice. A fraction
    /// with a denominator of at most 1,000 is a choice among that many.
    #[track_caller]
    fn gen_bool(&mut self, p: f64) -> bool {
        assert!((0.0..=1.0).contains(&p), "{p} is not a probability");
        let (favourable, cases) = fraction(p);
        one_of(favourable, cases, Location::caller())
    }

    /// Returns true with probability `p`; the newer name of `gen_bool`.
    #[track_caller]
    fn random_bool(&mut self, p: f64) -> bool {
        self.gen_bool(p)
    }

    /// Returns true with probability `numerator / denominator`, as a choice among `denominator` cases; 0 and
    /// 1 are not a choice.
    #[track_caller]
    fn gen_ratio(&mut self, numerator: u32, denominator: u32) -> bool {
        assert!(
            numerator <= denominator && denominator > 0,
            "{numerator}/{denominator} is not a probability"
        );
        one_of(numerator, denominator, Location::caller())
    }

    /// Returns true with probability `numerator / denominator`; the newer name of `gen_ratio`.
    #[track_caller]
    fn random_ratio(&mut self, numerator: u32, denominator: u32) -> bool {
        self.gen_ratio(numerator, denominator)
    }
}

impl sealed::Sealed for ThreadRng {}

impl RngCore for ThreadRng {}

impl<R: RngCore + ?Sized> sealed::Sealed for &mut R {}

impl<R: RngCore + ?Sized> RngCore for &mut R {}

impl<R: RngCore + ?Sized> Rng for R {}

/// Returns true if the chosen case is one of the first `favourable` ones.
#[track_caller]
fn one_of(favourable: u32, cases: u32, location: &'static Location<'static>) -> bool {
    if favourable == 0 || favourable == cases {
        return favourable > 0;
    }
    choose(cases, location) < favourable
}

/// Returns a probability as a fraction: exactly, if the denominator is small, otherwise to the nearest of
/// 65,536 parts.
fn fraction(p: f64) -> (u32, u32) {
    let nearest = |cases: u32| (p * f64::from(cases)).round();
    let cases = (1..=1_000).find(|&cases| (nearest(cases) - p * f64::from(cases)).abs() < 1e-9);
    let cases = cases.unwrap_or(1 << 16);
    (nearest(cases) as u32, cases)
}

/// Returns one choice of the strategy.
#[track_caller]
fn choose(arity: u32, location: &'static Location<'static>) -> u32 {
    assert!(arity > 0, "cannot sample empty range");
    let reply = runtime::step(|runtime| {
        Operation::new(Kind::Choose, runtime.location(location)).with_argument(u64::from(arity))
    });
    if let Reply::Number(number) = reply { number } else { 0 }
}

/// Returns random bits, in choices among 65,536.
#[track_caller]
fn bits(count: u32, location: &'static Location<'static>) -> u64 {
    if count <= 16 {
        return u64::from(choose(1 << count, location));
    }
    bits(count - 16, location) << 16 | u64::from(choose(1 << 16, location))
}

/// Returns a number in `range`.
#[track_caller]
fn in_range<T: Integer>(range: &impl RangeBounds<T>, location: &'static Location<'static>) -> T {
    let first = match range.start_bound() {
        Bound::Included(first) => first.wide(),
        Bound::Excluded(before) => before.wide() + 1,
        Bound::Unbounded => T::LEAST,
    };
    let last = match range.end_bound() {
        Bound::Included(last) => last.wide(),
        Bound::Excluded(after) => after.wide() - 1,
        Bound::Unbounded => T::MOST,
    };
    assert!(first <= last, "cannot sample empty range");
    let span = (last - first) as u128;
    let offset = match u32::try_from(span + 1) {
        Ok(arity) => u128::from(choose(arity, location)),
        // The bias is at most `span / 2^64`.
        Err(_) => (u128::from(bits(64, location)) * (span + 1)) >> 64,
    };
    T::narrow(first + offset as i128)
}

/// A type with random values.
pub trait Random: sealed::Sealed {
    /// Returns a random value, chosen at `location`.
    #[doc(hidden)]
    #[track_caller]
    fn random(location: &'static Location<'static>) -> Self;
}

/// An integer type for ranges.
pub trait Integer: Random + Copy {
    /// The smallest value.
    #[doc(hidden)]
    const LEAST: i128;
    /// The largest value.
    #[doc(hidden)]
    const MOST: i128;
    /// Converts to a type that holds the values of all integer types.
    #[doc(hidden)]
    fn wide(self) -> i128;
    /// Converts from a value that is in the range of this type.
    #[doc(hidden)]
    fn narrow(wide: i128) -> Self;
}

mod sealed {
    /// Prevents implementations in other crates.
    pub trait Sealed {}
}

macro_rules! integers {
    ($($int:ty),*) => { $(
        impl sealed::Sealed for $int {}

        impl Random for $int {
            #[track_caller]
            fn random(location: &'static Location<'static>) -> $int {
                bits(<$int>::BITS, location) as $int
            }
        }

        impl Integer for $int {
            const LEAST: i128 = <$int>::MIN as i128;
            const MOST: i128 = <$int>::MAX as i128;

            fn wide(self) -> i128 {
                self as i128
            }

            fn narrow(wide: i128) -> $int {
                wide as $int
            }
        }
    )* };
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl sealed::Sealed for bool {}

impl Random for bool {
    #[track_caller]
    fn random(location: &'static Location<'static>) -> bool {
        choose(2, location) == 1
    }
}

impl sealed::Sealed for f64 {}

impl Random for f64 {
    /// Returns a number in `0.0..1.0`.
    #[track_caller]
    fn random(location: &'static Location<'static>) -> f64 {
        bits(53, location) as f64 / (1_u64 << 53) as f64
    }
}
