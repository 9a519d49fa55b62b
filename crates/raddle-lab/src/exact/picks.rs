//! Enumeration of all answers to the decisions of a run other than threads.

/// The answers of one run. Beyond those set, every answer is 0; [`Picks::advance`] moves on to the next
/// sequence.
#[derive(Clone, Default, Debug)]
pub(super) struct Picks {
    values: Vec<u32>,
    /// Invariant after a run: as long as `values`.
    arities: Vec<u32>,
    asked: usize,
}

impl Picks {
    /// Starts a run.
    pub(super) fn rewind(&mut self) {
        self.asked = 0;
    }

    /// Returns the answer to the next decision.
    pub(super) fn answer(&mut self, arity: u32) -> u32 {
        if self.asked == self.values.len() {
            self.values.push(0);
            self.arities.push(arity);
        }
        debug_assert_eq!(self.arities[self.asked], arity, "equal answers lead to equal decisions");
        self.asked += 1;
        self.values[self.asked - 1]
    }

    /// Iterates over the answers of the latest run, each with the number of possible answers.
    pub(super) fn taken(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.values.iter().copied().zip(self.arities.iter().copied())
    }

    /// Returns the number of equally likely sequences of answers to these decisions.
    pub(super) fn ways(&self) -> u64 {
        self.arities.iter().map(|&arity| u64::from(arity)).product()
    }

    /// Advances to the next sequence. Returns false if there is none; then the first one comes next again.
    pub(super) fn advance(&mut self) -> bool {
        while let (Some(value), Some(arity)) = (self.values.pop(), self.arities.pop()) {
            if value + 1 < arity {
                self.values.push(value + 1);
                self.arities.push(arity);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_through_a_tree_of_questions() {
        // The second decision depends on the first answer: 2 + 3 leaves.
        let mut picks = Picks::default();
        let mut seen = Vec::new();
        loop {
            picks.rewind();
            let first = picks.answer(2);
            let second = picks.answer(2 + first);
            seen.push((first, second, picks.ways()));
            if !picks.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 0, 4), (0, 1, 4), (1, 0, 6), (1, 1, 6), (1, 2, 6)]);
    }
}
