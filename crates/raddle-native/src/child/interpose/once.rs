//! One-time initialization.

use super::entry::entries;
use crate::child::control::{enter, is_running, probe};
use crate::child::objects::Class;
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::{step, step_on};
use crate::platform::real;
use raddle_engine::Reply;
use raddle_model::{Access, Kind, ObjectId, Operation};
use std::ffi::{c_int, c_void};

entries! {
    pthread_once => once as "C-unwind";
}

/// The value that glibc stores in a completed `pthread_once_t`.
const DONE: i32 = 2;

fn object(runtime: &mut Runtime, once: *mut c_void) -> ObjectId {
    runtime.object(once as u64, Class::Once, || 0)
}

/// Begins an initialization, unless another thread has completed it; waits while one is in progress. Called
/// inside the runtime.
pub(super) fn begin(once: *mut c_void, place: usize) -> Reply {
    step_on(Kind::OnceBegin, place, Access::Write, |runtime| object(runtime, once))
}

/// Ends an initialization that this thread has begun: it is complete, or the next thread begins it again.
/// Called inside the runtime.
pub(super) fn end(once: *mut c_void, place: usize, done: bool) {
    step(|runtime| {
        let object = object(runtime, once);
        let place = runtime.place(place);
        Operation::new(Kind::OnceEnd, place).on(object, Access::Write).with_argument(u64::from(done))
    });
}

/// Returns true if the run knows an initialization. One that it does not know and that is complete was completed before
/// there were threads.
fn is_known(once: *mut c_void) -> bool {
    with(|runtime| runtime.objects.find(once as u64, Class::Once).is_some())
}

/// Returns true if a completed initialization must still be announced although the program has looked at it: if data
/// races or weak memory are tracked, it happens before what follows.
pub(super) fn must_announce(once: *mut c_void) -> bool {
    with(|runtime| runtime.accesses.races) && is_known(once)
}

/// Returns true if an initialization is one of the C or C++ library, or of the unwinder. When it took place is
/// unobservable, and an exception looks at it many times.
fn is_internal(once: *mut c_void) -> bool {
    with(|runtime| runtime.modules.is_library(once as u64))
}

/// Looks whether an initialization is complete, and begins it if not. The look is an operation of its own because
/// threads that only find a complete initialization do not depend on each other.
fn look_and_begin(once: *mut c_void, place: usize) -> Reply {
    if is_internal(once) {
        return begin(once, place);
    }
    match step_on(Kind::OnceTry, place, Access::Read, |runtime| object(runtime, once)) {
        Reply::Acquired => Reply::Go,
        _ => begin(once, place),
    }
}

pub(super) unsafe extern "C-unwind" fn once(
    once: *mut c_void,
    routine: extern "C-unwind" fn(),
    place: usize,
) -> c_int {
    if is_running() {
        probe(once, place);
    }
    // SAFETY: POSIX requires a valid `pthread_once_t`.
    let is_done = unsafe { once.cast::<i32>().read_unaligned() } == DONE;
    let is_looked_at = || is_known(once) && (!is_internal(once) || must_announce(once));
    if is_done && enter(is_looked_at) != Some(true) {
        return 0;
    }
    match enter(|| look_and_begin(once, place)) {
        // SAFETY: the program has called `pthread_once` with these arguments.
        None => unsafe { real::pthread_once(once, routine) },
        Some(Reply::RunOnce) => {
            probe(routine as *const c_void, place);
            let mut end = End { once, place, done: false };
            routine();
            end.done = true;
            0
        }
        Some(_) => 0,
    }
}

/// Ends an initialization, even if an exception leaves it.
struct End {
    once: *mut c_void,
    place: usize,
    done: bool,
}

impl Drop for End {
    fn drop(&mut self) {
        enter(|| end(self.once, self.place, self.done));
        if self.done {
            // SAFETY: the pointer is that of the program's `pthread_once_t`, and no other thread runs now.
            unsafe { *self.once.cast::<i32>() = DONE };
        }
    }
}
