//! Treiber's stack (1986), with nodes that are reused.

use crate::arena::{Arena, NONE};
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

/// The protection of nodes in use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// None: the ABA problem.
    Plain,
    /// A number in the upper half of `top` that changes with each pop.
    Tagged,
    /// A number that never changes.
    ConstantTag,
    /// A node that some thread announces is not reused.
    HazardPointers,
    /// As before, but a thread does not look at `top` again after the announcement.
    UncheckedHazardPointers,
}

/// A stack.
pub struct Stack {
    reuse: Reuse,
    arena: Arena,
    top: AtomicUsize,
    hazards: Vec<AtomicUsize>,
}

const THREADS: usize = 4;

fn slot() -> usize {
    usize::from(thread::current().id()) % THREADS
}

impl Stack {
    /// Creates an empty stack.
    pub fn new(reuse: Reuse) -> Stack {
        Stack {
            reuse,
            arena: Arena::new(16),
            top: AtomicUsize::new(NONE),
            hazards: (0..THREADS).map(|_| AtomicUsize::new(NONE)).collect(),
        }
    }

    /// Pushes a value.
    pub fn push(&self, value: u32) {
        let node = self.arena.take();
        self.arena[node].value.store(value, SeqCst);
        loop {
            let top = self.top.load(SeqCst);
            self.arena[node].next.store(top & NONE, SeqCst);
            if self.top.compare_exchange(top, (top & !NONE) | node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    /// Pops the latest value.
    pub fn pop(&self) -> Option<u32> {
        loop {
            let top = self.top.load(SeqCst);
            let node = top & NONE;
            if node == NONE {
                return None;
            }
            let announces = matches!(self.reuse, Reuse::HazardPointers | Reuse::UncheckedHazardPointers);
            if announces {
                self.hazards[slot()].store(node, SeqCst);
                if self.reuse == Reuse::HazardPointers && self.top.load(SeqCst) != top {
                    continue;
                }
            }
            let next = self.arena[node].next.load(SeqCst);
            let tag =
                if self.reuse == Reuse::Tagged { (top & !NONE).wrapping_add(NONE + 1) } else { top & !NONE };
            if self.top.compare_exchange(top, tag | next, SeqCst, SeqCst).is_err() {
                continue;
            }
            let value = self.arena[node].value.load(SeqCst);
            if announces {
                self.hazards[slot()].store(NONE, SeqCst);
                // A node in use is lost.
                if self.hazards.iter().any(|hazard| hazard.load(SeqCst) == node) {
                    return Some(value);
                }
            }
            self.arena.give(node);
            return Some(value);
        }
    }
}
