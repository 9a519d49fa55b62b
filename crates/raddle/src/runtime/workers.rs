//! Who may use what outlives a run.
//!
//! A static belongs to the worker (one job of a check, on its OS thread) that touched it last, for as long as that worker
//! lasts. Another worker that comes to touch it has met a conflict: its check gives up all that it did, waits until no other
//! check runs, and begins again alone. Until it has dropped all that it had, its destructors may touch what belongs to others
//! that are given up as well; so nobody else takes anything over meanwhile. Whose an object is shows in the number of the run that knew it, its *epoch*:
//! a worker takes numbers by the block. Nothing of this costs a run anything that touches no static.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The first number of a run that was never given out. 0 is no run.
static EPOCHS: AtomicU32 = AtomicU32::new(1);

/// How many numbers the first block of a worker has; each later one has twice as many, up to the limit.
const FIRST_BLOCK: u32 = 1 << 12;
const LARGEST_BLOCK: u32 = 1 << 22;

/// The numbers of all workers that last.
static LASTING: Mutex<Vec<Block>> = Mutex::new(Vec::new());
/// Notified when a worker ends or meets a conflict.
static CHANGED: Condvar = Condvar::new();

struct Block {
    epochs: Range<u32>,
    conflict: Conflict,
    given_up: Arc<AtomicBool>,
}

/// Whether a worker of a check touched what belongs to another worker. All workers of a check share one.
#[derive(Clone, Default)]
pub(crate) struct Conflict(Arc<AtomicBool>);

impl Conflict {
    /// Whether there was one.
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
    /// Those given out last are the end of the last block.
    blocks: Vec<Range<u32>>,
    /// What is left of the last block.
    left: Range<u32>,
    conflict: Conflict,
    /// Whether its check has met a conflict and its last run is over; only destructors are left.
    given_up: Arc<AtomicBool>,
}

impl Worker {
    pub(super) fn new(conflict: Conflict) -> Worker {
        Worker { blocks: Vec::new(), left: 0..0, conflict, given_up: Arc::default() }
    }

    /// A number for the next run.
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
        let first = taken.expect("a process makes fewer than 2^32 runs");
        let epochs = first..first + size;
        let (conflict, given_up) = (self.conflict.clone(), Arc::clone(&self.given_up));
        lasting().push(Block { epochs: epochs.clone(), conflict, given_up });
        self.blocks.push(epochs.clone());
        self.left = epochs;
        self.left.next().expect("a block is not empty")
    }

    /// Whether this worker may take over what the run `epoch` was the last to touch: its own run, or one of a worker that
    /// has ended, while no other check is being given up. What that run did to the object can be seen when this returns.
    pub(super) fn may_take_over(&self, epoch: u32) -> bool {
        if epoch == 0 || self.blocks.iter().any(|block| block.contains(&epoch)) {
            return true;
        }
        let lasting = lasting();
        let giving_up = || lasting.iter().any(|block| block.conflict.is_met());
        owner(&lasting, epoch).is_none() && (self.conflict.is_met() || !giving_up())
    }

    /// Notes that a run touched what it may not.
    pub(super) fn meet_conflict(&self) {
        self.conflict.meet();
    }

    /// Notes that the run is over; if its check has met a conflict, it was the last.
    pub(super) fn close(&self) {
        if self.conflict.is_met() {
            let _lasting = lasting();
            self.given_up.store(true, Ordering::Relaxed);
            CHANGED.notify_all();
        }
    }

    /// Called by a destructor of a worker that is given up, which is about to touch what belongs to the run `epoch`. Waits
    /// until that worker has ended, or is given up too, and tells whether it has ended. Nobody waits for one who waits here.
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
