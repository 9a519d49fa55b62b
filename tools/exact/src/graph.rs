//! Every run of a program, with equivalent prefixes merged.
//!
//! A node is a state together with the partial order (Mazurkiewicz trace) that led to it. The partial order
//! is the vector clock of every event: for each thread, the number of its events that come before. Two
//! schedules are equivalent exactly if these agree, because they order the same dependent pairs in the same
//! way.

use crate::machine::{End, Footprint, Machine, State};
use std::collections::BTreeMap;

/// Number of events of each thread that come before, including this one.
type Clock = Vec<u8>;

/// The partial order of a prefix.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    /// By thread and event: its clock, and the number drawn.
    events: Vec<Vec<(Clock, u8)>>,
    /// Derived from the events.
    objects: BTreeMap<(char, usize), Touched>,
}

/// The clocks of an object: of everything up to its last write, and of the reads since.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Touched {
    written: Clock,
    read: Clock,
}

impl Order {
    /// Returns this order with one more event.
    fn with(&self, thread: usize, event: &Footprint, pick: usize) -> Order {
        let mut longer = self.clone();
        let none = vec![0; self.events.len()];
        let mut clock = self.events[thread].last().map_or_else(|| none.clone(), |(clock, _)| clock.clone());
        for (object, writes) in &event.touches {
            if let Some(touched) = self.objects.get(object) {
                join(&mut clock, &touched.written);
                if *writes {
                    join(&mut clock, &touched.read);
                }
            }
        }
        clock[thread] += 1;
        for (object, writes) in &event.touches {
            let new = || Touched { written: none.clone(), read: none.clone() };
            let touched = longer.objects.entry(*object).or_insert_with(new);
            join(if *writes { &mut touched.written } else { &mut touched.read }, &clock);
        }
        longer.events[thread].push((clock, pick as u8));
        longer
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (mine, &theirs) in clock.iter_mut().zip(other) {
        *mine = theirs.max(*mine);
    }
}

/// A continuation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The thread that executes its next event.
    pub thread: usize,
    /// The number drawn, and the number of possible ones.
    pub pick: (usize, usize),
    /// The node behind it.
    pub to: usize,
}

/// A prefix of runs, up to equivalence.
#[derive(Debug)]
pub struct Node {
    /// The next event of each thread that has one, enabled or not.
    pub pending: Vec<Option<Footprint>>,
    /// True for each enabled thread.
    pub enabled: Vec<bool>,
    /// The end of a run here, if it ends.
    pub end: Option<End>,
    /// The continuations; those of one thread are adjacent.
    pub edges: Vec<Edge>,
    /// Number of schedules that lead here.
    pub schedules: u128,
}

/// All runs of a program. Nodes are in the order of their lengths, the root first.
#[derive(Debug)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The first node of each length.
    pub levels: Vec<usize>,
    /// Largest number of threads of a run.
    pub threads: usize,
    /// The threads at the start.
    pub initial: Vec<usize>,
}

/// The program has too many nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl Graph {
    /// Enumerates all runs, unless there are more than `most` nodes.
    pub fn new(machine: &Machine, most: usize) -> Result<Graph, TooLarge> {
        let threads = machine.thread_count();
        let mut graph = Graph { nodes: Vec::new(), levels: vec![0], threads, initial: machine.initial() };
        let start = machine.start();
        graph.nodes.push(node(machine, &start));
        graph.nodes[0].schedules = 1;
        let empty = Order { events: vec![Vec::new(); threads], objects: BTreeMap::new() };
        let mut level = vec![(0, start, empty)];
        while !level.is_empty() {
            graph.levels.push(graph.nodes.len());
            let mut next: BTreeMap<(State, Order), usize> = BTreeMap::new();
            for (from, state, order) in level {
                for thread in 0..threads {
                    let arity = machine.arity(&state, thread);
                    for pick in 0..arity {
                        let footprint = graph.nodes[from].pending[thread].clone();
                        let footprint = footprint.expect("an enabled thread has a next event");
                        let after = machine.step(&state, thread, pick);
                        let longer = order.with(thread, &footprint, pick);
                        let to = *next.entry((after, longer)).or_insert_with_key(|(after, _)| {
                            graph.nodes.push(node(machine, after));
                            graph.nodes.len() - 1
                        });
                        graph.nodes[to].schedules += graph.nodes[from].schedules;
                        graph.nodes[from].edges.push(Edge { thread, pick: (pick, arity), to });
                    }
                }
                if graph.nodes.len() > most {
                    return Err(TooLarge);
                }
            }
            level = next.into_iter().map(|((state, order), index)| (index, state, order)).collect();
        }
        Ok(graph)
    }

    /// Returns the complete partial orders.
    pub fn ends(&self) -> impl Iterator<Item = (usize, End)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| Some((index, node.end?)))
    }

    /// Returns the number of schedules of the program.
    pub fn schedules(&self) -> u128 {
        self.ends().map(|(index, _)| self.nodes[index].schedules).sum()
    }

    /// Returns the length of the longest run.
    pub fn steps(&self) -> usize {
        self.levels.len() - 2
    }

    /// Returns the node behind a schedule whose threads are numbered in the order of their creation. `picks` has the steps at
    /// which numbers were drawn.
    pub fn follow(&self, schedule: &[usize], picks: &[(usize, usize)]) -> Option<usize> {
        let mut created = self.initial.clone();
        let mut at = 0;
        for (step, &number) in schedule.iter().enumerate() {
            let thread = *created.get(number)?;
            created.extend(self.nodes[at].pending[thread].as_ref()?.spawns);
            let drawn = picks.iter().find(|(index, _)| *index == step).map_or(0, |(_, value)| *value);
            let edges = self.nodes[at].edges.iter();
            at = edges.filter(|edge| edge.thread == thread).find(|edge| edge.pick.0 == drawn)?.to;
        }
        Some(at)
    }
}

fn node(machine: &Machine, state: &State) -> Node {
    let threads = 0..machine.thread_count();
    Node {
        pending: threads.clone().map(|thread| machine.pending(state, thread)).collect(),
        enabled: threads.map(|thread| machine.arity(state, thread) > 0).collect(),
        end: state.end,
        edges: Vec::new(),
        schedules: 0,
    }
}
