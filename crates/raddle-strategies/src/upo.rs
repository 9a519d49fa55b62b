//! UPO, uniform partial orders: learns how many partial orders lie below each choice, and samples them all alike.
//!
//! Ours. A node is a state of the program together with a sleep set. Its candidates are the enabled threads that are not
//! asleep. After candidate `t`, the threads asleep and the candidates before `t` are asleep below, but for those whose next
//! operation depends on `t`'s; so each partial order is exactly one path from the root. A node keeps an estimate of how many
//! complete paths lie below it, and a candidate is chosen with probability in proportion to its child's. After a run the
//! estimates along its path are made up to date: 1 for a complete run, 0 where every enabled thread was asleep, else the sum
//! over the candidates, where an unknown one counts as the mean of its known siblings. The root's estimate is how many partial
//! orders the program has.
//!
//! Until every partial order was seen, what was seen already is left out ([`Repeats::Avoided`]): a candidate's weight is its
//! child's estimate less the number of partial orders seen below it on this path. So no time is lost on collecting the last
//! coupons, and a program is covered in hardly more runs than it has partial orders. After that, all are alike.
//!
//! Guarantee: none for a run before the estimates below its path are exact. Once they are (after finitely many runs of a
//! finite program, as every candidate keeps a positive probability until it is known to lead nowhere), every partial order
//! has the same probability. Tests: `becomes_uniform`, `counts_exactly`.
//! Limits: states are told apart by the front end's hash of locals and values, or by the partial order that led to them
//! ([`Point::state`]); at most 64 threads and a given number of nodes are kept track of. With more threads the choice is POS's. At a node that there was no room for it is
//! POS's too, among the threads that are not asleep, and there is no estimate any more. A run in which every enabled thread is
//! asleep is finished by POS, not given up.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::pos::Pos;
use crate::upo_path::{Mask, Walk};
use raddle_engine::{Census, Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Name, ThreadId, Verdict, mix};

/// The entry in the catalogue.
pub(crate) const ENTRY: Entry = Entry {
    name: "upo",
    family: Family::Randomized,
    summary: "learns how many partial orders lie below each choice and samples them all alike",
    parameters: &[
        parameter(
            "nodes",
            "1000000",
            "how many nodes are kept; beyond them POS chooses among the threads not asleep",
        ),
        parameter("repeats", "avoided", "`allowed`: a partial order may come again before all were seen"),
    ],
    source: "Raddle",
    guarantee: "uniform over partial orders, once learnt; and an estimate of how many there are",
    capabilities: Capabilities { every_step: true, counts_orders: true, ..Capabilities::NONE },
    build: Build::Alone(|values| {
        let repeats =
            values.word("repeats", &[("avoided", Repeats::Avoided), ("allowed", Repeats::Allowed)])?;
        Ok(Box::new(Upo::new(values.positive("nodes", 1_000_000)? as usize, repeats)))
    }),
};

/// Whether a partial order may come again before all others were seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    /// Not as far as the strategy can tell.
    Avoided,
    /// Every run is drawn from all partial orders.
    Allowed,
}

/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node {
    key: u64,
    /// How many complete paths are thought to lie below.
    estimate: f64,
    /// Its children are `children[first..first + count]`, in thread order; `NONE` where unknown.
    first: u32,
    count: u32,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Upo {
    limit: usize,
    repeats: Repeats,
    /// Per beginning of a path (hashed from the slots chosen): how many partial orders were seen that begin so.
    seen: Census,
    nodes: Vec<Node>,
    children: Vec<u32>,
    /// Open addressing from keys to nodes. Invariant: a power of two entries, at most half of them used.
    index: Vec<u32>,
    /// The names of threads, in the order in which they were first learnt: the thread order of the sleep sets.
    names: Vec<Name>,
    pos: Pos,
    /// This run: per thread its number, if it is known and below 64.
    numbers: Vec<Option<u32>>,
    /// This run: per number its thread.
    threads: Vec<Option<ThreadId>>,
    asleep: Mask,
    /// This run: the hash of the slots chosen so far.
    path: u64,
    /// This run: where the last choice or pick led, if that is known.
    expected: u32,
    /// This run: whether it left what can be tracked.
    lost: bool,
}

impl Upo {
    /// UPO that keeps at most `limit` nodes.
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
            numbers: Vec::new(),
            threads: Vec::new(),
            asleep: 0,
            path: ROOT,
            expected: NONE,
            lost: false,
        }
    }

    /// Whether the program is beyond what can be tracked, so that POS chooses and nothing is learnt.
    fn has_too_many_threads(&self) -> bool {
        self.names.len() > 64
    }

    /// Whether there are partial orders that were not seen, as far as is known.
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

    /// The node of `key` with `count` children, new if need be; none if there is no room.
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
        self.nodes.push(Node { key, estimate: f64::from(count), first, count });
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

    /// The sum of the known children's estimates, how many are known, and what an unknown one counts.
    fn known(&self, node: &Node) -> (f64, u32, f64) {
        let children = &self.children[node.first as usize..][..node.count as usize];
        let (mut sum, mut known) = (0.0, 0);
        for &child in children.iter().filter(|&&child| child != NONE) {
            sum += self.nodes[child as usize].estimate;
            known += 1;
        }
        (sum, known, if known > 0 { (sum / f64::from(known)).max(1.0) } else { 1.0 })
    }

    /// Draws one of a node's children in proportion to their estimates, or to what of these was not seen; none if all are
    /// known to lead nowhere.
    fn draw(&mut self, node: u32) -> Option<u32> {
        let covering = self.is_covering();
        let slot = if covering { self.draw_by(node, true) } else { None };
        let slot = slot.or_else(|| self.draw_by(node, false))?;
        self.path = path_key(self.path, slot);
        Some(slot)
    }

    fn draw_by(&mut self, node: u32, unseen: bool) -> Option<u32> {
        let node = &self.nodes[node as usize];
        let unknown = self.known(node).2;
        let (first, count, path) = (node.first as usize, node.count, self.path);
        let weight = |upo: &Upo, slot: u32| {
            let estimate = match upo.children[first + slot as usize] {
                NONE => unknown,
                child => upo.nodes[child as usize].estimate,
            };
            let seen = if unseen { upo.seen.of(path_key(path, slot)) as f64 } else { 0.0 };
            (estimate - seen).max(0.0)
        };
        let total: f64 = (0..count).map(|slot| weight(self, slot)).sum();
        let mut drawn = self.pos.rng().unit() * total;
        let mut last = None;
        for slot in 0..count {
            let weight = weight(self, slot);
            if weight > 0.0 {
                last = Some(slot);
                drawn -= weight;
                if drawn < 0.0 {
                    break;
                }
            }
        }
        last
    }

    /// Counts a complete path along all its beginnings, if it is new.
    fn note_seen(&mut self, visited: &[(u32, u32)]) {
        let whole = visited.iter().fold(ROOT, |path, &(_, slot)| path_key(path, slot));
        if self.seen.of(whole) > 0 || self.seen.distinct() >= 4 * self.limit {
            return;
        }
        let mut path = ROOT;
        self.seen.count(path);
        for &(_, slot) in visited {
            path = path_key(path, slot);
            self.seen.count(path);
        }
    }

    /// Looks at the threads that have appeared since the last call.
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

    /// The thread to run, by the estimates.
    fn tracked(&mut self, point: &Point<'_>) -> Option<ThreadId> {
        self.welcome(point);
        if self.lost {
            return None;
        }
        let number = |thread: &ThreadId| {
            self.numbers[thread.index()].expect("a run that is tracked knows its threads")
        };
        let enabled: Mask = point.enabled().iter().fold(0, |mask, thread| mask | 1 << number(thread));
        let walk = Walk { asleep: self.asleep, enabled, state: point.state() };
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
                let winner = self.pos.winner();
                if candidates >> number(&winner) & 1 == 1 {
                    winner
                } else {
                    let drawn = self.pos.rng().below(u64::from(candidates.count_ones())) as u32;
                    self.threads[nth(candidates, drawn) as usize]
                        .expect("a candidate is a thread of this run")
                }
            }
            node => {
                let slot = self.draw(node)?;
                self.expected = self.children[self.nodes[node as usize].first as usize + slot as usize];
                self.threads[nth(candidates, slot) as usize].expect("a candidate is a thread of this run")
            }
        };
        let operation = |number: u32| {
            let thread = self.threads[number as usize].expect("a sleeper is a thread of this run");
            *point.operation(thread)
        };
        let number = self.numbers[chosen.index()].expect("a candidate has a number");
        self.asleep = walk.asleep_after(number, operation);
        Some(chosen)
    }
}

/// The number of the `index`-th set bit of `mask`.
fn nth(mask: Mask, index: u32) -> u32 {
    (0..index).fold(mask, |rest, _| rest & (rest - 1)).trailing_zeros()
}

/// The beginning of every path.
const ROOT: u64 = 0x526f_6f74;

/// The hash of a path that goes on with `slot`.
#[inline]
fn path_key(path: u64, slot: u32) -> u64 {
    mix(path.wrapping_add((u64::from(slot) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// The key of the node at which a number is picked, after the child in `slot` of the node with `key` was chosen.
fn pick_key(key: u64, slot: u32) -> u64 {
    mix(key ^ mix(u64::from(slot) + 0x5069_636b))
}

impl Strategy for Upo {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.pos.begin(rng);
        self.numbers.clear();
        self.threads.clear();
        self.asleep = 0;
        self.path = ROOT;
        self.expected = NONE;
        self.lost = self.has_too_many_threads();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.pos.update(point);
        let thread = if self.lost { None } else { self.tracked(point) };
        if thread.is_none() {
            self.lost = true;
        }
        let thread = thread.unwrap_or_else(|| self.pos.winner());
        self.pos.reset_conflicting(point, thread);
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        let fits = |node: &&Node| node.count == arity;
        if !self.lost && self.nodes.get(self.expected as usize).is_some_and(|node| fits(&node)) {
            let node = self.expected;
            if let Some(value) = self.draw(node) {
                self.expected = self.children[self.nodes[node as usize].first as usize + value as usize];
                return value;
            }
        }
        self.expected = NONE;
        self.pos.rng().below(u64::from(arity)) as u32
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        if self.has_too_many_threads() {
            return;
        }
        for index in 0..run.thread_count() {
            let name = run.thread_name(ThreadId(index as u32));
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        let Some(path) = crate::upo_path::read(run, &self.names) else { return };
        // Down the path, making nodes; then up again, making the estimates up to date.
        let mut visited: Vec<(u32, u32)> = Vec::with_capacity(path.steps.len());
        let mut leaf = match run.verdict {
            Verdict::CutOff | Verdict::Inconclusive { .. } => None,
            Verdict::Passed | Verdict::Failed { .. } => Some(path.leaf),
        };
        'down: for step in &path.steps {
            let Some(node) = self.insert(step.key, step.count) else {
                leaf = None;
                break;
            };
            visited.push((node, step.slot));
            let mut key = pick_key(step.key, step.slot);
            for pick in &path.picks[step.picks.clone()] {
                let Some(node) = self.insert(key, pick.arity) else {
                    leaf = None;
                    break 'down;
                };
                visited.push((node, pick.value));
                key = pick_key(key, pick.value);
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
        for (node, slot) in visited.into_iter().rev() {
            let entry = self.nodes[node as usize].clone();
            if let (Some(child), true) = (below, slot < entry.count) {
                self.children[entry.first as usize + slot as usize] = child;
            }
            let (sum, known, unknown) = self.known(&entry);
            self.nodes[node as usize].estimate = sum + f64::from(entry.count - known) * unknown;
            below = Some(node);
        }
    }

    fn needs(&self) -> Needs {
        let tracked = !self.has_too_many_threads();
        Needs { enabled: tracked, state: tracked, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn space(&self) -> Option<f64> {
        let known = !self.has_too_many_threads() && self.nodes.len() < self.limit;
        self.nodes.first().filter(|_| known).map(|root| root.estimate)
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::{Engine, Resource, explore};
    use raddle_model::Kind;
    use raddle_testkit::{Act, Script, affordable, is_thorough};
    use std::ops::ControlFlow;

    /// Learns from `learning` runs, then counts the partial orders of `runs` more.
    fn census(program: &mut Script, upo: &mut Upo, learning: u64, runs: u64) -> Census {
        let (learning, runs) = (affordable(learning), affordable(runs));
        let mut engine = Engine::new(Default::default());
        let mut census = Census::default();
        explore(&mut engine, program, upo, (3, 0, learning), |_, _| ControlFlow::Continue(()));
        explore(&mut engine, program, upo, (3, learning, runs), |_, run| {
            census.count(run.fingerprint);
            ControlFlow::Continue(())
        });
        census
    }

    fn assert_uniform(census: &Census, orders: usize, runs: u64) {
        if !is_thorough() {
            return;
        }
        assert_eq!(census.distinct(), orders);
        let mean = runs as f64 / orders as f64;
        let margin = 4.5 * mean.sqrt();
        let (least, most) = (census.least().unwrap() as f64, census.most().unwrap() as f64);
        assert!(least > mean - margin && most < mean + margin, "{least} to {most}, uniform is {mean}");
    }

    #[test]
    fn becomes_uniform() {
        // Three threads with reads and writes; POS prefers some partial orders several times over others.
        let mut program = Script::straight(2, &["W0 R1 W0", "W1 R0 W1", "R0 W1"]);
        let mut upo = Upo::new(10_000, Repeats::Avoided);
        let seen = census(&mut program, &mut upo, 5_000, 60_000);
        assert_uniform(&seen, upo.space().unwrap().round() as usize, 60_000);
    }

    #[test]
    fn covers_without_repeating_itself() {
        // 70 partial orders. To see all takes 70 * (1 + 1/2 + .. + 1/70) = 338 runs on average if they are drawn at random.
        let runs_to_cover = |repeats| {
            let mut program = Script::straight(1, &["W0 W0 W0 W0"; 2]);
            let mut upo = Upo::new(10_000, repeats);
            let mut census = Census::default();
            let mut engine = Engine::new(Default::default());
            explore(&mut engine, &mut program, &mut upo, (1, 0, affordable(10_000)), |_, run| {
                census.count(run.fingerprint);
                if census.distinct() == 70 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .complete
        };
        let (avoided, allowed) = (runs_to_cover(Repeats::Avoided), runs_to_cover(Repeats::Allowed));
        assert!(!is_thorough() || avoided < 110 && allowed > 200, "{avoided} and {allowed} runs");
    }

    #[test]
    fn counts_exactly() {
        for (threads, orders) in
            [(vec!["W0 R1", "W1 R0"], 3.0), (vec!["W0 W0 W0 W0"; 2], 70.0), (vec!["W0"; 4], 24.0)]
        {
            let mut program = Script::straight(2, &threads);
            let mut upo = Upo::new(10_000, Repeats::Avoided);
            census(&mut program, &mut upo, 3_000, 0);
            assert!(!is_thorough() || upo.space() == Some(orders), "{:?} are {orders}", upo.space());
        }
    }

    #[test]
    fn picks_and_locks_are_choices_like_others() {
        // Two waiters, one signal for each, and a lock: which waiter wakes first is a pick.
        let waiter = [Act::On(Kind::Lock, 0), Act::Wait(1, 0), Act::On(Kind::Unlock, 0)];
        let signaller = [Act::On(Kind::Lock, 0), Act::On(Kind::Broadcast, 1), Act::On(Kind::Unlock, 0)];
        let mut program = Script::new().mutex().object(Resource::condition());
        program = program.thread(&waiter).thread(&waiter).thread(&signaller);
        let mut upo = Upo::new(100_000, Repeats::Avoided);
        let learnt = census(&mut program, &mut upo, 20_000, 40_000);
        assert_uniform(&learnt, upo.space().unwrap().round() as usize, 40_000);
        let mut choices = Script::new().object(Resource::Memory);
        choices = choices.thread(&[Act::Bare(Kind::Choose, 3), Act::W(0)]).thread(&[Act::W(0)]);
        let mut upo = Upo::new(1_000, Repeats::Avoided);
        let seen = census(&mut choices, &mut upo, 2_000, 12_000);
        assert_uniform(&seen, 6, 12_000);
    }

    #[test]
    fn too_many_threads_are_left_to_pos() {
        let mut program = Script::straight(1, &["W0"; 65]);
        let mut upo = Upo::new(1_000, Repeats::Avoided);
        let seen = census(&mut program, &mut upo, 2, 50);
        assert_eq!((seen.distinct() as u64, upo.nodes.len(), upo.space()), (affordable(50), 0, None));
    }

    #[test]
    fn a_full_table_falls_back_to_pos() {
        let mut program = Script::straight(1, &["W0 W0 W0", "W0 W0 W0"]);
        let mut upo = Upo::new(3, Repeats::Avoided);
        let seen = census(&mut program, &mut upo, 100, 20_000);
        assert_eq!((upo.nodes.len(), upo.space()), (3, None));
        assert!(!is_thorough() || seen.distinct() == 20, "{seen:?}");
    }
}
