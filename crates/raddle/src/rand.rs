//! Random numbers that are part of the schedule, under the names of the `rand` crate that tests use most.
//!
//! Each number is a data choice of the strategy: a random one draws it, an exhaustive one tries every value, and a replay
//! gives it again. So ask for no more values than matter: `gen_range(0..3)` is one choice among three, while `gen::<u64>()`
//! is four choices among 65,536 and has no place under an exhaustive strategy.

use crate::runtime;
use raddle_engine::Reply;
use raddle_model::{Kind, Operation};
use std::ops::{Bound, RangeBounds};
use std::panic::Location;

/// Gives random numbers to whichever thread asks.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ThreadRng;

/// The kinds of sources, as the `rand` crate has them.
pub mod rngs {
    pub use super::ThreadRng;
}

/// The source of random numbers.
pub fn thread_rng() -> ThreadRng {
    ThreadRng
}

/// A random value of any of the types that have them.
#[track_caller]
pub fn random<T: Random>() -> T {
    T::random(Location::caller())
}

/// A number below `bound`, which must be positive, as one choice of the strategy.
#[track_caller]
pub fn random_range(bound: u32) -> u32 {
    choose(bound, Location::caller())
}

/// A source of random bits. There is one kind, [`ThreadRng`], as any other would be out of control.
pub trait RngCore: sealed::Sealed {
    /// 32 random bits.
    #[track_caller]
    fn next_u32(&mut self) -> u32 {
        u32::random(Location::caller())
    }

    /// 64 random bits.
    #[track_caller]
    fn next_u64(&mut self) -> u64 {
        u64::random(Location::caller())
    }

    /// Fills `bytes` with random bits.
    #[track_caller]
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        let place = Location::caller();
        bytes.fill_with(|| u8::random(place));
    }
}

/// Random values. Every [`RngCore`] gives them.
pub trait Rng: RngCore {
    /// A random value.
    #[track_caller]
    fn r#gen<T: Random>(&mut self) -> T {
        T::random(Location::caller())
    }

    /// A random value; the newer name of `gen`.
    #[track_caller]
    fn random<T: Random>(&mut self) -> T {
        T::random(Location::caller())
    }

    /// A number in `range`, which must not be empty. Up to 2^32 - 1 numbers are one choice of the strategy.
    #[track_caller]
    fn gen_range<T: Integer>(&mut self, range: impl RangeBounds<T>) -> T {
        in_range(&range, Location::caller())
    }

    /// As [`Rng::gen_range`], under its newer name.
    #[track_caller]
    fn random_range<T: Integer>(&mut self, range: impl RangeBounds<T>) -> T {
        in_range(&range, Location::caller())
    }

    /// True with probability `p`, which must be in `0.0..=1.0`; certainties are no choice. A fraction with a denominator of
    /// at most 1,000 is a choice among as many.
    #[track_caller]
    fn gen_bool(&mut self, p: f64) -> bool {
        assert!((0.0..=1.0).contains(&p), "{p} is no probability");
        let (favourable, cases) = fraction(p);
        one_of(favourable, cases, Location::caller())
    }

    /// True with probability `p`; the newer name of `gen_bool`.
    #[track_caller]
    fn random_bool(&mut self, p: f64) -> bool {
        self.gen_bool(p)
    }

    /// True with probability `numerator / denominator`, as a choice among `denominator` cases; certainties are no choice.
    #[track_caller]
    fn gen_ratio(&mut self, numerator: u32, denominator: u32) -> bool {
        assert!(numerator <= denominator && denominator > 0, "{numerator}/{denominator} is no probability");
        one_of(numerator, denominator, Location::caller())
    }

    /// True with probability `numerator / denominator`; the newer name of `gen_ratio`.
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

/// Whether the case chosen is one of the first.
#[track_caller]
fn one_of(favourable: u32, cases: u32, place: &'static Location<'static>) -> bool {
    if favourable == 0 || favourable == cases {
        return favourable > 0;
    }
    choose(cases, place) < favourable
}

/// A probability as a fraction: exactly, if the denominator is small, or to the nearest of 65,536 parts.
fn fraction(p: f64) -> (u32, u32) {
    let nearest = |cases: u32| (p * f64::from(cases)).round();
    let cases = (1..=1_000).find(|&cases| (nearest(cases) - p * f64::from(cases)).abs() < 1e-9);
    let cases = cases.unwrap_or(1 << 16);
    (nearest(cases) as u32, cases)
}

/// One choice of the strategy.
#[track_caller]
fn choose(arity: u32, place: &'static Location<'static>) -> u32 {
    assert!(arity > 0, "cannot sample empty range");
    let reply = runtime::step(|runtime| {
        Operation::new(Kind::Choose, runtime.location(place)).with_argument(u64::from(arity))
    });
    if let Reply::Number(number) = reply { number } else { 0 }
}

/// Random bits, in choices among 65,536.
#[track_caller]
fn bits(count: u32, place: &'static Location<'static>) -> u64 {
    if count <= 16 {
        return u64::from(choose(1 << count, place));
    }
    bits(count - 16, place) << 16 | u64::from(choose(1 << 16, place))
}

/// A number in `range`.
#[track_caller]
fn in_range<T: Integer>(range: &impl RangeBounds<T>, place: &'static Location<'static>) -> T {
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
        Ok(arity) => u128::from(choose(arity, place)),
        // Its bias is at most `span / 2^64`.
        Err(_) => (u128::from(bits(64, place)) * (span + 1)) >> 64,
    };
    T::narrow(first + offset as i128)
}

/// A type with random values.
pub trait Random: sealed::Sealed {
    /// A random value, chosen at `place`.
    #[doc(hidden)]
    #[track_caller]
    fn random(place: &'static Location<'static>) -> Self;
}

/// An integer type that ranges are made of.
pub trait Integer: Random + Copy {
    /// The least value.
    #[doc(hidden)]
    const LEAST: i128;
    /// The greatest value.
    #[doc(hidden)]
    const MOST: i128;
    /// The value in a type that has those of all others.
    #[doc(hidden)]
    fn wide(self) -> i128;
    /// A value that is known to be one of this type.
    #[doc(hidden)]
    fn narrow(wide: i128) -> Self;
}

mod sealed {
    /// Keeps others from adding types.
    pub trait Sealed {}
}

macro_rules! integers {
    ($($int:ty),*) => { $(
        impl sealed::Sealed for $int {}

        impl Random for $int {
            #[track_caller]
            fn random(place: &'static Location<'static>) -> $int {
                bits(<$int>::BITS, place) as $int
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
    fn random(place: &'static Location<'static>) -> bool {
        choose(2, place) == 1
    }
}

impl sealed::Sealed for f64 {}

impl Random for f64 {
    /// A number in `0.0..1.0`.
    #[track_caller]
    fn random(place: &'static Location<'static>) -> f64 {
        bits(53, place) as f64 / (1_u64 << 53) as f64
    }
}
