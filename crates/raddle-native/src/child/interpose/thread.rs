//! Threads and their attributes.

use super::entry::{cancellation_points, entries, exported};
use super::time::{Clock, FOREVER, remaining};
use super::{heap, identity, robust, unwind};
use crate::child::control::{self, enter, enter_for, leave};
use crate::child::pending::Limit;
use crate::child::pool::Task;
use crate::child::runtime::with;
use crate::child::scheduling::{self, step};
use crate::child::stack::{self, Extent};
use crate::child::{crash, fiber, loss, pool, shared_memory, switching, trap};
use crate::platform::{real, signals};
use libc::{EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT, timespec};
use raddle_engine::Reply;
use raddle_model::native::MOST_THREADS;
use raddle_model::{Access, Kind, Operation};
use std::ffi::{CStr, c_char, c_int, c_void};

exported! {
    pthread_getname_np pthread_key_create pthread_setspecific pthread_key_delete pthread_setattr_default_np
}

entries! {
    pthread_create => create;
    pthread_tryjoin_np => try_join;
    pthread_detach => detach;
    pthread_setname_np => set_name;
}

cancellation_points! {
    pthread_join => join;
    pthread_timedjoin_np => timed_join;
    pthread_clockjoin_np => clock_join;
}

pub(super) unsafe extern "C" fn create(
    thread: *mut u64,
    attributes: *const c_void,
    start: *const c_void,
    argument: *mut c_void,
    place: usize,
) -> c_int {
    if control::is_running() {
        control::probe(thread.cast(), place);
        if !attributes.is_null() {
            control::probe(attributes, place);
        }
    }
    enter(|| {
        if with(|runtime| runtime.threads.len()) >= MOST_THREADS {
            loss::lose(&format!(
                "it creates more than {MOST_THREADS} threads, the maximum that raddle supports\nhelp: create fewer threads in the test"
            ));
        }
        pool::note_single(false);
        let early = if attributes.is_null() { pool::take() } else { None };
        if let Some(task) = early {
            // SAFETY: no other code uses the task yet, and POSIX requires room for the handle.
            unsafe {
                ((*task).start, (*task).argument) = (start, argument);
                control::write(thread, (*task).handle, place);
                return begin(task, (*task).handle, false, place);
            }
        }
        let task = Task::new(start, argument, stack_size(attributes));
        let (attributes, detached) = joinable(attributes);
        let attributes = attributes.as_ref().map_or(std::ptr::null(), |copy| std::ptr::from_ref(copy).cast());
        let mut handle = 0;
        // SAFETY: `run` takes a task, and the attributes are copies of the program's own.
        let create = || unsafe { real::pthread_create(&raw mut handle, attributes, run as *const c_void, task.cast()) };
        let error = leave(|| trap::create_thread(create));
        if error == libc::EAGAIN {
            // The number of threads that the system supports differs between machines and does not depend on
            // the schedule.
            let made = with(|runtime| runtime.threads.len());
            loss::refuse(&format!(
                "the system refuses to create thread T{made} (EAGAIN); this is a system limit, not a failure of the program\n\
                 help: raise `ulimit -u` or the memory for stacks, or use fewer --jobs"
            ));
        }
        if error != 0 {
            return error;
        }
        // SAFETY: our caller promises room for the handle, and the task lives as long as the process.
        unsafe {
            control::write(thread, handle, place);
            begin(task, handle, detached, place)
        }
    })
    // SAFETY: the program has called `pthread_create` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_create(thread, attributes, start, argument) })
}

/// Adds a new thread to the run.
///
/// # Safety
/// The task is that of the thread, and lives as long as the process.
unsafe fn begin(task: *mut Task, handle: u64, detached: bool, place: usize) -> c_int {
    // SAFETY: the task lives as long as the process.
    let fiber = unsafe { &raw mut (*task).fiber };
    // SAFETY: the task is alive; the new thread only changes atomics until it has parked.
    unsafe { (*fiber).wait_until_parked() };
    with(|runtime| runtime.arriving.push(fiber));
    step(|runtime| Operation::new(Kind::Spawn, runtime.place(place)));
    with(|runtime| {
        runtime.arriving.retain(|&arriving| arriving != fiber);
        let number = identity::FIRST_THREAD as u32 + runtime.threads.len() as u32;
        // SAFETY: the task is alive, and the thread has parked.
        unsafe { (*fiber).adopt(number) };
        runtime.add_thread(fiber, handle, detached);
    });
    0
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const libc::pthread_attr_t, state: *mut c_int) -> c_int;
}

/// Returns the stack size of a thread with these attributes.
fn stack_size(attributes: *const c_void) -> usize {
    let mut size = 0;
    if !attributes.is_null() {
        // SAFETY: the program passes valid attributes, which are not null.
        unsafe { libc::pthread_attr_getstacksize(attributes.cast(), &raw mut size) };
    }
    if size == 0 { stack::USUAL } else { size }
}

/// Returns a copy of the thread attributes that makes the thread joinable for glibc, and whether the program
/// wants it detached.
fn joinable(attributes: *const c_void) -> (Option<libc::pthread_attr_t>, bool) {
    if attributes.is_null() {
        return (None, false);
    }
    // SAFETY: the program passes valid attributes, which are not null. The copy shares their memory, and is
    // used only while they exist.
    unsafe {
        let mut copy = *attributes.cast::<libc::pthread_attr_t>();
        let mut state = 0;
        pthread_attr_getdetachstate(&raw const copy, &raw mut state);
        libc::pthread_attr_setdetachstate(&raw mut copy, libc::PTHREAD_CREATE_JOINABLE);
        (Some(copy), state == libc::PTHREAD_CREATE_DETACHED)
    }
}

/// The start routine of a thread that the server creates. In a run the carrier comes here.
pub(crate) unsafe extern "C" fn run_early(task: *mut c_void) -> *mut c_void {
    let task = task.cast::<Task>();
    signals::block_signals();
    // SAFETY: the task lives as long as the process, and this is its OS thread.
    unsafe { (*task).fiber.note_number() };
    if switching::uses_os_threads() {
        // SAFETY: the task lives as long as the process, and this is its OS thread. It is not for a run.
        unsafe { switching::park(&raw mut (*task).fiber) };
        return std::ptr::null_mut();
    }
    // SAFETY: the task lives as long as the process, and this is its OS thread.
    unsafe { fiber::leave_behind(&raw mut (*task).fiber) };
    // The program may have changed the locale since. SAFETY: glibc does the same at the beginning of a
    // thread.
    unsafe { real::__ctype_init() };
    // SAFETY: this is the carrier, with the stack and the FS base of the thread.
    unsafe { run_task(task) }
}

/// The start routine of every other thread, on its own stack: first on its own OS thread, then on the
/// carrier, and after its end on its own OS thread again.
unsafe extern "C" fn run(task: *mut c_void) -> *mut c_void {
    let task = task.cast::<Task>();
    // The carrier is never parked, so it gets all signals.
    let mask = signals::block_signals();
    if switching::uses_os_threads() {
        crash::use_own_stack();
    }
    // SAFETY: the task lives as long as the process.
    unsafe { (*task).fiber.note_number() };
    // SAFETY: the task lives as long as the process, and this is its OS thread.
    unsafe { switching::park(&raw mut (*task).fiber) };
    // From here on this is the carrier, inside the runtime.
    if switching::uses_os_threads() {
        signals::set_signals(mask);
    }
    // SAFETY: this is the carrier, with the stack and the FS base of the thread.
    unsafe { run_task(task) }
}

/// Runs a thread in a run.
///
/// # Safety
/// The thread is that of the task, which lives as long as the process, and the carrier has just switched to it.
unsafe fn run_task(task: *mut Task) -> *mut c_void {
    scheduling::arrive();
    with(|runtime| {
        shared_memory::note_running(runtime.current.0, 0);
        shared_memory::note_steps(runtime.engine.step_count());
    });
    scheduling::halt_if_due();
    // SAFETY: per the contract of this function, the task is alive.
    let (start, argument) = unsafe { ((*task).start, (*task).argument) };
    let none = std::ptr::null_mut();
    let mut unwound = 0;
    // SAFETY: per the contract of this function, the task is alive.
    let stack = Extent::below(&raw const unwound, unsafe { (*task).stack });
    with(|runtime| runtime.me().stack = stack);
    // SAFETY: the program passed this routine and argument to `pthread_create`.
    let mut result = leave(|| unsafe { fiber::guard(start, argument, none, none, &raw mut unwound) });
    if unwound != 0 {
        result = with(|runtime| runtime.me().result);
    }
    leave(run_destructors);
    robust::release();
    scheduling::let_others_observe_end(start as usize);
    if !heap::was_used() {
        // SAFETY: per the contract of this function, the task is alive.
        unsafe { (*task).fiber.needs_no_end() };
    }
    scheduling::end_thread(result);
    heap::note_end_of_thread();
    // From here on this is the thread's own OS thread again, which glibc ends.
    result
}

/// Runs the destructors at the end of the current thread, under control; glibc then finds nothing left to
/// run.
fn run_destructors() {
    /// The number of rounds that POSIX requires if destructors set new values.
    const ROUNDS: usize = 4;
    // SAFETY: it runs the destructors of the current thread's variables, and forgets them.
    unsafe { real::__call_tls_dtors() };
    for _ in 0..ROUNDS {
        let keys = enter(|| with(|runtime| runtime.keys.clone())).unwrap_or_default();
        let mut none = true;
        for (key, destructor) in keys.into_iter().filter(|&(_, destructor)| destructor != 0) {
            // SAFETY: the function has no preconditions; it returns null for an unknown key.
            let value = unsafe { real::pthread_getspecific(key) };
            if value.is_null() {
                continue;
            }
            none = false;
            // SAFETY: the program registered this function to be called with the value, after the value was
            // cleared.
            unsafe {
                real::pthread_setspecific(key, std::ptr::null());
                std::mem::transmute::<usize, extern "C" fn(*mut c_void)>(destructor)(value);
            }
        }
        if none {
            break;
        }
    }
}

fn join_within(kind: JoinKind, thread: u64, result: *mut *mut c_void, place: usize) -> c_int {
    if !matches!(kind, JoinKind::Try) && unwind::is_due() {
        return 0;
    }
    let target = match with(|runtime| (runtime.find_thread(thread), runtime.current)) {
        (None, _) if thread == 0 && !matches!(kind, JoinKind::Try) => return ESRCH,
        (None, _) => return identity::of_no_thread(thread, place),
        (Some(target), me) if target == me => return EDEADLK,
        (Some(target), _) => target,
    };
    if with(|runtime| runtime.threads[target.index()].detached) {
        return EINVAL;
    }
    let span = match kind {
        JoinKind::Wait(span) => span,
        JoinKind::Try => {
            step(|runtime| {
                runtime.accesses.note_observed_end();
                let object = runtime.thread_object(target);
                Operation::new(Kind::Read, runtime.place(place)).on(object, Access::Read)
            });
            if !with(|runtime| runtime.threads[target.index()].ended) {
                return EBUSY;
            }
            FOREVER
        }
    };
    let mut limit = Limit::begin(span);
    while step(|runtime| {
        let object = runtime.thread_object(target);
        let join = Operation::new(Kind::Join, runtime.place(place)).on(object, Access::Read);
        join.with_argument(limit.left(runtime))
    }) == Reply::TimedOut
    {
        if unwind::is_due() || !limit.goes_on() {
            return ETIMEDOUT;
        }
    }
    let value = with(|runtime| {
        let thread = &mut runtime.threads[target.index()];
        thread.joined = true;
        thread.result
    });
    // SAFETY: the thread is at its end and no other thread joins it.
    unsafe { real::pthread_join(thread, std::ptr::null_mut()) };
    pool::note_join();
    if !result.is_null() {
        // SAFETY: POSIX requires room for the result.
        unsafe { control::write(result, value, place) };
    }
    0
}

enum JoinKind {
    Wait(u64),
    Try,
}

pub(super) unsafe extern "C" fn join(thread: u64, result: *mut *mut c_void, place: usize) -> c_int {
    enter(|| join_within(JoinKind::Wait(FOREVER), thread, result, place))
        // SAFETY: the program has called `pthread_join` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_join(thread, result) })
}

unsafe extern "C" fn try_join(thread: u64, result: *mut *mut c_void, place: usize) -> c_int {
    enter(|| join_within(JoinKind::Try, thread, result, place))
        // SAFETY: the program has called `pthread_tryjoin_np` with these arguments.
        .unwrap_or_else(|| unsafe { real::pthread_tryjoin_np(thread, result) })
}

/// Returns the time limit of a join; glibc waits without one if the pointer is null.
fn limit(clock: Clock, time: *const timespec, place: usize) -> Option<u64> {
    if time.is_null() { Some(FOREVER) } else { remaining(clock, time, place) }
}

unsafe extern "C" fn timed_join(
    thread: u64,
    result: *mut *mut c_void,
    time: *const timespec,
    place: usize,
) -> c_int {
    enter(|| {
        let span = limit(Clock::Real, time, place);
        span.map_or(EINVAL, |span| join_within(JoinKind::Wait(span), thread, result, place))
    })
    // SAFETY: the program has called `pthread_timedjoin_np` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_timedjoin_np(thread, result, time) })
}

unsafe extern "C" fn clock_join(
    thread: u64,
    result: *mut *mut c_void,
    clock: c_int,
    time: *const timespec,
    place: usize,
) -> c_int {
    enter(|| {
        let span = Clock::of(clock).and_then(|clock| limit(clock, time, place));
        span.map_or(EINVAL, |span| join_within(JoinKind::Wait(span), thread, result, place))
    })
    // SAFETY: the program has called `pthread_clockjoin_np` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_clockjoin_np(thread, result, clock, time) })
}

pub(super) unsafe extern "C" fn detach(thread: u64, place: usize) -> c_int {
    enter(|| {
        let Some(target) = with(|runtime| runtime.find_thread(thread)) else {
            return if thread == 0 { ESRCH } else { identity::of_no_thread(thread, place) };
        };
        let (detached, ended) = with(|runtime| {
            let entry = &mut runtime.threads[target.index()];
            let before = std::mem::replace(&mut entry.detached, true);
            entry.joined = entry.ended;
            (before, entry.ended)
        });
        if detached {
            return EINVAL;
        }
        if ended {
            // SAFETY: the thread is at its end and no other thread joins it.
            unsafe { real::pthread_join(thread, std::ptr::null_mut()) };
            pool::note_join();
        }
        0
    })
    // SAFETY: the program has called `pthread_detach` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_detach(thread) })
}

/// Handles `pthread_exit`. It leaves no frame of ours, because glibc unwinds the thread from there.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_exit() {
    std::arch::naked_asm!("push rdi", "call {}", "pop rdi", "jmp rax", sym super::unwind::note_exit)
}

/// The maximum length of a thread name, with the terminating zero.
const NAME: usize = 16;

/// Handles `pthread_setname_np`: the kernel's name of a thread would be that of the carrier.
unsafe extern "C" fn set_name(thread: u64, name: *const c_char, place: usize) -> c_int {
    enter_for(name.cast(), place, || {
        // SAFETY: the function requires a zero-terminated string.
        let name = unsafe { CStr::from_ptr(name) };
        if name.count_bytes() >= NAME {
            return libc::ERANGE;
        }
        let Some(target) = with(|runtime| runtime.find_thread(thread)) else {
            return identity::of_no_thread(thread, place);
        };
        with(|runtime| runtime.threads[target.index()].name = Some(name.to_owned()));
        0
    })
    // SAFETY: the program has called `pthread_setname_np` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_setname_np(thread, name) })
}

/// Handles `pthread_getname_np`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getname_np(thread: u64, name: *mut c_char, room: usize) -> c_int {
    let known = enter(|| {
        with(|runtime| {
            let target = runtime.find_thread(thread)?;
            runtime.threads[target.index()].name.clone()
        })
    });
    match known.flatten() {
        Some(_) if room < NAME => libc::ERANGE,
        Some(known) => {
            let bytes = known.as_bytes_with_nul();
            // SAFETY: the function requires room for `room` bytes, and the name is not longer.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), name, bytes.len()) };
            0
        }
        // SAFETY: the program has called `pthread_getname_np` with these arguments.
        None => identity::about(thread, || unsafe { real::pthread_getname_np(thread, name, room) }),
    }
}

/// Handles `pthread_key_create`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_key_create(key: *mut u32, destructor: *const c_void) -> c_int {
    // SAFETY: the program has called `pthread_key_create` with these arguments.
    let error = unsafe { real::pthread_key_create(key, destructor) };
    if error == 0 {
        // SAFETY: the successful call has written the key.
        let key = unsafe { key.read_unaligned() };
        enter(|| with(|runtime| runtime.keys.push((key, destructor as usize))));
    }
    error
}

/// Handles `pthread_setspecific`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setspecific(key: u32, value: *const c_void) -> c_int {
    heap::note_use();
    // SAFETY: the program has called `pthread_setspecific` with these arguments.
    unsafe { real::pthread_setspecific(key, value) }
}

/// Handles `pthread_key_delete`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_key_delete(key: u32) -> c_int {
    enter(|| with(|runtime| runtime.keys.retain(|&(known, _)| known != key)));
    // SAFETY: the program has called `pthread_key_delete` with these arguments.
    unsafe { real::pthread_key_delete(key) }
}

/// Handles `pthread_setattr_default_np`: threads created in advance have other attributes.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setattr_default_np(attributes: *const c_void) -> c_int {
    enter(pool::drain);
    // SAFETY: the program has called `pthread_setattr_default_np` with these arguments.
    unsafe { real::pthread_setattr_default_np(attributes) }
}
