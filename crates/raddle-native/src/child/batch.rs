//! A batch of runs: the server orders several at a time from a process that executes many, and is woken at the end.
//!
//! A run that passes leaves its results in memory for the batch, behind those before it, and the process continues with
//! the next order. Any other run, and the last one, leaves them where all runs do, and ends the batch. The memory begins
//! with the orders; the results of each run follow, preceded by their length.
#![expect(unsafe_code, reason = "plain data is copied to and from shared memory")]

use crate::child::results::{self, RunData};
use crate::child::shared_memory::{self, BATCH_SIZE, Cursor, batch_memory, batch_word, number};
use crate::platform::raw;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The maximum number of orders: as many as are in flight at a time.
pub(crate) const MOST: usize = 64;

/// The offset of the results.
const RESULTS: usize = MOST * size_of::<[u64; 2]>();

/// Instead of the index of a strategy: the order is a text where results begin, and its length follows.
const TEXT: u64 = u64::MAX;

/// An order that was taken.
pub(crate) enum Taken {
    /// The index of a strategy, and that of its run.
    Run(usize, u64),
    /// The description of a run.
    Text(&'static [u8]),
}

/// The end of the results, without what runs of exhausted strategies use.
const LIMIT: usize = BATCH_SIZE - 8 * MOST;

/// In the process that executes the batch: true until it has reported the end. The server may order the next one before
/// this process is ready for it.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// The states of the word.
const TAKEN: u32 = 0;
const ORDERED: u32 = 1;

/// The number of orders.
fn orders() -> &'static AtomicU64 {
    number(12)
}

/// The number of orders that the process has taken.
fn taken_orders() -> &'static AtomicU64 {
    number(13)
}

/// The number of runs in the memory for the batch, and of its bytes that they use.
fn kept_runs() -> &'static AtomicU64 {
    number(15)
}

fn used() -> &'static AtomicU64 {
    number(16)
}

/// Returns the place of a number in the memory for the batch.
fn word(offset: usize) -> *mut u64 {
    (batch_memory() + offset) as *mut u64
}

/// Orders runs, each given by the index of its strategy and its own, from the process that waits in [`take`].
pub(crate) fn order(runs: &[(usize, u64)]) {
    for (index, &(strategy, run)) in runs.iter().enumerate() {
        // SAFETY: the memory has room for `MOST` orders, and the process that reads them waits.
        unsafe { word(16 * index).cast::<[u64; 2]>().write([strategy as u64, run]) };
    }
    publish(runs.len());
}

/// Orders a run that is described by a text. Returns false if it is too long.
pub(crate) fn order_text(text: &[u8]) -> bool {
    if RESULTS + text.len() > LIMIT {
        return false;
    }
    // SAFETY: the memory has room for the order and, by the check above, for the text; the process that reads them waits.
    unsafe {
        word(0).cast::<[u64; 2]>().write([TEXT, text.len() as u64]);
        std::ptr::copy_nonoverlapping(text.as_ptr(), word(RESULTS).cast::<u8>(), text.len());
    }
    publish(1);
    true
}

/// Wakes the process for a batch of so many orders.
fn publish(count: usize) {
    orders().store(count as u64, Ordering::Relaxed);
    taken_orders().store(0, Ordering::Relaxed);
    kept_runs().store(0, Ordering::Relaxed);
    used().store(RESULTS as u64, Ordering::Relaxed);
    batch_word().store(ORDERED, Ordering::Release);
    raw::futex_wake(batch_word());
}

/// Takes the next order, and waits for one if none is left.
pub(crate) fn take() -> Taken {
    if !HAS_BEGUN.swap(true, Ordering::Relaxed) {
        loop {
            match batch_word().load(Ordering::Acquire) {
                ORDERED => break,
                other => raw::futex_wait(batch_word(), other),
            }
        }
        batch_word().store(TAKEN, Ordering::Release);
    }
    let index = taken_orders().fetch_add(1, Ordering::AcqRel) as usize;
    // SAFETY: the server has written the order there.
    let [strategy, run] = unsafe { word(16 * index).cast::<[u64; 2]>().read() };
    if strategy == TEXT {
        // SAFETY: the server has written a text of this length there, and no results follow before it is read.
        return Taken::Text(unsafe { std::slice::from_raw_parts(word(RESULTS).cast(), run as usize) });
    }
    Taken::Run(strategy as usize, run)
}

/// Returns true if the batch has orders that were not taken.
fn is_left() -> bool {
    HAS_BEGUN.load(Ordering::Relaxed)
        && taken_orders().load(Ordering::Relaxed) < orders().load(Ordering::Relaxed)
}

/// Keeps the results of the latest run for the end of the batch. Returns false if the batch ends with it.
pub(crate) fn keep() -> bool {
    let length = shared_memory::plain();
    let at = used().load(Ordering::Relaxed) as usize;
    if length == 0 || !is_left() || at + 8 + length > LIMIT {
        // The server orders the rest again.
        HAS_BEGUN.store(false, Ordering::Relaxed);
        return false;
    }
    // SAFETY: the memory has room for the results, by the check above.
    unsafe {
        word(at).write(length as u64);
        let to = word(at + 8).cast::<u8>();
        std::ptr::copy_nonoverlapping(Cursor::new().bytes(length).as_ptr(), to, length);
    }
    used().store((at + 8 + length.next_multiple_of(8)) as u64, Ordering::Relaxed);
    shared_memory::clear_run();
    kept_runs().fetch_add(1, Ordering::Release);
    true
}

/// Records that the strategy of the latest order has no schedule left. Returns false if the batch ends with it.
pub(crate) fn keep_exhausted() -> bool {
    let at = used().load(Ordering::Relaxed) as usize;
    // SAFETY: results leave room for a word of every order.
    unsafe { word(at).write(0) };
    used().store((at + 8) as u64, Ordering::Relaxed);
    kept_runs().fetch_add(1, Ordering::Release);
    let is_left = is_left();
    HAS_BEGUN.store(is_left, Ordering::Relaxed);
    is_left
}

/// Returns the number of runs of the latest batch that were kept.
pub(crate) fn kept() -> u64 {
    kept_runs().load(Ordering::Acquire)
}

/// Forgets the latest batch, before the first one of another process.
pub(crate) fn forget() {
    kept_runs().store(0, Ordering::Relaxed);
}

/// Returns the number of orders that were taken.
pub(crate) fn taken() -> u64 {
    taken_orders().load(Ordering::Acquire)
}

/// The results of a batch, which is over.
pub(crate) struct Batch {
    left: u64,
    offset: usize,
    /// True if the latest order that was taken has no results here.
    pub(crate) has_last: bool,
}

impl Batch {
    /// Returns the empty batch.
    pub(crate) fn none() -> Batch {
        Batch { left: 0, offset: 0, has_last: false }
    }

    /// Returns the results of the latest batch, whose process waits or has ended.
    pub(crate) fn end() -> Batch {
        batch_word().store(TAKEN, Ordering::Release);
        let left = kept();
        Batch { left, offset: RESULTS, has_last: taken() > left }
    }

    /// Removes the next run. Returns `None` if none is left, or it had no schedule.
    pub(crate) fn next(&mut self) -> Option<Box<RunData>> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: the process has written a length there.
        let length = unsafe { word(self.offset).read() } as usize;
        let at = self.offset + 8;
        self.offset = at + length.next_multiple_of(8);
        if length == 0 { None } else { results::read_parts(&mut Cursor::of_batch(at)) }
    }
}
