//! A lock-free skip list of two levels (Herlihy and Shavit, chapter 14). Odd keys are on both levels.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A link to no node. Links are twice the number of a node, plus [`REMOVED`].
const END: usize = usize::MAX - 1;
const REMOVED: usize = 1;
const LEVELS: usize = 2;
/// Nodes are not reused.
const NODES: usize = 16;

/// A set of keys.
pub struct SkipList {
    marks_by_store: bool,
    first: [AtomicUsize; LEVELS],
    nodes: std::sync::Mutex<usize>,
    links: Vec<[AtomicUsize; LEVELS]>,
    keys: Vec<AtomicUsize>,
}

/// The links of a node, or of the beginning.
type Links = [AtomicUsize; LEVELS];

impl SkipList {
    /// Creates an empty set. `marks_by_store`: a node is marked as removed without asking whether it is already.
    pub fn new(marks_by_store: bool) -> SkipList {
        let links = || [AtomicUsize::new(END), AtomicUsize::new(END)];
        SkipList {
            marks_by_store,
            first: links(),
            nodes: std::sync::Mutex::new(0),
            links: (0..NODES).map(|_| links()).collect(),
            keys: (0..NODES).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    fn links(&self, link: Option<usize>) -> &Links {
        link.map_or(&self.first, |node| &self.links[node])
    }

    /// Returns the last node below `key` and the link behind it on each level, and unlinks removed nodes.
    fn find(&self, key: usize) -> ([Option<usize>; LEVELS], [usize; LEVELS]) {
        'again: loop {
            let (mut before, mut after) = ([None; LEVELS], [END; LEVELS]);
            let mut node: Option<usize> = None;
            for level in (0..LEVELS).rev() {
                let mut next = self.links(node)[level].load(SeqCst);
                if next & REMOVED != 0 {
                    continue 'again; // The node was removed since.
                }
                while next != END {
                    let link = self.links[next / 2][level].load(SeqCst);
                    if link & REMOVED != 0 {
                        let past = link & !REMOVED;
                        if self.links(node)[level].compare_exchange(next, past, SeqCst, SeqCst).is_err() {
                            continue 'again;
                        }
                        next = past;
                        continue;
                    }
                    if self.keys[next / 2].load(SeqCst) >= key {
                        break;
                    }
                    (node, next) = (Some(next / 2), link);
                }
                (before[level], after[level]) = (node, next);
            }
            return (before, after);
        }
    }

    fn is_at(&self, link: usize, key: usize) -> bool {
        link != END && self.keys[link / 2].load(SeqCst) == key
    }

    /// Adds a key; returns false if it is there.
    pub fn insert(&self, key: usize) -> bool {
        let mut new = None;
        loop {
            let (before, after) = self.find(key);
            if self.is_at(after[0], key) {
                return false;
            }
            let node = *new.get_or_insert_with(|| {
                let mut nodes = self.nodes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                *nodes += 1;
                *nodes - 1
            });
            self.keys[node].store(key, SeqCst);
            self.links[node][0].store(after[0], SeqCst);
            if self.links(before[0])[0].compare_exchange(after[0], node * 2, SeqCst, SeqCst).is_err() {
                continue;
            }
            if key % 2 == 1 {
                self.link_above(key, node);
            }
            return true;
        }
    }

    /// Links a node on the upper level, unless it is removed meanwhile.
    fn link_above(&self, key: usize, node: usize) {
        loop {
            let (before, after) = self.find(key);
            if after[0] != node * 2 {
                return;
            }
            let old = self.links[node][1].load(SeqCst);
            if old & REMOVED != 0
                || self.links[node][1].compare_exchange(old, after[1], SeqCst, SeqCst).is_err()
                || self.links(before[1])[1].compare_exchange(after[1], node * 2, SeqCst, SeqCst).is_ok()
            {
                return;
            }
        }
    }

    /// Removes a key; returns false if it is not there.
    pub fn remove(&self, key: usize) -> bool {
        let (_, after) = self.find(key);
        if !self.is_at(after[0], key) {
            return false;
        }
        let node = &self.links[after[0] / 2];
        node[1].fetch_or(REMOVED, SeqCst);
        let is_mine = if self.marks_by_store {
            let link = node[0].load(SeqCst);
            node[0].store(link | REMOVED, SeqCst);
            link & REMOVED == 0
        } else {
            node[0].fetch_or(REMOVED, SeqCst) & REMOVED == 0
        };
        self.find(key); // Unlinks it.
        is_mine
    }

    /// Returns true if the key is there.
    pub fn contains(&self, key: usize) -> bool {
        let (_, after) = self.find(key);
        self.is_at(after[0], key)
    }
}
