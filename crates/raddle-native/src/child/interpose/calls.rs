//! Calls of the operations of a structure under test, as steps: `raddle/linearizable.h` calls these functions.
//!
//! That a call ends before another one begins is part of what a run shows, so these two steps may not be swapped; two beginnings
//! may, and so may two ends. The end of a call writes an object of its thread, and the beginning reads those of the other
//! threads. A step touches at most two objects: of four threads and more, several share one, and their ends are then ordered, too.

use super::entry::entries;
use crate::child::control::enter;
use crate::child::objects::Class;
use crate::child::scheduling::step;
use raddle_model::{Access, Kind, Operation};
use std::ffi::{c_uint, c_void};

entries! {
    raddle_call(objects: *const c_void, thread: c_uint, threads: c_uint) => call;
    raddle_return(objects: *const c_void, thread: c_uint, threads: c_uint) => end;
}

/// The number of threads from which on they share objects, and the number of these.
const MANY: u64 = 4;
const SHARED: u64 = 2;

unsafe extern "C" fn call(objects: *const c_void, thread: c_uint, threads: c_uint, place: usize) {
    enter(|| {
        step(|runtime| {
            let (thread, threads) = (u64::from(thread), u64::from(threads));
            let count = if threads < MANY { threads } else { SHARED };
            let mut operation = Operation::new(Kind::Call, runtime.place(place));
            for index in (0..count).filter(|&index| threads >= MANY || index != thread) {
                let object = runtime.object(objects as u64 + index, Class::Annotation, || 0);
                operation = operation.on(object, Access::Read);
            }
            operation
        });
    });
}

unsafe extern "C" fn end(objects: *const c_void, thread: c_uint, threads: c_uint, place: usize) {
    enter(|| {
        step(|runtime| {
            let (thread, threads) = (u64::from(thread), u64::from(threads));
            let count = if threads < MANY { threads } else { SHARED };
            let object = runtime.object(objects as u64 + thread % count.max(1), Class::Annotation, || 0);
            Operation::new(Kind::Return, runtime.place(place)).on(object, Access::Write)
        });
    });
}
