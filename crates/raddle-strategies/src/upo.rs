//! UPO, uniform partial orders: learns the number of partial orders below each choice, and samples them
//! uniformly.
//!
//! Our own. A node is a state of the program together with a sleep set. Its candidates are the enabled
//! threads that are not asleep. After candidate `t`, the threads asleep and the candidates before `t` are
//! asleep below, except for those whose next operation depends on `t`'s; so each partial order is exactly one
//! path from the root. An operation that ends the run (a failed assertion, misuse) depends on everything, so
//! a thread whose next operation is known to do that remains a candidate while it is asleep. A run that goes on
//! after such a step, because the thread drew another number, repeats another run. What an operation does becomes
//! known when it is seen; the estimates below are then discarded.
//!
//! A node keeps an estimate of the number of complete paths below it, and a candidate is chosen with probability
//! proportional to its child's estimate. After a run the estimates along its path are updated: 1 for a complete
//! run, 0 for a repeated one, else the sum over the candidates, where an unknown one counts as the mean of its
//! known siblings. The root's estimate is the number of partial orders of the program.
//!
//! Until every partial order was seen, those already seen are avoided ([`Repeats::Avoided`]): a candidate's
//! weight is its child's estimate less the number of partial orders seen below it on this path. So no time is
//! lost on collecting the last coupons, and a program is covered in hardly more runs than it has partial
//! orders. After that, all are equally likely.
//!
//! Guarantee: none for a run before the estimates below its path are exact. Once they are (after finitely
//! many runs of a finite program, as every candidate keeps a positive probability until it is known to lead
//! nowhere), every partial order has the same probability. Tests: `becomes_uniform`, `counts_exactly`,
//! `upo_counts_what_dpor_enumerates` (tests/every_order.rs), `upo_is_uniform_where_runs_fail` (there too).
//! Limits: states are identified by the front end's hash of locals and values, or by the partial order that
//! led to them ([`Point::state`]); at most 64 threads and a given number of nodes are tracked. With more
//! threads POS chooses, as it does if timeouts fire at any moment or a barrier has more users than it takes, because
//! operations that count as independent do not commute then. At a node for which there was no room POS chooses too, among
//! the threads that are not asleep, and there is no estimate any more. A run in which every enabled thread is asleep is
//! finished by POS, not cut off.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::dpor::{is_inexact, was_ended};
use crate::pos::Pos;
use crate::upo_path::{self, Mask, Path, Walk};
use raddle_engine::{Census, Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Name, ThreadId, Verdict, mix};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "upo",
    family: Family::Randomized,
    summary: "learns the number of partial orders below each choice and samples them uniformly",
    parameters: &[
        parameter(
            "nodes",
            "1000000",
            "largest number of nodes; beyond them POS chooses among the threads not asleep",
        ),
        parameter("repeats", "avoided", "`allowed`: a partial order may repeat before all were seen"),
    ],
    source: "Raddle",
    guarantee: "uniform over partial orders, once learnt; and an estimate of their number",
    capabilities: Capabilities { every_step: true, counts_orders: true, ..Capabilities::NONE },
    build: Build::Alone(|values| {
        let repeats =
            values.word("repeats", &[("avoided", Repeats::Avoided), ("allowed", Repeats::Allowed)])?;
        Ok(Box::new(Upo::new(values.positive("nodes", 1_000_000)? as usize, repeats)))
    }),
};

/// Repetition of partial orders before all others were seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    /// Avoided as far as the strategy can tell.
    Avoided,
    /// Every run is drawn from all partial orders.
    Allowed,
}

/// Stands for no node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node {
    key: u64,
    /// Estimated number of complete paths below.
    estimate: f64,
    /// Its children are `children[first..first + count]`, in thread order; `NONE` if unknown.
    first: u32,
    count: u32,
    /// The numbers of the threads that were seen to end the run here.
    ends: Mask,
}

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Upo {
    limit: usize,
    repeats: Repeats,
    /// Per prefix of a path (hashed from the threads chosen): the number of partial orders seen with that
    /// prefix.
    seen: Census,
    nodes: Vec<Node>,
    children: Vec<u32>,
    /// Open addressing from keys to nodes. Invariant: a power of two entries, at most half of them used.
    index: Vec<u32>,
    /// The names of threads, in the order in which they were first learnt: the thread order of the sleep
    /// sets.
    names: Vec<Name>,
    pos: Pos,
    /// A run had operations that count as independent and do not commute.
    inexact: bool,
    /// This run: per thread its number, if it is known and below 64.
    numbers: Vec<Option<u32>>,
    /// This run: per number its thread.
    threads: Vec<Option<ThreadId>>,
    asleep: Mask,
    /// This run: the threads whose next operation is known to end it.
    ending: Mask,
    /// This run: the hash of the threads chosen so far.
    path: u64,
    /// This run: the node to which the last choice or pick led, if known.
    expected: u32,
    /// This run: true if it left what can be tracked.
    lost: bool,
    /// This run: true if POS keeps priorities. They are drawn at the first node without estimates; earlier ones would be
    /// just as random.
    has_priorities: bool,
    /// This run: see [`Upo::is_covering`].
    covering: bool,
    /// True if a node has threads that end the run.
    has_ends: bool,
    /// Scratch: the weights of the children from which one is drawn.
    weights: Vec<f64>,
}

impl Upo {
    /// Creates UPO with at most `limit` nodes.
    pub fn new(limit: usize, repeats: Repeats) -> Upo {
        Upo {
            limit,
            repeats,
            seen: Census::default(),
            nodes: Vec::new(),
            children: Vec::new(),
            index: vec![NONE; 64],
            names: Vec::new(),
            pos: Pos::new(Default::default()),
            inexact: false,
            numbers: Vec::new(),
            threads: Vec::new(),
            asleep: 0,
            ending: 0,
            path: ROOT,
            expected: NONE,
            lost: false,
            has_priorities: false,
            covering: false,
            has_ends: false,
            weights: Vec::new(),
        }
    }

    /// Returns true if the program is beyond what can be tracked, so that POS chooses and nothing is learnt.
    fn is_untracked(&self) -> bool {
        self.names.len() > 64 || self.inexact
    }

    /// Returns true if there are partial orders that were not seen, as far as is known.
    fn is_covering(&self) -> bool {
        self.repeats == Repeats::Avoided
            && self.seen.distinct() < 4 * self.limit
            && self.nodes.first().is_some_and(|root| root.estimate - self.seen.of(ROOT) as f64 >= 0.5)
    }

    fn find(&self, key: u64) -> u32 {
        let mask = self.index.len() - 1;
        let mut slot = key as usize & mask;
        while self.index[slot] != NONE && self.nodes[self.index[slot] as usize].key != key {
            slot = (slot + 1) & mask;
        }
        self.index[slot]
    }

    /// Returns the node of `key` with `count` children, a new one if necessary; `None` if there is no room.
    fn insert(&mut self, key: u64, count: u32) -> Option<u32> {
        let known = self.find(key);
        if known != NONE {
            return Some(known);
        }
        if self.nodes.len() >= self.limit {
            return None;
        }
        let node = self.nodes.len() as u32;
        let first = self.children.len() as u32;
        self.nodes.push(Node { key, estimate: f64::from(count), first, count, ends: 0 });
        self.children.resize(self.children.len() + count as usize, NONE);
        if self.nodes.len() * 2 > self.index.len() {
            self.index = vec![NONE; self.index.len() * 2];
            for known in 0..self.nodes.len() as u32 - 1 {
                self.enter(known);
            }
        }
        self.enter(node);
        Some(node)
    }

    fn enter(&mut self, node: u32) {
        let mask = self.index.len() - 1;
        let mut slot = self.nodes[node as usize].key as usize & mask;
        while self.index[slot] != NONE {
            slot = (slot + 1) & mask;
        }
        self.index[slot] = node;
    }

    /// Draws one of a node's children with probability proportional to their estimates, or to the part of
    /// these that was not seen; `None` if all are known to lead nowhere. `label` returns the label of a child
    /// in the path.
    fn draw(&mut self, node: u32, label: impl Fn(u32) -> u32) -> Option<u32> {
        let slot = if self.covering { self.draw_by(node, true, &label) } else { None };
        let slot = slot.or_else(|| self.draw_by(node, false, &label))?;
        self.path = path_key(self.path, label(slot));
        Some(slot)
    }

    fn draw_by(&mut self, node: u32, unseen: bool, label: &impl Fn(u32) -> u32) -> Option<u32> {
        let node = &self.nodes[node as usize];
        let children = &self.children[node.first as usize..][..node.count as usize];
        if let &[child] = children {
            return self.draw_only(child, unseen, label);
        }
        let mut weights = std::mem::take(&mut self.weights);
        weights.clear();
        let estimate = |&child: &u32| self.nodes.get(child as usize).map_or(UNKNOWN, |node| node.estimate);
        weights.extend(children.iter().map(estimate));
        let (mut sum, mut known) = (0.0, 0);
        for &estimate in weights.iter().filter(|&&estimate| estimate != UNKNOWN) {
            sum += estimate;
            known += 1;
        }
        let unknown = estimate_of_unknown(sum, known);
        for (slot, weight) in (0..).zip(&mut weights) {
            // A child that is not known, or no longer known, always has something to be seen.
            let (estimate, least) = if *weight == UNKNOWN { (unknown, 1.0) } else { (*weight, 0.0) };
            let seen = if unseen { self.seen.of(path_key(self.path, label(slot))) as f64 } else { 0.0 };
            *weight = (estimate - seen).max(least);
        }
        let total: f64 = weights.iter().sum();
        let mut drawn = self.pos.rng().unit() * total;
        let mut last = None;
        for (slot, &weight) in (0..).zip(&weights) {
            if weight > 0.0 {
                last = Some(slot);
                drawn -= weight;
                if drawn < 0.0 {
                    break;
                }
            }
        }
        self.weights = weights;
        last
    }

    /// Does [`Upo::draw_by`] for the only child of a node. Draws a number, as for others.
    fn draw_only(&mut self, child: u32, unseen: bool, label: &impl Fn(u32) -> u32) -> Option<u32> {
        let known =
            self.nodes.get(child as usize).map(|node| node.estimate).filter(|&known| known != UNKNOWN);
        let seen = if unseen { self.seen.of(path_key(self.path, label(0))) as f64 } else { 0.0 };
        self.pos.rng().unit();
        let weight = known.map_or_else(|| (1.0 - seen).max(1.0), |known| (known - seen).max(0.0));
        (weight > 0.0).then_some(0)
    }

    /// Counts a complete path along all its prefixes, if it is new.
    fn note_seen(&mut self, visited: &[Visited]) {
        let whole = visited.last().map_or(ROOT, |visited| visited.path);
        if self.seen.of(whole) > 0 || self.seen.distinct() >= 4 * self.limit {
            return;
        }
        self.seen.count(ROOT);
        for visited in visited {
            self.seen.count(visited.path);
        }
    }

    /// Reads the path of a run. If its last event ended it, that is recorded first, and the estimates below
    /// are discarded.
    fn read<'a>(&mut self, run: &RunSummary<'a>) -> Option<Path<'a>> {
        let ended = was_ended(run.verdict);
        let path = upo_path::read(run, &self.names, ended, |key| self.ends(key))?;
        let Some(last) = path.steps.last().filter(|_| path.leaf.complete && ended) else {
            return Some(path);
        };
        if self.ends(last.key) >> last.chosen & 1 == 1 {
            return Some(path);
        }
        // The root first, as always.
        let root = &path.steps[0];
        self.insert(root.key, root.count);
        if let Some(node) = self.insert(last.key, last.count) {
            let entry = &mut self.nodes[node as usize];
            entry.ends |= 1 << last.chosen;
            self.has_ends = true;
            self.children[entry.first as usize..][..entry.count as usize].fill(NONE);
        }
        upo_path::read(run, &self.names, ended, |key| self.ends(key))
    }

    /// Returns the threads that were seen to end the run at the node of `key`.
    fn ends(&self, key: u64) -> Mask {
        if !self.has_ends {
            return 0;
        }
        self.nodes.get(self.find(key) as usize).map_or(0, |node| node.ends)
    }

    /// Looks up the threads that have appeared since the last call.
    fn welcome(&mut self, point: &Point<'_>) {
        for index in self.numbers.len()..point.thread_count() {
            let thread = ThreadId(index as u32);
            let name = point.thread_name(thread);
            let number = self.names.iter().position(|&known| known == name).filter(|&number| number < 64);
            self.numbers.push(number.map(|number| number as u32));
            match number {
                Some(number) => {
                    self.threads.resize(self.threads.len().max(number + 1), None);
                    self.threads[number] = Some(thread);
                }
                None => self.lost = true,
            }
        }
    }

    /// Returns the enabled thread of highest priority.
    fn winner(&mut self, point: &Point<'_>) -> ThreadId {
        if !self.has_priorities {
            self.has_priorities = true;
            self.pos.draw(point.enabled());
        }
        self.pos.winner()
    }

    /// Chooses a thread by the estimates.
    fn tracked(&mut self, point: &Point<'_>) -> Option<ThreadId> {
        self.welcome(point);
        if self.lost {
            return None;
        }
        let number = |thread: &ThreadId| {
            self.numbers[thread.index()].expect("a run that is tracked knows its threads")
        };
        let enabled: Mask = point.enabled().iter().fold(0, |mask, thread| mask | 1 << number(thread));
        let (asleep, ending) = (self.asleep, self.ending);
        let mut walk = Walk { asleep, enabled, ending, state: point.state() };
        let candidates = walk.candidates();
        if candidates == 0 {
            self.lost = true;
            return None;
        }
        let key = walk.key();
        let expected = self.nodes.get(self.expected as usize).is_some_and(|node| node.key == key);
        let node = if expected { self.expected } else { self.find(key) };
        let chosen = match node {
            NONE => {
                self.expected = NONE;
                self.path = 0;
                let winner = self.winner(point);
                let number = self.numbers[winner.index()].expect("a run that is tracked knows its threads");
                if candidates >> number & 1 == 1 {
                    winner
                } else {
                    let drawn = self.pos.rng().below(u64::from(candidates.count_ones())) as u32;
                    self.threads[nth(candidates, drawn) as usize]
                        .expect("a candidate is a thread of this run")
                }
            }
            node => {
                let slot = self.draw(node, |slot| nth(candidates, slot))?;
                let entry = &self.nodes[node as usize];
                walk.ending |= entry.ends & enabled;
                self.expected = self.children[entry.first as usize + slot as usize];
                self.threads[nth(candidates, slot) as usize].expect("a candidate is a thread of this run")
            }
        };
        let operation = |number: u32| {
            let thread = self.threads[number as usize].expect("a sleeper is a thread of this run");
            *point.operation(thread)
        };
        let number = self.numbers[chosen.index()].expect("a candidate has a number");
        (self.asleep, self.ending) = walk.after(number, operation);
        Some(chosen)
    }
}

/// Stands for the estimate of an unknown child; others are not negative.
const UNKNOWN: f64 = -1.0;

/// Returns the estimate of an unknown child, from the sum of those of the `known` ones.
#[inline]
fn estimate_of_unknown(sum: f64, known: u32) -> f64 {
    if known > 0 { (sum / f64::from(known)).max(1.0) } else { 1.0 }
}

/// Returns the index of the `index`-th set bit of `mask`.
fn nth(mask: Mask, index: u32) -> u32 {
    (0..index).fold(mask, |rest, _| rest & (rest - 1)).trailing_zeros()
}

/// A node on the path of a run, the chosen child, and the hash of the path to that child.
struct Visited {
    node: u32,
    slot: u32,
    path: u64,
}

/// The hash of the empty path.
const ROOT: u64 = 0x526f_6f74;

/// Returns the hash of a path extended by thread number or pick `label`.
#[inline]
fn path_key(path: u64, label: u32) -> u64 {
    mix(path.wrapping_add((u64::from(label) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

impl Strategy for Upo {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.pos.begin(rng);
        self.numbers.clear();
        self.threads.clear();
        (self.asleep, self.ending) = (0, 0);
        self.path = ROOT;
        self.expected = NONE;
        self.lost = self.is_untracked();
        self.has_priorities = self.lost;
        self.covering = self.is_covering();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if self.has_priorities {
            self.pos.update(point);
        }
        let thread = if self.lost { None } else { self.tracked(point) };
        let thread = match thread {
            Some(thread) => thread,
            None => {
                self.lost = true;
                self.winner(point)
            }
        };
        if self.has_priorities {
            self.pos.reset_conflicting(point, thread);
        }
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        let fits = |node: &&Node| node.count == arity;
        if !self.lost && self.nodes.get(self.expected as usize).is_some_and(|node| fits(&node)) {
            let node = self.expected;
            if let Some(value) = self.draw(node, |value| value) {
                self.expected = self.children[self.nodes[node as usize].first as usize + value as usize];
                return value;
            }
        }
        (self.expected, self.path) = (NONE, 0);
        self.pos.rng().below(u64::from(arity)) as u32
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.inexact = self.inexact || is_inexact(run);
        if self.is_untracked() {
            return;
        }
        for index in 0..run.thread_count() {
            let name = run.thread_name(ThreadId(index as u32));
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        let Some(path) = self.read(run) else { return };
        // Down the path, creating nodes; then up again, updating the estimates.
        let mut visited: Vec<Visited> = Vec::with_capacity(path.steps.len());
        let mut leaf = match run.verdict {
            Verdict::CutOff | Verdict::Inconclusive { .. } => None,
            Verdict::Passed | Verdict::Failed { .. } => Some(path.leaf),
        };
        let mut prefix = ROOT;
        'down: for step in &path.steps {
            let Some(node) = self.insert(step.key, step.count) else {
                leaf = None;
                break;
            };
            prefix = path_key(prefix, step.chosen);
            visited.push(Visited { node, slot: step.slot, path: prefix });
            let mut key = step.pick_key;
            for pick in &path.picks[step.picks.clone()] {
                let Some(node) = self.insert(key, pick.arity) else {
                    leaf = None;
                    break 'down;
                };
                prefix = path_key(prefix, pick.value);
                visited.push(Visited { node, slot: pick.value, path: prefix });
                key = upo_path::pick_key(key, 0, pick.value);
            }
        }
        let end = leaf.and_then(|leaf| self.insert(leaf.key, 0).map(|node| (node, leaf.complete)));
        if let Some((node, complete)) = end {
            self.nodes[node as usize].estimate = f64::from(u8::from(complete));
        }
        if end.is_some_and(|(_, complete)| complete) && self.repeats == Repeats::Avoided {
            self.note_seen(&visited);
        }
        let mut below = end.map(|(node, _)| node);
        for Visited { node, slot, .. } in visited.into_iter().rev() {
            let (first, count) = (self.nodes[node as usize].first as usize, self.nodes[node as usize].count);
            let children = &mut self.children[first..][..count as usize];
            if let (Some(child), true) = (below, slot < count) {
                children[slot as usize] = child;
            }
            let (mut sum, mut known) = (0.0, 0);
            for &child in children.iter().filter(|&&child| child != NONE) {
                sum += self.nodes[child as usize].estimate;
                known += 1;
            }
            let unknown = f64::from(count - known) * estimate_of_unknown(sum, known);
            self.nodes[node as usize].estimate = sum + unknown;
            below = Some(node);
        }
    }

    fn needs(&self) -> Needs {
        let tracked = !self.is_untracked();
        Needs { enabled: tracked, state: tracked, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn space(&self) -> Option<f64> {
        let known = !self.is_untracked() && self.nodes.len() < self.limit;
        self.nodes.first().filter(|_| known).map(|root| root.estimate)
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
