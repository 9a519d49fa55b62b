//! The partial orders that RAPOS can reach, by the definition in Yuan's thesis, section 2.2.3.
//!
//! A run consists of batches. A batch is any nonempty set of pairwise independent events out of the
//! schedulable ones, executed in any order. At first every enabled event is schedulable; after a batch, those
//! that depend on an event of it. If there are none, a single enabled event is. The next event of a thread
//! depends on the previous one, and every event depends on the one that created or unblocked its thread; so
//! all events that were not enabled before the batch count.

use crate::graph::Graph;
use std::collections::BTreeSet;

/// Returns the ends of all runs that RAPOS can execute.
pub fn reachable(graph: &Graph) -> BTreeSet<usize> {
    let everything = (0..graph.threads).filter(|thread| graph.nodes[0].enabled[*thread]).collect();
    let (mut todo, mut ends): (Vec<(usize, Vec<usize>)>, _) = (vec![(0, everything)], BTreeSet::new());
    let mut seen: BTreeSet<_> = todo.iter().cloned().collect();
    while let Some((index, schedulable)) = todo.pop() {
        let node = &graph.nodes[index];
        if node.end.is_some() {
            ends.insert(index);
            continue;
        }
        let event = |thread: usize| node.pending[thread].as_ref().expect("it is enabled");
        for chosen in 1_usize..1 << schedulable.len() {
            let batch: Vec<usize> = (0..schedulable.len())
                .filter(|bit| chosen >> bit & 1 == 1)
                .map(|bit| schedulable[bit])
                .collect();
            let independent = |a: usize, b: usize| a == b || !event(a).depends_on(event(b));
            if !batch.iter().all(|&a| batch.iter().all(|&b| independent(a, b))) {
                continue;
            }
            let mut after = BTreeSet::new();
            execute(graph, index, &batch, &mut after);
            for to in after {
                let enabled = (0..graph.threads).filter(|thread| graph.nodes[to].enabled[*thread]);
                let depends = |thread: &usize| {
                    batch.contains(thread)
                        || !node.enabled[*thread]
                        || batch.iter().any(|&done| event(done).depends_on(event(*thread)))
                };
                let next: Vec<usize> = enabled.clone().filter(depends).collect();
                let sets =
                    if next.is_empty() { enabled.map(|thread| vec![thread]).collect() } else { vec![next] };
                // A run that is over has no next set.
                let sets = if graph.nodes[to].end.is_some() { vec![Vec::new()] } else { sets };
                todo.extend(sets.into_iter().map(|set| (to, set)).filter(|next| seen.insert(next.clone())));
            }
        }
    }
    ends
}

/// Adds the nodes behind a batch, in any order and with any numbers drawn. A run that ends early stays where
/// it is.
fn execute(graph: &Graph, at: usize, batch: &[usize], after: &mut BTreeSet<usize>) {
    let left: Vec<usize> = batch.iter().copied().filter(|thread| graph.nodes[at].enabled[*thread]).collect();
    if left.is_empty() {
        after.insert(at);
        return;
    }
    for edge in graph.nodes[at].edges.iter().filter(|edge| left.contains(&edge.thread)) {
        let rest: Vec<usize> = left.iter().copied().filter(|thread| *thread != edge.thread).collect();
        execute(graph, edge.to, &rest, after);
    }
}
