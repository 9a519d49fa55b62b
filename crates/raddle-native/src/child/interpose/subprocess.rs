//! Processes that the program starts and waits for. They are not under control.

use super::access::note_no_write;
use super::entry::{PLACE, exported, place, system_calls};
use super::time::FOREVER;
use super::transfer::{self, touch};
use super::{network, shared, stream, unwind};
use crate::child::control::{self, enter};
use crate::child::objects::Class;
use crate::child::outside::{self, Awaited, What};
use crate::child::pending::Call;
use crate::child::runtime::with;
use crate::child::{loss, shared_memory, switching, trap};
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use crate::platform::signals::mask_signals;
use libc::{EINTR, c_int};
use raddle_model::{LockMode, ObjectId};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

exported! {
    popen posix_spawn posix_spawnp daemon
}

system_calls! {
    system => command;
    fork => fork_here;
    vfork() -> c_int => fork_here;
    wait(status: *mut c_int) -> c_int => wait_any;
    waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int => wait_process;
    wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int => wait_any_usage;
    wait4 => wait_usage;
    waitid => wait_by;
}

/// Records a new process, which may share any file of this one.
fn note_process() {
    network::expose_listeners();
    shared_memory::note_process();
    with(|runtime| {
        runtime.outside.processes += 1;
        runtime.outside.shared_files = true;
    });
}

/// Handles `fork` and `vfork`, whose child would share the memory of the runtime.
unsafe extern "C" fn fork_here() -> c_int {
    let place = place();
    enter(|| {
        touch(place, |runtime| runtime.all(What::Children));
        note_process();
    });
    // SAFETY: the program has called `fork`, and only one OS thread runs code of the program.
    unsafe { real::fork() }
}

/// Ends control in a forked process; called first in every new process.
pub(crate) unsafe extern "C" fn begin_foreign() {
    if control::is_run() {
        control::end_run_here();
        trap::end();
        control::end();
    }
}

/// Locks for glibc, in which all locks are free, what threads of the run hold; called last before a fork. The new
/// process has the locks as they are then.
pub(crate) unsafe extern "C" fn lend_locks() {
    if !control::is_running() {
        return;
    }
    let locks = held_locks();
    for &(lock, class, mode) in &locks {
        let lock = lock as *mut c_void;
        // SAFETY: the program has locked these objects, and for glibc they are free.
        unsafe {
            match (class, mode) {
                (Class::ReadWriteLock, LockMode::Shared) => real::pthread_rwlock_rdlock(lock),
                (Class::ReadWriteLock, LockMode::Exclusive) => real::pthread_rwlock_wrlock(lock),
                _ => real::pthread_mutex_lock(lock),
            };
        }
    }
    with(|runtime| runtime.lent_locks = locks);
}

/// Unlocks them; called first after a fork, in the process that forks.
pub(crate) unsafe extern "C" fn take_back_locks() {
    if !control::is_running() {
        return;
    }
    for (lock, class, _) in with(|runtime| std::mem::take(&mut runtime.lent_locks)) {
        let lock = lock as *mut c_void;
        // SAFETY: `lend_locks` has locked these objects in this thread.
        unsafe {
            match class {
                Class::ReadWriteLock => real::pthread_rwlock_unlock(lock),
                _ => real::pthread_mutex_unlock(lock),
            };
        }
    }
}

/// Returns the locks that threads of the run hold, once for each time: their addresses, and how they are held.
fn held_locks() -> Vec<(u64, Class, LockMode)> {
    let is_lock = |class: Class| {
        use Class::{CheckingMutex, NormalMutex, ReadWriteLock, RecursiveMutex};
        matches!(class, NormalMutex | RecursiveMutex | CheckingMutex | ReadWriteLock)
    };
    let held: Vec<_> = with(|runtime| {
        let locks = runtime.objects.made.iter().enumerate().filter(|(_, made)| is_lock(made.class));
        let held = locks.filter_map(|(index, made)| {
            let object = ObjectId(index as u32);
            let is_current =
                runtime.objects.find(made.address, made.class).is_some_and(|(known, _)| known == object);
            let (mode, times) = runtime.engine.held_lock(object).filter(|_| is_current)?;
            Some(std::iter::repeat_n((made.address, made.class, mode), times as usize))
        });
        held.flatten().collect()
    });
    let is_shared = |address: u64, class: Class| match class {
        Class::ReadWriteLock => shared::is_lock(address as *const c_void),
        _ => shared::is_mutex(address as *const c_void),
    };
    held.into_iter().filter(|&(address, class, _)| !is_shared(address, class)).collect()
}

/// Waits for a child with `call`, which does not wait and returns 0 if there is none.
fn reap(child: Awaited, place: usize, waits: bool, call: impl Fn() -> isize) -> isize {
    let Awaited::Child(kind, id, flags) = child else { return -(EINTR as isize) };
    let call_begun = Call::begin();
    let is_over = || unwind::is_due() || call_begun.is_interrupted(true);
    loop {
        if is_over() {
            return -(EINTR as isize);
        }
        if waits {
            let children = |runtime: &mut crate::child::runtime::Runtime| runtime.all(What::Children);
            transfer::wait(Awaited::Child(kind, id, flags), false, place, FOREVER, children);
            if is_over() {
                return -(EINTR as isize);
            }
        }
        touch(place, |runtime| runtime.all(What::Children));
        call_begun.note_touch();
        let result = call();
        if result != 0 {
            return result;
        }
        note_no_write();
        if !waits {
            outside::nap();
            return 0;
        }
    }
}

unsafe extern "C" fn wait_any(status: *mut c_int) -> c_int {
    // SAFETY: POSIX requires room for a status, and the null pointer requests no usage.
    unsafe { wait_usage(-1, status, 0, std::ptr::null_mut()) }
}

unsafe extern "C" fn wait_process(process: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: POSIX requires room for a status or null, and the null pointer requests no usage.
    unsafe { wait_usage(process, status, options, std::ptr::null_mut()) }
}

unsafe extern "C" fn wait_any_usage(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    // SAFETY: POSIX requires room for a status and for the usage, or null.
    unsafe { wait_usage(-1, status, options, usage) }
}

unsafe extern "C" fn wait_usage(
    process: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut c_void,
) -> c_int {
    let place = place();
    enter(|| {
        let (kind, id) = match process {
            -1 => (libc::P_ALL, 0),
            1.. => (libc::P_PID, process),
            _ => (libc::P_PGID, process.saturating_neg()),
        };
        let mut flags = libc::WEXITED;
        flags |= if options & libc::WUNTRACED != 0 { libc::WSTOPPED } else { 0 };
        flags |= options & libc::WCONTINUED;
        let child = Awaited::Child(kind as usize, id as usize, flags);
        reap(child, place, options & libc::WNOHANG == 0, || {
            let options = (options | libc::WNOHANG) as usize;
            let arguments = [process as usize, status as usize, options, usage as usize, 0, 0];
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_wait4, arguments) }
        })
    })
    .map_or_else(
        // SAFETY: the program has called `wait4` with these arguments.
        || unsafe { real::wait4(process, status, options, usage) },
        |result| errno_result(result) as c_int,
    )
}

unsafe extern "C" fn wait_by(kind: c_int, id: u32, info: *mut libc::siginfo_t, options: c_int) -> c_int {
    let place = place();
    enter(|| {
        let child = Awaited::Child(kind as usize, id as usize, options & !(libc::WNOHANG | libc::WNOWAIT));
        let result = reap(child, place, options & libc::WNOHANG == 0, || {
            // SAFETY: an all-zero `siginfo_t` is valid.
            let mut info_now: libc::siginfo_t = unsafe { std::mem::zeroed() };
            let options = (options | libc::WNOHANG) as usize;
            let arguments = [kind as usize, id as usize, &raw mut info_now as usize, options, 0, 0];
            // SAFETY: the buffer has room for a `siginfo_t`.
            let result = unsafe { raw::syscall(libc::SYS_waitid, arguments) };
            if !info.is_null() && result == 0 {
                // SAFETY: POSIX requires room for a `siginfo_t`, as `info` is not null.
                unsafe { *info = info_now };
            }
            // SAFETY: the call has filled it, or left the zeroes.
            if result == 0 { isize::from(unsafe { info_now.si_pid() } != 0) } else { result }
        });
        result.min(0)
    })
    // SAFETY: the program has called `waitid` with these arguments.
    .map_or_else(|| unsafe { real::waitid(kind, id, info, options) }, |result| errno_result(result) as c_int)
}

/// The set of `SIGCHLD` alone.
const CHILD: u64 = 1 << (libc::SIGCHLD - 1);

/// The number of threads in `system`.
static COMMANDS: AtomicU32 = AtomicU32::new(0);
/// The signals that were blocked before the first of them, if threads share one mask.
static BLOCKED: AtomicU64 = AtomicU64::new(0);

/// Blocks `SIGCHLD` for the program until [`unblock_child_signal`]. Returns the signals that were blocked originally,
/// and those that a new process must block.
fn block_child_signal() -> (u64, u64) {
    let now = mask_signals(libc::SIG_BLOCK, CHILD);
    let is_first = COMMANDS.fetch_add(1, Ordering::Relaxed) == 0;
    if is_first || switching::uses_os_threads() {
        BLOCKED.store(now, Ordering::Relaxed);
    }
    let before = BLOCKED.load(Ordering::Relaxed);
    (before, now & !CHILD | before & CHILD)
}

fn unblock_child_signal(before: u64) {
    let is_last = COMMANDS.fetch_sub(1, Ordering::Relaxed) == 1;
    if (is_last || switching::uses_os_threads()) && before & CHILD == 0 {
        mask_signals(libc::SIG_UNBLOCK, CHILD);
    }
}

/// Starts a shell command, with these signals blocked. Returns its process.
fn start(command: *const c_char, mask: u64) -> Option<c_int> {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command, std::ptr::null()];
    let mut process = 0;
    // SAFETY: all-zero bits are an empty signal set, and attributes that `init` overwrites; the kernel's sets
    // have 64 bits. The lists end with a null pointer, and there is room for a number.
    let error = unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        (&raw mut blocked).cast::<u64>().write(mask);
        let mut attributes: libc::posix_spawnattr_t = std::mem::zeroed();
        libc::posix_spawnattr_init(&raw mut attributes);
        libc::posix_spawnattr_setsigmask(&raw mut attributes, &raw const blocked);
        libc::posix_spawnattr_setflags(&raw mut attributes, libc::POSIX_SPAWN_SETSIGMASK as i16);
        let (shell, list) = (c"/bin/sh".as_ptr(), arguments.as_ptr().cast());
        let attributes = (&raw const attributes).cast();
        real::posix_spawn(&raw mut process, shell, std::ptr::null(), attributes, list, environ.cast())
    };
    (error == 0).then_some(process)
}

/// Handles `system`. The program gets no signal for the end of the command while a thread waits here.
unsafe extern "C" fn command(command: *const c_char) -> c_int {
    let place = place();
    if command.is_null() || !control::is_running() {
        // SAFETY: the program has called `system` with these arguments.
        return unsafe { real::system(command) };
    }
    enter(|| {
        touch(place, |runtime| runtime.all(What::Children));
        note_process();
    });
    let (before, mask) = block_child_signal();
    let Some(process) = enter(|| start(command, mask)).flatten() else {
        unblock_child_signal(before);
        // As if the shell had returned it.
        return 127 << 8;
    };
    let mut status = 0;
    PLACE.store(place, Ordering::Relaxed);
    // SAFETY: `status` is a local variable.
    let ended = unsafe { wait_process(process, &raw mut status, 0) };
    unblock_child_signal(before);
    if ended == process { status } else { -1 }
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Handles `popen`.
#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, kind: *const c_char) -> *mut c_void {
    enter(note_process);
    // SAFETY: the program has called `popen` with these arguments.
    let opened = unsafe { real::popen(command, kind) };
    stream::take_over_child(opened);
    opened
}

/// Handles `posix_spawn`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    process: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const c_void,
    environment: *const c_void,
) -> c_int {
    enter(note_process);
    // SAFETY: the program has called `posix_spawn` with these arguments.
    unsafe { real::posix_spawn(process, path, actions, attributes, arguments, environment) }
}

/// Handles `posix_spawnp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    process: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const c_void,
    environment: *const c_void,
) -> c_int {
    enter(note_process);
    // SAFETY: the program has called `posix_spawnp` with these arguments.
    unsafe { real::posix_spawnp(process, file, actions, attributes, arguments, environment) }
}

/// Handles `daemon`.
#[unsafe(no_mangle)]
unsafe extern "C" fn daemon(stays: c_int, keeps_files: c_int) -> c_int {
    enter(|| {
        loss::lose(
            "it becomes a daemon: another process, which raddle does not control\n\
             help: let it stay in the foreground; most servers have an option for that",
        )
    });
    // SAFETY: the program has called `daemon` with these arguments.
    unsafe { real::daemon(stays, keeps_files) }
}
