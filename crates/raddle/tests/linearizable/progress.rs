//! Calls that wait, and calls that must not.

use raddle::linearizable::{Itself, Linearizability, Model};
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use raddle::sync::{Condvar, Mutex};
use raddle::{Config, hint, linearizable};
use std::collections::VecDeque;

fn config() -> Config {
    Config::default().with_runs(300).with_step_limit(2_000).with_patience(4).without_failure_files()
}

/// A channel whose receiver waits.
struct Channel {
    queue: Mutex<VecDeque<u32>>,
    filled: Condvar,
    notifies: bool,
}

fn channel(notifies: bool) -> Linearizability<Channel, Model<VecDeque<u32>>> {
    linearizable(move || Channel { queue: Mutex::new(VecDeque::new()), filled: Condvar::new(), notifies })
        .model(VecDeque::new)
        .operation_with(
            "send",
            1..=2,
            |channel, value| {
                let mut queue = channel.queue.lock().unwrap();
                queue.push_back(value);
                // Only the first value of an empty queue is announced, which is enough for one receiver.
                if channel.notifies || queue.len() == 1 {
                    channel.filled.notify_one();
                }
            },
            |queue, value| queue.push_back(value),
        )
        .waiting_operation(
            "receive",
            |channel| {
                let mut queue = channel.queue.lock().unwrap();
                while queue.is_empty() {
                    queue = channel.filled.wait(queue).unwrap();
                }
                queue.pop_front().unwrap()
            },
            VecDeque::pop_front,
        )
        .config(config())
}

#[test]
fn calls_may_wait_forever_where_the_model_waits() {
    let summary = channel(true).threads(2, 2).around(1, 1).scenarios(40).try_check().unwrap();
    assert_eq!(summary.scenarios, 40);
}

#[test]
fn a_lost_wake_up_is_found() {
    let refuted = channel(false).threads(3, 2).around(0, 0).try_check().unwrap_err();
    assert!(refuted.headline.starts_with("a call waits forever although it need not"), "{refuted}");
    let calls = refuted.scenario.matches("()").count() + refuted.scenario.matches("(1)").count();
    assert_eq!(calls, 4, "two calls wait, and two send: {refuted}");
    assert!(refuted.history.contains("receive() did not return"), "{refuted}");
}

struct Locked(Mutex<u32>);

fn locked() -> Linearizability<Locked, Itself> {
    linearizable(|| Locked(Mutex::new(0)))
        .operation("increment", |counter| {
            let mut value = counter.0.lock().unwrap();
            *value += 1;
            *value
        })
        .config(config())
}

#[test]
fn a_mutex_is_linearizable_and_not_lock_free() {
    locked().try_check().unwrap();
    let refuted = locked().lock_free().try_check().unwrap_err();
    assert_eq!(refuted.scenario, "T1     increment()\nT2     increment()");
    assert!(refuted.headline.starts_with("not lock-free: while increment() on T"), "{refuted}");
    assert!(refuted.headline.contains(" is halted, these cannot end: increment() on T"), "{refuted}");
    assert!(refuted.headline.matches("progress.rs:").count() == 2, "both places are named: {refuted}");
}

#[test]
fn a_spin_lock_is_not_lock_free() {
    let refuted = linearizable(|| (AtomicBool::new(false), AtomicU32::new(0)))
        .operation("increment", |(lock, value)| {
            while lock.swap(true, Ordering::SeqCst) {
                hint::spin_loop();
            }
            let before = value.load(Ordering::SeqCst);
            value.store(before + 1, Ordering::SeqCst);
            lock.store(false, Ordering::SeqCst);
            before
        })
        .config(config())
        .lock_free()
        .try_check()
        .unwrap_err();
    assert!(refuted.headline.starts_with("not lock-free: "), "{refuted}");
    assert_eq!(refuted.scenario, "T1     increment()\nT2     increment()");
}

fn exchanged() -> Linearizability<AtomicU32, Itself> {
    linearizable(|| AtomicU32::new(0))
        .operation("increment", |value| {
            loop {
                let before = value.load(Ordering::SeqCst);
                if value.compare_exchange(before, before + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                    return before;
                }
            }
        })
        .config(config())
        .threads(2, 2)
        .around(0, 0)
        .all_scenarios()
}

#[test]
fn an_exchange_loop_is_lock_free_and_not_wait_free() {
    let summary = exchanged().lock_free().try_check().unwrap();
    // Lists of one or two calls of one operation: three pairs. Other threads succeed twice meanwhile at most.
    assert_eq!((summary.scenarios, summary.most_steps), (3, 6));
    assert_eq!(summary.halts, summary.verified_halts);
    exchanged().wait_free(6).try_check().unwrap();
    let refuted = exchanged().wait_free(5).try_check().unwrap_err();
    assert_eq!(refuted.headline, "not wait-free: increment() took 6 steps, and 5 are allowed");
    assert_eq!(refuted.scenario, "T1     increment()\nT2     increment(); increment()", "{refuted}");
}
