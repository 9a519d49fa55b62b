//! Every beginning of a run, up to partial-order equivalence.

use super::ExactError;
use super::picks::Picks;
use num_bigint::BigUint;
use raddle_engine::{Choice, Config, Engine, Plan, Point, Rng, Strategy, run};
use raddle_model::{Kind, Name, Operation, Reads, ThreadId, Verdict, dependent};
use raddle_search::CopyProgram;
use std::ops::Range;

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The run passed.
    Passed,
    /// It failed; see [`Failure::kind`](raddle_model::Failure::kind).
    Failed(&'static str),
}

/// Equivalent beginnings of runs. Two beginnings with equal fingerprints are taken to be equivalent, which is
/// wrong with a probability of about 2^-64 a pair.
#[derive(Clone, Debug)]
pub struct Node {
    /// See [`Point::fingerprint`].
    pub fingerprint: u64,
    /// Number of steps.
    pub step: u32,
    /// The end of the run, if it is over.
    pub end: Option<End>,
    pending: Range<u32>,
    edges: Range<u32>,
    /// The node and edge from which it was first reached; the root has none.
    parent: Option<(u32, u32)>,
}

/// A thread that can take the next step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pending {
    /// Its number in the graph, by name: the same in all nodes.
    pub thread: u16,
    /// Its next operation. Object numbers are comparable within one node, and along one [`Graph::path`].
    pub operation: Operation,
    /// Its number in the run that first reached the node.
    id: ThreadId,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The thread that takes it.
    pub thread: u16,
    /// It happens with probability `1 / ways` if the thread is chosen: the product of the arities of its picks.
    pub ways: u64,
    /// The node it leads to.
    pub child: u32,
    picks: Range<u32>,
}

/// The graph; see the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Invariant: by number of steps, so that parents come before children; the root is the first.
    nodes: Vec<Node>,
    pending: Vec<Pending>,
    edges: Vec<Edge>,
    picks: Vec<(u32, u32)>,
    names: Vec<Name>,
    index: Index,
    most_threads: usize,
    /// Number of steps executed to build the graph.
    executed: u64,
}

/// Average number of steps that may be executed for each allowed node. More means long runs, of which a whole
/// one is executed for every step.
const STEPS_PER_NODE: u64 = 300;

impl Graph {
    /// Unfolds `program`, running it once for every edge. Fails at more than `limit` nodes.
    pub fn unfold(program: &dyn CopyProgram, config: Config, limit: usize) -> Result<Graph, ExactError> {
        let mut graph = Graph::default();
        let mut prober = Prober::default();
        let mut program = program.copy();
        let mut engine = Engine::new(config);
        graph.probe(&mut engine, &mut *program, &mut prober, None, limit)?;
        let mut at = 0;
        while at < graph.nodes.len() {
            graph.prefix(at as u32, &mut prober);
            let (pending, first_edge) = (graph.nodes[at].pending.clone(), graph.edges.len() as u32);
            for next in pending {
                let Pending { thread, id, .. } = graph.pending[next as usize];
                prober.path.push(id);
                loop {
                    graph.probe(&mut engine, &mut *program, &mut prober, Some((at as u32, thread)), limit)?;
                    if !prober.picks.advance() {
                        break;
                    }
                }
                prober.path.pop();
            }
            graph.nodes[at].edges = first_edge..graph.edges.len() as u32;
            at += 1;
        }
        Ok(graph)
    }

    /// Returns the nodes; parents come before children, and the root is the first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Iterates over the nodes at which a run is over: the partial orders of the program.
    pub fn ends(&self) -> impl Iterator<Item = (&Node, End)> {
        self.nodes.iter().filter_map(|node| node.end.map(|end| (node, end)))
    }

    /// Returns the enabled threads of a node, by number.
    pub fn pending(&self, node: &Node) -> &[Pending] {
        &self.pending[node.pending.start as usize..node.pending.end as usize]
    }

    /// Returns the steps from a node, grouped by thread.
    pub fn edges(&self, node: &Node) -> &[Edge] {
        &self.edges[node.edges.start as usize..node.edges.end as usize]
    }

    /// Returns the numbers picked in a step, each with its arity.
    pub fn picks(&self, edge: &Edge) -> &[(u32, u32)] {
        &self.picks[edge.picks.start as usize..edge.picks.end as usize]
    }

    /// Returns the number of schedules of the program: the paths through the graph.
    pub fn schedules(&self) -> BigUint {
        let mut ways = vec![BigUint::ZERO; self.nodes.len()];
        ways[0] = BigUint::from(1_u32);
        let mut all = BigUint::ZERO;
        for (index, node) in self.nodes.iter().enumerate() {
            let here = std::mem::take(&mut ways[index]);
            for edge in self.edges(node) {
                ways[edge.child as usize] += &here;
            }
            if node.end.is_some() {
                all += here;
            }
        }
        all
    }

    /// Returns the largest number of threads of any run.
    pub fn threads(&self) -> usize {
        self.most_threads
    }

    /// Returns the length of the longest run.
    pub fn steps(&self) -> u64 {
        self.nodes.last().map_or(0, |node| u64::from(node.step))
    }

    /// Returns a schedule that leads to a node: the thread and operation of each step.
    pub fn path(&self, node: &Node) -> Vec<(u16, Operation)> {
        let mut path = Vec::with_capacity(node.step as usize);
        let mut next = node.parent;
        while let Some((parent, edge)) = next {
            let thread = self.edges[edge as usize].thread;
            path.push((thread, self.next_of(parent, thread).operation));
            next = self.nodes[parent as usize].parent;
        }
        path.reverse();
        path
    }

    /// Returns the largest number of direct conflicts of any schedule: steps taken while a dependent one of
    /// another thread was enabled, counted once for each such thread (thesis, section 3.4). The `c` of the
    /// guarantee of POS.
    pub fn direct_conflicts(&self) -> u32 {
        let mut most = vec![0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            let pending = self.pending(node);
            for edge in self.edges(node) {
                let executed = &self.next_of(index as u32, edge.thread).operation;
                let conflicts = |next: &&Pending| {
                    next.thread != edge.thread && dependent(&next.operation, executed, Reads::Independent)
                };
                let found = most[index] + pending.iter().filter(conflicts).count() as u32;
                let child = &mut most[edge.child as usize];
                *child = found.max(*child);
            }
        }
        most.into_iter().max().unwrap_or(0)
    }

    fn next_of(&self, node: u32, thread: u16) -> &Pending {
        let pending = self.pending(&self.nodes[node as usize]);
        pending.iter().find(|next| next.thread == thread).expect("an edge belongs to an enabled thread")
    }

    /// Sets `prober` to the decisions that first led to a node.
    fn prefix(&self, node: u32, prober: &mut Prober) {
        prober.path.clear();
        prober.known_picks.clear();
        let mut next = self.nodes[node as usize].parent;
        while let Some((parent, edge)) = next {
            let edge = &self.edges[edge as usize];
            prober.path.push(self.next_of(parent, edge.thread).id);
            prober.known_picks.extend(self.picks(edge).iter().rev().map(|&(value, _)| value));
            next = self.nodes[parent as usize].parent;
        }
        prober.path.reverse();
        prober.known_picks.reverse();
    }

    /// Runs up to the point after `prober.path` and records it, as the child of `from` if there is one.
    fn probe(
        &mut self,
        engine: &mut Engine,
        program: &mut dyn CopyProgram,
        prober: &mut Prober,
        from: Option<(u32, u16)>,
        limit: usize,
    ) -> Result<(), ExactError> {
        prober.begin(Rng::for_run(0, 0));
        run(engine, program, prober);
        let summary = engine.summary();
        let steps = prober.path.len() as u64;
        if summary.rests > 0 {
            return Err(ExactError::Spins { steps });
        }
        // A node costs a run from the start, so the steps determine the time.
        self.executed += summary.trace.events.len() as u64;
        if self.executed > STEPS_PER_NODE * limit as u64 {
            return Err(ExactError::TooLarge { reached: self.nodes.len(), steps, limit });
        }
        self.most_threads = self.most_threads.max(summary.thread_count());
        let end = match summary.verdict {
            Verdict::CutOff => None,
            Verdict::Inconclusive { .. } => {
                return Err(ExactError::TooLarge { reached: self.nodes.len(), steps, limit });
            }
            Verdict::Passed => Some(End::Passed),
            Verdict::Failed { failure } => Some(End::Failed(failure.kind())),
        };
        let first_pending = self.pending.len();
        for &(name, id, operation) in &prober.enabled {
            let thread = self.number(name)?;
            self.pending.push(Pending { thread, operation, id });
        }
        self.pending[first_pending..].sort_unstable_by_key(|next| next.thread);
        let fingerprint = summary.fingerprint;
        let child = match self.index.get(fingerprint) {
            Some(known) => {
                self.check_same(known, end, first_pending, steps)?;
                self.pending.truncate(first_pending);
                known
            }
            None => {
                let new = self.nodes.len();
                if new >= limit {
                    return Err(ExactError::TooLarge { reached: new, steps, limit });
                }
                self.index.put(fingerprint, new as u32);
                self.nodes.push(Node {
                    fingerprint,
                    step: steps as u32,
                    end,
                    pending: first_pending as u32..self.pending.len() as u32,
                    edges: 0..0,
                    parent: from.map(|(parent, _)| (parent, self.edges.len() as u32)),
                });
                new as u32
            }
        };
        if let Some((_, thread)) = from {
            let first_pick = self.picks.len() as u32;
            self.picks.extend(prober.picks.taken());
            self.edges.push(Edge {
                thread,
                ways: prober.picks.ways(),
                child,
                picks: first_pick..self.picks.len() as u32,
            });
        }
        Ok(())
    }

    /// Checks that a node reached again looks as it did the first time.
    fn check_same(&self, known: u32, end: Option<End>, found: usize, steps: u64) -> Result<(), ExactError> {
        let key = |next: &Pending| -> (u16, Kind, u64) {
            (next.thread, next.operation.kind, next.operation.argument)
        };
        let known = &self.nodes[known as usize];
        let same = self.pending(known).iter().map(key).eq(self.pending[found..].iter().map(key));
        if same && known.end == end && u64::from(known.step) == steps {
            Ok(())
        } else {
            Err(ExactError::Ambiguous { steps })
        }
    }

    /// Returns the number of the thread named `name`.
    fn number(&mut self, name: Name) -> Result<u16, ExactError> {
        let at = self.names.iter().position(|&known| known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        let limit = usize::from(u16::MAX);
        u16::try_from(at).map_err(|_| ExactError::TooManyThreads { found: at + 1, limit })
    }
}

/// A strategy that follows given decisions, records the enabled threads and cuts the run off.
#[derive(Clone, Default, Debug)]
struct Prober {
    path: Vec<ThreadId>,
    /// The answers in all steps of the path except the last.
    known_picks: Vec<u32>,
    /// The answers in the last step.
    picks: Picks,
    step: usize,
    asked: usize,
    enabled: Vec<(Name, ThreadId, Operation)>,
}

impl Strategy for Prober {
    fn begin(&mut self, _rng: Rng) -> Plan {
        self.picks.rewind();
        self.step = 0;
        self.asked = 0;
        self.enabled.clear();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if let Some(&thread) = self.path.get(self.step) {
            self.step += 1;
            return Choice::Run(thread);
        }
        let enabled = point.enabled().iter();
        self.enabled.extend(enabled.map(|&id| (point.thread_name(id), id, *point.operation(id))));
        Choice::CutOff
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.asked += 1;
        match self.known_picks.get(self.asked - 1) {
            Some(&value) => value,
            None => self.picks.answer(arity),
        }
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// A map from fingerprints, which are well mixed already, to nodes.
#[derive(Clone, Debug, Default)]
struct Index {
    /// Invariant: a power of two entries or none, at most half of them used; `FREE` marks the others.
    table: Vec<(u64, u32)>,
    used: usize,
}

const FREE: u32 = u32::MAX;

impl Index {
    fn get(&self, fingerprint: u64) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let (_, node) = self.table[self.slot(fingerprint)];
        (node != FREE).then_some(node)
    }

    /// Adds a fingerprint that is not in the map.
    fn put(&mut self, fingerprint: u64, node: u32) {
        if self.used * 2 >= self.table.len() {
            let larger = vec![(0, FREE); (self.table.len() * 2).max(64)];
            let old = std::mem::replace(&mut self.table, larger);
            for entry in old.into_iter().filter(|&(_, node)| node != FREE) {
                let slot = self.slot(entry.0);
                self.table[slot] = entry;
            }
        }
        let slot = self.slot(fingerprint);
        self.table[slot] = (fingerprint, node);
        self.used += 1;
    }

    fn slot(&self, fingerprint: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = fingerprint as usize & mask;
        while self.table[slot].1 != FREE && self.table[slot].0 != fingerprint {
            slot = (slot + 1) & mask;
        }
        slot
    }
}
