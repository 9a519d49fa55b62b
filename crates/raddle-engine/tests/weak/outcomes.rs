//! The outcomes of small programs. Under Miri only some schedules are run, so the outcomes are not compared.

use crate::program::{Act, Atomics, allows, config, outcomes};
use Act::{Add, Await, Exchange, Fence, Load, Lock, Read, Store, Unlock, Write};
use raddle_model::MemoryModel;
use raddle_model::MemoryOrder::{
    Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent as SeqCst,
};
use raddle_testkit::{every_schedule, is_thorough};
use std::collections::BTreeSet;

/// Atomics.
const X: u32 = 0;
const Y: u32 = 1;

#[test]
fn store_buffering_needs_sequential_consistency() {
    if !is_thorough() {
        return;
    }
    let with = |store, load| {
        let (one, two) = ([Store(X, 1, store), Load(Y, load)], [Store(Y, 1, store), Load(X, load)]);
        [outcomes(MemoryModel::Weak, &[&one, &two]).0.len(), outcomes(MemoryModel::Sc, &[&one, &two]).0.len()]
    };
    assert_eq!(with(Relaxed, Relaxed), [4, 3]);
    assert_eq!(with(Release, Acquire), [4, 3]);
    assert_eq!(with(SeqCst, SeqCst), [3, 3]);
    assert_eq!(with(SeqCst, Relaxed), [4, 3]);
    let fenced = |fence| {
        let one = [Store(X, 1, Relaxed), Fence(fence), Load(Y, Relaxed)];
        let two = [Store(Y, 1, Relaxed), Fence(fence), Load(X, Relaxed)];
        allows(&[&one, &two], &[0, 0])
    };
    assert!(fenced(AcquireRelease) && !fenced(SeqCst));
}

#[test]
fn a_message_is_passed_by_release_and_acquire() {
    if !is_thorough() {
        return;
    }
    let stale = |store, load| {
        let (one, two) = ([Store(X, 1, Relaxed), Store(Y, 1, store)], [Load(Y, load), Load(X, Relaxed)]);
        allows(&[&one, &two], &[1, 0])
    };
    assert!(stale(Relaxed, Relaxed) && stale(Release, Relaxed) && stale(Relaxed, Acquire));
    assert!(!stale(Release, Acquire) && !stale(SeqCst, SeqCst));
    let fenced = |release, acquire| {
        let one = [Store(X, 1, Relaxed), Fence(release), Store(Y, 1, Relaxed)];
        let two = [Load(Y, Relaxed), Fence(acquire), Load(X, Relaxed)];
        allows(&[&one, &two], &[1, 0])
    };
    assert!(!fenced(Release, Acquire) && fenced(Acquire, Acquire) && fenced(Release, Release));
}

#[test]
fn a_release_sequence_consists_of_updates() {
    if !is_thorough() {
        return;
    }
    let one = [Store(X, 1, Relaxed), Store(Y, 1, Release)];
    let three = [Load(Y, Acquire), Load(X, Relaxed)];
    assert!(!allows(&[&one, &[Add(Y, 1, Relaxed)], &three], &[1, 2, 0]));
    let again = [Store(X, 1, Relaxed), Store(Y, 1, Release), Store(Y, 2, Relaxed)];
    assert!(allows(&[&again, &three], &[2, 0]) && !allows(&[&again, &three], &[1, 0]));
}

#[test]
fn one_atomic_has_one_order_of_writes() {
    if !is_thorough() {
        return;
    }
    let (read, write) = ([Load(X, Relaxed), Load(X, Relaxed)], [Store(X, 1, Relaxed), Store(X, 2, Relaxed)]);
    let (found, _) = outcomes(MemoryModel::Weak, &[&write, &read]);
    let wanted = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]].map(|pair| pair.to_vec());
    assert_eq!(found, BTreeSet::from(wanted));
    // Two readers agree on the order of two writers.
    let threads: [&[Act]; 4] = [&[Store(X, 1, Relaxed)], &[Store(X, 2, Relaxed)], &read, &read];
    assert!(!allows(&threads, &[1, 2, 2, 1]) && allows(&threads, &[1, 2, 0, 2]));
}

#[test]
fn updates_are_atomic() {
    if !is_thorough() {
        return;
    }
    let add = [Add(X, 1, Relaxed)];
    let (found, _) = outcomes(MemoryModel::Weak, &[&add, &add, &add]);
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.iter().all(|read| read.iter().sum::<u128>() == 3));
    // No store comes between an update and what it read, though it may come before both.
    let mut last = BTreeSet::new();
    let mut program = Atomics::new(&[&[Add(X, 10, Relaxed)], &[Store(X, 1, Relaxed)]]);
    every_schedule(config(MemoryModel::Weak), &mut program, |program, _| {
        last.insert((program.read[0][0], program.memory[0]));
    });
    assert_eq!(
        last,
        BTreeSet::from([(0, 1), (0, 10), (1, 11)].map(|(read, last)| (read, last)))
            .into_iter()
            .filter(|&(read, last)| (read, last) != (0, 10))
            .collect()
    );
}

#[test]
fn a_store_may_go_before_others() {
    if !is_thorough() {
        return;
    }
    let (one, two) =
        ([Store(X, 1, Relaxed), Store(Y, 2, Relaxed)], [Store(Y, 1, Relaxed), Store(X, 2, Relaxed)]);
    let last = |one: &[Act], two: &[Act]| {
        let mut found = BTreeSet::new();
        every_schedule(config(MemoryModel::Weak), &mut Atomics::new(&[one, two]), |program, _| {
            found.insert((program.memory[0], program.memory[1]));
        });
        found
    };
    assert!(last(&one, &two).contains(&(1, 1)));
    let sequential = |acts: [Act; 2]| {
        acts.map(|act| if let Store(atomic, value, _) = act { Store(atomic, value, SeqCst) } else { act })
    };
    assert!(!last(&sequential(one), &sequential(two)).contains(&(1, 1)));
}

#[test]
fn an_exchange_reads_in_the_order_of_what_it_turns_out_to_be() {
    if !is_thorough() {
        return;
    }
    let lock = [Exchange(X, [0, 1], [Acquire, Relaxed])];
    let (found, _) = outcomes(MemoryModel::Weak, &[&lock, &lock]);
    assert_eq!(found, BTreeSet::from([vec![0, 1], vec![1, 0]]));
    let one = [Store(X, 1, Relaxed), Store(Y, 1, Release)];
    let stale = |exchange| allows(&[&one, &[exchange, Load(X, Relaxed)]], &[1, 0]);
    assert!(stale(Exchange(Y, [0, 2], [Acquire, Relaxed])), "it fails, and relaxed");
    assert!(!stale(Exchange(Y, [0, 2], [Relaxed, Acquire])));
    assert!(stale(Exchange(Y, [1, 2], [Relaxed, Acquire])), "it succeeds, and relaxed");
    assert!(!stale(Exchange(Y, [1, 2], [Acquire, Relaxed])));
    // One that fails may have read an old value.
    let late = [Load(Y, Relaxed), Exchange(Y, [1, 2], [SeqCst, Relaxed])];
    assert!(allows(&[&[Store(Y, 1, Release)], &late], &[0, 0]));
}

#[test]
fn a_mutex_passes_on_what_its_owner_knows() {
    if !is_thorough() {
        return;
    }
    let one = [Lock, Store(X, 1, Relaxed), Store(Y, 1, Relaxed), Unlock];
    let two = [Lock, Load(Y, Relaxed), Load(X, Relaxed), Unlock];
    let (found, _) = outcomes(MemoryModel::Weak, &[&one, &two]);
    assert_eq!(found, BTreeSet::from([vec![0, 0], vec![1, 1]]));
    // Without the second one, both may be old.
    assert!(allows(&[&one, &two[1..3]], &[1, 0]));
}

#[test]
fn independent_readers_agree_only_where_everything_is_sequentially_consistent() {
    if !is_thorough() {
        return;
    }
    let differ = |store, load| {
        let (one, two) = ([Load(X, load), Load(Y, load)], [Load(Y, load), Load(X, load)]);
        allows(&[&[Store(X, 1, store)], &[Store(Y, 1, store)], &one, &two], &[1, 0, 1, 0])
    };
    assert!(differ(Release, Acquire) && !differ(SeqCst, SeqCst));
}

#[test]
fn what_is_sequentially_consistent_asks_for_nothing() {
    let one = [Store(X, 1, SeqCst), Load(Y, SeqCst), Add(X, 1, SeqCst)];
    let two = [Store(Y, 1, SeqCst), Load(X, SeqCst), Exchange(X, [1, 5], [SeqCst, SeqCst])];
    let mut picks = 0;
    let mut program = Atomics::new(&[&one, &two]);
    every_schedule(config(MemoryModel::Weak), &mut program, |_, engine| {
        picks += engine.summary().trace.picks.len();
    });
    assert_eq!(picks, 0);
    let runs = |memory| outcomes(memory, &[&one, &two]);
    assert_eq!(runs(MemoryModel::Weak), runs(MemoryModel::Sc));
}

#[test]
fn awaiting_a_flag_ends() {
    if !is_thorough() {
        return;
    }
    let mut config = config(MemoryModel::Weak);
    config.patience = 3;
    let mut longest = 0;
    let mut program = Atomics::new(&[&[Store(X, 1, Release)], &[Await(X, Acquire)]]);
    every_schedule(config, &mut program, |program, engine| {
        assert!(engine.summary().verdict.failure().is_none());
        longest = longest.max(program.read[1].len());
    });
    assert!(longest > 3, "{longest}");
}

#[test]
fn fences_work_beside_plain_data() {
    if !is_thorough() {
        return;
    }
    // A sequence lock: a thread that reads the new data does not read the old number after it.
    let reader = [Load(X, Acquire), Read(Y), Fence(Acquire), Load(X, Relaxed)];
    let writer = [Store(X, 1, Relaxed), Fence(Release), Write(Y, 1), Store(X, 2, Release)];
    assert!(!allows(&[&writer, &reader], &[0, 1, 0]));
    assert!(allows(&[&writer, &reader], &[0, 1, 1]) && allows(&[&writer, &reader], &[0, 0, 0]));
    let unfenced = [writer[0], writer[2], writer[3]];
    assert!(allows(&[&unfenced, &reader], &[0, 1, 0]));
    assert!(allows(&[&writer, &[reader[0], reader[1], reader[3]]], &[0, 1, 0]));
}
