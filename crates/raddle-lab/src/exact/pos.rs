//! BasicPOS and POS: a state is a node of the graph and the ranking of the priorities drawn so far.
//!
//! Follows `raddle_strategies::pos` and `basic_pos` step by step: an event draws when it is enabled for the
//! first time. Under BasicPOS it keeps its priority while it is disabled. Under POS the enabled events that
//! conflict with the executed one draw again, and so does an event that was disabled: whatever disables it
//! conflicts with it.

use super::rank::{MOST, Ranking};
use super::unfold::Pending;
use super::{ExactError, Graph, Probability};
use raddle_model::{Operation, Reads, dependent};

/// States of equal length with their probabilities, some of them possibly more than once until they are
/// merged.
struct Layer<P> {
    states: Vec<(u32, Ranking, P)>,
    /// Number of states after the last merge.
    merged: usize,
}

/// The longest run whose priorities can be counted. Far shorter ones have too many states already.
const LONGEST: u64 = u16::MAX as u64 / (MOST as u64 + 1);

/// Number of states below which an early merge is not worthwhile.
const MERGE_ABOVE: usize = 1 << 16;

impl<P: Probability> Layer<P> {
    fn new() -> Layer<P> {
        Layer { states: Vec::new(), merged: 0 }
    }

    fn push(&mut self, node: u32, ranking: Ranking, share: P) {
        self.states.push((node, ranking, share));
        if self.states.len() > MERGE_ABOVE && self.states.len() > 3 * self.merged {
            self.merge();
        }
    }

    /// Adds up equal states.
    fn merge(&mut self) {
        self.states.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        self.states.dedup_by(|later, kept| {
            let same = (later.0, later.1) == (kept.0, kept.1);
            if same {
                kept.2.add(&later.2);
            }
            same
        });
        self.merged = self.states.len();
    }
}

/// Returns the probability of each of the graph's ends under POS, or under BasicPOS if there are no `resets`.
pub(super) fn shares<P: Probability>(
    graph: &Graph,
    resets: Option<Reads>,
    limit: usize,
) -> Result<Vec<P>, ExactError> {
    let nodes = graph.nodes();
    if graph.steps() > LONGEST {
        let (step, limit) = (graph.steps(), LONGEST as usize);
        return Err(ExactError::TooManyStates { reached: limit + 1, step, limit });
    }
    let mut ends = vec![None; nodes.len()];
    let mut layer = Layer::new();
    let first: Vec<u16> = graph.pending(&nodes[0]).iter().map(|next| next.thread).collect();
    enter(graph, 0, &Ranking::EMPTY, &first, &P::ratio(1, 1), &mut layer, &mut ends)?;
    let mut step = 0;
    while !layer.states.is_empty() {
        layer.merge();
        if layer.merged > limit {
            return Err(ExactError::TooManyStates { reached: layer.merged, step, limit });
        }
        let mut next = Layer::new();
        for (node, ranking, share) in &layer.states {
            leave(graph, *node, ranking, resets, share, &mut next, &mut ends)?;
            if next.merged > limit {
                return Err(ExactError::TooManyStates { reached: next.merged, step: step + 1, limit });
            }
        }
        layer = next;
        step += 1;
    }
    let zero = || P::ratio(0, 1);
    let shares = nodes.iter().zip(ends).filter(|(node, _)| node.end.is_some());
    Ok(shares.map(|(_, share)| share.unwrap_or_else(zero)).collect())
}

/// Takes the step that the ranking determines.
fn leave<P: Probability>(
    graph: &Graph,
    node: u32,
    ranking: &Ranking,
    resets: Option<Reads>,
    share: &P,
    next: &mut Layer<P>,
    ends: &mut [Option<P>],
) -> Result<(), ExactError> {
    let node = &graph.nodes()[node as usize];
    let pending = graph.pending(node);
    let of = |thread: u16| -> Option<&Pending> { pending.iter().find(|next| next.thread == thread) };
    let first = ranking.threads().iter().find_map(|&thread| of(thread));
    let Pending { thread: chosen, operation: executed, .. } = *first.expect("an enabled thread is ranked");
    let reset = |thread: u16| match (resets, of(thread)) {
        (Some(reads), Some(next)) => conflict(&next.operation, &executed, reads),
        _ => false,
    };
    let rest = ranking.without(|thread| thread == chosen || reset(thread));
    let mut drawing: Vec<u16> = Vec::new();
    for edge in graph.edges(node).iter().filter(|edge| edge.thread == chosen) {
        let enabled = graph.pending(&graph.nodes()[edge.child as usize]);
        let is_disabled = |thread: u16| enabled.iter().all(|next| next.thread != thread);
        let kept = rest.without(|thread| resets.is_some() && is_disabled(thread));
        drawing.clear();
        let ranked = |thread: u16| kept.threads().contains(&thread);
        drawing.extend(enabled.iter().map(|next| next.thread).filter(|&thread| !ranked(thread)));
        enter(graph, edge.child, &kept, &drawing, &share.times(1, edge.ways), next, ends)?;
    }
    Ok(())
}

/// Enters a node, where the threads of `drawing` draw.
fn enter<P: Probability>(
    graph: &Graph,
    node: u32,
    ranking: &Ranking,
    drawing: &[u16],
    share: &P,
    next: &mut Layer<P>,
    ends: &mut [Option<P>],
) -> Result<(), ExactError> {
    let ranked = ranking.threads().len() + drawing.len();
    if ranked > MOST {
        return Err(ExactError::TooManyThreads { found: ranked, limit: MOST });
    }
    match graph.pending(&graph.nodes()[node as usize]) {
        [] => match &mut ends[node as usize] {
            Some(sum) => sum.add(share),
            empty => *empty = Some(share.clone()),
        },
        // A single thread is chosen whatever its priority, and nothing is left to compare with afterwards.
        [alone] if ranked == 1 => {
            Ranking::EMPTY.draw(&[alone.thread], share, &mut |drawn, share| next.push(node, drawn, share))
        }
        _ => ranking.draw(drawing, share, &mut |drawn, share| next.push(node, drawn, share)),
    }
    Ok(())
}

/// Returns true if POS resets one of these when the other is executed. An operation that ends the program
/// conflicts with all others, but shares no object with them, and nothing runs after it.
fn conflict(pending: &Operation, executed: &Operation, reads: Reads) -> bool {
    let touches = |object| executed.objects().any(|(other, _)| other == object);
    pending.objects().any(|(object, _)| touches(object)) && dependent(pending, executed, reads)
}
