//! Exact numbers of partial orders, and the classic bugs.

use crate::common::{distinct_fingerprints, exhaust, verdicts};
use raddle_engine::{Resource, Totals};
use raddle_model::Kind;
use raddle_strategies::{dfs::Dfs, dpor::Dpor};
use raddle_testkit::{Act, Script};
use std::collections::BTreeSet;

fn complete_runs(program: &mut Script) -> u64 {
    let (seen, totals) = exhaust(program, &mut Dpor::new());
    assert_eq!(distinct_fingerprints(&seen).len() as u64, totals.complete);
    totals.complete
}

#[test]
fn store_buffering_has_three_partial_orders() {
    assert_eq!(complete_runs(&mut Script::straight(2, &["W0 R1", "W1 R0"])), 3);
}

#[test]
fn writes_to_one_object_do_not_commute() {
    assert_eq!(complete_runs(&mut Script::straight(1, &["W0 W0 W0 W0", "W0 W0 W0 W0"])), 70);
}

#[test]
fn independent_threads_need_one_run() {
    let (_, totals) = exhaust(&mut Script::straight(3, &["W0 W0", "W1 R2", "R2 R2"]), &mut Dpor::new());
    assert_eq!(totals, Totals { complete: 1, cut_off: 0, exhausted: true });
}

#[test]
fn every_number_is_tried_once() {
    let choose = Act::Bare(Kind::Choose, 3);
    let mut program = Script::new().thread(&[choose, choose]).thread(&[Act::Step]);
    assert_eq!(complete_runs(&mut program), 9);
}

#[test]
fn an_exit_can_happen_at_any_step() {
    let exit = Act::Bare(Kind::Exit, 0);
    let mut program =
        Script::new().object(Resource::Memory).thread(&[Act::Step, exit]).thread(&[Act::W(0), Act::W(0)]);
    // Before, between and after the two writes.
    assert_eq!(complete_runs(&mut program), 3);
}

#[test]
fn a_failure_ends_the_run_as_an_exit_does() {
    let mut program = Script::new()
        .object(Resource::Memory)
        .mutex()
        .thread(&[Act::On(Kind::Unlock, 1)])
        .thread(&[Act::W(0), Act::W(0)]);
    assert_eq!(complete_runs(&mut program), 3);
}

#[test]
fn opposite_lock_orders_deadlock() {
    let both = |first, second| {
        [(Kind::Lock, first), (Kind::Lock, second), (Kind::Unlock, second), (Kind::Unlock, first)]
            .map(|(kind, mutex)| Act::On(kind, mutex))
    };
    let mut program = Script::new().mutex().mutex().thread(&both(0, 1)).thread(&both(1, 0));
    let (seen, _) = exhaust(&mut program, &mut Dpor::new());
    // One thread before the other, the other before the one, and each with one lock.
    assert_eq!(distinct_fingerprints(&seen).len(), 3);
    assert_eq!(seen.iter().filter(|run| run.verdict == "deadlock").count(), 1);
}

#[test]
fn a_signal_that_comes_too_early_is_lost() {
    let mut program = Script::new()
        .mutex()
        .object(Resource::condition())
        .thread(&[Act::On(Kind::Lock, 0), Act::Wait(1, 0), Act::On(Kind::Unlock, 0)])
        .thread(&[Act::On(Kind::Signal, 1)]);
    let (seen, _) = exhaust(&mut program, &mut Dpor::new());
    assert_eq!(distinct_fingerprints(&seen).len(), 2);
    assert!(verdicts(&seen).contains("deadlock") && verdicts(&seen).contains("passed"));
}

#[test]
fn a_signal_may_wake_any_waiter() {
    let waiter = [Act::On(Kind::Lock, 0), Act::Wait(1, 0), Act::On(Kind::Unlock, 0)];
    let mut program = Script::new()
        .mutex()
        .object(Resource::condition())
        .thread(&waiter)
        .thread(&waiter)
        .thread(&[Act::On(Kind::Signal, 1)]);
    let (seen, _) = exhaust(&mut program, &mut Dpor::new());
    let (all, _) = exhaust(&mut program, &mut Dfs::new());
    // Two orders of the waits. The signal comes before them; between them, and the woken thread continues
    // before or after the second wait; or after them, with two to choose from.
    assert_eq!(distinct_fingerprints(&seen).len(), 2 * (1 + 2 + 2));
    assert_eq!(distinct_fingerprints(&seen), all.iter().map(|run| run.fingerprint).collect());
}

/// The programs of the partial-order-sampling papers (POS, CAV 2018, tables 1 and 2; thesis, tables 3.1 and 3.2) with
/// their published numbers of partial orders. Objects: w, x, y, z.
const MICRO: [(&str, u64, [&str; 4]); 20] = [
    ("uniform-0", 4478, ["Wz Wy Wy Wz", "Wx Ww Wy Wx", "Ww Wx Ww Wy", "Wz Wx Ww Wz"]),
    ("uniform-1", 7413, ["Ww Wx Wy Wx", "Wy Ww Wx Wz", "Ww Wy Wz Wz", "Wx Wz Wy Ww"]),
    ("uniform-2", 1554, ["Ww Wz Wz Ww", "Wx Wx Wz Wx", "Ww Wy Wy Wx", "Wy Ww Wz Wy"]),
    ("uniform-3", 6289, ["Ww Wy Wx Ww", "Wy Wy Ww Wz", "Ww Wx Wz Wx", "Wx Wy Wz Wz"]),
    ("uniform-4", 1416, ["Wy Wy Wy Wz", "Ww Ww Wx Wy", "Ww Ww Wx Wz", "Wz Wz Wx Wx"]),
    ("skewed-0", 39078, ["Wz Wz Wx Wy", "Wz Wz Ww Wy", "Wz Wy Wx Wy", "Wy Ww Wz Wy"]),
    ("skewed-1", 19706, ["Wy Wx Wz Wy", "Ww Wz Wz Wy", "Wy Wx Wy Wz", "Wy Wz Ww Wz"]),
    ("skewed-2", 19512, ["Wz Ww Ww Wy", "Wz Wy Wy Wz", "Wz Wz Wy Wx", "Wz Wx Wy Wy"]),
    ("skewed-3", 8820, ["Wy Wz Wx Wz", "Wy Wz Wz Wx", "Wz Wy Wz Wy", "Ww Ww Wy Wy"]),
    ("skewed-4", 7548, ["Wx Wy Wy Wy", "Wz Wz Wy Wz", "Wy Wx Wz Ww", "Wz Ww Wy Wz"]),
    ("uniform-rw-0", 896, ["Wx Rz Wy Ry", "Wx Rz Wz Wz", "Ww Rx Rx Wy", "Ww Ry Rw Rw"]),
    ("uniform-rw-1", 1215, ["Wz Wy Wx Ry", "Ry Rx Ww Wy", "Rz Wz Rw Ww", "Rw Rx Wx Rz"]),
    ("uniform-rw-2", 1571, ["Wz Rx Wx Wz", "Rz Wy Rw Wy", "Wx Rx Ry Ww", "Ry Rw Ww Rz"]),
    ("uniform-rw-3", 3079, ["Rw Rx Wy Rz", "Rz Ww Wx Wz", "Rw Ry Ww Ry", "Wz Rx Wy Wx"]),
    ("uniform-rw-4", 1041, ["Wx Rw Rx Ry", "Ww Rw Rz Wy", "Wy Ry Rz Wx", "Rx Wz Wz Ww"]),
    ("skewed-rw-0", 3867, ["Wz Rw Ww Rx", "Wz Ry Wx Wz", "Wy Rz Rz Wy", "Ry Ry Rz Wy"]),
    ("skewed-rw-1", 1057, ["Wy Rz Ww Rx", "Wx Ry Wz Ry", "Rz Wz Rz Wz", "Rw Ry Wy Wy"]),
    ("skewed-rw-2", 1919, ["Rz Wz Wy Wz", "Rx Wx Rw Wz", "Ry Wy Ww Wy", "Rz Ry Rz Ry"]),
    ("skewed-rw-3", 11148, ["Rw Ry Rz Wy", "Ry Wz Ry Ww", "Wy Wz Rz Rx", "Wy Wz Rz Wx"]),
    ("skewed-rw-4", 4800, ["Wz Rx Ry Wz", "Rw Ry Ry Ww", "Wy Wy Rz Rz", "Wz Wx Wy Rz"]),
];

#[test]
#[cfg_attr(miri, ignore = "has 150,000 runs, and the smallest of its programs a thousand")]
fn micro_programs_have_the_published_number_of_partial_orders() {
    for (name, partial_orders, threads) in MICRO {
        let numbered = threads.map(|text| {
            ["w", "x", "y", "z"]
                .iter()
                .enumerate()
                .fold(text.to_owned(), |text, (number, letter)| text.replace(letter, &number.to_string()))
        });
        let mut program = Script::straight(4, &numbered.each_ref().map(String::as_str));
        assert_eq!(complete_runs(&mut program), partial_orders, "{name}");
    }
}

#[test]
fn a_blocked_thread_counts_in_a_run_that_is_cut_off() {
    // After a run of the first thread's write alone and the second thread, the first is asleep and the third
    // blocked: only the blocked lock shows that the third has to be tried before the second.
    let lock = |mutex| Act::On(Kind::Lock, mutex);
    let unlock = |mutex| Act::On(Kind::Unlock, mutex);
    let mut program = Script::new()
        .object(Resource::Memory)
        .object(Resource::Memory)
        .mutex()
        .mutex()
        .thread(&[Act::W(0), lock(2), unlock(2)])
        .thread(&[Act::W(1), lock(3)])
        .thread(&[lock(3), lock(2), unlock(2)]);
    assert_eq!(complete_runs(&mut program), 3);
}

#[test]
fn nothing_is_swapped_with_steps_after_a_timeout() {
    let sleep = Act::Bare(Kind::Sleep, 10);
    let mut program = Script::new()
        .object(Resource::Memory)
        .thread(&[sleep, Act::W(0), Act::W(0)])
        .thread(&[Act::W(0), sleep, sleep, Act::W(0)]);
    let (_, totals) = exhaust(&mut program, &mut Dpor::new());
    assert_eq!(totals, Totals { complete: 1, cut_off: 0, exhausted: true });
}

#[test]
fn a_barrier_with_too_many_users_is_searched_in_full() {
    // A thread that needs it twice is stuck if the others pass together. The main thread destroys it at the end, as C programs do.
    let arrive = Act::With(Kind::Barrier, 0, 0);
    let main = [1, 2, 3].map(Act::Spawn).into_iter().chain([1, 2, 3].map(Act::Join));
    let main: Vec<Act> = main.chain([Act::On(Kind::Destroy, 0)]).collect();
    let mut program = Script::new()
        .object(Resource::barrier(2))
        .thread(&main)
        .spawned(&[arrive, arrive])
        .spawned(&[arrive])
        .spawned(&[arrive]);
    let (full, _) = exhaust(&mut program, &mut Dfs::new());
    let (seen, _) = exhaust(&mut program, &mut Dpor::new());
    assert_eq!(verdicts(&seen), verdicts(&full));
    assert_eq!(verdicts(&seen), BTreeSet::from(["deadlock", "passed"]));
}
