//! Misuse of synchronisation objects: destroyed in use, used after destruction, used as another type.

use raddle_engine::{Config, MutexKind, Resource};
use raddle_model::{Failure, Kind, Verdict};
use raddle_testkit::Act::{On, Wait, WaitFor};
use raddle_testkit::{Act, Follow, Script, once_under};

const DESTROY: Act = On(Kind::Destroy, 0);

fn verdict(mut program: Script, order: &[u32]) -> Verdict {
    let engine = once_under(Config::default(), &mut program, &mut Follow::new(order), 0);
    engine.summary().verdict.clone()
}

/// Asserts misuse of object 0 by `thread` at `location`.
fn assert_misuse(verdict: &Verdict, (thread, location): (u32, u32), rule: &str) {
    match verdict.failure() {
        Some(Failure::Misuse { thread: who, object, location: place, message }) => {
            assert_eq!((who.0, object.0, place.0, message.as_str()), (thread, 0, location, rule));
        }
        other => panic!("{rule}: {other:?}"),
    }
}

fn every_resource() -> Vec<(Resource, Vec<Kind>)> {
    vec![
        (Resource::mutex(MutexKind::Normal), vec![Kind::Lock, Kind::TryLock, Kind::Unlock]),
        (Resource::mutex(MutexKind::Recursive), vec![Kind::Lock, Kind::TryLock, Kind::Unlock]),
        (Resource::read_write_lock(), vec![Kind::ReadLock, Kind::WriteLock, Kind::ReadWriteUnlock]),
        (Resource::condition(), vec![Kind::Signal, Kind::Broadcast]),
        (Resource::semaphore(0), vec![Kind::SemaphoreWait, Kind::SemaphoreTryWait, Kind::SemaphorePost]),
        (Resource::barrier(2), vec![Kind::Barrier]),
        (Resource::once(), vec![Kind::OnceBegin, Kind::OnceEnd]),
        (Resource::token(), vec![Kind::Park, Kind::Unpark]),
    ]
}

#[test]
fn an_idle_object_can_be_destroyed_once() {
    for (resource, _) in every_resource() {
        let program = Script::new().object(resource.clone()).thread(&[DESTROY]);
        assert_eq!(verdict(program, &[]), Verdict::Passed, "{resource:?}");
        let program = Script::new().object(resource).thread(&[DESTROY, DESTROY]);
        assert_misuse(&verdict(program, &[]), (0, 1), "destroyed twice");
    }
}

#[test]
fn no_object_is_used_after_its_end() {
    for (resource, kinds) in every_resource() {
        for kind in kinds {
            let program = Script::new().object(resource.clone()).thread(&[DESTROY, On(kind, 0)]);
            assert_misuse(&verdict(program, &[]), (0, 1), "used after it was destroyed");
            // A thread that was waiting for the object does not stay blocked.
            let program = Script::new().object(resource.clone()).thread(&[DESTROY]).thread(&[On(kind, 0)]);
            assert_misuse(&verdict(program, &[0]), (1, 0), "used after it was destroyed");
        }
    }
}

#[test]
fn no_object_is_used_as_another() {
    for (resource, own) in every_resource() {
        for kind in every_resource().into_iter().flat_map(|(_, kinds)| kinds) {
            if !own.contains(&kind) {
                let program = Script::new().object(resource.clone()).thread(&[On(kind, 0)]);
                assert_misuse(&verdict(program, &[]), (0, 0), "used as an object of another type");
            }
        }
    }
}

#[test]
fn an_object_in_use_cannot_be_destroyed() {
    let (mutex, lock) = (Resource::mutex(MutexKind::Normal), Resource::read_write_lock());
    for (resource, use_it) in [
        (mutex, Kind::Lock),
        (lock.clone(), Kind::ReadLock),
        (lock, Kind::WriteLock),
        (Resource::barrier(2), Kind::Barrier),
    ] {
        let program = Script::new().object(resource).thread(&[On(use_it, 0)]).thread(&[DESTROY]);
        assert_misuse(&verdict(program, &[0, 1]), (1, 0), "destroyed while in use");
    }
    let lock_one = On(Kind::Lock, 1);
    let waited = || Script::new().object(Resource::condition()).mutex();
    let program = waited().thread(&[lock_one, Wait(0, 1)]).thread(&[DESTROY]);
    assert_misuse(&verdict(program, &[0, 0, 1]), (1, 0), "destroyed while in use");
    // A waiter that was woken, or whose time limit expired, no longer uses it.
    let program = waited().thread(&[lock_one, Wait(0, 1)]).thread(&[On(Kind::Broadcast, 0), DESTROY]);
    assert_eq!(verdict(program, &[0, 0, 1, 1]), Verdict::Passed);
    let program =
        waited().thread(&[lock_one, WaitFor(0, 1, 5)]).thread(&[Act::Bare(Kind::Sleep, 9), DESTROY]);
    assert_eq!(verdict(program, &[0, 0]), Verdict::Passed);
}

#[test]
fn a_wait_needs_a_condition_variable_and_a_mutex() {
    let lock_one = On(Kind::Lock, 1);
    let program = Script::new().object(Resource::semaphore(1)).mutex().thread(&[lock_one, Wait(0, 1)]);
    assert_misuse(&verdict(program, &[]), (0, 1), "used as an object of another type");
    let program = Script::new().object(Resource::once()).object(Resource::condition()).thread(&[Wait(1, 0)]);
    assert_misuse(&verdict(program, &[]), (0, 0), "used as an object of another type");
    let program =
        Script::new().object(Resource::condition()).mutex().thread(&[DESTROY, lock_one, Wait(0, 1)]);
    assert_misuse(&verdict(program, &[]), (0, 2), "used after it was destroyed");
}

#[test]
fn only_the_runner_ends_an_initialisation() {
    let end = On(Kind::OnceEnd, 0);
    let program = Script::new().object(Resource::once()).thread(&[end]);
    assert_misuse(&verdict(program, &[]), (0, 0), "ended by a thread that does not run it");
    let program = Script::new().object(Resource::once()).thread(&[On(Kind::OnceBegin, 0)]).thread(&[end]);
    assert_misuse(&verdict(program, &[0, 1]), (1, 0), "ended by a thread that does not run it");
}

#[test]
fn a_normal_mutex_is_unlocked_by_its_owner() {
    let unlock = On(Kind::Unlock, 0);
    let program = Script::new().mutex().thread(&[unlock]);
    assert_misuse(&verdict(program, &[]), (0, 0), "unlocked while not locked");
    let program = Script::new().mutex().thread(&[On(Kind::Lock, 0), unlock, unlock]);
    assert_misuse(&verdict(program, &[]), (0, 2), "unlocked while not locked");
    let program = Script::new().mutex().thread(&[On(Kind::Lock, 0)]).thread(&[unlock]);
    assert_misuse(&verdict(program, &[0, 1]), (1, 0), "unlocked by a thread that does not hold it");
}
