//! The order in which threads, or their roles, have to touch one object.

use raddle_engine::Rng;

/// The length up to which it is quicker to move entries than to prepare an index.
const SHORT: usize = 64;
/// No position.
const NONE: u32 = u32::MAX;

/// An order of entries that are taken from its front, or from the middle by those that cannot wait. Each takes constant time on
/// average, after time proportional to the length once.
#[derive(Clone, Default, Debug)]
pub(super) struct Order {
    entries: Vec<u32>,
    /// The position of the first entry that was not taken.
    front: usize,
    /// Per position: that of the next equal entry. Empty until an entry is taken from the middle.
    next_equal: Vec<u32>,
    /// Per entry: the first position that was not taken. Valid if `next_equal` is not empty.
    first: Vec<u32>,
    /// Per position: true if it was taken. Valid if `next_equal` is not empty.
    taken: Vec<bool>,
}

impl Order {
    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.front = 0;
        self.next_equal.clear();
    }

    /// Adds an entry `count` times at the end.
    pub(super) fn extend(&mut self, entry: u32, count: usize) {
        self.entries.extend(std::iter::repeat_n(entry, count));
    }

    /// Draws one of all orders of the entries.
    pub(super) fn shuffle(&mut self, rng: &mut Rng) {
        shuffle(&mut self.entries, rng);
    }

    /// Returns the entry that is next.
    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        self.entries.get(self.front).copied()
    }

    /// Takes the first entry equal to `own`. Returns false if there is none.
    #[inline]
    pub(super) fn take(&mut self, own: u32) -> bool {
        if self.next_equal.is_empty() {
            if self.next() == Some(own) {
                self.front += 1;
                return true;
            }
            if self.entries.len() - self.front <= SHORT {
                return self.take_by_moving(own);
            }
            self.index();
        }
        let Some(&position) = self.first.get(own as usize).filter(|&&position| position != NONE) else {
            return false;
        };
        self.first[own as usize] = self.next_equal[position as usize];
        self.taken[position as usize] = true;
        while self.taken.get(self.front) == Some(&true) {
            self.front += 1;
        }
        true
    }

    /// Takes the first entry equal to `own` by moving those in front of it.
    #[inline(never)] // Rare.
    fn take_by_moving(&mut self, own: u32) -> bool {
        let rest = &mut self.entries[self.front..];
        let Some(position) = rest.iter().position(|&entry| entry == own) else { return false };
        rest.copy_within(..position, 1);
        self.front += 1;
        true
    }

    /// Prepares for entries that are taken from the middle.
    #[inline(never)] // Rare.
    fn index(&mut self) {
        let Order { entries, front, next_equal, first, taken } = self;
        next_equal.resize(entries.len(), NONE);
        taken.clear();
        taken.resize(entries.len(), false);
        first.clear();
        for position in (*front..entries.len()).rev() {
            let entry = entries[position] as usize;
            if entry >= first.len() {
                first.resize(entry + 1, NONE);
            }
            next_equal[position] = std::mem::replace(&mut first[entry], position as u32);
        }
    }
}

/// Draws one of all orders of `entries`.
pub(super) fn shuffle(entries: &mut [u32], rng: &mut Rng) {
    for index in (1..entries.len()).rev() {
        entries.swap(index, rng.below(index as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest of an order, by its definition.
    fn take_from(rest: &mut Vec<u32>, own: u32) -> bool {
        rest.iter().position(|&entry| entry == own).map(|position| rest.remove(position)).is_some()
    }

    #[test]
    fn an_entry_is_taken_from_wherever_it_comes_first() {
        let mut rng = Rng::for_run(5, 0);
        let mut order = Order::default();
        for round in 0..200 {
            order.clear();
            // Both short and long ones.
            let most = if round % 2 == 0 { 5 } else { SHORT as u64 };
            (0..5).for_each(|entry| order.extend(entry, rng.below(most) as usize));
            order.shuffle(&mut rng);
            let mut rest = order.entries.clone();
            while !rest.is_empty() {
                assert_eq!(order.next(), rest.first().copied());
                let own = if rng.below(2) == 0 { rest[0] } else { rng.below(7) as u32 };
                assert_eq!(order.take(own), take_from(&mut rest, own), "{own} of {rest:?}");
            }
            assert_eq!(order.next(), None);
            assert!(!order.take(0));
        }
    }
}
