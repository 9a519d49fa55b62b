//! Random walk: each node divides its probability equally among its children.

use super::{Graph, Probability};

/// Returns the probability of each of the graph's ends.
pub(super) fn shares<P: Probability>(graph: &Graph) -> Vec<P> {
    let mut at = vec![P::ratio(0, 1); graph.nodes().len()];
    at[0] = P::ratio(1, 1);
    let mut shares = Vec::new();
    // A parent comes before its children.
    for (index, node) in graph.nodes().iter().enumerate() {
        let here = std::mem::replace(&mut at[index], P::ratio(0, 1));
        let enabled = graph.pending(node).len() as u64;
        for edge in graph.edges(node) {
            at[edge.child as usize].add(&here.times(1, enabled * edge.ways));
        }
        if node.end.is_some() {
            shares.push(here);
        }
    }
    shares
}
