//! What the results are compared with: a sequential model, or the structure itself used by one thread.

use super::operation::{ModelOperation, Operation, Value};
use super::scenario::Call;
use crate::check::Test;
use raddle_history::{Answer, Condition, Part, Specification};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The results of the calls of a scenario, numbered.
#[derive(Default)]
pub(super) struct Results {
    by_call: Vec<Vec<Box<dyn Value>>>,
}

impl Results {
    fn new(calls: usize) -> Results {
        Results { by_call: (0..calls).map(|_| Vec::new()).collect() }
    }

    /// Returns the number of a result; equal ones of a call have the same.
    pub(super) fn number(&mut self, call: usize, value: Box<dyn Value>) -> u32 {
        let known = &mut self.by_call[call];
        let number = known.iter().position(|other| (**other).equals(&*value));
        number.unwrap_or_else(|| {
            known.push(value);
            known.len() - 1
        }) as u32
    }

    /// Returns the text of a result: `= Some(1)`.
    pub(super) fn text(&self, call: usize, number: u32) -> String {
        (*self.by_call[call][number as usize]).text()
    }
}

/// The sequential machine of a scenario.
pub(super) trait Machine: Specification + Send {
    fn results(&mut self) -> &mut Results;
    fn as_specification(&mut self) -> &mut dyn Specification;
}

/// The calls of a scenario, and the structure.
pub(super) struct Subject<S> {
    pub(super) create: Arc<dyn Fn() -> S + Send + Sync>,
    pub(super) operations: Arc<Vec<Operation<S>>>,
}

impl<S> Clone for Subject<S> {
    fn clone(&self) -> Subject<S> {
        Subject { create: Arc::clone(&self.create), operations: Arc::clone(&self.operations) }
    }
}

/// A source of [machines](Machine).
pub(super) trait Reference<S>: Send + Sync {
    /// Creates the machine of a scenario. `run` executes a test once, under control, with one thread.
    fn machine<E>(
        &self,
        subject: &Subject<S>,
        calls: &[(Part, Call)],
        condition: Condition,
        run: impl FnMut(Test) -> Result<(), E>,
    ) -> Result<Box<dyn Machine>, E>;
}

/// The structure itself, used by one thread.
#[derive(Clone, Copy, Debug)]
pub struct Itself;

/// The largest number of orders of the calls of a scenario that are executed.
const MOST_ORDERS: usize = 50_000;

impl<S: 'static> Reference<S> for Itself {
    fn machine<E>(
        &self,
        subject: &Subject<S>,
        calls: &[(Part, Call)],
        condition: Condition,
        mut run: impl FnMut(Test) -> Result<(), E>,
    ) -> Result<Box<dyn Machine>, E> {
        let mut orders = Vec::new();
        let keeps_threads = condition != Condition::QuiescentlyConsistent;
        extend(calls, keeps_threads, &mut Vec::new(), &mut orders);
        assert!(
            orders.len() <= MOST_ORDERS,
            "one thread would have to execute more than {MOST_ORDERS} orders of the calls of a scenario\n\
             help: give a `model`, or ask for smaller scenarios"
        );
        let machine = Serial { results: Results::new(calls.len()), states: 1, answers: BTreeMap::new() };
        let machine = Arc::new(Mutex::new(machine));
        // Not all in one run, which has a limit of steps.
        for orders in orders.chunks(100) {
            let (orders, calls) = (orders.to_vec(), calls.to_vec());
            let (subject, machine) = (subject.clone(), Arc::clone(&machine));
            run(Arc::new(move || {
                for order in &orders {
                    let (structure, mut state) = ((subject.create)(), 0);
                    for &number in order {
                        let Call { operation, argument } = calls[number].1;
                        let value = (subject.operations[operation].run)(&structure, argument);
                        state = machine.lock().expect("no call panicked here").note(state, number, value);
                    }
                }
            }))?;
        }
        let machine = std::mem::replace(
            &mut *machine.lock().expect("no call panicked here"),
            Serial { results: Results::default(), states: 0, answers: BTreeMap::new() },
        );
        Ok(Box::new(machine))
    }
}

/// Adds to `orders` all orders of the calls that begin with `order`, until there are too many.
fn extend(calls: &[(Part, Call)], keeps_threads: bool, order: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
    if order.len() == calls.len() {
        orders.push(order.clone());
    }
    let rank = |part: Part| match part {
        Part::First => 0,
        Part::Thread(_) => 1,
        Part::Last => 2,
    };
    for next in 0..calls.len() {
        let is_before = |other: usize| {
            let (part, of) = (calls[other].0, calls[next].0);
            rank(part) < rank(of) || part == of && other < next && (keeps_threads || rank(of) != 1)
        };
        let is_ready = (0..calls.len()).all(|other| !is_before(other) || order.contains(&other));
        if order.contains(&next) || !is_ready || orders.len() > MOST_ORDERS {
            continue;
        }
        order.push(next);
        extend(calls, keeps_threads, order, orders);
        order.pop();
    }
}

/// The structure's own answers: a state is a list of calls.
struct Serial {
    results: Results,
    states: u32,
    answers: BTreeMap<(u32, usize), Answer>,
}

impl Serial {
    /// Records a result, and returns the next state.
    fn note(&mut self, state: u32, call: usize, value: Box<dyn Value>) -> u32 {
        if let Some(&Answer::Returns { state, .. }) = self.answers.get(&(state, call)) {
            return state;
        }
        let result = self.results.number(call, value);
        let next = self.states;
        self.states += 1;
        self.answers.insert((state, call), Answer::Returns { result, state: next });
        next
    }
}

impl Specification for Serial {
    fn execute(&mut self, state: u32, call: usize) -> Answer {
        *self.answers.get(&(state, call)).expect("one thread has executed all orders")
    }
}

impl Machine for Serial {
    fn results(&mut self) -> &mut Results {
        &mut self.results
    }

    fn as_specification(&mut self) -> &mut dyn Specification {
        self
    }
}

/// A sequential model of type `M`.
pub struct Model<M> {
    pub(super) initial: Box<dyn Fn() -> M + Send + Sync>,
    pub(super) operations: Arc<Vec<ModelOperation<M>>>,
}

impl<S, M: Clone + PartialEq + Send + 'static> Reference<S> for Model<M> {
    fn machine<E>(
        &self,
        _: &Subject<S>,
        calls: &[(Part, Call)],
        _: Condition,
        _: impl FnMut(Test) -> Result<(), E>,
    ) -> Result<Box<dyn Machine>, E> {
        Ok(Box::new(Modelled {
            results: Results::new(calls.len()),
            states: vec![(self.initial)()],
            answers: BTreeMap::new(),
            calls: calls.iter().map(|&(_, call)| call).collect(),
            operations: Arc::clone(&self.operations),
        }))
    }
}

/// The model's answers, as far as they were asked for.
struct Modelled<M> {
    results: Results,
    states: Vec<M>,
    answers: BTreeMap<(u32, usize), Answer>,
    calls: Vec<Call>,
    operations: Arc<Vec<ModelOperation<M>>>,
}

impl<M: Clone + PartialEq> Specification for Modelled<M> {
    fn execute(&mut self, state: u32, call: usize) -> Answer {
        if let Some(&answer) = self.answers.get(&(state, call)) {
            return answer;
        }
        let Call { operation, argument } = self.calls[call];
        let mut model = self.states[state as usize].clone();
        let answer = match (self.operations[operation])(&mut model, argument) {
            None => Answer::Waits,
            Some(value) => {
                let known = self.states.iter().position(|other| *other == model);
                let next = known.unwrap_or_else(|| {
                    self.states.push(model);
                    self.states.len() - 1
                });
                Answer::Returns { result: self.results.number(call, value), state: next as u32 }
            }
        };
        self.answers.insert((state, call), answer);
        answer
    }
}

impl<M: Clone + PartialEq + Send> Machine for Modelled<M> {
    fn results(&mut self) -> &mut Results {
        &mut self.results
    }

    fn as_specification(&mut self) -> &mut dyn Specification {
        self
    }
}
