//! The outcomes that a memory model allows, by enumerating candidate executions and checking axioms.
//!
//! The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing Sequential Consistency in C/C++11", PLDI 2017)
//! with the release sequence of C++20: a write and the read-modify-writes that follow it. This module is a reference
//! for the operational machine in raddle-engine and shares no code with it.
//!
//! An execution graph consists of the events of the program, a write for every read (`rf`) and an order of the writes
//! to each location (`mo`). It is consistent if
//!
//! * `sb | rf` is acyclic, so that no value comes out of thin air (and load buffering is forbidden);
//! * `hb; eco?` is irreflexive (coherence), where `eco` is the closure of `rf | mo | rb`;
//! * a read-modify-write directly follows the write it reads in `mo` (atomicity);
//! * `psc` is acyclic (sequential consistency of the `SeqCst` events).

mod program;
mod relation;

pub use program::{Litmus, Outcome, Step, Update};

use raddle_model::MemoryOrder;
use relation::{Relation, Set, members};
use std::collections::BTreeSet;

/// The greatest number of events of a program, including one initial write per location.
pub const MOST_EVENTS: usize = 64;

/// Returns the outcomes that the model allows, or nothing if the program has more than [`MOST_EVENTS`] events.
///
/// The number of candidates grows with the factorial of the number of writes to a location.
pub fn outcomes(program: &Litmus) -> Option<BTreeSet<Outcome>> {
    let events = Events::of(program);
    (events.list.len() <= MOST_EVENTS).then(|| {
        let mut found = BTreeSet::new();
        events.choose_writes(&mut vec![None; events.list.len()], 0, &mut found);
        found
    })
}

/// One event of the program.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// The thread and the position in it; none for initial writes.
    thread: Option<(usize, usize)>,
    /// An initial write is a relaxed store.
    step: Step,
}

/// The effect of an event once the value that it reads is known.
#[derive(Clone, Copy, Debug)]
struct Effect {
    read: i64,
    written: Option<i64>,
    order: MemoryOrder,
}

struct Events<'a> {
    program: &'a Litmus,
    list: Vec<Event>,
    sb: Relation,
    /// Pairs of events on the same location.
    same: Relation,
}

impl Events<'_> {
    fn of(program: &Litmus) -> Events<'_> {
        let initial = program.initial.iter().enumerate().map(|(location, &value)| Event {
            thread: None,
            step: Step::Store { location, value, order: MemoryOrder::Relaxed },
        });
        let steps = program.threads.iter().enumerate().flat_map(|(thread, steps)| {
            (steps.iter().enumerate()).map(move |(at, &step)| Event { thread: Some((thread, at)), step })
        });
        let list: Vec<Event> = initial.chain(steps).collect();
        let sb = |a: usize, b: usize| match (list[a].thread, list[b].thread) {
            (None, Some(_)) => true,
            (Some((one, first)), Some((other, second))) => one == other && first < second,
            _ => false,
        };
        let same = |a: usize, b: usize| {
            list[a].step.location().is_some() && list[a].step.location() == list[b].step.location()
        };
        let size = list.len().min(MOST_EVENTS);
        let (sb, same) = (Relation::from(size, sb), Relation::from(size, same));
        Events { program, list, sb, same }
    }

    fn size(&self) -> usize {
        self.list.len()
    }

    fn reads(&self, event: usize) -> bool {
        !matches!(self.list[event].step, Step::Store { .. } | Step::Fence(_))
    }

    fn may_write(&self, event: usize) -> bool {
        !matches!(self.list[event].step, Step::Load { .. } | Step::Fence(_))
    }

    /// Tries every write for each read from event `from` on.
    fn choose_writes(&self, rf: &mut Vec<Option<usize>>, from: usize, found: &mut BTreeSet<Outcome>) {
        let Some(read) = (from..self.size()).find(|&event| self.reads(event)) else {
            return self.check_writes(rf, found);
        };
        for write in (0..self.size()).filter(|&event| event != read && self.may_write(event)) {
            if self.same.has(read, write) {
                rf[read] = Some(write);
                self.choose_writes(rf, read + 1, found);
            }
        }
        rf[read] = None;
    }

    /// Tries every modification order for a complete choice of writes.
    fn check_writes(&self, rf: &[Option<usize>], found: &mut BTreeSet<Outcome>) {
        let pairs = || rf.iter().enumerate().filter_map(|(read, write)| Some((read, (*write)?)));
        let mut reads_from = Relation::empty(self.size());
        pairs().for_each(|(read, write)| reads_from.add(write, read));
        if !self.sb.or(&[&reads_from]).is_acyclic() {
            return;
        }
        let Some(effects) = self.effects(rf) else { return };
        if pairs().any(|(_, write)| effects[write].written.is_none()) {
            return; // It reads from an exchange that failed.
        }
        let graph = Graph::new(self, rf, &effects, reads_from);
        if graph.hb.is_irreflexive() {
            self.choose_order(&graph, &mut Vec::new(), found);
        }
    }

    /// Computes what each event reads and writes. `sb | rf` is acyclic.
    fn effects(&self, rf: &[Option<usize>]) -> Option<Vec<Effect>> {
        let mut effects: Vec<Option<Effect>> = vec![None; self.size()];
        while effects.iter().any(Option::is_none) {
            let mut progress = false;
            for event in 0..self.size() {
                let source = match rf[event] {
                    Some(write) => effects[write],
                    None => Some(Effect { read: 0, written: None, order: MemoryOrder::Relaxed }),
                };
                let (None, Some(source)) = (effects[event], source) else { continue };
                effects[event] = Some(self.effect(event, source.written.unwrap_or(0)));
                progress = true;
            }
            if !progress {
                return None;
            }
        }
        effects.into_iter().collect()
    }

    fn effect(&self, event: usize, read: i64) -> Effect {
        match self.list[event].step {
            Step::Load { order, .. } | Step::Fence(order) => Effect { read, written: None, order },
            Step::Store { value, order, .. } => Effect { read: 0, written: Some(value), order },
            Step::Update { update: Update::Add(amount), order, .. } => {
                Effect { read, written: Some(read.wrapping_add(amount)), order }
            }
            Step::Update { update: Update::Set(value), order, .. } => {
                Effect { read, written: Some(value), order }
            }
            Step::Exchange { expected, new, success, .. } if read == expected => {
                Effect { read, written: Some(new), order: success }
            }
            Step::Exchange { failure, .. } => Effect { read, written: None, order: failure },
        }
    }

    /// Tries every order of the writes to each location from number `orders.len()` on.
    fn choose_order(&self, graph: &Graph<'_>, orders: &mut Vec<Vec<usize>>, found: &mut BTreeSet<Outcome>) {
        let location = orders.len();
        if location == self.program.initial.len() {
            if graph.is_consistent(orders) {
                found.insert(self.outcome(graph, orders));
            }
            return;
        }
        let on_location = |&event: &usize| self.list[event].step.location() == Some(location);
        let mut rest: Vec<usize> = members(graph.writes).filter(on_location).collect();
        // The initial write is the first event of its location, and comes first in every order.
        let initial = rest.remove(0);
        permute(&mut rest, 0, &mut |order| {
            orders.push(std::iter::once(initial).chain(order.iter().copied()).collect());
            self.choose_order(graph, orders, found);
            orders.pop();
        });
    }

    fn outcome(&self, graph: &Graph<'_>, orders: &[Vec<usize>]) -> Outcome {
        let mut registers = vec![0; self.program.registers];
        for (event, effect) in self.list.iter().zip(graph.effects) {
            if let Some(register) = event.step.register() {
                registers[register] = effect.read;
            }
        }
        let last = |order: &Vec<usize>| order.last().and_then(|&write| graph.effects[write].written);
        Outcome { registers, locations: orders.iter().filter_map(last).collect() }
    }
}

/// Calls `action` with every permutation of `items`, of which the first `fixed` stay.
fn permute(items: &mut [usize], fixed: usize, action: &mut dyn FnMut(&[usize])) {
    if fixed >= items.len() {
        return action(items);
    }
    for next in fixed..items.len() {
        items.swap(fixed, next);
        permute(items, fixed + 1, action);
        items.swap(fixed, next);
    }
}

/// A program with a write for every read, and what follows from that.
struct Graph<'a> {
    events: &'a Events<'a>,
    effects: &'a [Effect],
    /// Read-modify-writes, each with the write it reads.
    updates: Vec<(usize, usize)>,
    writes: Set,
    rf: Relation,
    hb: Relation,
}

impl<'a> Graph<'a> {
    fn new(
        events: &'a Events<'a>,
        rf: &[Option<usize>],
        effects: &'a [Effect],
        reads_from: Relation,
    ) -> Self {
        let size = events.size();
        let set =
            |holds: &dyn Fn(usize) -> bool| (0..size).filter(|&e| holds(e)).fold(0, |set, e| set | 1 << e);
        let is_fence = |event: usize| matches!(events.list[event].step, Step::Fence(_));
        let (reads, writes) = (set(&|e| rf[e].is_some()), set(&|e| effects[e].written.is_some()));
        let (acquires, releases) =
            (set(&|e| effects[e].order.acquires()), set(&|e| effects[e].order.releases()));
        let fences = set(&is_fence);
        let updates: Vec<(usize, usize)> =
            members(reads & writes).filter_map(|update| Some((update, rf[update]?))).collect();

        let on = |set: Set| Relation::identity(size, set);
        let mut chain = Relation::empty(size);
        updates.iter().for_each(|&(update, write)| chain.add(write, update));
        let release_sequence = on(writes).or(&[&chain.closure()]);
        // A release write, or a release fence before any write.
        let from = on(writes & releases).or(&[&on(fences & releases).then(&events.sb).then(&on(writes))]);
        // An acquire read, or any read before an acquire fence.
        let to = on(reads & acquires).or(&[&on(reads).then(&events.sb).then(&on(fences & acquires))]);
        let sw = from.then(&release_sequence).then(&reads_from).then(&to);
        let hb = events.sb.or(&[&sw]).closure();
        Graph { events, effects, updates, writes, rf: reads_from, hb }
    }

    fn is_consistent(&self, orders: &[Vec<usize>]) -> bool {
        let size = self.events.size();
        let mut mo = Relation::empty(size);
        for order in orders {
            for (at, &first) in order.iter().enumerate() {
                order[at + 1..].iter().for_each(|&second| mo.add(first, second));
            }
        }
        let directly_follows = |&(update, write): &(usize, usize)| {
            mo.has(write, update) && !members(mo.row(write)).any(|between| mo.has(between, update))
        };
        if !self.updates.iter().all(directly_follows) {
            return false;
        }
        let rb = Relation::from(size, |read, write| {
            read != write && (0..size).any(|source| self.rf.has(source, read) && mo.has(source, write))
        });
        let eco = self.rf.or(&[&mo, &rb]).closure();
        eco.is_irreflexive()
            && self.hb.or(&[&self.hb.then(&eco)]).is_irreflexive()
            && self.psc(&mo, &rb, &eco).is_acyclic()
    }

    /// Returns the partial order that sequentially consistent events must respect.
    fn psc(&self, mo: &Relation, rb: &Relation, eco: &Relation) -> Relation {
        let Graph { events, effects, hb, .. } = self;
        let size = events.size();
        let (mut accesses, mut fences) = (0, 0);
        for event in (0..size).filter(|&e| effects[e].order == MemoryOrder::SequentiallyConsistent) {
            let is_fence = matches!(events.list[event].step, Step::Fence(_));
            *(if is_fence { &mut fences } else { &mut accesses }) |= 1 << event;
        }
        let all = Relation::identity(size, if size == 64 { Set::MAX } else { (1 << size) - 1 });
        let (accesses, fences) = (Relation::identity(size, accesses), Relation::identity(size, fences));
        let elsewhere = events.sb.without(&events.same);
        let scb = events.sb.or(&[&elsewhere.then(hb).then(&elsewhere), &hb.and(&events.same), mo, rb]);
        let hb_or_same = hb.or(&[&all]);
        let from = accesses.or(&[&fences.then(&hb_or_same)]);
        let to = accesses.or(&[&hb_or_same.then(&fences)]);
        let base = from.then(&scb).then(&to);
        let fence = fences.then(&hb.or(&[&hb.then(eco).then(hb)])).then(&fences);
        base.or(&[&fence])
    }
}

#[cfg(test)]
mod tests;
