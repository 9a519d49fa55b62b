//! Scheduling points: announcing operations, switching threads, and the end of the run.
//!
//! An operation announces itself and asks the engine for the next step, on the stack of its own thread. If
//! another thread continues, the carrier switches to it from there.
#![expect(unsafe_code, reason = "fibers are switched")]

use crate::child::halt::{Halt, UnseenEnd};
use crate::child::loss::lose;
use crate::child::runtime::{Runtime, with};
use crate::child::{
    control, inconclusive, pending, pool, resident, results, stack, streams, switching, transaction_steps,
    weak,
};
use crate::platform::{real, signals};
use raddle_engine::{Next, Reply};
use raddle_model::native::Points;
use raddle_model::{Access, Failure, Kind, LocationId, ObjectId, Operation, ThreadId, Verdict};
use std::ffi::c_void;

/// Announces the next operation of the current thread and returns when it has been executed.
#[inline]
pub(crate) fn step(operation: impl FnOnce(&mut Runtime) -> Operation) -> Reply {
    let frame = stack::frame();
    if pending::are_due() {
        pending::deliver();
    }
    let next = with(|runtime| {
        if runtime.engine.is_weak() {
            weak::note_unseen_writes(runtime);
        }
        let operation = operation(runtime);
        runtime.settle_values();
        runtime.accesses.clear_unseen();
        let me = runtime.current;
        if runtime.engine.go_on(me, operation) {
            return Ok(Reply::Go);
        }
        if !operation.kind.is_memory() {
            runtime.me().readings = 0;
            if runtime.points == Points::Transactional {
                transaction_steps::synchronize(runtime);
            }
        }
        runtime.me().place = operation.location;
        runtime.engine.announce(me, operation);
        match runtime.next() {
            Next::Resume { thread, reply } if thread == me => Ok(reply),
            next => Err((me, next)),
        }
    });
    let reply = match next {
        Ok(reply) => reply,
        Err((me, next)) => {
            hand_over(me, next);
            stack::set_frame(frame);
            with(|runtime| runtime.me().reply)
        }
    };
    with(|runtime| runtime.note_running(runtime.current));
    halt_if_due();
    reply
}

/// Announces an operation on one object.
pub(crate) fn step_on(
    kind: Kind,
    place: usize,
    access: Access,
    object: impl FnOnce(&mut Runtime) -> ObjectId,
) -> Reply {
    step(|runtime| {
        let object = object(runtime);
        Operation::new(kind, runtime.place(place)).on(object, access)
    })
}

/// Switches from thread `me` to the one that the engine selects; returns when `me` is switched to. If the run
/// is over, does not return.
fn hand_over(me: ThreadId, next: Next) {
    let Next::Resume { thread, reply } = next else { end_run() };
    let (from, to) = with(|runtime| {
        runtime.change_mask(thread);
        runtime.current = thread;
        runtime.threads[thread.index()].reply = reply;
        (runtime.threads[me.index()].fiber, runtime.threads[thread.index()].fiber)
    });
    // SAFETY: this is the carrier, and a thread that is resumed and does not run is suspended.
    unsafe { switching::switch(from, to) };
    arrive();
}

/// Releases the thread that the carrier came from, if it has ended. Called after every switch to a thread.
pub(crate) fn arrive() {
    let Some(thread) = with(|runtime| runtime.leaving.take()) else { return };
    let (fiber, handle, detached) = with(|runtime| {
        let thread = &runtime.threads[thread.index()];
        (thread.fiber, thread.handle, thread.detached)
    });
    // SAFETY: the carrier has left it, and its OS thread is parked; fibers are never freed.
    unsafe { (*fiber).release() };
    if detached {
        // SAFETY: for glibc all threads are joinable, and no other thread joins this one.
        unsafe { real::pthread_join(handle, std::ptr::null_mut()) };
        pool::note_join();
        with(|runtime| runtime.threads[thread.index()].joined = true);
    }
}

/// Makes the end of the current thread a scheduling point, if a thread asks whether another one has ended.
pub(crate) fn let_others_observe_end(place: usize) {
    if with(|runtime| runtime.accesses.observes_ends()) {
        step(|runtime| {
            let object = runtime.thread_object(runtime.current);
            Operation::new(Kind::ReadModifyWrite, runtime.place(place)).on(object, Access::Write)
        });
    }
}

/// Ends the current thread, which is not the main one: its fiber is abandoned, and its OS thread continues
/// from this call.
pub(crate) fn end_thread(result: *mut c_void) {
    let (me, next) = with(|runtime| {
        let me = runtime.current;
        runtime.me().ended = true;
        runtime.me().result = result;
        runtime.settle_values();
        if runtime.engine.is_weak() {
            weak::note_unseen_writes(runtime);
        }
        weak::forget_stack(runtime);
        runtime.leaving = Some(me).filter(|&me| me != ThreadId(0));
        runtime.engine.finish(me);
        (me, runtime.next())
    });
    let Next::Resume { thread, reply } = next else { end_run() };
    let (from, to) = with(|runtime| {
        runtime.change_mask(thread);
        runtime.current = thread;
        runtime.threads[thread.index()].reply = reply;
        (runtime.threads[me.index()].fiber, runtime.threads[thread.index()].fiber)
    });
    // SAFETY: as in `hand_over`: this is the carrier, and the other thread is suspended. Nothing of the
    // runtime is touched afterwards, on another OS thread.
    unsafe { switching::switch(from, to) };
}

/// Ends the process after the run, whose verdict is known.
pub(crate) fn end_run() -> ! {
    if let Some(reason) = with(inconclusive::reason) {
        lose(reason);
    }
    let exits = with(|runtime| {
        let summary = runtime.engine.summary();
        *summary.verdict == Verdict::Passed
            && summary.trace.events.last().is_none_or(|event| event.operation.kind != Kind::Exit)
    });
    control::end();
    if exits {
        // The last thread has ended, after the main one: the program ends with status 0, as if it had called
        // `exit`. SAFETY: nothing is under control any more; the registered exit handlers run here.
        unsafe { libc::exit(0) }
    }
    with(results::write);
    with(streams::unlock_all);
    // SAFETY: the results are written; at worst this waits forever and the server ends the process.
    unsafe { real::fflush(std::ptr::null_mut()) };
    resident::end_run()
}

/// Ends the program, whatever the next operations of its other threads are, when the strategy chooses so.
pub(crate) fn end_program() {
    step(|_| Operation::new(Kind::Exit, LocationId(0)));
}

/// Ends the run at the point where it ended before, if this is that point. Called whenever a thread begins to
/// run code of the program.
#[inline]
pub(crate) fn halt_if_due() {
    if with(|runtime| runtime.halt.is_some()) {
        halt();
    }
}

#[cold]
fn halt() {
    let due = with(|runtime| {
        let here = (runtime.engine.step_count(), u64::from(runtime.current.0));
        runtime.halt.take_if(|halt| (halt.steps, halt.thread) == here)
    });
    match due {
        None => {}
        Some(Halt { end: UnseenEnd::Exit(status), .. }) => {
            with(|runtime| runtime.status = status);
            end_program();
        }
        Some(Halt { end: UnseenEnd::Signal(signal), place, .. }) => {
            with(|runtime| {
                runtime.fail(place as usize, |thread, location| Failure::Signal {
                    thread,
                    location,
                    signal: signals::name(signal),
                    address: None,
                });
            });
            end_run();
        }
    }
}
