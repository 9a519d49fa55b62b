//! Using a type of Raddle outside a check panics at the line that uses it.

use raddle::sync::atomic::{AtomicU32, Ordering};
use raddle::sync::{Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use raddle::{future, thread, time};
use std::panic::{Location, catch_unwind, set_hook, take_hook};
use std::sync::Mutex as StdMutex;

/// The location of the latest panic.
static PLACE: StdMutex<Option<(String, u32)>> = StdMutex::new(None);

/// Calls `f`, which is on the line of the call and panics; returns that line and the location of the panic.
#[track_caller]
fn outside(f: fn()) -> (u32, Option<(String, u32)>) {
    catch_unwind(f).expect_err("it needs a check");
    (Location::caller().line(), PLACE.lock().unwrap().take())
}

raddle::thread_local!(static LOCAL: u32 = 7);

#[test]
fn the_place_is_that_of_the_user() {
    set_hook(Box::new(|info| {
        let location = info.location().map(|location| (location.file().to_owned(), location.line()));
        // The first panic; unwinding may cause another one.
        let mut seen = PLACE.lock().unwrap();
        *seen = seen.take().or(location);
    }));
    let locations = [
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
    let strange =
        locations.into_iter().filter(|(line, location)| *location != Some((file!().to_owned(), *line)));
    assert_eq!(strange.collect::<Vec<_>>(), []);
}
