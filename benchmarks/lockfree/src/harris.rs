//! Harris's sorted list (DISC 2001) as a set, and with buckets as a hash table that grows (Shalev and Shavit, JACM 2006).

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

/// The number of the last node, and the first one.
const END: usize = 0;
const FIRST: usize = 1;
/// The bit of a link whose node is removed.
const REMOVED: usize = 1;

/// A list of keys. Links are twice the number of a node, plus `REMOVED`. Nodes are not reused.
pub struct List {
    removes_without_mark: bool,
    nodes: Vec<(AtomicUsize, AtomicUsize)>,
    /// The next free node; the allocator is not under test.
    free: Mutex<usize>,
}

impl List {
    /// Creates an empty list. `removes_without_mark`: a node is unlinked while others may be linked behind it.
    pub fn new(removes_without_mark: bool) -> List {
        let nodes: Vec<_> = (0..20).map(|_| (AtomicUsize::new(0), AtomicUsize::new(END))).collect();
        List { removes_without_mark, nodes, free: Mutex::new(FIRST + 1) }
    }

    fn node(&self, key: usize) -> usize {
        let node = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            *free += 1;
            *free - 1
        };
        self.nodes[node].0.store(key, SeqCst);
        node
    }

    fn link(&self, node: usize) -> &AtomicUsize {
        &self.nodes[node].1
    }

    /// Returns the last node below `key`, after `start`, and the next one with its key.
    fn find(&self, start: usize, key: usize) -> (usize, usize, Option<usize>) {
        'again: loop {
            let mut before = start;
            let mut next = self.link(before).load(SeqCst) & !REMOVED;
            loop {
                if next == END {
                    return (before, END, None);
                }
                let node = next / 2;
                let after = self.link(node).load(SeqCst);
                if after & REMOVED != 0 {
                    if self.link(before).compare_exchange(next, after & !REMOVED, SeqCst, SeqCst).is_err() {
                        continue 'again;
                    }
                    next = after & !REMOVED;
                    continue;
                }
                let found = self.nodes[node].0.load(SeqCst);
                if found >= key {
                    return (before, next, Some(found));
                }
                (before, next) = (node, after);
            }
        }
    }

    /// Adds a key behind `start`. Returns its node, and true if it is new.
    fn insert_from(&self, start: usize, key: usize) -> (usize, bool) {
        let mut node = None;
        loop {
            let (before, next, found) = self.find(start, key);
            if found == Some(key) {
                return (next / 2, false);
            }
            let node = *node.get_or_insert_with(|| self.node(key));
            self.link(node).store(next, SeqCst);
            if self.link(before).compare_exchange(next, node * 2, SeqCst, SeqCst).is_ok() {
                return (node, true);
            }
        }
    }

    fn remove_from(&self, start: usize, key: usize) -> bool {
        loop {
            let (before, next, found) = self.find(start, key);
            if found != Some(key) {
                return false;
            }
            let after = self.link(next / 2).load(SeqCst);
            if self.removes_without_mark {
                if self.link(before).compare_exchange(next, after & !REMOVED, SeqCst, SeqCst).is_ok() {
                    return true;
                }
            } else if after & REMOVED == 0
                && self.link(next / 2).compare_exchange(after, after | REMOVED, SeqCst, SeqCst).is_ok()
            {
                _ = self.link(before).compare_exchange(next, after, SeqCst, SeqCst);
                return true;
            }
        }
    }

    fn contains_from(&self, start: usize, key: usize) -> bool {
        self.find(start, key).2 == Some(key)
    }

    /// Adds a key; returns false if it is there.
    pub fn insert(&self, key: usize) -> bool {
        self.insert_from(FIRST, key).1
    }

    /// Removes a key; returns false if it is not there.
    pub fn remove(&self, key: usize) -> bool {
        self.remove_from(FIRST, key)
    }

    /// Returns true if the key is there.
    pub fn contains(&self, key: usize) -> bool {
        self.contains_from(FIRST, key)
    }
}

/// A set that begins with one bucket and grows to two, four and eight. All keys are in one list, in the order of their reversed
/// bits; a bucket is a node of the list.
pub struct Table {
    publishes_early: bool,
    list: List,
    /// The node of each bucket, or 0.
    buckets: [AtomicUsize; 8],
    size: AtomicUsize,
    count: AtomicUsize,
}

/// Keys are below this.
const KEYS: usize = 8;

impl Table {
    /// Creates an empty table. `publishes_early`: a bucket is published before its node is in the list.
    pub fn new(publishes_early: bool) -> Table {
        let buckets = std::array::from_fn(|bucket| AtomicUsize::new(if bucket == 0 { FIRST } else { 0 }));
        let (size, count) = (AtomicUsize::new(1), AtomicUsize::new(0));
        Table { publishes_early, list: List::new(false), buckets, size, count }
    }

    /// Returns the order of a key, or of a bucket, in the list: that of its reversed bits, a bucket before its keys.
    fn order(number: usize, is_key: bool) -> usize {
        let reversed = (0..3).fold(0, |reversed, bit| reversed << 1 | (number >> bit & 1));
        reversed << 1 | usize::from(is_key)
    }

    /// Returns the node of the bucket of a key.
    fn bucket(&self, bucket: usize) -> usize {
        let known = self.buckets[bucket].load(SeqCst);
        if known != 0 {
            return known;
        }
        let highest = bucket.ilog2();
        let parent = self.bucket(bucket & !(1 << highest));
        if self.publishes_early {
            let node = self.list.node(Table::order(bucket, false));
            if self.buckets[bucket].compare_exchange(0, node, SeqCst, SeqCst).is_err() {
                return self.buckets[bucket].load(SeqCst);
            }
            loop {
                let (before, next, _) = self.list.find(parent, Table::order(bucket, false));
                self.list.link(node).store(next, SeqCst);
                if self.list.link(before).compare_exchange(next, node * 2, SeqCst, SeqCst).is_ok() {
                    return node;
                }
            }
        }
        let node = self.list.insert_from(parent, Table::order(bucket, false)).0;
        self.buckets[bucket].store(node, SeqCst);
        node
    }

    fn start(&self, key: usize) -> usize {
        self.bucket(key % self.size.load(SeqCst))
    }

    /// Adds a key below 8; returns false if it is there. Doubles the number of buckets that hold more than a key each.
    pub fn insert(&self, key: usize) -> bool {
        assert!(key < KEYS, "keys have three bits");
        if !self.list.insert_from(self.start(key), Table::order(key, true)).1 {
            return false;
        }
        let size = self.size.load(SeqCst);
        // Below zero for a moment, if another thread removes the key before it is counted.
        let count = self.count.fetch_add(1, SeqCst).wrapping_add(1).cast_signed();
        if count > size.cast_signed() && size < self.buckets.len() {
            _ = self.size.compare_exchange(size, size * 2, SeqCst, SeqCst);
        }
        true
    }

    /// Removes a key; returns false if it is not there.
    pub fn remove(&self, key: usize) -> bool {
        let is_removed = self.list.remove_from(self.start(key), Table::order(key, true));
        if is_removed {
            self.count.fetch_sub(1, SeqCst);
        }
        is_removed
    }

    /// Returns true if the key is there.
    pub fn contains(&self, key: usize) -> bool {
        self.list.contains_from(self.start(key), Table::order(key, true))
    }
}
