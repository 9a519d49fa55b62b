//! The path of a finished run through UPO's tree, read from its trace.

use raddle_engine::RunSummary;
use raddle_model::{Name, Operation, Pick, Reads, ThreadId, dependent, mix};
use std::cell::Cell;
use std::ops::Range;

/// A set of thread numbers below 64.
pub(crate) type Mask = u64;

/// All thread numbers.
const ALL: Mask = Mask::MAX;

/// The position of a run in the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    /// May contain threads of `ending`: their operation is asleep where it does not end the run, with some drawn numbers.
    pub(crate) asleep: Mask,
    pub(crate) enabled: Mask,
    /// The enabled threads whose next operation is known to end the run, with some drawn numbers at least.
    pub(crate) ending: Mask,
    pub(crate) state: u64,
}

impl Walk {
    /// Returns the threads that may be chosen.
    #[inline]
    pub(crate) fn candidates(self) -> Mask {
        self.enabled & (!self.asleep | self.ending)
    }

    /// Returns the key of this node.
    #[inline]
    pub(crate) fn key(self) -> u64 {
        // Three odd constants, so that no two masks that occur cancel each other.
        let masks = self.enabled.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ self.asleep.wrapping_mul(0xd1b5_4a32_d192_ed03).rotate_left(21)
            ^ self.ending.wrapping_mul(0x8cb9_2ba7_2f3d_8dd7).rotate_left(42);
        mix(self.state ^ mix(masks))
    }

    /// Returns the sleep set after `chosen` has taken its step, and the threads then known to end the run.
    /// `operation` returns the next operation of a thread number. An operation that ends the run depends on
    /// everything, so its thread may be chosen although it is asleep; if it does not end the run then, all are asleep.
    #[inline]
    pub(crate) fn after(self, chosen: u32, operation: impl Fn(u32) -> Operation) -> (Mask, Mask) {
        if self.asleep >> chosen & 1 == 1 {
            return (ALL, 0);
        }
        let others = self.enabled & !(1 << chosen);
        let ending = self.ending & others;
        let asleep = (self.asleep | (self.candidates() & ((1 << chosen) - 1))) & others;
        let mut rest = asleep | ending;
        if rest == 0 {
            return (0, 0);
        }
        let executed = operation(chosen);
        let mut independent = 0;
        while rest != 0 {
            let number = rest.trailing_zeros();
            rest &= rest - 1;
            if !dependent(&operation(number), &executed, Reads::Independent) {
                independent |= 1 << number;
            }
        }
        (asleep & independent, ending & independent)
    }
}

/// Returns the key of the node at which a number is picked, after the child in `slot` of the node with `key` was
/// chosen, or the number `slot` was picked there. A thread below that is known to end the run is part of the key: the
/// subtrees differ once this is known.
#[inline]
pub(crate) fn pick_key(key: u64, ending: Mask, slot: u32) -> u64 {
    mix(key ^ mix(u64::from(slot) + 0x5069_636b) ^ ending.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// One choice of a run.
pub(crate) struct Step {
    pub(crate) key: u64,
    /// The key of the node at which the first number is picked; 0 if none is.
    pub(crate) pick_key: u64,
    /// Number of candidates, and the index of the chosen one, in thread order.
    pub(crate) count: u32,
    pub(crate) slot: u32,
    /// The number of the chosen thread.
    pub(crate) chosen: u32,
    /// The numbers picked in this step: a range of the path's picks.
    pub(crate) picks: Range<usize>,
}

/// The end of a path.
#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    pub(crate) key: u64,
    /// True if the run ended here, rather than reaching a point at which all enabled threads are asleep.
    pub(crate) complete: bool,
}

/// The path of a run, up to where it left the tree.
pub(crate) struct Path<'a> {
    pub(crate) steps: Vec<Step>,
    pub(crate) picks: &'a [Pick],
    pub(crate) leaf: Leaf,
}

/// Reads the path of a run from its trace; `None` if it cannot be tracked. `ended` is true if its last event ended it
/// while others could have continued. `ends` returns, for the key of a node, the threads that were seen to end the run
/// there.
pub(crate) fn read<'a>(
    run: &RunSummary<'a>,
    names: &[Name],
    ended: bool,
    ends: impl Fn(u64) -> Mask,
) -> Option<Path<'a>> {
    let trace = run.trace;
    let number = |thread: ThreadId| {
        let name = run.thread_name(thread);
        names
            .iter()
            .position(|&known| known == name)
            .filter(|&number| number < 64)
            .map(|number| number as u32)
    };
    let numbers: Vec<u32> =
        (0..run.thread_count() as u32).map(|index| number(ThreadId(index))).collect::<Option<_>>()?;
    let mut threads = [ThreadId(0); 64];
    for (index, &number) in numbers.iter().enumerate() {
        threads[number as usize] = ThreadId(index as u32);
    }
    // Per thread: the events it executes, to know its next operation at each point.
    let mut next: Vec<usize> = vec![usize::MAX; numbers.len()];
    let mut after: Vec<usize> = vec![usize::MAX; trace.events.len()];
    for (index, event) in trace.events.iter().enumerate().rev() {
        after[index] = next[event.thread.index()];
        next[event.thread.index()] = index;
    }
    let mut path = Path {
        steps: Vec::with_capacity(trace.events.len()),
        picks: &trace.picks,
        leaf: Leaf { key: 1, complete: true },
    };
    let (mut asleep, mut ending, mut pick) = (0, 0, 0);
    for (index, event) in trace.events.iter().enumerate() {
        let enabled = trace.enabled_at(index).iter().fold(0, |mask: Mask, t| mask | 1 << numbers[t.index()]);
        let mut walk = Walk { asleep, enabled, ending, state: trace.states[index] };
        let key = walk.key();
        walk.ending |= ends(key) & enabled;
        let candidates = walk.candidates();
        let chosen = numbers[event.thread.index()];
        if candidates == 0 {
            path.leaf = Leaf { key, complete: false };
            return Some(path);
        }
        if candidates >> chosen & 1 == 0 {
            // POS led the run to where another path has been; what lies below does not belong to this one.
            return None;
        }
        let from = pick;
        while trace.picks.get(pick).is_some_and(|known| known.step as usize == index) {
            pick += 1;
        }
        let slot = (candidates & ((1 << chosen) - 1)).count_ones();
        path.steps.push(Step {
            key,
            pick_key: if from < pick { pick_key(key, walk.ending, slot) } else { 0 },
            count: candidates.count_ones(),
            slot,
            chosen,
            picks: from..pick,
        });
        // A front end may end a thread that was about to do something; that operation is not in the trace.
        let is_lost = Cell::new(false);
        (asleep, ending) = walk.after(chosen, |number| {
            let thread = threads[number as usize].index();
            let executed = trace.events.get(next[thread]).map(|event| event.operation);
            executed.or(trace.pending[thread]).unwrap_or_else(|| {
                is_lost.set(true);
                event.operation
            })
        });
        if is_lost.get() {
            return None;
        }
        next[event.thread.index()] = after[index];
    }
    if asleep == ALL && !ended {
        path.leaf = Leaf { key: 0, complete: false };
    }
    Some(path)
}
