//! Deadlocks and endless runs that are none of the program's.

use crate::interpose::{cancel, signal};
use crate::runtime::Runtime;
use raddle_model::{Failure, Verdict};

/// Why a run that came to no end says nothing of the program, if something would have ended it that is not controlled.
pub(crate) fn about(runtime: &mut Runtime) -> Option<&'static str> {
    match runtime.engine.summary().verdict {
        Verdict::Failed { failure: Failure::Deadlock { .. } | Failure::StepLimit { .. } } => {
            signal::doubt(runtime).or_else(|| cancel::doubt(runtime)).or_else(|| shared_doubt(runtime))
        }
        _ => None,
    }
}

/// Why a deadlock may be none: a thread waits for something in memory that another process may have, too.
fn shared_doubt(runtime: &Runtime) -> Option<&'static str> {
    let Verdict::Failed { failure: Failure::Deadlock { blocked, .. } } = runtime.engine.summary().verdict
    else {
        return None;
    };
    if !runtime.outside.handed_out {
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
        "threads wait for a lock, semaphore or futex in shared memory, which another process that the program has started may give \
         them; raddle does not control processes",
    )
}
