//! Michael and Scott's queue (PODC 1996). Nodes are not reused.

use crate::arena::{Arena, NONE};
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A queue.
pub struct Queue {
    links_by_store: bool,
    arena: Arena,
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl Queue {
    /// Creates an empty queue. With `links_by_store`, a node is linked to the last one without asking whether it still is.
    pub fn new(links_by_store: bool) -> Queue {
        let arena = Arena::new(16);
        let dummy = arena.take();
        Queue { links_by_store, arena, head: AtomicUsize::new(dummy), tail: AtomicUsize::new(dummy) }
    }

    /// Adds a value at the end.
    pub fn enqueue(&self, value: u32) {
        let node = self.arena.take();
        self.arena[node].value.store(value, SeqCst);
        loop {
            let tail = self.tail.load(SeqCst);
            let next = self.arena[tail].next.load(SeqCst);
            if next != NONE {
                _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                continue;
            }
            let is_linked = if self.links_by_store {
                self.arena[tail].next.store(node, SeqCst);
                true
            } else {
                self.arena[tail].next.compare_exchange(NONE, node, SeqCst, SeqCst).is_ok()
            };
            if is_linked {
                _ = self.tail.compare_exchange(tail, node, SeqCst, SeqCst);
                return;
            }
        }
    }

    /// Takes the oldest value.
    pub fn dequeue(&self) -> Option<u32> {
        loop {
            let head = self.head.load(SeqCst);
            let tail = self.tail.load(SeqCst);
            let next = self.arena[head].next.load(SeqCst);
            if head == tail {
                if next == NONE {
                    return None;
                }
                _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                continue;
            }
            if next == NONE {
                continue; // `head` has changed since.
            }
            let value = self.arena[next].value.load(SeqCst);
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return Some(value);
            }
        }
    }
}
