//! The calls of one run, and which of them came before which.

/// The condition that the calls of a run must meet: an order of the calls explains all results, and it keeps ..
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Condition {
    /// .. the order of calls that do not overlap: linearizability (Herlihy and Wing, TOPLAS 1990).
    #[default]
    Linearizable,
    /// .. the order of the calls of each thread: sequential consistency (Lamport, 1979).
    SequentiallyConsistent,
    /// .. the order of calls between which there was a moment without any call: quiescent consistency (Aspnes, Herlihy and
    /// Shavit, JACM 1994). The calls of one thread may be swapped within such a period.
    QuiescentlyConsistent,
}

/// A step of a history, in the order of execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A call begins.
    Call(usize),
    /// A call ends.
    Return(usize, Outcome),
}

/// The end of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// The call never returned.
    Pending,
    /// It returned the result with this number.
    Returned(u32),
}

/// The caller of a call: the parts of a scenario follow one another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The part before the threads.
    First,
    /// A thread, from 0.
    Thread(u32),
    /// The part after the threads.
    Last,
}

impl Part {
    /// Returns true if every call of `self` ends before any call of `other` begins.
    fn precedes(self, other: Part) -> bool {
        let rank = |part| match part {
            Part::First => 0,
            Part::Thread(_) => 1,
            Part::Last => 2,
        };
        rank(self) < rank(other)
    }
}

/// The calls of a run with their outcomes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct History {
    /// The outcome of each call; `None` if it did not begin.
    pub outcomes: Vec<Option<Outcome>>,
    /// For each call the set of calls, as bits, that must come before it.
    pub before: Vec<u64>,
}

impl History {
    /// Creates the history of a run. `callers` has the part of each call; the calls of one part are in their order.
    pub fn new(callers: &[Part], events: &[Event], condition: Condition) -> History {
        let mut outcomes = vec![None; callers.len()];
        let mut before: Vec<u64> = vec![0; callers.len()];
        // The calls that have returned; those that had when no call was active; the number of active calls.
        let (mut returned, mut settled, mut active) = (0, 0, 0);
        for event in events {
            match *event {
                Event::Call(call) => {
                    outcomes[call] = Some(Outcome::Pending);
                    before[call] = match condition {
                        Condition::Linearizable => returned,
                        Condition::SequentiallyConsistent => earlier(callers, call) & returned,
                        Condition::QuiescentlyConsistent => settled,
                    };
                    active += 1;
                }
                Event::Return(call, outcome) => {
                    outcomes[call] = Some(outcome);
                    returned |= 1 << call;
                    active -= 1;
                    if active == 0 {
                        settled = returned;
                    }
                }
            }
        }
        History { outcomes, before }
    }

    /// Creates the history of a run in which `knows(a, b)` is true if the end of call `a` happens before the beginning of call
    /// `b`: under weak memory there is no other order between the calls of different threads.
    pub fn of_happens_before(
        callers: &[Part],
        outcomes: Vec<Option<Outcome>>,
        condition: Condition,
        knows: impl Fn(usize, usize) -> bool,
    ) -> History {
        let is_returned = |call: usize| matches!(outcomes[call], Some(Outcome::Returned(_)));
        let keeps_threads = condition != Condition::QuiescentlyConsistent;
        let is_earlier = |call: usize, later: usize| {
            callers[call].precedes(callers[later])
                || keeps_threads && earlier(callers, later) >> call & 1 == 1
        };
        let set = |later: usize| {
            let calls = (0..callers.len()).filter(|&call| call != later && is_returned(call));
            calls
                .filter(|&call| is_earlier(call, later) || knows(call, later))
                .fold(0, |set, call| set | 1 << call)
        };
        let before = (0..callers.len()).map(|call| if outcomes[call].is_some() { set(call) } else { 0 });
        History { before: before.collect(), outcomes }
    }
}

/// Returns the calls, as bits, that the program orders before `call`.
fn earlier(callers: &[Part], call: usize) -> u64 {
    let is_earlier = |other: usize| {
        callers[other].precedes(callers[call]) || callers[other] == callers[call] && other < call
    };
    (0..callers.len()).filter(|&other| is_earlier(other)).fold(0, |set, other| set | 1 << other)
}
