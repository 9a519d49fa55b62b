//! Every run of a program, with equivalent prefixes merged.
//!
//! A node is a state together with the partial order (Mazurkiewicz trace) that led to it. The partial order is written as the
//! vector clock of every event: for each thread, how many of its events come before. Two schedules are equivalent exactly if
//! these agree, because they order the same dependent pairs in the same way.

use crate::machine::{End, Footprint, Machine, State};
use std::collections::BTreeMap;

/// How many events of each thread come before, with this one.
type Clock = Vec<u8>;

/// The partial order of a prefix.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    /// By thread and event: its clock, and the number drawn.
    events: Vec<Vec<(Clock, u8)>>,
    /// Follows from the events.
    objects: BTreeMap<(char, usize), Touched>,
}

/// What is known of an object: all that comes before its last write or is that, and the same of the reads since.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Touched {
    written: Clock,
    read: Clock,
}

impl Order {
    /// Returns this order with one event more.
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

/// A way to continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Who executes its next event.
    pub thread: usize,
    /// The number drawn, and of how many.
    pub pick: (usize, usize),
    /// The node behind it.
    pub to: usize,
}

/// A prefix of runs, up to equivalence.
#[derive(Debug)]
pub struct Node {
    /// The next event of each thread that has one, enabled or not.
    pub pending: Vec<Option<Footprint>>,
    /// Whether each thread is enabled.
    pub enabled: Vec<bool>,
    /// How a run ends here, if it does.
    pub end: Option<End>,
    /// The ways to continue; those of one thread are next to each other.
    pub edges: Vec<Edge>,
    /// How many schedules lead here.
    pub schedules: u128,
}

/// All runs of a program. Nodes are in the order of their lengths, the root first.
#[derive(Debug)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The first node of each length.
    pub levels: Vec<usize>,
    /// How many threads a run may have.
    pub threads: usize,
    /// The threads at the start.
    pub initial: Vec<usize>,
}

/// The program has too many nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl Graph {
    /// Enumerates all runs, unless there are more than so many nodes.
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

    /// Returns how many schedules the program has.
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
