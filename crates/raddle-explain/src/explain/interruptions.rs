//! The interruption without which a run passes, for failures that no order of two visible operations explains: a part of the
//! operations may be in code without hooks.

use super::{Interruption, Search};
use raddle_model::{Schedule, Verdict};

impl Search<'_> {
    /// Lets each interrupted thread go on where the failing run does not, the latest first, until a run passes.
    pub(super) fn find_interruption(&mut self) {
        /// The largest number of interruptions that are tried.
        const MOST: usize = 12;
        let schedule = Schedule::of(&self.run);
        let segments = &schedule.segments;
        let mut end = self.happened;
        let ends = self.run.steps.chunk_by(|a, b| a.thread == b.thread).rev().map(|segment| {
            end -= segment.len();
            end + segment.len() - 1
        });
        let interrupted = (0..segments.len()).rev().zip(ends).filter_map(|(index, before)| {
            let is_same = |later: &usize| segments[*later].thread == segments[index].thread;
            (index + 1..segments.len()).find(is_same).map(|next| (index, next, before))
        });
        let interrupted: Vec<(usize, usize, usize)> = interrupted.take(MOST).collect();
        for (index, next, before) in interrupted {
            let mut merged = schedule.clone();
            merged.segments[index].until = merged.segments.remove(next).until;
            let Some(run) = self.run(&merged) else { return };
            let thread = self.run.steps[before].thread;
            // If it waits there, it was not interrupted.
            let goes_on = run.steps.get(before + 1).is_some_and(|step| step.thread == thread);
            if !goes_on || run.verdict != Verdict::Passed {
                continue;
            }
            let after = (before + 1..self.happened).find(|&step| self.run.steps[step].thread == thread);
            self.found.interruption = after.map(|after| Interruption { before, after });
            self.found.swapped.clear();
            self.found.passing = Some(run);
            return;
        }
    }
}
