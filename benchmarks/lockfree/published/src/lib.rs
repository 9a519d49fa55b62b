//! Runs a scenario with threads of std, and asks whether an order of the calls explains their results.
//!
//! The crates are unmodified, so `cargo raddle test` controls them from outside, and one test is one scenario.

use raddle_history::{Answer, Condition, Event, History, Outcome, Part, Row, Specification, order, picture, table};
use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A call: its text, and its effect on the structure and on the model, each with the result as text.
pub struct Call<S, M> {
    text: &'static str,
    run: Box<dyn Fn(&S) -> String + Send + Sync>,
    model: Box<dyn Fn(&mut M) -> String + Send + Sync>,
}

/// Creates a call.
pub fn call<S, M, R: Debug>(
    text: &'static str,
    run: impl Fn(&S) -> R + Send + Sync + 'static,
    model: impl Fn(&mut M) -> R + Send + Sync + 'static,
) -> Call<S, M> {
    Call {
        text,
        run: Box::new(move |structure| format!("{:?}", run(structure))),
        model: Box::new(move |state| format!("{:?}", model(state))),
    }
}

/// The answers of a model.
struct Machine<'a, S, M> {
    calls: &'a [(Part, Call<S, M>)],
    states: Vec<M>,
    results: Vec<String>,
}

impl<S, M> Machine<'_, S, M> {
    fn number(&mut self, result: String) -> u32 {
        let known = self.results.iter().position(|other| *other == result);
        known.unwrap_or_else(|| {
            self.results.push(result);
            self.results.len() - 1
        }) as u32
    }
}

impl<S, M: Clone + PartialEq> Specification for Machine<'_, S, M> {
    fn execute(&mut self, state: u32, call: usize) -> Answer {
        let mut model = self.states[state as usize].clone();
        let result = (self.calls[call].1.model)(&mut model);
        let result = self.number(result);
        let known = self.states.iter().position(|other| *other == model);
        let state = known.unwrap_or_else(|| {
            self.states.push(model);
            self.states.len() - 1
        }) as u32;
        Answer::Returns { result, state }
    }
}

/// The calls of a part with their times and results.
type Times = Vec<(usize, usize, usize, String)>;

/// Calls operations before, in, and after two threads or more, and panics if no order explains the results.
pub fn explain<S: Sync, M: Clone + PartialEq>(structure: &S, model: M, calls: Vec<(Part, Call<S, M>)>) {
    // Reading the time is a step. That makes the order of calls one that the strategy chooses.
    let time = AtomicUsize::new(0);
    let execute = |part: Part| -> Times {
        let of_part = calls.iter().enumerate().filter(|(_, (other, _))| *other == part);
        let one = |(number, (_, call)): (usize, &(Part, Call<S, M>))| {
            let begun = time.fetch_add(1, Ordering::Relaxed);
            let result = (call.run)(structure);
            (number, begun, time.fetch_add(1, Ordering::Relaxed), result)
        };
        of_part.map(one).collect()
    };
    let all = RefCell::new(execute(Part::First));
    let threads: Vec<Part> = (0..8).map(Part::Thread).filter(|part| calls.iter().any(|(other, _)| other == part)).collect();
    thread::scope(|scope| {
        let execute = &execute;
        let started: Vec<_> = threads.iter().map(|&part| scope.spawn(move || execute(part))).collect();
        started.into_iter().for_each(|thread| all.borrow_mut().extend(thread.join().expect("no call panics")));
    });
    all.borrow_mut().extend(execute(Part::Last));
    let times = all.into_inner();
    let mut machine = Machine { calls: &calls, states: vec![model], results: Vec::new() };
    let mut events: Vec<(usize, Event)> = Vec::new();
    let mut ends = vec![String::new(); calls.len()];
    for (number, begun, ended, result) in times {
        ends[number] = format!("= {result}");
        let result = machine.number(result);
        events.push((begun, Event::Call(number)));
        events.push((ended, Event::Return(number, Outcome::Returned(result))));
    }
    events.sort_by_key(|(time, _)| *time);
    let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
    let callers: Vec<Part> = calls.iter().map(|(part, _)| *part).collect();
    let history = History::new(&callers, &events, Condition::Linearizable);
    if order(&history, &mut machine, false).is_err() {
        let row = |(number, (part, call)): (usize, &(Part, Call<S, M>))| Row {
            part: *part,
            call: call.text.to_owned(),
            end: ends[number].clone(),
        };
        let rows: Vec<Row> = calls.iter().enumerate().map(row).collect();
        panic!("not linearizable\n{}\n{}", table(&rows), picture(&rows, &events));
    }
}
