//! The depth of a failure: the smallest set of orders that is sufficient for it.

use super::visits::{Visit, visits};
use super::{Search, combinations, place};
use crate::same::Symptom;
use crate::swap::Pair;
use raddle_model::{Completion, Constraint, ObjectId, Schedule, TraceFile, Verdict};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

impl Search<'_> {
    /// Searches for the smallest set of orders that is sufficient for the failure.
    pub(super) fn depth(&mut self, pairs: &[Pair]) {
        /// The largest number of pairs that are combined in sets of one to four, those nearest to the
        /// failure.
        const MOST: [usize; 4] = [200, 40, 14, 10];
        if self.is_enough(&[]) {
            self.found.always = true;
            return;
        }
        if self.effort.near {
            self.depth_near(pairs);
            return;
        }
        let sets = |size: usize| combinations(&pairs[..pairs.len().min(MOST[size - 1])], size);
        for size in 1..=MOST.len() {
            let mut enough: Vec<Vec<Pair>> = Vec::new();
            for set in sets(size) {
                if self.is_enough(&set) {
                    enough.push(set);
                }
            }
            // A set that forms an idiom is more informative than one that does not.
            let named = enough.iter().find(|set| self.idiom(set).is_some()).or(enough.first());
            if let Some(set) = named {
                self.found.idiom = self.idiom(set);
                self.found.constraints.clone_from(set);
                self.found.smallest = true;
                return;
            }
        }
        self.found.constraints = self.needed(pairs);
    }

    /// Looks for one or two orders that are enough, of those that are close to the swap that makes the run pass.
    fn depth_near(&mut self, pairs: &[Pair]) {
        /// The most orders that are tried alone, and together with the swapped one.
        const MOST: [usize; 2] = [24, 12];
        let Some(&swapped) = self.found.swapped.first() else { return };
        let near = self.nearest(pairs, swapped);
        for &pair in near.iter().take(MOST[0]) {
            if self.is_enough(&[pair]) {
                self.found.constraints = vec![pair];
                self.found.idiom = self.idiom(&[pair]);
                self.found.smallest = true;
                return;
            }
        }
        for &pair in near.iter().filter(|&&pair| pair != swapped).take(MOST[1]) {
            let set = [swapped, pair];
            if self.is_enough(&set) {
                self.found.idiom = self.idiom(&set);
                self.found.constraints = set.to_vec();
                self.found.constraints.sort_unstable();
                // Those of other objects or threads were not tried alone.
                let close = near.iter().filter(|pair| self.is_close(**pair, swapped)).count();
                self.found.smallest = close <= MOST[0];
                return;
            }
        }
    }

    /// Returns true if two pairs have the same threads and an object in common.
    fn is_close(&self, pair: Pair, other: Pair) -> bool {
        let threads = |pair: Pair| [pair.first, pair.second].map(|step| self.positions[step].0);
        let touches = |step: usize, object| {
            self.found.steps[step].operation.objects().any(|(touched, _)| touched == object)
        };
        let own = self.found.steps[other.first].operation.object();
        threads(pair).iter().all(|thread| threads(other).contains(thread))
            && own.is_some_and(|own| touches(pair.first, own) && touches(pair.second, own))
    }

    /// Sorts pairs by how much they have in common with `swapped`: objects, then threads.
    fn nearest(&self, pairs: &[Pair], swapped: Pair) -> Vec<Pair> {
        let steps = &self.found.steps;
        let objects = |pair: Pair| {
            let both = [pair.first, pair.second].into_iter().flat_map(|step| steps[step].operation.objects());
            both.map(|(object, _)| object).collect::<BTreeSet<ObjectId>>()
        };
        let threads = |pair: Pair| [pair.first, pair.second].map(|step| self.positions[step].0);
        let (own, both) = (objects(swapped), threads(swapped));
        let distance = |pair: &Pair| {
            let has_object = objects(*pair).iter().any(|object| own.contains(object));
            let has_threads = threads(*pair).iter().all(|thread| both.contains(thread));
            (*pair != swapped, !(has_object && has_threads), !has_threads, !has_object)
        };
        let mut near = pairs.to_vec();
        if !near.contains(&swapped) {
            near.push(swapped);
        }
        near.sort_by_key(distance);
        near
    }

    /// Returns a set of orders none of which can be removed; empty if even all of `pairs` are not sufficient.
    fn needed(&mut self, pairs: &[Pair]) -> Vec<Pair> {
        if !self.is_enough(pairs) {
            return Vec::new();
        }
        let mut needed = pairs.to_vec();
        let mut size = needed.len().div_ceil(2);
        // Many at once first, so that unrelated orders are removed quickly.
        while size > 0 {
            let mut from = 0;
            while from < needed.len() {
                let mut less = needed.clone();
                less.drain(from..(from + size).min(less.len()));
                if self.is_enough(&less) { needed = less } else { from += size }
            }
            size /= 2;
        }
        // Orders that could not be tried were assumed to be needed.
        if self.found.is_cut_off { Vec::new() } else { needed }
    }

    /// Returns true if all sampled schedules that keep these orders fail. A schedule may reach a point where
    /// it cannot keep them, such as a thread that holds a lock and has to wait for one that needs it; such a
    /// run is ignored.
    fn is_enough(&mut self, set: &[Pair]) -> bool {
        /// Number of runs that may be ignored, beyond those that count.
        const PATIENCE: u64 = 20;
        let constraint = |pair: &Pair| Constraint {
            before: place(self.positions[pair.first]),
            after: place(self.positions[pair.second]),
        };
        let constraints: Vec<Constraint> = set.iter().map(constraint).collect();
        let mut kept = 0;
        for seed in 0..self.effort.samples {
            let schedule = Schedule {
                constraints: constraints.clone(),
                completion: Completion::Random(seed),
                ..Schedule::default()
            };
            let Some(run) = self.run(&schedule) else { return false };
            if !self.keeps(&run, set) {
                if seed - kept >= PATIENCE + kept {
                    return false;
                }
                continue;
            }
            kept += 1;
            if Symptom::of(&run).as_ref() != Some(&self.symptom) {
                return false;
            }
        }
        kept > 0
    }

    /// Returns true if no pair happens in the other order in `run`. If the first step never happens in a
    /// passing run, the order is kept: it takes one more order for it to happen. A run that fails before it
    /// is ignored.
    fn keeps(&self, run: &TraceFile, set: &[Pair]) -> bool {
        if set.is_empty() {
            return true;
        }
        let theirs = visits(&run.steps, &run.locations, &run.objects);
        let at: BTreeMap<Visit<'_>, usize> =
            theirs.into_iter().enumerate().map(|(step, visit)| (visit, step)).collect();
        let keeps = |pair: &Pair| {
            let [first, second] = [pair.first, pair.second].map(|step| at.get(&self.visits[step].as_visit()));
            match (first, second) {
                (Some(first), Some(second)) => first < second,
                (None, Some(_)) => run.verdict == Verdict::Passed,
                (_, None) => true,
            }
        };
        set.iter().all(keeps)
    }

    /// Returns the number of the Maple idiom that a set of orders forms.
    fn idiom(&self, set: &[Pair]) -> Option<u8> {
        let thread = |step: usize| self.positions[step].0;
        let object = |step: usize| self.found.steps[step].operation.object();
        if set.iter().any(|pair| self.is_end(pair)) {
            return None;
        }
        let set: Vec<(usize, usize)> = set.iter().map(|pair| (pair.first, pair.second)).collect();
        match set[..] {
            [_] => Some(1),
            [one, other] => {
                let ((a, b), (c, d)) = if one < other { (one, other) } else { (other, one) };
                let (one, two) = (thread(a), thread(b));
                let same_object = object(a) == object(c);
                if thread(c) == one && thread(d) == two {
                    return (!same_object).then_some(6);
                }
                if thread(c) != two || thread(d) != one {
                    return None;
                }
                Some(match (same_object, c.cmp(&b)) {
                    (true, Ordering::Equal) => 2,
                    (true, Ordering::Greater) => 3,
                    (true, Ordering::Less) => return None,
                    (false, Ordering::Less) => 5,
                    (false, _) => 4,
                })
            }
            _ => None,
        }
    }
}
