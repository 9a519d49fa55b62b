//! The place of the engine's reply to the thread that continues.

use raddle_engine::Reply;
use raddle_model::ThreadId;
use std::cell::Cell;

/// A reply as one word: a thread loads it right after it was stored, and a processor stalls if it loads at once what two
/// stores have written.
pub(super) struct Answer(Cell<u64>);

impl Answer {
    /// Creates a place that holds [`Reply::Go`].
    pub(super) const fn new() -> Self {
        Self(Cell::new(0))
    }

    /// Stores a reply.
    #[inline]
    pub(super) fn set(&self, reply: Reply) {
        let with = |tag: u64, argument: u32| u64::from(argument) << 32 | tag;
        self.0.set(match reply {
            Reply::Go => 0,
            Reply::Acquired => 1,
            Reply::Busy => 2,
            Reply::TimedOut => 3,
            Reply::NotOwner => 4,
            Reply::WouldDeadlock => 5,
            Reply::Number(number) => with(6, number),
            Reply::Spawned(thread) => with(7, thread.0),
            Reply::RunOnce => 8,
            Reply::Closed => 9,
            Reply::Raced => 10,
        });
    }

    /// Returns the reply that was stored.
    #[inline]
    pub(super) fn get(&self) -> Reply {
        let word = self.0.get();
        let argument = (word >> 32) as u32;
        match word as u32 {
            0 => Reply::Go,
            1 => Reply::Acquired,
            2 => Reply::Busy,
            3 => Reply::TimedOut,
            4 => Reply::NotOwner,
            5 => Reply::WouldDeadlock,
            6 => Reply::Number(argument),
            7 => Reply::Spawned(ThreadId(argument)),
            8 => Reply::RunOnce,
            9 => Reply::Closed,
            _ => Reply::Raced,
        }
    }
}
