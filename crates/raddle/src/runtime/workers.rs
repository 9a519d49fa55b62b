//! Ownership of objects that outlive a run.
//!
//! A static belongs to the worker (one job of a check, on its OS thread) that touched it last, for the
//! lifetime of that worker. If another worker touches it, that is a conflict: its check discards all its
//! results, waits until no other check runs, and restarts alone. Until it has dropped everything, its
//! destructors may touch objects of other workers in the same state; so no worker takes anything over
//! meanwhile. The owner of an object follows from the number of the run that knew it, its *epoch*: a worker
//! allocates numbers in blocks. Runs that touch no static have no overhead.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The first run number that was never allocated. 0 is no run.
static EPOCHS: AtomicU32 = AtomicU32::new(1);

/// The size of a worker's first block; each later one is twice as large, up to the limit.
const FIRST_BLOCK: u32 = 1 << 12;
const LARGEST_BLOCK: u32 = 1 << 22;

/// The numbers of all live workers.
static LASTING: Mutex<Vec<Block>> = Mutex::new(Vec::new());
/// Notified when a worker ends or meets a conflict.
static CHANGED: Condvar = Condvar::new();

struct Block {
    epochs: Range<u32>,
    conflict: Conflict,
    given_up: Arc<AtomicBool>,
}

/// True if a worker of a check touched an object of another worker. All workers of a check share one.
#[derive(Clone, Default)]
pub(crate) struct Conflict(Arc<AtomicBool>);

impl Conflict {
    /// Returns true if there was a conflict.
    pub(crate) fn is_met(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn meet(&self) {
        let _lasting = lasting();
        self.0.store(true, Ordering::Relaxed);
        CHANGED.notify_all();
    }
}

/// The numbers of the runs of one job.
pub(super) struct Worker {
    /// The last allocated numbers are the end of the last block.
    blocks: Vec<Range<u32>>,
    /// The remainder of the last block.
    left: Range<u32>,
    conflict: Conflict,
    /// True if its check has a conflict and its last run is over; only destructors are left.
    given_up: Arc<AtomicBool>,
}

impl Worker {
    pub(super) fn new(conflict: Conflict) -> Worker {
        Worker { blocks: Vec::new(), left: 0..0, conflict, given_up: Arc::default() }
    }

    /// Returns a number for the next run.
    #[inline]
    pub(super) fn next_epoch(&mut self) -> u32 {
        match self.left.next() {
            Some(epoch) => epoch,
            None => self.take_block(),
        }
    }

    #[cold]
    fn take_block(&mut self) -> u32 {
        let size = (FIRST_BLOCK << self.blocks.len().min(16)).min(LARGEST_BLOCK);
        let taken =
            EPOCHS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |first| first.checked_add(size));
        let first = taken.expect("a process executes fewer than 2^32 runs");
        let epochs = first..first + size;
        let (conflict, given_up) = (self.conflict.clone(), Arc::clone(&self.given_up));
        lasting().push(Block { epochs: epochs.clone(), conflict, given_up });
        self.blocks.push(epochs.clone());
        self.left = epochs;
        self.left.next().expect("a block is not empty")
    }

    /// Returns true if this worker may take over an object last touched by the run `epoch`: its own run, or
    /// one of a worker that has ended, while no other check is discarded. The effects of that run on the
    /// object are visible when this returns.
    pub(super) fn may_take_over(&self, epoch: u32) -> bool {
        if epoch == 0 || self.blocks.iter().any(|block| block.contains(&epoch)) {
            return true;
        }
        let lasting = lasting();
        let giving_up = || lasting.iter().any(|block| block.conflict.is_met());
        owner(&lasting, epoch).is_none() && (self.conflict.is_met() || !giving_up())
    }

    /// Records that a run touched an object of another worker.
    pub(super) fn meet_conflict(&self) {
        self.conflict.meet();
    }

    /// Records that the run is over; after a conflict, it was the last.
    pub(super) fn close(&self) {
        if self.conflict.is_met() {
            let _lasting = lasting();
            self.given_up.store(true, Ordering::Relaxed);
            CHANGED.notify_all();
        }
    }

    /// Waits, in a destructor of a discarded worker that is about to touch an object of the run `epoch`,
    /// until that object's worker has ended or is discarded too. Returns true if it has ended. No worker
    /// waits for one that waits here.
    pub(super) fn wait_for(&self, epoch: u32) -> bool {
        let waits = |lasting: &mut Vec<Block>| {
            owner(lasting, epoch).is_some_and(|block| !block.given_up.load(Ordering::Relaxed))
        };
        let lasting = CHANGED.wait_while(lasting(), waits).unwrap_or_else(PoisonError::into_inner);
        owner(&lasting, epoch).is_none()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        lasting().retain(|block| !self.blocks.contains(&block.epochs));
        CHANGED.notify_all();
    }
}

fn lasting() -> MutexGuard<'static, Vec<Block>> {
    LASTING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owner(lasting: &[Block], epoch: u32) -> Option<&Block> {
    lasting.iter().find(|block| block.epochs.contains(&epoch))
}
