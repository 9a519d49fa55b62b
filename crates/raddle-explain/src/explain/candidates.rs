//! The swaps that are tried, in their order.

use super::Search;
use crate::swap::{MOST_PAIRS, Pair, earlier_pairs, interruption, pairs, reaches};
use raddle_model::{Failure, Kind, ObjectId};

impl Search<'_> {
    /// Returns the pairs that could have happened in the other order, and those with earlier steps; at least
    /// one of the two has happened.
    pub(super) fn pairs(&mut self) -> (Vec<Pair>, Vec<Pair>) {
        /// Number of pairs from which the nearest ones are taken.
        const MOST_NEAR: usize = 100 * MOST_PAIRS;
        let steps = &self.found.steps;
        let most = if self.effort.near { MOST_NEAR } else { MOST_PAIRS };
        let (mut latest, mut earlier) = (pairs(steps), earlier_pairs(steps, most));
        latest.retain(|pair| pair.first < self.happened);
        earlier.retain(|pair| pair.first < self.happened);
        self.all = [&latest[..], &earlier].concat();
        self.reaches = reaches(steps);
        // If not all can be tried: those at what the failing thread read last, those that happened, and those next to a
        // preemption.
        if self.effort.near && latest.len() as u64 > self.effort.executions {
            let (happened, read) = (self.happened, self.read_last());
            let is_at = |pair: &Pair, read: &ObjectId| {
                [pair.first, pair.second]
                    .iter()
                    .all(|&step| steps[step].operation.objects().any(|(object, _)| object == *read))
            };
            let is_read = |pair: &Pair| read.iter().any(|read| is_at(pair, read));
            for pairs in [&mut latest, &mut earlier] {
                if pairs.iter().any(|pair| interruption(steps, *pair).is_some()) {
                    pairs.retain(|pair| is_read(pair) || interruption(steps, *pair).is_some());
                }
                pairs.sort_by_cached_key(|pair| (pair.second >= happened, interruption(steps, *pair)));
            }
            let most = self.effort.executions as usize / 6;
            let mut first = Vec::new();
            for read in &read {
                for pairs in [&mut latest, &mut earlier] {
                    let mut room = most;
                    first.extend(pairs.extract_if(.., |pair| {
                        let is_taken = room > 0 && is_at(pair, read);
                        room -= usize::from(is_taken);
                        is_taken
                    }));
                }
            }
            latest.splice(..0, first);
        }
        if self.effort.near {
            let is_minor = |step: usize| self.minor.get(step).is_some_and(|&minor| minor);
            for pairs in [&mut latest, &mut earlier] {
                pairs.sort_by_cached_key(|pair| {
                    (is_minor(pair.first) || is_minor(pair.second), !self.is_shown(pair.second))
                });
            }
        }
        earlier.truncate(MOST_PAIRS);
        (latest, earlier)
    }

    /// Returns true for a step that a report shows: one that happened, or the wait of a thread at the end of a deadlock.
    fn is_shown(&self, step: usize) -> bool {
        let is_deadlock = matches!(self.run.verdict.failure(), Some(Failure::Deadlock { .. }));
        let thread = self.found.steps[step].thread;
        let is_next = || self.found.steps[self.happened..step].iter().all(|other| other.thread != thread);
        step < self.happened || is_deadlock && is_next()
    }

    /// Returns the objects that the thread of the last step read last: the failing thread has compared them.
    fn read_last(&self) -> Vec<ObjectId> {
        /// An assertion compares two, and prints them.
        const MOST: usize = 2;
        let mut read = Vec::new();
        let steps = &self.found.steps[..self.happened];
        let Some(last) = steps.last() else { return read };
        let own = steps.iter().enumerate().rev().filter(|(_, step)| step.thread == last.thread);
        for (index, step) in own {
            let is_minor = self.minor.get(index).is_some_and(|&minor| minor);
            let object = step.operation.object().filter(|_| step.operation.kind == Kind::Read && !is_minor);
            read.extend(object.filter(|object| !read.contains(object)));
            if read.len() == MOST {
                break;
            }
        }
        read
    }
}
