//! The thread of highest priority, found without a scan of all threads.

use raddle_model::ThreadId;

/// The bits of a key that hold the thread, so that the key of the winner identifies it.
const THREAD_BITS: u32 = 20;

/// Number of children of a tree node: few enough to look at all of them at once.
const WIDTH: usize = 8;

/// A tree of maxima over the threads, eight children to a node: setting a priority and reading the winner
/// take a number of steps that grows with the logarithm of the number of threads, and hardly any for up to
/// eight.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tournament {
    /// The keys of the first eight threads; 0 for none.
    first: [u64; WIDTH],
    /// True if any other thread was ever given a priority.
    is_wide: bool,
    /// The keys of the threads, eight to a block, if there are more than eight. The first block is not used.
    threads: Vec<[u64; WIDTH]>,
    /// Level after level, if there is more than one block of threads. Invariant: an entry is the largest key of a block
    /// of the level below; the last level has one block.
    higher: Vec<Vec<[u64; WIDTH]>>,
}

impl Tournament {
    /// Forgets all priorities.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.first = [0; WIDTH];
        if self.is_wide {
            self.clear_others();
        }
    }

    #[inline(never)] // Keeps the path of programs with few threads short.
    fn clear_others(&mut self) {
        self.threads.fill([0; WIDTH]);
        for level in &mut self.higher {
            level.fill([0; WIDTH]);
        }
    }

    /// Gives `thread` a priority. Only its upper 44 bits count; ties are broken by thread.
    #[inline]
    pub(crate) fn set(&mut self, thread: ThreadId, priority: u64) {
        // At least one bit, to distinguish the key of a thread with priority 0 from none.
        self.put(thread.index(), (priority >> THREAD_BITS).max(1) << THREAD_BITS | u64::from(thread.0));
    }

    /// Removes `thread`.
    #[inline]
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        self.put(thread.index(), 0);
    }

    /// Returns the priority of `thread` as far as it counts, which is never 0; 0 if it has none.
    pub(crate) fn get(&self, thread: ThreadId) -> u64 {
        let index = thread.index();
        let block = match self.threads.get(index / WIDTH) {
            Some(block) if index >= WIDTH => block,
            _ if index < WIDTH => &self.first,
            _ => return 0,
        };
        block[index % WIDTH] >> THREAD_BITS << THREAD_BITS
    }

    /// Returns the thread of highest priority.
    #[inline]
    pub(crate) fn winner(&self) -> Option<ThreadId> {
        let top = if self.is_wide { self.higher.last()?.first()? } else { &self.first };
        let key = largest(top);
        (key != 0).then_some(ThreadId(key as u32 & ((1 << THREAD_BITS) - 1)))
    }

    /// Returns the number of threads for which the methods for few can be used, as long as no other thread is
    /// given a priority.
    #[inline]
    pub(crate) fn few(&self) -> usize {
        if self.is_wide { 0 } else { WIDTH }
    }

    /// Does [`Tournament::set`] for one of few threads.
    #[inline]
    pub(crate) fn set_few(&mut self, thread: u32, priority: u64) {
        debug_assert!((thread as usize) < self.few(), "there are few threads");
        self.first[thread as usize % WIDTH] =
            (priority >> THREAD_BITS).max(1) << THREAD_BITS | u64::from(thread);
    }

    /// Removes a set of threads.
    #[inline]
    pub(crate) fn remove_few(&mut self, mut threads: u64) {
        while threads != 0 {
            self.first[threads.trailing_zeros() as usize % WIDTH] = 0;
            threads &= threads - 1;
        }
    }

    /// Does [`Tournament::winner`] for the first `count` threads.
    #[inline]
    pub(crate) fn winner_of_few(&self, count: usize) -> Option<ThreadId> {
        let [a, b, c, d, ..] = self.first;
        let key = if count <= WIDTH / 2 { a.max(b).max(c.max(d)) } else { largest(&self.first) };
        (key != 0).then_some(ThreadId(key as u32 % WIDTH as u32))
    }

    #[inline]
    fn put(&mut self, index: usize, key: u64) {
        if index < WIDTH && !self.is_wide {
            self.first[index] = key;
        } else {
            self.put_far(index, key);
        }
    }

    #[inline(never)] // Keeps the path of programs with few threads short.
    fn put_far(&mut self, index: usize, key: u64) {
        if index < WIDTH {
            self.first[index] = key;
        } else if let Some(block) = self.threads.get_mut(index / WIDTH) {
            block[index % WIDTH] = key;
        } else {
            return self.grow(index, key);
        }
        self.lift(index / WIDTH);
    }

    /// Updates the higher levels from a block of threads.
    #[inline]
    fn lift(&mut self, mut block: usize) {
        let mut key = largest(if block == 0 { &self.first } else { &self.threads[block] });
        for level in &mut self.higher {
            let parent = &mut level[block / WIDTH];
            if parent[block % WIDTH] == key {
                break;
            }
            parent[block % WIDTH] = key;
            key = largest(parent);
            block /= WIDTH;
        }
    }

    #[cold]
    fn grow(&mut self, index: usize, key: u64) {
        assert!(index < 1 << THREAD_BITS, "at most 2^{THREAD_BITS} threads can be scheduled");
        self.is_wide = true;
        let mut blocks = (index / WIDTH + 1).next_power_of_two();
        self.threads.resize(blocks, [0; WIDTH]);
        self.threads[index / WIDTH][index % WIDTH] = key;
        self.higher.clear();
        while blocks > 1 {
            blocks = blocks.div_ceil(WIDTH);
            self.higher.push(vec![[0; WIDTH]; blocks]);
        }
        for block in 0..self.threads.len() {
            self.lift(block);
        }
    }
}

#[inline]
fn largest(block: &[u64; WIDTH]) -> u64 {
    let [a, b, c, d, e, f, g, h] = *block;
    (a.max(b).max(c.max(d))).max(e.max(f).max(g.max(h)))
}

/// Returns the priority of a value that must rank below every random priority drawn with [`random_rank`];
/// larger is higher.
#[inline]
pub(crate) fn low_rank(value: u32) -> u64 {
    u64::from(value) << THREAD_BITS
}

/// Returns a random priority above every [`low_rank`], from 64 random bits.
#[inline]
pub(crate) fn random_rank(bits: u64) -> u64 {
    bits | 1 << 63
}

/// Returns a given priority above every [`low_rank`]; larger is higher.
#[inline]
pub(crate) fn given_rank(value: u32) -> u64 {
    random_rank(u64::from(value) << THREAD_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::Rng;
    use raddle_testkit::affordable_rounds;

    #[test]
    fn agrees_with_a_scan() {
        let mut rng = Rng::for_run(1, 0);
        let mut tree = Tournament::default();
        let mut all = vec![0_u64; 837];
        for _ in 0..affordable_rounds(10_000) {
            let thread = rng.below(837) as usize;
            all[thread] = if rng.below(3) == 0 { 0 } else { rng.bits() | 1 << 30 };
            match all[thread] {
                0 => tree.remove(ThreadId(thread as u32)),
                priority => tree.set(ThreadId(thread as u32), priority),
            }
            let best = (0..837).filter(|&t| all[t] != 0).max_by_key(|&t| all[t]);
            assert_eq!(tree.winner().map(ThreadId::index), best);
            let (one, bits) = (rng.below(837) as usize, !((1 << THREAD_BITS) - 1));
            assert_eq!(tree.get(ThreadId(one as u32)), all[one] & bits);
        }
        tree.clear();
        assert_eq!(tree.winner(), None);
    }

    #[test]
    fn few_threads_have_the_winner_that_many_would_have() {
        let mut rng = Rng::for_run(2, 0);
        for count in 1..=8 {
            let (mut few, mut many) = (Tournament::default(), Tournament::default());
            many.set(ThreadId(70), 1);
            many.remove(ThreadId(70));
            for _ in 0..affordable_rounds(1_000) {
                let thread = rng.below(count) as u32;
                if rng.below(3) == 0 {
                    few.remove_few(1 << thread);
                    many.remove(ThreadId(thread));
                } else {
                    // Sometimes 0, which is a valid priority.
                    let priority = if rng.below(5) == 0 { 0 } else { rng.bits() };
                    few.set_few(thread, priority);
                    many.set(ThreadId(thread), priority);
                }
                assert_eq!(few.winner_of_few(count as usize), many.winner());
                assert_eq!(few.winner(), many.winner());
            }
        }
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
