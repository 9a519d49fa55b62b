//! Exact probabilities of partial orders, from the definitions in the papers.
//!
//! Random walk: every enabled thread has the same probability. PCT: a random rank for every thread when it
//! appears, `depth - 1` change points uniform in `1..=steps`; the thread that takes step number `k_i` falls
//! to priority `depth - i`. BasicPOS: a random priority for every event, never changed. POS: the same, drawn
//! again for every pending event that touches an object of the one just executed, one of the two writing it;
//! `exit` touches none. Numbers that an event draws (which waiter a signal wakes, `choose`) are uniform under
//! all of them.
//!
//! Priorities are independent and uniform, so only their order matters, and the rank of a new one among *all*
//! drawn before is uniform whatever is known of these. Priorities of the past have to be kept for that: an
//! event that was executed had the highest one, so a new event is more likely than not above those that wait.
//! The sums below run over such orders.

use crate::graph::{Edge, Graph, Node};
use num_bigint::BigInt;
use num_rational::BigRational;
use std::collections::BTreeMap;

/// Probabilities of nodes at the end of runs.
pub type Shares = BTreeMap<usize, BigRational>;

/// There are more orders of priorities than the caller allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

fn ratio(numerator: usize, denominator: usize) -> BigRational {
    BigRational::new(BigInt::from(numerator), BigInt::from(denominator))
}

fn add<K: Ord>(to: &mut BTreeMap<K, BigRational>, key: K, share: BigRational) {
    match to.get_mut(&key) {
        Some(sum) => *sum += share,
        None => _ = to.insert(key, share),
    }
}

/// Returns the probabilities under random walk.
pub fn random_walk(graph: &Graph) -> Shares {
    let mut reached: Shares = BTreeMap::from([(0, ratio(1, 1))]);
    let mut shares = Shares::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let share = reached.remove(&index).expect("every node is reached");
        if node.end.is_some() {
            shares.insert(index, share);
            continue;
        }
        let enabled = node.enabled.iter().filter(|enabled| **enabled).count();
        for edge in &node.edges {
            add(&mut reached, edge.to, &share * ratio(1, enabled * edge.pick.1));
        }
    }
    shares
}

/// Nodes with the known priorities there, each with its share of a common denominator.
type Alive<T> = BTreeMap<(usize, T), BigInt>;

/// Starts at the root with one of `first`, all equally likely, and continues step by step. `chosen` returns
/// the thread that runs, and `knowledge`, for an edge of that thread and the number of the step, from 1, the
/// equally likely continuations of the knowledge.
fn march<T: Ord>(
    graph: &Graph,
    first: Vec<T>,
    most: usize,
    chosen: impl Fn(&Node, &T) -> usize,
    knowledge: impl Fn(usize, &Node, &Edge, &T) -> Vec<T>,
) -> Result<Shares, TooMany> {
    let mut shares = Shares::new();
    let mut whole = BigInt::from(first.len());
    let mut alive: Alive<T> = first.into_iter().map(|known| ((0, known), BigInt::from(1))).collect();
    for step in 1.. {
        let mut moves = Vec::new();
        for ((index, known), share) in alive {
            let node = &graph.nodes[index];
            if node.end.is_some() {
                add(&mut shares, index, BigRational::new(share, whole.clone()));
                continue;
            }
            let thread = chosen(node, &known);
            for edge in node.edges.iter().filter(|edge| edge.thread == thread) {
                moves.push((share.clone(), edge, knowledge(step, node, edge, &known)));
            }
        }
        if moves.is_empty() {
            break;
        }
        let parts =
            moves.iter().map(|(_, edge, ways)| edge.pick.1 * ways.len()).fold(1, least_common_multiple);
        whole *= parts;
        alive = Alive::new();
        for (share, edge, ways) in moves {
            let each = share * (parts / (edge.pick.1 * ways.len()));
            for way in ways {
                *alive.entry((edge.to, way)).or_default() += &each;
            }
            if alive.len() > most {
                return Err(TooMany);
            }
        }
    }
    Ok(shares)
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut rest, mut divisor) = (a, b);
    while divisor != 0 {
        (rest, divisor) = (divisor, rest % divisor);
    }
    a / rest * b
}

/// All priorities drawn so far, the highest first: those of threads, and those of the past, which have no
/// thread any more.
type Ranks = Vec<Option<usize>>;

/// Returns all ways to insert `new` one after the other at random positions of `ranks`.
fn inserted(ranks: Ranks, new: &[usize]) -> Vec<Ranks> {
    let mut ways = vec![ranks];
    for &thread in new {
        let longer = |ranks: Ranks| {
            (0..=ranks.len()).map(move |place| {
                let mut ranks = ranks.clone();
                ranks.insert(place, Some(thread));
                ranks
            })
        };
        ways = ways.into_iter().flat_map(longer).collect();
    }
    ways
}

/// Returns the probabilities under BasicPOS, or under POS if priorities are `reset`.
pub fn pos(graph: &Graph, reset: bool, most: usize) -> Result<Shares, TooMany> {
    // An event gets its priority when it is first enabled; until then it is not compared.
    let enabled = |node: &Node, ranks: &[Option<usize>]| -> Vec<usize> {
        (0..graph.threads).filter(|thread| node.enabled[*thread] && !ranks.contains(&Some(*thread))).collect()
    };
    let root = &graph.nodes[0];
    march(
        graph,
        inserted(Vec::new(), &enabled(root, &[])),
        most,
        |node, ranks: &Ranks| {
            let mut threads = ranks.iter().flatten();
            *threads.find(|thread| node.enabled[**thread]).expect("every enabled event has a priority")
        },
        |_, node, edge, ranks| {
            let event = node.pending[edge.thread].as_ref().expect("it was enabled");
            let stays = |thread: &usize| {
                let pending = node.pending[*thread].as_ref().expect("it has a priority");
                *thread != edge.thread && !(reset && pending.meets(event))
            };
            let kept: Ranks = ranks.iter().map(|rank| rank.filter(stays)).collect();
            let new = enabled(&graph.nodes[edge.to], &kept);
            inserted(kept, &new)
        },
    )
}

/// Returns the probabilities under PCT.
pub fn pct(graph: &Graph, depth: usize, steps: usize, most: usize) -> Result<Shares, TooMany> {
    let mut sum = Shares::new();
    let draws = steps.pow(depth as u32 - 1);
    for draw in 0..draws {
        // The change points k_1, k_2 and so on are the digits of the draw.
        let change_at: Vec<usize> = (0..depth - 1).map(|i| draw / steps.pow(i as u32) % steps + 1).collect();
        for (node, share) in pct_with(graph, depth, &change_at, most)? {
            add(&mut sum, node, share * ratio(1, draws));
        }
    }
    Ok(sum)
}

/// The state of PCT: the first priorities, and the threads with low ones, by value.
type Priorities = (Ranks, Ranks);

fn pct_with(graph: &Graph, depth: usize, change_at: &[usize], most: usize) -> Result<Shares, TooMany> {
    let first = inserted(Vec::new(), &graph.initial);
    march(
        graph,
        first.into_iter().map(|ranks| (ranks, vec![None; depth])).collect(),
        most,
        |node, (high, low): &Priorities| {
            let mut order = high.iter().chain(low.iter().rev()).flatten();
            *order.find(|thread| node.enabled[**thread]).expect("an enabled thread has a priority")
        },
        |step, node, edge, (high, low)| {
            let (mut high, mut low) = (high.clone(), low.clone());
            for (i, _) in change_at.iter().enumerate().filter(|(_, at)| **at == step) {
                for rank in high.iter_mut().chain(&mut low).filter(|rank| **rank == Some(edge.thread)) {
                    *rank = None;
                }
                low[depth - (i + 1)] = Some(edge.thread);
            }
            let spawned = node.pending[edge.thread].as_ref().and_then(|event| event.spawns);
            let ways = inserted(high, spawned.as_slice());
            ways.into_iter().map(|high| (high, low.clone())).collect()
        },
    )
}
