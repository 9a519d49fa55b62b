//! Finds the modules that use each other in a cycle.

use super::names;
use super::sources::{Id, Module};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::PathBuf;

/// One node of a module: a child with its descendants, or the module's own items.
type Node = Id;
/// The uses between nodes: the module, the one that it uses, file and line.
type Graph = BTreeMap<Node, BTreeMap<Node, Vec<Edge>>>;

#[derive(Clone, Debug)]
struct Edge {
    from: String,
    to: String,
    file: PathBuf,
    line: usize,
}

/// Modules that use each other, found in one parent.
#[derive(Debug)]
pub(crate) struct Cycle {
    /// The names of all modules that use each other.
    members: Vec<String>,
    /// A shortest cycle, with an example for each step of it.
    shortest: Vec<Edge>,
    /// All uses between the members: the user, the used module, the number of uses, and an example.
    all: Vec<(String, String, usize, Edge)>,
}

/// Finds all cycles of a crate, at most one for each group of modules that use each other.
pub(crate) fn find(modules: &[Module]) -> Vec<Cycle> {
    let mut graphs: BTreeMap<Id, Graph> = BTreeMap::new();
    for (from, module) in modules.iter().enumerate() {
        for used in &module.uses {
            let Some(to) = names::target(modules, from, used).filter(|&to| to != from) else { continue };
            let (parent, tail, head) = project(modules, from, to);
            let edge = Edge {
                from: module.name.clone(),
                to: modules[to].name.clone(),
                file: module.file.clone(),
                line: used.line,
            };
            let graph = graphs.entry(parent).or_default();
            graph.entry(tail).or_default().entry(head).or_default().push(edge);
        }
    }
    let mut cycles = Vec::new();
    for (&parent, graph) in &graphs {
        let name = |node: Node| match &modules[node].name {
            name if node == parent => format!("{name} (its own items)"),
            name => name.clone(),
        };
        for group in groups(graph) {
            cycles.push(describe(graph, &group, name));
        }
    }
    cycles
}

/// Returns the lowest common ancestor of two modules, and the nodes of it that they are in.
fn project(modules: &[Module], from: Id, to: Id) -> (Id, Node, Node) {
    let line = |mut id: Id| {
        let mut line = vec![id];
        while let Some(parent) = modules[id].parent {
            line.push(parent);
            id = parent;
        }
        line.reverse();
        line
    };
    let (from, to) = (line(from), line(to));
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let parent = from[common - 1];
    let node = |line: &[Id]| line.get(common).copied().unwrap_or(parent);
    (parent, node(&from), node(&to))
}

/// Returns the groups of two or more nodes that reach each other.
fn groups(graph: &Graph) -> Vec<Vec<Node>> {
    let reach: BTreeMap<Node, BTreeSet<Node>> =
        graph.keys().map(|&node| (node, reachable(graph, node))).collect();
    let mut found: BTreeSet<Vec<Node>> = BTreeSet::new();
    for (node, reached) in &reach {
        if reached.contains(node) {
            let together = |other: &&Node| reach.get(other).is_some_and(|back| back.contains(node));
            found.insert(reached.iter().filter(together).copied().collect());
        }
    }
    found.into_iter().collect()
}

/// Returns the nodes that a node uses, directly or indirectly.
fn reachable(graph: &Graph, from: Node) -> BTreeSet<Node> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop() {
        let next = graph.get(&node).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.copied().filter(|&other| seen.insert(other)));
    }
    seen
}

fn describe(graph: &Graph, group: &[Node], name: impl Fn(Node) -> String) -> Cycle {
    let shortest = group.iter().filter_map(|&node| shortest(graph, node)).min_by_key(Vec::len);
    let mut all = Vec::new();
    for tail in group {
        for (head, edges) in graph[tail].iter().filter(|(head, _)| group.contains(head)) {
            all.push((name(*tail), name(*head), edges.len(), edges[0].clone()));
        }
    }
    Cycle {
        members: group.iter().map(|&node| name(node)).collect(),
        shortest: shortest.unwrap_or_default(),
        all,
    }
}

/// Returns the uses along a shortest cycle through a node.
fn shortest(graph: &Graph, start: Node) -> Option<Vec<Edge>> {
    let mut before: BTreeMap<Node, Node> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for &next in graph.get(&node)?.keys().filter(|next| graph.contains_key(next)) {
            if let std::collections::btree_map::Entry::Vacant(entry) = before.entry(next) {
                entry.insert(node);
                open.push_back(next);
            }
        }
    }
    let (mut edges, mut head) = (Vec::new(), start);
    loop {
        let tail = *before.get(&head)?;
        edges.push(graph[&tail][&head][0].clone());
        head = tail;
        if head == start {
            edges.reverse();
            return Some(edges);
        }
    }
}

impl Cycle {
    /// Returns one line for each pair of modules in the cycle, with the number of uses and the first of them.
    pub(crate) fn edges(&self) -> String {
        let line = |(from, to, count, edge): &(String, String, usize, Edge)| {
            let plural = if *count == 1 { "" } else { "s" };
            format!("  {from} -> {to}: {count} use{plural}, {}:{}\n", edge.file.display(), edge.line)
        };
        self.all.iter().map(line).collect()
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "modules use each other in a cycle")?;
        for edge in &self.shortest {
            writeln!(out, "  {}:{}: {} uses {}", edge.file.display(), edge.line, edge.from, edge.to)?;
        }
        if self.members.len() > self.shortest.len() {
            writeln!(out, "  {} modules use each other: {}", self.members.len(), self.members.join(", "))?;
        }
        write!(
            out,
            "help: move what both modules need into a module below them, or pass it as an argument; \
             the rule is in xtask/src/modules/mod.rs"
        )
    }
}
