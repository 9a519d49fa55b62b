//! Nodes by number, and an allocator that prefers nodes that were freed, the one that was freed first.

use raddle::sync::atomic::{AtomicU32, AtomicUsize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize as AtomicStd, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number that stands for no node.
pub const NONE: usize = u32::MAX as usize;

/// A node of a list.
pub struct Node {
    /// The value.
    pub value: AtomicU32,
    /// The next node, or [`NONE`].
    pub next: AtomicUsize,
}

/// All nodes that a scenario may need.
pub struct Arena {
    nodes: Vec<Node>,
    /// Free nodes, the next one first. The allocator is not under test, so its accesses are no steps.
    free: Mutex<VecDeque<usize>>,
    /// The number of nodes that have been used.
    used: AtomicStd,
}

impl Arena {
    /// Creates an arena of free nodes.
    pub fn new(nodes: usize) -> Arena {
        Arena {
            nodes: (0..nodes)
                .map(|_| Node { value: AtomicU32::new(0), next: AtomicUsize::new(NONE) })
                .collect(),
            free: Mutex::new(VecDeque::new()),
            used: AtomicStd::new(0),
        }
    }

    /// Takes a node.
    pub fn take(&self) -> usize {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.pop_front().unwrap_or_else(|| self.used.fetch_add(1, Ordering::Relaxed))
    }

    /// Gives a node back.
    pub fn give(&self, node: usize) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push_back(node);
    }
}

impl std::ops::Index<usize> for Arena {
    type Output = Node;

    fn index(&self, node: usize) -> &Node {
        &self.nodes[node]
    }
}
