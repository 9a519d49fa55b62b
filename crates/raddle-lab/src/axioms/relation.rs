//! Relations over at most 64 events, one word per row.

/// A set of events.
pub(super) type Set = u64;

/// The events of a set.
pub(super) fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let event = set.trailing_zeros() as usize;
            set &= set - 1;
            event
        })
    })
}

/// A binary relation: row `a` is the set of all `b` with `a -> b`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Relation(Vec<Set>);

impl Relation {
    /// Returns the empty relation over `size` events.
    pub(super) fn empty(size: usize) -> Relation {
        Relation(vec![0; size])
    }

    /// Returns the pairs for which `holds`.
    pub(super) fn from(size: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let row = |a| (0..size).filter(|&b| holds(a, b)).fold(0, |row, b| row | 1 << b);
        Relation((0..size).map(row).collect())
    }

    /// Returns the identity on `set`.
    pub(super) fn identity(size: usize, set: Set) -> Relation {
        Relation((0..size).map(|event| set & 1 << event).collect())
    }

    pub(super) fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }

    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }

    /// Returns the successors of an event.
    pub(super) fn row(&self, a: usize) -> Set {
        self.0[a]
    }

    /// Returns `self; other`.
    pub(super) fn then(&self, other: &Relation) -> Relation {
        Relation(self.0.iter().map(|&row| members(row).fold(0, |all, b| all | other.0[b])).collect())
    }

    /// Returns the union with `others`.
    pub(super) fn or(&self, others: &[&Relation]) -> Relation {
        let row = |a: usize| others.iter().fold(self.0[a], |row, other| row | other.0[a]);
        Relation((0..self.0.len()).map(row).collect())
    }

    /// Returns the pairs that are also in `other`.
    pub(super) fn and(&self, other: &Relation) -> Relation {
        Relation(self.0.iter().zip(&other.0).map(|(mine, theirs)| mine & theirs).collect())
    }

    /// Returns the pairs that are not in `other`.
    pub(super) fn without(&self, other: &Relation) -> Relation {
        Relation(self.0.iter().zip(&other.0).map(|(mine, theirs)| mine & !theirs).collect())
    }

    /// Returns the transitive closure.
    pub(super) fn closure(&self) -> Relation {
        let mut rows = self.0.clone();
        for middle in 0..rows.len() {
            let through = rows[middle];
            rows.iter_mut().filter(|row| **row >> middle & 1 == 1).for_each(|row| *row |= through);
        }
        Relation(rows)
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        self.0.iter().enumerate().all(|(event, row)| row >> event & 1 == 0)
    }

    pub(super) fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closure_follows_paths_of_any_length() {
        let next = Relation::from(5, |a, b| b == a + 1);
        assert_eq!(next.closure(), Relation::from(5, |a, b| a < b));
        assert!(next.is_acyclic());
        let mut ring = next.clone();
        ring.add(4, 0);
        assert!(ring.is_irreflexive() && !ring.is_acyclic());
    }

    #[test]
    fn operators_agree_with_their_definitions() {
        let (p, q) = (Relation::from(6, |a, b| (a + b) % 3 == 0), Relation::from(6, |a, b| a * b % 4 == 1));
        let both = |a, b| (0..6).any(|c| p.has(a, c) && q.has(c, b));
        assert_eq!(p.then(&q), Relation::from(6, both));
        assert_eq!(p.or(&[&q]), Relation::from(6, |a, b| p.has(a, b) || q.has(a, b)));
        assert_eq!(p.and(&q), Relation::from(6, |a, b| p.has(a, b) && q.has(a, b)));
        assert_eq!(p.without(&q), Relation::from(6, |a, b| p.has(a, b) && !q.has(a, b)));
        assert_eq!(Relation::identity(6, 0b100101).then(&p).row(1), 0);
        assert_eq!(Relation::identity(6, 0b100101).then(&p).row(2), p.row(2));
    }
}
