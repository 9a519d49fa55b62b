//! Scenarios: which thread calls which operations.

use super::operation::Operation;
use raddle_engine::Rng;
use raddle_history::{MOST_CALLS, Part};

/// A call of an operation with one of its arguments, both by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Call {
    pub(super) operation: usize,
    pub(super) argument: u64,
}

/// The calls of each thread, and those of the main thread before and after them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Scenario {
    pub(super) first: Vec<Call>,
    pub(super) threads: Vec<Vec<Call>>,
    pub(super) last: Vec<Call>,
}

/// The maximum sizes of the parts of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) threads: usize,
    pub(super) calls: usize,
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Shape {
    pub(super) fn check(self) {
        let calls = self.threads * self.calls + self.first + self.last;
        assert!(calls <= MOST_CALLS, "a scenario has at most {MOST_CALLS} calls, and {calls} are asked for");
        assert!(self.threads > 0 && self.calls > 0, "a scenario has at least one thread with one call");
    }
}

impl Scenario {
    /// Returns all calls with their callers, in the order of their numbers.
    pub(super) fn calls(&self) -> Vec<(Part, Call)> {
        let first = self.first.iter().map(|&call| (Part::First, call));
        let threads = (0..).zip(&self.threads);
        let threads =
            threads.flat_map(|(thread, calls)| calls.iter().map(move |&call| (Part::Thread(thread), call)));
        let last = self.last.iter().map(|&call| (Part::Last, call));
        first.chain(threads).chain(last).collect()
    }

    /// Returns the scenario with these calls; the calls of one part are in their order.
    pub(super) fn of(calls: &[(Part, Call)]) -> Scenario {
        let mut scenario = Scenario::default();
        for &(part, call) in calls {
            match part {
                Part::First => scenario.first.push(call),
                Part::Last => scenario.last.push(call),
                Part::Thread(thread) => {
                    let count = scenario.threads.len().max(thread as usize + 1);
                    scenario.threads.resize(count, Vec::new());
                    scenario.threads[thread as usize].push(call);
                }
            }
        }
        scenario.without_idle_threads()
    }

    /// Draws a scenario.
    pub(super) fn draw<S>(rng: &mut Rng, shape: Shape, operations: &[Operation<S>]) -> Scenario {
        let groups = groups(operations);
        // Groups have different owners if there are enough threads.
        let offset = rng.below(shape.threads as u64) as usize;
        let owners: Vec<usize> = (0..groups.len()).map(|group| (offset + group) % shape.threads).collect();
        let mut calls = |count: u64, thread: Option<usize>| -> Vec<Call> {
            let is_allowed = |operation: &&(usize, &Operation<S>)| match (&operation.1.group, thread) {
                (Some(group), Some(thread)) => {
                    groups.iter().zip(&owners).any(|(other, owner)| other == group && *owner == thread)
                }
                _ => thread.is_some() || !operation.1.waits,
            };
            let numbered: Vec<_> = operations.iter().enumerate().collect();
            let allowed: Vec<_> = numbered.iter().filter(is_allowed).collect();
            let mut draw = || {
                let (number, operation) = allowed[rng.below(allowed.len() as u64) as usize];
                Call { operation: *number, argument: rng.below(operation.arguments) }
            };
            if allowed.is_empty() { Vec::new() } else { (0..count).map(|_| draw()).collect() }
        };
        let first = calls(shape.first as u64, None);
        let threads: Vec<_> =
            (0..shape.threads).map(|thread| calls(shape.calls as u64, Some(thread))).collect();
        let last = calls(shape.last as u64, None);
        let mut scenario = Scenario { first, threads, last };
        // Half of the scenarios are as large as they may be, as some bugs need many calls; in the others all lengths are as
        // frequent.
        if rng.below(2) == 0 {
            return scenario.without_idle_threads();
        }
        let keep = |calls: &mut Vec<Call>, least: u64, rng: &mut Rng| {
            let most = calls.len() as u64;
            let length = least.min(most) + rng.below(most + 1 - least.min(most));
            calls.truncate(length as usize);
        };
        keep(&mut scenario.first, 0, rng);
        scenario.threads.iter_mut().for_each(|calls| keep(calls, 1, rng));
        keep(&mut scenario.last, 0, rng);
        scenario.without_idle_threads()
    }

    fn without_idle_threads(mut self) -> Scenario {
        self.threads.retain(|calls| !calls.is_empty());
        self
    }

    /// Returns all scenarios of at most this shape, small ones first; `None` if there are more than `most`. Of those that differ
    /// only in the order of threads there is one.
    pub(super) fn all<S>(shape: Shape, operations: &[Operation<S>], most: usize) -> Option<Vec<Scenario>> {
        let lists = |longest: usize, least: usize, may_wait: bool| {
            let mut lists: Vec<Vec<Call>> = vec![Vec::new()];
            let mut begin = 0;
            for _ in 0..longest {
                let end = lists.len();
                for list in begin..end {
                    for (number, operation) in operations.iter().enumerate() {
                        for argument in 0..operation.arguments {
                            if lists.len() > most || operation.waits && !may_wait {
                                break;
                            }
                            let call = Call { operation: number, argument };
                            lists.push(lists[list].iter().copied().chain([call]).collect());
                        }
                    }
                }
                begin = end;
            }
            lists.retain(|list| list.len() >= least);
            (lists.len() <= most).then_some(lists)
        };
        let (firsts, lasts) = (lists(shape.first, 0, false)?, lists(shape.last, 0, false)?);
        let lists = lists(shape.calls, 1, true)?;
        let mut combined: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..shape.threads {
            let mut longer = Vec::new();
            for threads in &combined {
                for list in threads.last().copied().unwrap_or(0)..lists.len() {
                    longer.push([&threads[..], &[list]].concat());
                    if longer.len() > most {
                        return None;
                    }
                }
            }
            combined = longer;
        }
        let mut all = Vec::new();
        for threads in &combined {
            let threads: Vec<Vec<Call>> = threads.iter().map(|&list| lists[list].clone()).collect();
            if !keeps_groups(&threads, operations) {
                continue;
            }
            for first in &firsts {
                for last in &lasts {
                    all.push(Scenario { first: first.clone(), threads: threads.clone(), last: last.clone() });
                    if all.len() > most {
                        return None;
                    }
                }
            }
        }
        all.sort_by_key(|scenario| scenario.calls().len());
        Some(all)
    }

    /// Returns smaller scenarios, the smallest first.
    pub(super) fn smaller<S>(&self, operations: &[Operation<S>]) -> Vec<Scenario> {
        let mut smaller = Vec::new();
        for thread in 0..self.threads.len() {
            if self.threads.len() > 1 && self.threads[thread].len() > 1 {
                let mut without = self.clone();
                without.threads.remove(thread);
                smaller.push(without);
            }
        }
        let calls = self.calls();
        for index in (0..calls.len()).rev() {
            let mut without = calls.clone();
            without.remove(index);
            smaller.push(Scenario::of(&without));
        }
        smaller.retain(|scenario| !scenario.threads.is_empty());
        for (index, &(part, call)) in calls.iter().enumerate() {
            // The first call of a thread may need no thread.
            let is_first = index == 0 || calls[index - 1].0 != part;
            if matches!(part, Part::Thread(_)) && is_first && !operations[call.operation].waits {
                let mut sequential = self.clone();
                sequential.first.push(call);
                if let Part::Thread(thread) = part {
                    sequential.threads[thread as usize].remove(0);
                }
                sequential.threads.retain(|calls| !calls.is_empty());
                if !sequential.threads.is_empty() {
                    smaller.push(sequential);
                }
            }
        }
        for (index, (_, call)) in calls.iter().enumerate() {
            let mut arguments = vec![0, call.argument / 2, call.argument.saturating_sub(1)];
            arguments.dedup();
            for argument in arguments.into_iter().filter(|&argument| argument < call.argument) {
                let mut simpler = calls.clone();
                simpler[index].1.argument = argument;
                smaller.push(Scenario::of(&simpler));
            }
        }
        smaller
    }

    /// Returns the scenario as parameters of a failure file.
    pub(super) fn to_parameters(&self) -> Vec<(String, i64)> {
        let calls = self.calls().into_iter().enumerate();
        calls
            .map(|(index, (part, call))| {
                let part = match part {
                    Part::First => 0,
                    Part::Thread(thread) => i64::from(thread) + 1,
                    Part::Last => LAST,
                };
                let number = (part << 54) | ((call.operation as i64) << 44) | call.argument as i64;
                (format!("{CALL}{index}"), number)
            })
            .collect()
    }

    /// Returns the scenario of a failure file.
    pub(super) fn of_parameters(parameters: &[(String, i64)]) -> Option<Scenario> {
        let is_call =
            |name: &str| name.strip_prefix(CALL).is_some_and(|index| index.parse::<usize>().is_ok());
        let calls = parameters.iter().filter(|(name, _)| is_call(name)).map(|&(_, number)| {
            let part = match number >> 54 {
                0 => Part::First,
                LAST => Part::Last,
                thread => Part::Thread(thread as u32 - 1),
            };
            let operation = (number >> 44 & 0x3ff) as usize;
            (part, Call { operation, argument: (number & ((1 << 44) - 1)) as u64 })
        });
        let calls: Vec<_> = calls.collect();
        (!calls.is_empty()).then(|| Scenario::of(&calls))
    }
}

/// The names of parameters of failure files that hold calls.
const CALL: &str = "call ";
/// The number of the last part in these.
const LAST: i64 = 255;

/// Returns the groups of the operations, each once.
fn groups<S>(operations: &[Operation<S>]) -> Vec<String> {
    let mut groups: Vec<String> = operations.iter().filter_map(|operation| operation.group.clone()).collect();
    groups.sort();
    groups.dedup();
    groups
}

/// Returns true if the operations of each group are called by one thread at most.
fn keeps_groups<S>(threads: &[Vec<Call>], operations: &[Operation<S>]) -> bool {
    groups(operations).iter().all(|group| {
        let calls_it = |calls: &&Vec<Call>| {
            calls.iter().any(|call| operations[call.operation].group.as_ref() == Some(group))
        };
        threads.iter().filter(calls_it).count() <= 1
    })
}
