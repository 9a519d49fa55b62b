//! Types of Raddle that are used outside of a check say so, at the line that uses them.

use raddle::sync::atomic::{AtomicU32, Ordering};
use raddle::sync::{Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use raddle::{future, thread, time};
use std::panic::{Location, catch_unwind, set_hook, take_hook};
use std::sync::Mutex as StdMutex;

/// Where the latest panic was.
static PLACE: StdMutex<Option<(String, u32)>> = StdMutex::new(None);

/// Calls `f`, which is on the line of the call and panics; returns that line and the place of the panic.
#[track_caller]
fn outside(f: fn()) -> (u32, Option<(String, u32)>) {
    catch_unwind(f).expect_err("it needs a check");
    (Location::caller().line(), PLACE.lock().unwrap().take())
}

raddle::thread_local!(static LOCAL: u32 = 7);

#[test]
fn the_place_is_that_of_the_user() {
    set_hook(Box::new(|info| {
        let place = info.location().map(|place| (place.file().to_owned(), place.line()));
        // The first panic; unwinding may meet another one.
        let mut seen = PLACE.lock().unwrap();
        *seen = seen.take().or(place);
    }));
    let places = [
        outside(|| drop(Mutex::new(0).lock())),
        outside(|| drop(RwLock::new(0).read())),
        outside(|| drop(RwLock::new(0).write())),
        outside(|| Condvar::new().notify_one()),
        outside(|| Once::new().call_once(|| ())),
        outside(|| _ = Barrier::new(2).wait()),
        outside(|| _ = AtomicU32::new(0).load(Ordering::SeqCst)),
        outside(|| _ = AtomicU32::new(0).swap(1, Ordering::SeqCst)),
        outside(|| _ = mpsc::channel::<u32>().1.recv()),
        outside(|| drop(thread::spawn(|| ()))),
        outside(|| drop(thread::current())),
        outside(|| thread::park_timeout(time::Duration::MAX)),
        outside(|| thread::sleep(time::Duration::MAX)),
        outside(|| _ = time::Instant::now()),
        outside(|| LOCAL.with(|_| ())),
        outside(|| future::block_on(async {})),
        outside(|| drop(future::spawn(async {}))),
        outside(|| thread::scope(|scope| _ = scope.spawn(|| ()))),
    ];
    drop(take_hook());
    let strange = places.into_iter().filter(|(line, place)| *place != Some((file!().to_owned(), *line)));
    assert_eq!(strange.collect::<Vec<_>>(), []);
}
