//! A counter in two shards. Its sum is linearizable as long as it only grows, one by one.

use raddle::sync::atomic::{AtomicI32, Ordering::SeqCst};
use raddle::thread;

/// A counter.
pub struct Sharded {
    adds_by_store: bool,
    shards: [AtomicI32; 2],
}

impl Sharded {
    /// Creates a counter at 0. `adds_by_store`: threads of one shard overwrite each other's changes.
    pub fn new(adds_by_store: bool) -> Sharded {
        Sharded { adds_by_store, shards: [AtomicI32::new(0), AtomicI32::new(0)] }
    }

    /// Adds `change` to the shard of the current thread.
    pub fn add(&self, change: i32) {
        let shard = &self.shards[usize::from(thread::current().id()) % 2];
        if self.adds_by_store {
            shard.store(shard.load(SeqCst) + change, SeqCst);
        } else {
            shard.fetch_add(change, SeqCst);
        }
    }

    /// Returns the sum.
    pub fn get(&self) -> i32 {
        self.shards[0].load(SeqCst) + self.shards[1].load(SeqCst)
    }
}
