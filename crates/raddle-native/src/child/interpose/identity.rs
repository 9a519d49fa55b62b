//! The user and groups of the process, and the ids of its threads.
//!
//! The kernel stores them per OS thread. The C library sends every other thread a signal to follow a change
//! and waits for it, but the OS threads of fibers are parked and take no signals. All code of the program
//! runs on the carrier, and later threads inherit from it, so it suffices to change the carrier.

use super::entry::exported;
use crate::child::control::{self, enter};
use crate::child::loss::lose;
use crate::child::runtime::with;
use crate::child::switching;
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::ESRCH;
use raddle_model::ThreadId;
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::Ordering;

/// Executes the system call on the carrier alone, if the program has other threads. Otherwise the C library
/// does it.
fn on_carrier(name: &str, number: c_long, arguments: [usize; 3]) -> Option<c_int> {
    let result = enter(|| {
        if with(|runtime| runtime.threads.iter().filter(|thread| !thread.ended).count()) == 1 {
            return None;
        }
        if switching::uses_os_threads() {
            lose(&format!(
                "{name} is called while other threads are alive, which --threads os does not support\nhelp: use --threads fibers"
            ));
        }
        let [a, b, c] = arguments;
        // SAFETY: the arguments are those of the program's call.
        Some(unsafe { raw::syscall(number, [a, b, c, 0, 0, 0]) })
    });
    result.flatten().map(|result| errno_result(result) as c_int)
}

/// Defines C functions that the kernel has under the same name and with the same arguments.
macro_rules! changes {
    ($($name:ident($($argument:ident: $type:ty),+) as $number:ident($($value:expr),+);)*) => {$(
        exported! { $name }

        /// Handles the C function of that name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),+) -> c_int {
            match on_carrier(stringify!($name), libc::$number, [$($value as usize),+]) {
                Some(result) => result,
                // SAFETY: the program has called the function of this name with these arguments.
                None => unsafe { real::$name($($argument),+) },
            }
        }
    )*};
}

/// The value that leaves an identity unchanged.
const SAME: u32 = u32::MAX;

changes! {
    setuid(id: u32) as SYS_setuid(id, 0, 0);
    setgid(id: u32) as SYS_setgid(id, 0, 0);
    seteuid(id: u32) as SYS_setresuid(SAME, id, SAME);
    setegid(id: u32) as SYS_setresgid(SAME, id, SAME);
    setreuid(id: u32, effective: u32) as SYS_setreuid(id, effective, 0);
    setregid(id: u32, effective: u32) as SYS_setregid(id, effective, 0);
    setresuid(id: u32, effective: u32, saved: u32) as SYS_setresuid(id, effective, saved);
    setresgid(id: u32, effective: u32, saved: u32) as SYS_setresgid(id, effective, saved);
    setgroups(count: usize, groups: *const u32) as SYS_setgroups(count, groups, 0);
}

/// The id of the first thread after the main thread. Ids have the same number of digits in every run, because
/// Rust prints them with a panic, and a text of another length needs different memory. The kernel does not
/// know them: a signal to one, or setting its affinity, is rejected.
pub(super) const FIRST_THREAD: c_int = 1_000_000;

/// Returns the error for an invalid thread handle, in a function that the program called at `place`. glibc
/// reads the thread id there, so the program gets SIGSEGV if the memory is not mapped.
pub(super) fn of_no_thread(handle: u64, place: usize) -> c_int {
    /// The offset of the thread id in glibc's thread descriptor.
    const ID_AT: u64 = 0x2d0;
    control::probe(handle.wrapping_add(ID_AT) as *const c_void, place);
    ESRCH
}

/// Lets glibc call the kernel for a thread. If that has no OS thread of its own, the call applies to the
/// carrier.
pub(super) fn about(thread: u64, call: impl FnOnce() -> c_int) -> c_int {
    let Some(word) = enter(|| with(|runtime| runtime.number_of_none(thread))).flatten() else {
        return call();
    };
    // The carrier of fibers is the main thread.
    let number = word.swap(std::process::id(), Ordering::Relaxed);
    let result = call();
    word.store(number, Ordering::Relaxed);
    result
}

/// Defines C functions that query the kernel about a thread.
macro_rules! questions {
    ($($name:ident($($argument:ident: $type:ty),+);)*) => {$(
        exported! { $name }

        /// Handles the C function of that name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(thread: u64, $($argument: $type),+) -> c_int {
            // SAFETY: the program has called the function of this name with these arguments.
            about(thread, || unsafe { real::$name(thread, $($argument),+) })
        }
    )*};
}

questions! {
    pthread_getattr_np(attributes: *mut c_void);
    pthread_setaffinity_np(size: usize, set: *const c_void);
    pthread_getaffinity_np(size: usize, set: *mut c_void);
    pthread_setschedparam(policy: c_int, parameters: *const c_void);
    pthread_getschedparam(policy: *mut c_int, parameters: *mut c_void);
    pthread_setschedprio(priority: c_int);
    pthread_getcpuclockid(clock: *mut c_int);
}

/// Returns the thread with an id that [`thread_number`] returns, or that of the process; `None` for ids of other processes.
pub(super) fn thread_with(number: c_int) -> Option<ThreadId> {
    let is_main = number == std::process::id() as c_int;
    (is_main || number > FIRST_THREAD)
        .then(|| ThreadId(if is_main { 0 } else { (number - FIRST_THREAD) as u32 }))
}

/// Returns the id that the current thread sees; `None` for the first one, whose id is that of the process.
pub(super) fn thread_number() -> Option<c_int> {
    let current = enter(|| with(|runtime| runtime.current.0)).filter(|&current| current > 0)?;
    Some(FIRST_THREAD + current as c_int)
}

/// Handles `gettid`: the kernel would return the carrier's id for all threads.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettid() -> c_int {
    // SAFETY: the system call touches no memory.
    thread_number().unwrap_or_else(|| unsafe { raw::syscall(libc::SYS_gettid, [0; 6]) } as c_int)
}
