//! The thread of highest priority, without looking at all of them.

use raddle_model::ThreadId;

/// The bits of a key that hold the thread, so that the key of the winner tells who it is.
const THREAD_BITS: u32 = 20;

/// A complete binary tree of maxima over the threads: setting a priority and reading the winner take a number of
/// steps that grows with the logarithm of the number of threads.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tournament {
    /// A power of two.
    leaves: usize,
    /// Invariant: entry `i` is the larger of entries `2i` and `2i + 1`; leaves start at `leaves`; 0 is nobody.
    keys: Vec<u64>,
}

impl Tournament {
    /// Forgets all priorities.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.keys.fill(0);
    }

    /// Gives `thread` a priority. Only its upper 44 bits count; equal ones are told apart by thread.
    #[inline]
    pub(crate) fn set(&mut self, thread: ThreadId, priority: u64) {
        // The lowest bit keeps the key of a thread with priority 0 apart from nobody.
        let key = (priority >> THREAD_BITS).max(1) << THREAD_BITS | u64::from(thread.0);
        self.put(thread.index(), key);
    }

    /// Takes `thread` out.
    #[inline]
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        self.put(thread.index(), 0);
    }

    /// The thread of highest priority.
    #[inline]
    pub(crate) fn winner(&self) -> Option<ThreadId> {
        let &key = self.keys.get(1)?;
        (key != 0).then_some(ThreadId(key as u32 & ((1 << THREAD_BITS) - 1)))
    }

    #[inline]
    fn put(&mut self, index: usize, key: u64) {
        if index >= self.leaves {
            self.grow(index + 1);
        }
        let mut node = self.leaves + index;
        self.keys[node] = key;
        while node > 1 {
            node /= 2;
            let larger = self.keys[2 * node].max(self.keys[2 * node + 1]);
            if self.keys[node] == larger {
                break;
            }
            self.keys[node] = larger;
        }
    }

    #[cold]
    fn grow(&mut self, threads: usize) {
        assert!(threads <= 1 << THREAD_BITS, "at most 2^{THREAD_BITS} threads can be scheduled");
        let leaves = threads.next_power_of_two().max(4);
        let mut keys = vec![0; 2 * leaves];
        keys[leaves..leaves + self.leaves].copy_from_slice(&self.keys[self.leaves.min(self.keys.len())..]);
        for node in (1..leaves).rev() {
            keys[node] = keys[2 * node].max(keys[2 * node + 1]);
        }
        *self = Tournament { leaves, keys };
    }
}

/// The priority for a value that must rank below every random priority drawn with [`random_rank`]; larger is higher.
#[inline]
pub(crate) fn low_rank(value: u32) -> u64 {
    u64::from(value) << THREAD_BITS
}

/// A random priority above every [`low_rank`], from 64 random bits.
#[inline]
pub(crate) fn random_rank(bits: u64) -> u64 {
    bits | 1 << 63
}

/// A priority above every [`low_rank`] that is given, not drawn; larger is higher.
#[inline]
pub(crate) fn given_rank(value: u32) -> u64 {
    random_rank(u64::from(value) << THREAD_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::Rng;

    #[test]
    fn agrees_with_a_scan() {
        let mut rng = Rng::for_run(1, 0);
        let mut tree = Tournament::default();
        let mut all = vec![0_u64; 37];
        for _ in 0..10_000 {
            let thread = rng.below(37) as usize;
            all[thread] = if rng.below(3) == 0 { 0 } else { rng.bits() };
            match all[thread] {
                0 => tree.remove(ThreadId(thread as u32)),
                priority => tree.set(ThreadId(thread as u32), priority),
            }
            let best = (0..37).filter(|&t| all[t] != 0).max_by_key(|&t| all[t]);
            assert_eq!(tree.winner().map(ThreadId::index), best);
        }
        tree.clear();
        assert_eq!(tree.winner(), None);
    }

    #[test]
    fn low_ranks_are_below_random_ones_and_keep_their_order() {
        let mut tree = Tournament::default();
        tree.set(ThreadId(0), low_rank(2));
        tree.set(ThreadId(1), low_rank(3));
        assert_eq!(tree.winner(), Some(ThreadId(1)));
        tree.set(ThreadId(2), random_rank(0));
        assert_eq!(tree.winner(), Some(ThreadId(2)));
    }
}
