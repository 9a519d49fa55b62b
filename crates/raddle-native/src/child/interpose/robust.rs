//! Robust mutexes: a thread that acquires one whose owner has ended gets an error code, and must mark it
//! consistent.
//!
//! For the engine they are ordinary mutexes. A thread that ends releases its mutexes, each as a step.

use super::entry::entries;
use super::mutex_object;
use crate::child::control::enter_for;
use crate::child::objects::{Robust, RobustState};
use crate::child::runtime::{Runtime, with};
use crate::platform::real;
use libc::{EINVAL, ENOTRECOVERABLE, EOWNERDEAD};
use std::ffi::{c_int, c_void};

entries! {
    pthread_mutex_consistent => consistent;
}

/// The bit in the kind of a mutex.
const ROBUST: i32 = 16;

fn is_robust(mutex: *mut c_void) -> bool {
    // SAFETY: the mutex functions of POSIX require a valid mutex.
    let kind = unsafe { mutex_object::kind(mutex) };
    kind >= 0 && kind & ROBUST != 0
}

fn entry(runtime: &mut Runtime, mutex: *mut c_void) -> &mut Robust {
    let known = runtime.robust.iter().position(|robust| robust.mutex == mutex as usize);
    let index = known.unwrap_or_else(|| {
        runtime.robust.push(Robust {
            mutex: mutex as usize,
            owner: None,
            count: 0,
            state: RobustState::Sound,
        });
        runtime.robust.len() - 1
    });
    &mut runtime.robust[index]
}

/// Returns the result code for the current thread, which has just locked `mutex`.
pub(super) fn note_lock(mutex: *mut c_void, place: usize) -> c_int {
    if !is_robust(mutex) {
        return 0;
    }
    let lost = with(|runtime| {
        let me = runtime.current;
        let robust = entry(runtime, mutex);
        (robust.owner, robust.count) = (Some(me), robust.count + 1);
        robust.state == RobustState::Lost
    });
    if lost {
        give_back(mutex, place);
        return ENOTRECOVERABLE;
    }
    let orphaned = with(|runtime| entry(runtime, mutex).state == RobustState::Orphaned);
    if orphaned { EOWNERDEAD } else { 0 }
}

/// Records that the current thread is about to unlock `mutex`, which it may not hold.
pub(super) fn note_unlock(mutex: *mut c_void) {
    if !is_robust(mutex) {
        return;
    }
    with(|runtime| {
        let me = runtime.current;
        let robust = entry(runtime, mutex);
        if robust.owner != Some(me) {
            return;
        }
        robust.count -= 1;
        if robust.count == 0 {
            robust.owner = None;
            if robust.state == RobustState::Orphaned {
                robust.state = RobustState::Lost;
            }
        }
    });
}

/// Forgets the state of a mutex that was initialized or destroyed.
pub(super) fn forget(runtime: &mut Runtime, mutex: *mut c_void) {
    runtime.robust.retain(|robust| robust.mutex != mutex as usize);
}

fn give_back(mutex: *mut c_void, place: usize) {
    note_unlock(mutex);
    mutex_object::unlock(mutex, place);
}

/// Releases the mutexes of the current thread, which is at its end.
pub(crate) fn release() {
    loop {
        let held = with(|runtime| {
            let me = runtime.current;
            let robust = runtime.robust.iter_mut().find(|robust| robust.owner == Some(me))?;
            robust.owner = None;
            if robust.state == RobustState::Sound {
                robust.state = RobustState::Orphaned;
            }
            Some((robust.mutex, std::mem::take(&mut robust.count)))
        });
        let Some((mutex, count)) = held else { return };
        for _ in 0..count {
            mutex_object::unlock(mutex as *mut c_void, 0);
        }
    }
}

unsafe extern "C" fn consistent(mutex: *mut c_void, place: usize) -> c_int {
    enter_for(mutex, place, || {
        with(|runtime| {
            let me = runtime.current;
            let robust = entry(runtime, mutex);
            if robust.owner != Some(me) || robust.state != RobustState::Orphaned {
                return EINVAL;
            }
            robust.state = RobustState::Sound;
            0
        })
    })
    // SAFETY: the program has called `pthread_mutex_consistent` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_mutex_consistent(mutex) })
}
