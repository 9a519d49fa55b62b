//! Goes through every sequence of answers to the numbers that a run asks for.

/// The answers of one run. Beyond those set, every answer is 0; [`Picks::advance`] moves on to the next sequence.
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

    /// The answer to the next question.
    pub(super) fn answer(&mut self, arity: u32) -> u32 {
        if self.asked == self.values.len() {
            self.values.push(0);
            self.arities.push(arity);
        }
        debug_assert_eq!(self.arities[self.asked], arity, "equal answers lead to equal questions");
        self.asked += 1;
        self.values[self.asked - 1]
    }

    /// The answers of the latest run, each with how many there were to choose from.
    pub(super) fn taken(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.values.iter().copied().zip(self.arities.iter().copied())
    }

    /// Of how many equally likely sequences, all questions being these, this is one.
    pub(super) fn ways(&self) -> u64 {
        self.arities.iter().map(|&arity| u64::from(arity)).product()
    }

    /// Goes on to the next sequence; tells whether there is one. If not, the first one comes next again.
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
        // The second question depends on the first answer: 2 + 3 leaves.
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
