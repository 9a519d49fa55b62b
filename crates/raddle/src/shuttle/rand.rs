//! Random numbers that are part of the schedule, with the traits of the `rand` crate 0.8, as in Shuttle.

use crate::runtime;
use raddle_engine::{Reply, Rng as Numbers};
use raddle_model::{Kind, Operation};
pub use rand08::{Rng, RngCore};
use rngs::ThreadRng;
use std::cell::RefCell;
use std::panic::Location;

/// The seed of a test's random numbers under depth-first search.
pub(super) const DFS_SEED: u64 = 0x12345678;

/// The message for a test that requests random numbers where they are not allowed.
pub(super) const FORBIDDEN: &str =
    "requested random data from DFS scheduler, which was created without `allow_random_data`";

/// The source of a test's random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Data {
    /// The strategy.
    Strategy,
    /// A source with the same numbers in each run.
    Fixed,
    /// None: a test that requests one fails.
    Forbidden,
}

thread_local! {
    static SOURCE: RefCell<(Data, Option<Numbers>)> = const { RefCell::new((Data::Strategy, None)) };
}

/// Sets the source of random numbers for the runs on this OS thread.
pub(super) fn set_data(data: Data) {
    SOURCE.set((data, None));
}

/// Begins a run.
pub(super) fn begin() {
    SOURCE.with_borrow_mut(|(_, numbers)| *numbers = None);
}

/// The kinds of sources.
pub mod rngs {
    /// A source of random numbers for all threads.
    #[derive(Clone, Debug, Default)]
    pub struct ThreadRng {
        pub(super) _private: (),
    }
}

/// Returns the source of random numbers.
pub fn thread_rng() -> ThreadRng {
    ThreadRng::default()
}

impl RngCore for ThreadRng {
    #[track_caller]
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    /// Returns 64 bits derived from one choice of the strategy among 2^32 - 1.
    #[track_caller]
    fn next_u64(&mut self) -> u64 {
        let location = Location::caller();
        let fixed = SOURCE.with_borrow_mut(|(data, numbers)| match data {
            Data::Strategy => None,
            Data::Fixed => Some(Some(numbers.get_or_insert_with(|| Numbers::for_run(DFS_SEED, 0)).bits())),
            Data::Forbidden => Some(None),
        });
        if let Some(number) = fixed {
            return number.unwrap_or_else(|| panic!("{FORBIDDEN}"));
        }
        let reply = runtime::step(|runtime| {
            Operation::new(Kind::Choose, runtime.location(location)).with_argument(u64::from(u32::MAX))
        });
        let choice = if let Reply::Number(number) = reply { number } else { 0 };
        Numbers::for_run(u64::from(choice), 0).bits()
    }

    #[track_caller]
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }

    #[track_caller]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand08::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rand08::CryptoRng for ThreadRng {}
