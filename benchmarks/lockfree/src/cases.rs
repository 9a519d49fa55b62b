//! The structures with their operations and models.

use crate::chase_lev::Deque;
use crate::counter::Sharded;
use crate::harris::{List, Table};
use crate::michael_scott::Queue;
use crate::pairs::{LeftRight, Rcu, Reader, SeqLock};
use crate::rings::{Claimed, Mpmc, Publish, Spsc};
use crate::skip_list::SkipList;
use crate::treiber::{Reuse, Stack};
use crate::{elimination, treiber};
use raddle::linearizable::{Linearizability, Model, Refuted, Summary, linearizable};
use raddle::{Config, Memory};
use std::collections::{BTreeSet, VecDeque};

/// The work that a check does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// All schedules of all scenarios of two threads. With one call each, there are up to two calls before and one after them;
    /// otherwise up to one before them.
    Verify {
        /// The maximum number of calls of a thread.
        calls: usize,
    },
    /// All schedules and all old values, under weak memory, of all scenarios of two threads with one call each, up to one call
    /// before and one after them.
    VerifyWeak,
    /// This many runs of 20 scenarios of three threads with up to three calls each.
    Random(u64),
    /// The default runs of 400 scenarios with up to three calls a thread.
    Search {
        /// The number of threads.
        threads: usize,
    },
}

impl Case {
    /// Searches scenarios of two threads for a failure, and then of three.
    pub fn search(&self) -> Outcome {
        (self.check)(Effort::Search { threads: 2 }, false)?;
        (self.check)(Effort::Search { threads: 3 }, false)
    }
}

/// A structure.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Its mistake, if it has one.
    pub mistake: Option<&'static str>,
    /// True if calls may wait for others, so that it is not lock-free.
    pub is_blocking: bool,
    /// Checks it.
    pub check: fn(Effort, bool) -> Outcome,
}

/// The result of a check.
pub type Outcome = Result<Summary, Box<Refuted>>;

/// Adds the effort to a description, and checks it; also its progress, if `lock_free`.
macro_rules! under {
    ($effort:expr, $lock_free:expr, $structure:expr) => {{
        let config = Config::default().without_failure_files().with_patience(2).with_step_limit(400);
        let all = config.clone().with_strategy("dpor").with_runs(2_000_000).with_memory(Memory::Sc);
        let structure = $structure;
        let structure = if $lock_free { structure.lock_free() } else { structure };
        match $effort {
            Effort::Verify { calls: 1 } => {
                structure.config(all).threads(2, 1).around(2, 1).all_scenarios().try_check()
            }
            Effort::Verify { calls } => {
                structure.config(all).threads(2, calls).around(1, 0).all_scenarios().try_check()
            }
            Effort::VerifyWeak => {
                let weak = all.with_memory(Memory::Weak);
                structure.config(weak).threads(2, 1).around(1, 1).all_scenarios().try_check()
            }
            Effort::Random(runs) => {
                let config = config.with_runs(runs / 20).with_strategy("pos+surw+pct:depth=3");
                structure.config(config).threads(3, 3).around(3, 2).scenarios(20).try_check()
            }
            Effort::Search { threads } => structure
                .config(config.with_runs(500))
                .threads(threads, 3)
                .around(2, 2)
                .scenarios(400)
                .try_check(),
        }
    }};
}

macro_rules! case {
    ($name:expr, $mistake:expr, $is_blocking:expr, $structure:expr) => {
        Case {
            name: $name,
            mistake: $mistake,
            is_blocking: $is_blocking,
            check: |effort, lock_free| under!(effort, lock_free, $structure),
        }
    };
}

fn stack(reuse: Reuse) -> Linearizability<Stack, Model<Vec<u32>>> {
    linearizable(move || Stack::new(reuse))
        .model(Vec::new)
        .operation_with("push", 1..=2, treiber::Stack::push, |stack: &mut Vec<u32>, value| stack.push(value))
        .operation("pop", Stack::pop, Vec::pop)
}

fn elimination(takes_by_store: bool) -> Linearizability<elimination::Stack, Model<Vec<u32>>> {
    linearizable(move || elimination::Stack::new(takes_by_store))
        .model(Vec::new)
        .operation_with("push", 1..=2, elimination::Stack::push, |stack: &mut Vec<u32>, value| {
            stack.push(value)
        })
        .operation("pop", elimination::Stack::pop, Vec::pop)
}

fn queue(links_by_store: bool) -> Linearizability<Queue, Model<VecDeque<u32>>> {
    linearizable(move || Queue::new(links_by_store))
        .model(VecDeque::new)
        .operation_with("enqueue", 1..=2, Queue::enqueue, |queue: &mut VecDeque<u32>, value| {
            queue.push_back(value)
        })
        .operation("dequeue", Queue::dequeue, VecDeque::pop_front)
}

fn bounded(queue: &mut VecDeque<u32>, value: u32) -> bool {
    let has_room = queue.len() < 2;
    if has_room {
        queue.push_back(value);
    }
    has_room
}

fn spsc(publish: Publish) -> Linearizability<Spsc, Model<VecDeque<u32>>> {
    linearizable(move || Spsc::new(publish))
        .model(VecDeque::new)
        .operation_with("push", 1..=2, Spsc::push, bounded)
        .group("producer")
        .operation("pop", Spsc::pop, VecDeque::pop_front)
        .group("consumer")
}

fn mpmc(claimed: Claimed) -> Linearizability<Mpmc, Model<VecDeque<u32>>> {
    linearizable(move || Mpmc::new(claimed))
        .model(VecDeque::new)
        .operation_with("push", 1..=2, Mpmc::push, bounded)
        .operation("pop", Mpmc::pop, VecDeque::pop_front)
}

fn deque(takes_last_without_exchange: bool) -> Linearizability<Deque, Model<VecDeque<u32>>> {
    linearizable(move || Deque::new(takes_last_without_exchange))
        .model(VecDeque::new)
        .operation_with("push", 1..=2, Deque::push, |deque: &mut VecDeque<u32>, value| deque.push_back(value))
        .group("owner")
        .operation("take", Deque::take, VecDeque::pop_back)
        .group("owner")
        .operation("steal", Deque::steal, VecDeque::pop_front)
}

type Set = BTreeSet<usize>;

fn list(removes_without_mark: bool) -> Linearizability<List, Model<Set>> {
    linearizable(move || List::new(removes_without_mark))
        .model(Set::new)
        .operation_with("insert", 1..=2, List::insert, |set: &mut Set, key| set.insert(key))
        .operation_with("remove", 1..=2, List::remove, |set: &mut Set, key| set.remove(&key))
        .operation_with("contains", 1..=1, List::contains, |set: &mut Set, key| set.contains(&key))
}

fn skip_list(marks_by_store: bool) -> Linearizability<SkipList, Model<Set>> {
    linearizable(move || SkipList::new(marks_by_store))
        .model(Set::new)
        .operation_with("insert", 1..=2, SkipList::insert, |set: &mut Set, key| set.insert(key))
        .operation_with("remove", 1..=2, SkipList::remove, |set: &mut Set, key| set.remove(&key))
        .operation_with("contains", 1..=1, SkipList::contains, |set: &mut Set, key| set.contains(&key))
}

fn table(publishes_early: bool) -> Linearizability<Table, Model<Set>> {
    linearizable(move || Table::new(publishes_early))
        .model(Set::new)
        .operation_with("insert", 1..=2, Table::insert, |set: &mut Set, key| set.insert(key))
        .operation_with("remove", 1..=2, Table::remove, |set: &mut Set, key| set.remove(&key))
        .operation_with("contains", 1..=1, Table::contains, |set: &mut Set, key| set.contains(&key))
}

fn seq_lock(reader: Reader) -> Linearizability<SeqLock, Model<u32>> {
    linearizable(move || SeqLock::new(reader))
        .model(u32::default)
        .operation_with("set", 1..=2, SeqLock::set, |pair: &mut u32, value| *pair = value)
        .operation("get", SeqLock::get, |pair| (*pair, *pair))
}

fn left_right(waits: bool) -> Linearizability<LeftRight, Model<u32>> {
    linearizable(move || LeftRight::new(waits))
        .model(u32::default)
        .operation_with("set", 1..=2, LeftRight::set, |pair: &mut u32, value| *pair = value)
        .group("writer")
        .operation("get", LeftRight::get, |pair| (*pair, *pair))
}

fn rcu(waits: bool) -> Linearizability<Rcu, Model<u32>> {
    linearizable(move || Rcu::new(waits))
        .model(u32::default)
        .operation_with("set", 1..=2, Rcu::set, |pair: &mut u32, value| *pair = value)
        .group("writer")
        .operation("get", Rcu::get, |pair| (*pair, *pair))
}

fn counter(adds_by_store: bool, least: i32) -> Linearizability<Sharded, Model<i32>> {
    linearizable(move || Sharded::new(adds_by_store))
        .model(i32::default)
        .operation_with("add", least..=1, Sharded::add, |sum: &mut i32, change| *sum += change)
        .operation("get", Sharded::get, |sum| *sum)
}

/// All structures.
pub const CASES: &[Case] = &[
    case!("Treiber stack, tags", None, false, stack(Reuse::Tagged)),
    case!("Treiber stack, tags", Some("the tag never changes"), false, stack(Reuse::ConstantTag)),
    case!("Treiber stack, reused nodes", Some("ABA"), false, stack(Reuse::Plain)),
    case!("Treiber stack, hazard pointers", None, false, stack(Reuse::HazardPointers)),
    case!(
        "Treiber stack, hazard pointers",
        Some("top is not read again"),
        false,
        stack(Reuse::UncheckedHazardPointers)
    ),
    case!("Michael-Scott queue", None, false, queue(false)),
    case!("Michael-Scott queue", Some("links by a store"), false, queue(true)),
    case!("SPSC ring", None, false, spsc(Publish::Release)),
    case!("SPSC ring", Some("publishes before the value"), false, spsc(Publish::Early)),
    case!("SPSC ring", Some("publishes without release"), false, spsc(Publish::Relaxed)),
    case!("MPMC ring (Vyukov), waiting", None, true, mpmc(Claimed::Waits)),
    case!("MPMC ring (Vyukov), waiting", Some("claims by load and store"), true, mpmc(Claimed::Torn)),
    case!(
        "MPMC ring (Vyukov)",
        Some("as published: empty while a push is unfinished"),
        false,
        mpmc(Claimed::Fails)
    ),
    case!("Chase-Lev deque", None, false, deque(false)),
    case!("Chase-Lev deque", Some("takes the last value by a store"), false, deque(true)),
    case!("Harris list", None, false, list(false)),
    case!("Harris list", Some("removes without a mark"), false, list(true)),
    case!("skip list", None, false, skip_list(false)),
    case!("skip list", Some("marks by load and store"), false, skip_list(true)),
    case!("elimination stack", None, false, elimination(false)),
    case!("elimination stack", Some("takes an offer by a store"), false, elimination(true)),
    case!("sequence lock", None, true, seq_lock(Reader::Checks)),
    case!("sequence lock", Some("reads the sequence once"), true, seq_lock(Reader::Once)),
    case!("sequence lock", Some("no acquire fence"), true, seq_lock(Reader::Unfenced)),
    case!("left-right", None, true, left_right(true)),
    case!("left-right", Some("does not wait for readers"), false, left_right(false)),
    case!("RCU pointer", None, true, rcu(true)),
    case!("RCU pointer", Some("does not wait for readers"), false, rcu(false)),
    case!("sharded counter", None, false, counter(false, 1)),
    case!("sharded counter", Some("adds by load and store"), false, counter(true, 1)),
    case!("sharded counter", Some("also counts down"), false, counter(false, -1)),
    case!("hash table with resize", None, false, table(false)),
    case!("hash table with resize", Some("publishes an unlinked bucket"), false, table(true)),
];
