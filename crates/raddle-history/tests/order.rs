//! The search for an order of the calls, and what it has to keep.

use raddle_history::{
    Answer, Condition, Event, History, Outcome, Part, Row, Specification, order, picture, table,
};
use std::collections::BTreeMap;

/// A register: call number `n` writes `n`, and all other calls read.
struct Register {
    writers: u64,
}

impl Specification for Register {
    fn execute(&mut self, state: u32, call: usize) -> Answer {
        let is_write = self.writers >> call & 1 == 1;
        Answer::Returns {
            result: if is_write { 0 } else { state },
            state: if is_write { call as u32 } else { state },
        }
    }
}

fn returned(call: usize, result: u32) -> Event {
    Event::Return(call, Outcome::Returned(result))
}

/// Call 0 of T1 does nothing; call 1 of T1 writes 1; calls 2 and 3 of T2 read.
const CALLERS: [Part; 4] = [Part::Thread(0), Part::Thread(0), Part::Thread(1), Part::Thread(1)];

fn is_explained(events: &[Event], condition: Condition) -> bool {
    order(&History::new(&CALLERS, events, condition), &mut Register { writers: 0b10 }, false).is_ok()
}

#[test]
fn real_time_is_kept_by_linearizability_only() {
    use Event::Call;
    // T1 writes 1 and returns; then T2 reads the old value.
    let stale = [Call(1), returned(1, 0), Call(2), returned(2, 0)];
    assert!(!is_explained(&stale, Condition::Linearizable));
    assert!(!is_explained(&stale, Condition::QuiescentlyConsistent));
    assert!(is_explained(&stale, Condition::SequentiallyConsistent));
    // T2 reads the new value and then the old one, all during the write of T1.
    let back = [Call(1), Call(2), returned(2, 1), Call(3), returned(3, 0), returned(1, 0)];
    assert!(!is_explained(&back, Condition::Linearizable));
    assert!(!is_explained(&back, Condition::SequentiallyConsistent));
    assert!(is_explained(&back, Condition::QuiescentlyConsistent));
}

#[test]
fn a_pending_call_may_have_taken_effect_or_not() {
    use Event::Call;
    for read in [0, 1] {
        assert!(is_explained(&[Call(1), Call(2), returned(2, read)], Condition::Linearizable), "{read}");
    }
    assert!(!is_explained(
        &[Call(1), Call(2), returned(2, 1), Call(3), returned(3, 0)],
        Condition::Linearizable
    ));
}

/// A semaphore of value 0: even calls release it, odd ones wait for it.
struct Semaphore;

impl Specification for Semaphore {
    fn execute(&mut self, state: u32, call: usize) -> Answer {
        match call % 2 {
            0 => Answer::Returns { result: 0, state: state + 1 },
            _ if state == 0 => Answer::Waits,
            _ => Answer::Returns { result: 0, state: state - 1 },
        }
    }
}

#[test]
fn a_call_that_is_stuck_must_have_to_wait() {
    use Event::Call;
    let callers = [Part::Thread(0), Part::Thread(1)];
    let history = |events: &[Event]| History::new(&callers, events, Condition::Linearizable);
    let alone = history(&[Call(1)]);
    assert!(order(&alone, &mut Semaphore, true).is_ok());
    let forgotten = history(&[Call(1), Call(0), returned(0, 0)]);
    assert!(order(&forgotten, &mut Semaphore, false).is_ok());
    assert!(order(&forgotten, &mut Semaphore, true).is_err(), "the release should have woken it");
}

/// Compares the search with all permutations, on small random histories of a register and of a queue-like machine.
#[test]
fn all_permutations_give_the_same_answer() {
    let mut seed = 7_u64;
    let mut below = |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    let callers: Vec<Part> = (0..6).map(|call| Part::Thread(call / 2)).collect();
    let mut answers = BTreeMap::new();
    for _ in 0..3_000 {
        let writers = below(64);
        // Each thread executes its two calls; the next step is that of a random thread.
        let mut at = [0; 3];
        let mut events = Vec::new();
        while at.iter().any(|&steps| steps < 4) {
            let thread = below(3) as usize;
            if at[thread] == 4 {
                continue;
            }
            let call = thread * 2 + at[thread] / 2;
            let result = if writers >> call & 1 == 1 { 0 } else { below(6) as u32 };
            // Results that some write could have caused are more interesting.
            let result = if writers >> result & 1 == 1 { result } else { 0 };
            events.push(if at[thread] % 2 == 0 { Event::Call(call) } else { returned(call, result) });
            at[thread] += 1;
        }
        for condition in
            [Condition::Linearizable, Condition::SequentiallyConsistent, Condition::QuiescentlyConsistent]
        {
            let history = History::new(&callers, &events, condition);
            let mut machine = Register { writers };
            let found = order(&history, &mut machine, false).is_ok();
            assert_eq!(found, by_permutations(&history, &mut machine, 0, 0, 0), "{events:?} {condition:?}");
            *answers.entry((condition, found)).or_insert(0) += 1;
        }
    }
    assert_eq!(answers.len(), 6, "both answers occur for each condition: {answers:?}");
    assert!(answers.values().all(|&count| count > 50), "{answers:?}");
}

fn by_permutations(history: &History, machine: &mut Register, done: u64, state: u32, count: usize) -> bool {
    count == history.outcomes.len()
        || (0..history.outcomes.len()).any(|call| {
            let Answer::Returns { result, state } = machine.execute(state, call) else { return false };
            done >> call & 1 == 0
                && history.before[call] & !done == 0
                && history.outcomes[call] == Some(Outcome::Returned(result))
                && by_permutations(history, machine, done | 1 << call, state, count + 1)
        })
}

#[test]
fn the_picture_shows_which_calls_overlapped() {
    use Event::Call;
    let parts = [Part::First, Part::Thread(0), Part::Thread(1), Part::Thread(1), Part::Last];
    let texts = ["push(1)", "pop()", "pop()", "push(2)", "pop()"];
    let ends = ["", "= Some(1)", "= Some(1)", "did not return", "did not begin"];
    let row =
        |index: usize| Row { part: parts[index], call: texts[index].to_owned(), end: ends[index].to_owned() };
    let rows: Vec<Row> = (0..5).map(row).collect();
    assert_eq!(
        table(&rows),
        "first  push(1)\n\
         T1     pop() = Some(1)\n\
         T2     pop() = Some(1); push(2) did not return\n\
         last   pop() did not begin\n"
    );
    let events = [Call(0), returned(0, 0), Call(1), Call(2), returned(2, 0), Call(3), returned(1, 0)];
    assert_eq!(
        picture(&rows, &events),
        "first  |push(1)|\n\
         T1               |pop() = Some(1)----|\n\
         T2               |pop() = Some(1)| |push(2) did not return..\n\
         last\n"
    );
}
