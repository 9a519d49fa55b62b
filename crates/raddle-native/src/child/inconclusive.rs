//! Deadlocks and endless runs that are inconclusive, because something uncontrolled would have ended them.

use crate::child::runtime::{Runtime, Thread};
use raddle_model::{Failure, Verdict};

/// Returns the reason why a run without an end is inconclusive, if something uncontrolled would have ended
/// it.
pub(crate) fn reason(runtime: &mut Runtime) -> Option<&'static str> {
    match runtime.engine.summary().verdict {
        Verdict::Failed { failure: Failure::Deadlock { .. } | Failure::StepLimit { .. } }
        | Verdict::Inconclusive { .. } => {
            cancellation(runtime).or_else(|| shared_memory(runtime)).or_else(|| connections(runtime))
        }
        _ => None,
    }
}

/// Returns the reason why a deadlock may be spurious: a thread waits for an object in memory that another
/// process may share.
fn shared_memory(runtime: &Runtime) -> Option<&'static str> {
    let Verdict::Failed { failure: Failure::Deadlock { blocked, .. } } = runtime.engine.summary().verdict
    else {
        return None;
    };
    if !runtime.outside.shared_files {
        return None;
    }
    let objects = blocked.iter().filter_map(|blocked| blocked.object);
    let locks =
        objects.filter_map(|object| runtime.objects.made.get(object.index())).map(|made| made.address);
    let futexes = runtime.sleepers.iter().map(|&(address, ..)| address);
    let waited_for: Vec<u64> = locks.chain(futexes).collect();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let is_shared = |line: &str| {
        let mut words = line.split(' ');
        let (begin, end) = words.next()?.split_once('-')?;
        let range = u64::from_str_radix(begin, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        let is_shared = words.next()?.ends_with('s');
        Some(is_shared && waited_for.iter().any(|address| range.contains(address)))
    };
    maps.lines().any(|line| is_shared(line) == Some(true)).then_some(
        "threads wait for a lock, semaphore or futex in shared memory, which another process of the program may \
         release; raddle does not control other processes",
    )
}

/// Returns the reason why a deadlock may be spurious: a thread waits for connections, and none came from the run.
fn connections(runtime: &mut Runtime) -> Option<&'static str> {
    if !matches!(runtime.engine.summary().verdict, Verdict::Failed { failure: Failure::Deadlock { .. } }) {
        return None;
    }
    let unreached: Vec<i32> = runtime.network.unreached().collect();
    let outside = &mut runtime.outside;
    let awaited: Vec<i32> = outside.waiters.iter().flat_map(|waiter| waiter.awaited.files()).collect();
    let awaits = |file: i32| {
        unreached.contains(&file) || unreached.iter().any(|&listener| outside.has_member(file, listener))
    };
    awaited.into_iter().any(awaits).then_some(
        "threads wait for connections to a socket to which the run has not connected; programs outside of the run cannot \
         connect to simulated sockets\n\
         help: connect from the program itself, as its tests do, or let others connect with --network real",
    )
}

/// Returns the reason why a run without an end is inconclusive: a thread was cancelled asynchronously.
fn cancellation(runtime: &Runtime) -> Option<&'static str> {
    let lives = |thread: &Thread| thread.asynchronous && thread.cancelled && !thread.ended;
    runtime.threads.iter().any(lives).then_some(
        "a thread is cancelled asynchronously (PTHREAD_CANCEL_ASYNCHRONOUS) while it runs, which raddle does not control; it ends only \
         when it waits, sleeps, yields or calls pthread_testcancel",
    )
}
