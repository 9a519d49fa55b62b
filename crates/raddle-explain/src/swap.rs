//! Pairs of steps that could have happened in the other order, and orders of all steps in which they do.

use raddle_model::{Holding, Kind, Operation, Reads, TraceStep, dependent};

/// Two dependent steps of different threads, as indices of [`Explanation::steps`](crate::Explanation::steps),
/// in the order in which they happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// The earlier one.
    pub first: usize,
    /// The later one.
    pub second: usize,
}

/// The largest number of steps of a run in which pairs are searched.
pub(crate) const MOST_STEPS: usize = 5_000;

/// The largest number of pairs, apart from those with the latest steps.
pub(crate) const MOST_PAIRS: usize = 5_000;

/// Returns the pairs of steps that could have happened in the other order: for each step, the latest
/// dependent one of each other thread before it. The end of a critical section is not included: its beginning
/// is what could be swapped. The last pairs come first, since they are nearest to the failure. The program
/// exit could come before anything else; those pairs come after all others, since they say the least.
pub(crate) fn pairs(steps: &[TraceStep]) -> Vec<Pair> {
    let (mut latest, mut with_end) = (Vec::new(), Vec::new());
    each_pair(steps, &mut |pair, is_latest| {
        if is_latest {
            let is_end = steps[pair.second].operation.kind == Kind::Exit;
            if is_end { &mut with_end } else { &mut latest }.push(pair);
        }
        true
    });
    latest.extend(with_end);
    latest
}

/// Returns the other pairs: for each step, the dependent ones of each other thread before the latest one.
/// Moving a step before them moves it before more of that thread. At most `most`, and without the program
/// exit.
pub(crate) fn earlier_pairs(steps: &[TraceStep], most: usize) -> Vec<Pair> {
    let mut earlier = Vec::new();
    each_pair(steps, &mut |pair, is_latest| {
        if !is_latest && steps[pair.second].operation.kind != Kind::Exit {
            earlier.push(pair);
        }
        earlier.len() < most
    });
    earlier
}

/// Calls `look` with each pair of steps that could have happened in the other order, the last ones first, and
/// true if its first step is the latest such one of its thread. Stops when `look` returns false.
fn each_pair(steps: &[TraceStep], look: &mut dyn FnMut(Pair, bool) -> bool) {
    let from = steps.len().saturating_sub(MOST_STEPS);
    let ends = |kind: Kind| !kind.info().reversible;
    for (second, later) in steps.iter().enumerate().skip(from).rev() {
        let mut seen: Vec<u32> = Vec::new();
        let is_end = later.operation.kind == Kind::Exit;
        if ends(later.operation.kind) && !is_end {
            continue;
        }
        for first in (from..second).rev() {
            let earlier = &steps[first];
            if earlier.thread == later.thread
                || ends(earlier.operation.kind)
                || !(is_end || dependent(&earlier.operation, &later.operation, Reads::Independent))
            {
                continue;
            }
            let is_latest = !seen.contains(&earlier.thread);
            seen.push(earlier.thread);
            if !look(Pair { first, second }, is_latest) {
                return;
            }
        }
    }
}

/// Returns the number of steps for which a thread of `pair` was interrupted, if the other step happened
/// meanwhile: in a run with few preemptions, the shortest interruptions are the likeliest cause. A thread
/// that waits for the end of another one is not interrupted.
pub(crate) fn interruption(steps: &[TraceStep], Pair { first, second }: Pair) -> Option<usize> {
    let is_of = |thread: u32| move |step: &usize| steps[*step].thread == thread;
    let (one, other) = (steps[first].thread, steps[second].thread);
    let next = (second + 1..steps.len()).find(is_of(one));
    let before_next = next.and_then(|next| (first..second).rev().find(is_of(one)).map(|from| (from, next)));
    let before = (0..first).rev().find(is_of(other));
    let gaps = [before_next, before.zip((first + 1..=second).find(is_of(other)))];
    let waits = |step: usize| steps[step].operation.kind == Kind::Join;
    let lengths = gaps.into_iter().flatten().filter(|&(_, to)| !waits(to)).map(|(from, to)| to - from);
    lengths.min()
}

/// Returns true if the two have an object in common.
fn share(one: &TraceStep, other: &TraceStep) -> bool {
    one.operation.objects().any(|(object, _)| other.operation.objects().any(|(same, _)| same == object))
}

/// Returns the step up to which the thread of `step` has to run for others to be able to continue: the end of
/// the critical section that `step` begins, or `step` itself.
pub(crate) fn release(steps: &[TraceStep], step: usize) -> usize {
    if is_lock(steps[step].operation.kind) { section_end(steps, step).unwrap_or(step) } else { step }
}

/// Returns, for each step, the one up to which a swap with it moves its thread: the end of the critical
/// section that it begins (none if the failure interrupts the section), or the step itself.
pub(crate) fn reaches(steps: &[TraceStep]) -> Vec<usize> {
    let reach = |step: usize| {
        let is_lock = is_lock(steps[step].operation.kind);
        if is_lock { section_end(steps, step).unwrap_or(usize::MAX) } else { step }
    };
    (0..steps.len()).map(reach).collect()
}

/// Returns the end of the critical section that `lock` begins, if it was seen.
fn section_end(steps: &[TraceStep], lock: usize) -> Option<usize> {
    let mut later = steps.iter().enumerate().skip(lock + 1);
    let ends = |later: &TraceStep| later.thread == steps[lock].thread && gives_back(&steps[lock], later);
    later.find(|(_, later)| ends(later)).map(|(end, _)| end)
}

fn is_lock(kind: Kind) -> bool {
    matches!(kind.info().holding, Holding::Takes(_))
}

fn gives_back(lock: &TraceStep, step: &TraceStep) -> bool {
    step.operation.kind.info().holding.gives_back() && share(lock, step)
}

/// Returns `order`, which has all steps once, changed so that the second step of `pair` comes before the
/// first: everything up to the first one; then what does not depend on that, up to the second one and the end
/// of its critical section; then the rest as it was.
pub(crate) fn reverse(steps: &[TraceStep], order: &[usize], pair: Pair) -> Vec<usize> {
    let at = |step: usize| order.iter().position(|&other| other == step);
    let (Some(first), Some(second)) = (at(pair.first), at(pair.second)) else { return order.to_vec() };
    if second < first {
        return order.to_vec();
    }
    let thread = steps[pair.second].thread;
    let mut late = vec![pair.first];
    let mut early = Vec::new();
    for &step in &order[first + 1..=second] {
        let follows = late.iter().any(|&before| {
            steps[before].thread == steps[step].thread
                || dependent(&steps[before].operation, &steps[step].operation, Reads::Independent)
        });
        if steps[step].thread == thread || !follows { early.push(step) } else { late.push(step) }
    }
    let end = release(steps, pair.second);
    let (section, rest): (Vec<usize>, Vec<usize>) =
        order[second + 1..].iter().partition(|&&step| steps[step].thread == thread && step <= end);
    [&order[..first], &early, &section, &late, &rest].concat()
}

/// Returns true if `pair` is swapped whenever `other` is, since each thread takes its steps in order, and a
/// lock is released before another thread takes it. `reaches` is the result of [`reaches`].
pub(crate) fn follows(steps: &[TraceStep], reaches: &[usize], pair: Pair, other: Pair) -> bool {
    let same = |one: usize, two: usize| steps[one].thread == steps[two].thread;
    pair != other
        && other.first <= pair.first
        && pair.second <= reaches[other.second]
        && same(pair.first, other.first)
        && same(pair.second, other.second)
}

/// Returns true if `one` is `other`, or happens before it in every run that keeps the order of all dependent steps.
pub(crate) fn precedes(steps: &[TraceStep], one: usize, other: usize) -> bool {
    if one >= other {
        return one == other;
    }
    // The threads that have gone on from `one`, and their different operations since.
    let (mut threads, mut after) = (vec![steps[one].thread], vec![steps[one].operation]);
    for (index, step) in steps.iter().enumerate().take(other + 1).skip(one + 1) {
        let is_after = threads.contains(&step.thread)
            || after.iter().any(|before| dependent(before, &step.operation, Reads::Independent));
        if !is_after {
            continue;
        }
        if index == other {
            return true;
        }
        if !threads.contains(&step.thread) {
            threads.push(step.thread);
        }
        let operation = Operation { location: steps[one].operation.location, ..step.operation };
        if !after.contains(&operation) {
            after.push(operation);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::{Access, LocationId, ObjectId};

    fn step(thread: u32, kind: Kind, object: u32) -> TraceStep {
        let access = if kind == Kind::Read { Access::Read } else { Access::Write };
        TraceStep { thread, operation: Operation::new(kind, LocationId(0)).on(ObjectId(object), access) }
    }

    /// Two threads that each write under one lock, the first one something else before.
    fn sections() -> Vec<TraceStep> {
        let section = |thread| {
            [(Kind::Lock, 0), (Kind::Write, 1), (Kind::Unlock, 0)]
                .map(|(kind, object)| step(thread, kind, object))
        };
        [&[step(0, Kind::Write, 2)], &section(0)[..], &section(1)].concat()
    }

    #[test]
    fn a_section_is_moved_as_a_whole() {
        let steps = sections();
        let locks = Pair { first: 1, second: 4 };
        assert_eq!(pairs(&steps), [Pair { first: 2, second: 5 }, locks]);
        let all: Vec<usize> = (0..steps.len()).collect();
        assert_eq!(reverse(&steps, &all, locks), [0, 4, 5, 6, 1, 2, 3]);
        assert_eq!(reverse(&steps, &reverse(&steps, &all, locks), locks), [0, 4, 5, 6, 1, 2, 3]);
        let ends = reaches(&steps);
        assert!(follows(&steps, &ends, Pair { first: 2, second: 5 }, locks));
        assert!(!follows(&steps, &ends, locks, Pair { first: 2, second: 5 }));
        assert!(!follows(&steps, &ends, Pair { first: 0, second: 5 }, locks));
        assert!(!follows(&steps, &ends, locks, locks));
        let cut = &steps[..6];
        assert!(follows(cut, &reaches(cut), Pair { first: 2, second: 5 }, locks), "a section without an end");
    }

    #[test]
    fn the_program_exit_could_come_before_anything() {
        let steps = [step(0, Kind::Write, 0), step(1, Kind::Write, 0), step(1, Kind::Exit, 7)];
        assert_eq!(pairs(&steps), [Pair { first: 0, second: 1 }, Pair { first: 0, second: 2 }]);
    }

    /// Two threads touch one object twice, and the second one last.
    #[test]
    fn pairs_with_earlier_steps_are_apart() {
        let steps = [0, 0, 1, 1].map(|thread| step(thread, Kind::Write, 0));
        let of =
            |pairs: Vec<Pair>| pairs.into_iter().map(|pair| (pair.first, pair.second)).collect::<Vec<_>>();
        assert_eq!(of(pairs(&steps)), [(1, 3), (1, 2)]);
        assert_eq!(of(earlier_pairs(&steps, MOST_PAIRS)), [(0, 3), (0, 2)]);
    }
}
