//! Threads that the server creates before it forks, so that runs need not create them.
//!
//! Creating an OS thread and waiting for its end takes half as long as a fork. So the server creates a few
//! threads with glibc and lets their OS threads end as soon as they have parked ([`fiber::leave_behind`]);
//! what is left in memory is all that a carrier needs to become one of them. glibc must still consider them
//! alive, so children are not created by its `fork`, which would reclaim their stacks.
//!
//! If threads stay on their OS threads, none can be left behind. But the addresses of the stacks of threads
//! without attributes should be the same in both modes: the server creates as many threads and lets them end,
//! and runs get their stacks, the latest first. The early threads are handed out in the same order, and a
//! stack that glibc has reclaimed in the run comes before them.
#![expect(unsafe_code, reason = "creates processes and threads")]

use crate::child::fiber::{self, Fiber};
use crate::child::{stack, switching};
use crate::platform::{raw, real};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The function of a new thread. Not freed before the end of the run.
#[repr(C)]
pub(crate) struct Task {
    // First, so that both have one address.
    pub(crate) fiber: Fiber,
    pub(crate) start: *const c_void,
    pub(crate) argument: *mut c_void,
    /// The size of its stack.
    pub(crate) stack: usize,
    /// The program's handle of the thread, if it was created before the run.
    pub(crate) handle: u64,
}

impl Task {
    pub(crate) fn new(start: *const c_void, argument: *mut c_void, stack: usize) -> *mut Task {
        Box::into_raw(Box::new(Task { fiber: Fiber::new(), start, argument, stack, handle: 0 }))
    }

    /// Returns an unassigned task.
    pub(crate) fn early() -> *mut Task {
        Task::new(std::ptr::null(), std::ptr::null_mut(), stack::USUAL)
    }
}

/// The number of early threads. Each costs every fork a little, whether a run needs it or not.
const SIZE: usize = 3;

static TASKS: [AtomicPtr<Task>; SIZE] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SIZE];

/// The number of unused tasks.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// The number of stacks of threads that ended in the run and that glibc caches for the next ones.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// The address of the word from which glibc reads the id of the main thread, and its list of robust locks; 0
/// if children are created by `fork`.
static WORD: AtomicUsize = AtomicUsize::new(0);
static ROBUST: AtomicUsize = AtomicUsize::new(0);

/// The address of glibc's variable `__libc_single_threaded`; null if it has none.
static SINGLE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// Creates the threads, which begin with `start` and their tasks. Called by the server, before its first
/// fork.
pub(crate) fn fill(start: unsafe extern "C" fn(*mut c_void) -> *mut c_void) {
    let mut made = 0;
    for place in &TASKS {
        let task = Task::early();
        // SAFETY: `start` takes a task, which lives as long as the process and has room for the handle.
        let error = unsafe {
            real::pthread_create(
                &raw mut (*task).handle,
                std::ptr::null(),
                start as *const c_void,
                task.cast(),
            )
        };
        if error != 0 {
            break;
        }
        place.store(task, Ordering::Relaxed);
        made += 1;
    }
    let tasks = TASKS[..made].iter().map(|place| place.load(Ordering::Relaxed));
    // SAFETY: tasks live as long as the process; their threads change only atomics until they have parked.
    let fibers = || tasks.clone().map(|task| unsafe { &(*task).fiber });
    if switching::uses_os_threads() {
        fibers().for_each(fiber::Fiber::wait_until_parked);
        fibers().for_each(fiber::Fiber::release);
        for task in tasks.clone() {
            // SAFETY: the thread has ended, and no other thread joins it.
            unsafe { real::pthread_join((*task).handle, std::ptr::null_mut()) };
        }
    } else {
        fibers().for_each(fiber::Fiber::wait_until_ended);
        if fibers().all(|fiber| fiber.word().is_some()) && know_main_thread() {
            LEFT.store(made, Ordering::Relaxed);
        }
    }
    // SAFETY: the name is zero-terminated.
    let single = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    SINGLE.store(single.cast(), Ordering::Relaxed);
    note_single(true);
}

/// Finds the data that a child must update for itself. Returns true if all of it is known.
fn know_main_thread() -> bool {
    let main = fiber::Fiber::new();
    main.note_number();
    let (mut robust, mut length) = (0_usize, 0_usize);
    let to = [&raw mut robust, &raw mut length].map(|to| to as usize);
    // SAFETY: the kernel writes an address and a length, or fails.
    unsafe { raw::syscall(libc::SYS_get_robust_list, [0, to[0], to[1], 0, 0, 0]) };
    ROBUST.store(robust, Ordering::Relaxed);
    WORD.store(main.word().map_or(0, |word| std::ptr::from_ref(word) as usize), Ordering::Relaxed);
    robust != 0 && main.word().is_some()
}

/// Tells libraries whether there is only one thread; they check that before they use atomic operations. glibc
/// has announced the threads of the server, and would not announce them again.
pub(crate) fn note_single(single: bool) {
    let variable = SINGLE.load(Ordering::Relaxed);
    if !variable.is_null() {
        // SAFETY: it is a variable of one byte that glibc writes to as well.
        unsafe { *variable = u8::from(single) };
    }
}

/// Forks a child in which the threads that were left behind still exist.
pub(crate) fn fork() -> c_int {
    const FLAGS: c_int = libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD;
    /// The size of the head of a list of robust locks.
    const HEAD: usize = 24;
    if LEFT.load(Ordering::Relaxed) == 0 {
        // SAFETY: this process has one thread.
        return unsafe { real::fork() };
    }
    let word = WORD.load(Ordering::Relaxed);
    // SAFETY: the child continues with a copy of this stack, and the word in its copy of the memory is its
    // own.
    let child = unsafe { raw::syscall(libc::SYS_clone, [FLAGS as usize, 0, 0, word, 0, 0]) };
    if child == 0 {
        let list = ROBUST.load(Ordering::Relaxed);
        // SAFETY: the list is that of the main thread, which this one is now.
        unsafe { raw::syscall(libc::SYS_set_robust_list, [list, HEAD, 0, 0, 0, 0]) };
    }
    raw::errno_result(child) as c_int
}

/// Returns an existing thread for a new one without attributes; `None` if it must be created.
pub(crate) fn take() -> Option<*mut Task> {
    let kept = KEPT.load(Ordering::Relaxed);
    if kept > 0 {
        KEPT.store(kept - 1, Ordering::Relaxed);
        return None;
    }
    let left = LEFT.load(Ordering::Relaxed).checked_sub(1)?;
    LEFT.store(left, Ordering::Relaxed);
    Some(TASKS[left].load(Ordering::Relaxed))
}

/// Frees the task that was created with this fiber in a run, which is over. Does nothing for an early one.
///
/// # Safety
/// The fiber is that of a task, and the thread has no OS thread any more.
pub(crate) unsafe fn free(fiber: *mut Fiber) {
    let task = fiber.cast::<Task>();
    if TASKS.iter().all(|early| early.load(Ordering::Relaxed) != task) {
        // SAFETY: per the contract of this function, nothing uses the task, which `Task::new` has allocated.
        drop(unsafe { Box::from_raw(task) });
    }
}

/// The state of the threads that no run has used yet.
pub(crate) struct Unused {
    left: usize,
    tasks: [MaybeUninit<Task>; SIZE],
}

/// Returns the state of the threads, for [`restore`].
pub(crate) fn unused() -> Unused {
    let tasks = TASKS.each_ref().map(|task| {
        let task = task.load(Ordering::Relaxed).cast::<MaybeUninit<Task>>();
        // SAFETY: tasks live as long as the process, and no reference to one exists before a run.
        if task.is_null() { MaybeUninit::uninit() } else { unsafe { task.read() } }
    });
    Unused { left: LEFT.load(Ordering::Relaxed), tasks }
}

/// Returns to the state of the threads before a run, which is over. Their memory is that of the program.
pub(crate) fn restore(unused: &Unused) {
    for (task, state) in TASKS.iter().zip(&unused.tasks) {
        let task = task.load(Ordering::Relaxed).cast::<MaybeUninit<Task>>();
        if !task.is_null() {
            // SAFETY: the task lives as long as the process, its thread is suspended as it was then, and the run that
            // used it is over.
            unsafe { task.copy_from(state, 1) };
        }
    }
    LEFT.store(unused.left, Ordering::Relaxed);
    KEPT.store(0, Ordering::Relaxed);
}

/// Records that a thread of the run was joined.
pub(crate) fn note_join() {
    KEPT.fetch_add(1, Ordering::Relaxed);
}

/// Makes every further thread a new one.
pub(crate) fn drain() {
    LEFT.store(0, Ordering::Relaxed);
}
