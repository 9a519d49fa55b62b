//! Two words that are read and written together: a sequence lock, left-right (Ramalhete and Correia 2013), and a pointer to a
//! copy as in RCU.

use Ordering::{Acquire, Relaxed, SeqCst};
use raddle::hint;
use raddle::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

type Pair = [AtomicU32; 2];

fn pair() -> Pair {
    [AtomicU32::new(0), AtomicU32::new(0)]
}

fn read(pair: &Pair) -> (u32, u32) {
    (pair[0].load(SeqCst), pair[1].load(SeqCst))
}

fn write(pair: &Pair, value: u32) {
    pair[0].store(value, SeqCst);
    pair[1].store(value, SeqCst);
}

/// The reader of a sequence lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Looks at the sequence before and after.
    Checks,
    /// Looks at it before only.
    Once,
    /// Looks at it before and after, without the fence that orders its reads.
    Unfenced,
}

/// A sequence lock.
pub struct SeqLock {
    reader: Reader,
    sequence: AtomicUsize,
    data: Pair,
}

impl SeqLock {
    /// Creates a lock around two zeros.
    pub fn new(reader: Reader) -> SeqLock {
        SeqLock { reader, sequence: AtomicUsize::new(0), data: pair() }
    }

    /// Sets both words.
    pub fn set(&self, value: u32) {
        loop {
            let sequence = self.sequence.load(Relaxed);
            if sequence.is_multiple_of(2)
                && self.sequence.compare_exchange(sequence, sequence + 1, Acquire, Relaxed).is_ok()
            {
                fence(Ordering::Release);
                self.data[0].store(value, Relaxed);
                self.data[1].store(value, Relaxed);
                self.sequence.store(sequence + 2, Ordering::Release);
                return;
            }
            hint::spin_loop();
        }
    }

    /// Returns both words.
    pub fn get(&self) -> (u32, u32) {
        loop {
            let sequence = self.sequence.load(Acquire);
            let value = (self.data[0].load(Relaxed), self.data[1].load(Relaxed));
            if self.reader == Reader::Once {
                return value;
            }
            if self.reader == Reader::Checks {
                fence(Acquire);
            }
            if sequence.is_multiple_of(2) && self.sequence.load(Relaxed) == sequence {
                return value;
            }
            hint::spin_loop();
        }
    }
}

/// Two copies of a pair: readers use one while the only writer changes the other.
pub struct LeftRight {
    waits: bool,
    /// The copy that readers use, and the counter at which they announce themselves.
    side: AtomicUsize,
    version: AtomicUsize,
    readers: [AtomicUsize; 2],
    copies: [Pair; 2],
}

impl LeftRight {
    /// Creates two zeros. Unless the writer `waits`, it changes a copy that readers use.
    pub fn new(waits: bool) -> LeftRight {
        LeftRight {
            waits,
            side: AtomicUsize::new(0),
            version: AtomicUsize::new(0),
            readers: [AtomicUsize::new(0), AtomicUsize::new(0)],
            copies: [pair(), pair()],
        }
    }

    fn wait_for(&self, version: usize) {
        while self.waits && self.readers[version].load(SeqCst) > 0 {
            hint::spin_loop();
        }
    }

    /// Sets both words. One thread at a time does.
    pub fn set(&self, value: u32) {
        let side = self.side.load(SeqCst);
        write(&self.copies[1 - side], value);
        self.side.store(1 - side, SeqCst);
        let version = self.version.load(SeqCst);
        self.wait_for(1 - version);
        self.version.store(1 - version, SeqCst);
        self.wait_for(version);
        write(&self.copies[side], value);
    }

    /// Returns both words.
    pub fn get(&self) -> (u32, u32) {
        let version = self.version.load(SeqCst);
        self.readers[version].fetch_add(1, SeqCst);
        let value = read(&self.copies[self.side.load(SeqCst)]);
        self.readers[version].fetch_sub(1, SeqCst);
        value
    }
}

/// A pointer to the current one of three pairs. Writers copy, and give the old pair back.
pub struct Rcu {
    waits: bool,
    current: AtomicUsize,
    readers: AtomicUsize,
    copies: [Pair; 3],
    /// The allocator is not under test.
    free: std::sync::Mutex<Vec<usize>>,
}

impl Rcu {
    /// Creates two zeros. Unless a writer `waits` for readers, it gives a pair back that they use.
    pub fn new(waits: bool) -> Rcu {
        Rcu {
            waits,
            current: AtomicUsize::new(0),
            readers: AtomicUsize::new(0),
            copies: [pair(), pair(), pair()],
            free: std::sync::Mutex::new(vec![2, 1]),
        }
    }

    /// Sets both words. One thread at a time does.
    pub fn set(&self, value: u32) {
        let free = || self.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = free().pop().expect("the only writer uses one pair");
        write(&self.copies[next], value);
        let old = self.current.swap(next, SeqCst);
        while self.waits && self.readers.load(SeqCst) > 0 {
            hint::spin_loop();
        }
        free().push(old);
    }

    /// Returns both words.
    pub fn get(&self) -> (u32, u32) {
        self.readers.fetch_add(1, SeqCst);
        let value = read(&self.copies[self.current.load(SeqCst)]);
        self.readers.fetch_sub(1, SeqCst);
        value
    }
}
