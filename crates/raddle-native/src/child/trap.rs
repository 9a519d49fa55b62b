//! System calls that a library makes with an instruction, without a function: gcc's OpenMP library waits on
//! futexes this way.
//!
//! If it is loaded, the kernel forwards every system call of a run that is not made in libc to a handler
//! (Syscall User Dispatch, Linux 5.11), which runs on the stack of the thread, and so can be suspended.
//! Futexes then work as by `syscall`; all other calls are executed unchanged. That costs some microseconds
//! per call, also for those of this library. It is not available if threads stay on their OS threads.
#![expect(unsafe_code, reason = "the kernel forwards calls to a handler")]

use crate::child::control;
use crate::platform::{raw, real};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// The switch for forwarding system calls, as the kernel reads it.
static SELECTOR: AtomicU8 = AtomicU8::new(LET_PASS);
const LET_PASS: u8 = 0;
const HAND_OVER: u8 = 1;

/// The `prctl` numbers.
const DISPATCH: usize = 59;
const ON: usize = 1;

/// The signal for forwarded calls, as a bit. The kernel ends a process that blocks it.
const OWN: u64 = 1 << (libc::SIGSYS - 1);

/// Returns true if system calls of this process are forwarded.
pub(crate) fn is_on() -> bool {
    SELECTOR.load(Ordering::Relaxed) == HAND_OVER
}

/// Disables forwarding in a process that the program has created.
pub(crate) fn end() {
    SELECTOR.store(LET_PASS, Ordering::Relaxed);
}

/// Calls `action` on the carrier without forwarding, because a thread cannot be created in a handler.
pub(crate) fn pass<R>(action: impl FnOnce() -> R) -> R {
    let before = SELECTOR.swap(LET_PASS, Ordering::Relaxed);
    let result = action();
    SELECTOR.store(before, Ordering::Relaxed);
    result
}

/// Removes the signal for forwarded calls from a set.
///
/// # Safety
/// There is a kernel signal set at `set`.
pub(crate) unsafe fn spare(set: *mut u64) {
    // SAFETY: per the contract of this function, there is a set of eight bytes at `set`.
    unsafe { *set &= !OWN };
}

/// The loaded libraries that matter here.
#[derive(Default)]
struct Loaded {
    /// The address and length of libc's code.
    libc: Option<(usize, usize)>,
    /// True if a library is loaded that makes such calls.
    wanted: bool,
}

/// The address of libc's code, if a library needs forwarding; otherwise 0.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Executes a futex call with these arguments from the location and the frame of the caller, under control.
pub(crate) type FutexCall = unsafe fn([usize; 6], usize, usize) -> isize;

/// The [`FutexCall`] passed to [`prepare`].
static FUTEX: AtomicUsize = AtomicUsize::new(0);

/// Checks whether a library needs forwarding. Futexes are passed to `futex`. Called before the first run.
pub(crate) fn prepare(futex: FutexCall) {
    FUTEX.store(futex as usize, Ordering::Relaxed);
    let mut loaded = Loaded::default();
    // SAFETY: the callback casts its argument back to the type passed here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut loaded).cast()) };
    if let Loaded { libc: Some((begin, length)), wanted: true } = loaded {
        BEGIN.store(begin, Ordering::Relaxed);
        LENGTH.store(length, Ordering::Relaxed);
    }
}

/// Enables forwarding of this process's system calls, if needed. Called on the carrier.
pub(crate) fn begin() {
    let (begin, length) = (BEGIN.load(Ordering::Relaxed), LENGTH.load(Ordering::Relaxed));
    if length == 0 {
        return;
    }
    // SAFETY: an all-zero action is valid; the handler has the type that the flags require.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = forwarded as *const () as usize;
        // Other threads run while one waits in the handler, and make such calls, too.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut());
    }
    let arguments = [DISPATCH, ON, begin, length, SELECTOR.as_ptr() as usize, 0];
    // SAFETY: the kernel only reads the selector, which is never freed.
    if unsafe { raw::syscall(libc::SYS_prctl, arguments) } == 0 {
        SELECTOR.store(HAND_OVER, Ordering::Relaxed);
    }
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader passes the description of a loaded file, and the pointer that `prepare` passed.
    let (info, loaded) = unsafe { (&*info, &mut *loaded.cast::<Loaded>()) };
    // SAFETY: the name is zero-terminated.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    loaded.wanted |= name.windows(8).any(|part| part == b"libgomp.");
    // SAFETY: the loader gives the pointer and the number of the headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let (begin, length) = ((info.dlpi_addr + header.p_vaddr) as usize, header.p_memsz as usize);
        if (begin..begin + length).contains(&real::pthread_exit()) {
            loaded.libc = Some((begin, length));
        }
    }
    0
}

/// Executes a forwarded system call. Its result is stored where the instruction would have left it.
unsafe extern "C" fn forwarded(_: c_int, _: *const libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a context of this type, and restores it when the handler returns.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let register = |number: c_int| context.uc_mcontext.gregs[number as usize] as usize;
    let number = register(libc::REG_RAX) as i64;
    let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9]
        .map(register);
    let (place, frame) = (register(libc::REG_RIP), register(libc::REG_RBP));
    let controlled = (number == libc::SYS_futex && control::is_running()).then(|| {
        // SAFETY: `prepare` has stored a function of this type before the first run, and calls are forwarded
        // only in runs.
        let futex = unsafe { std::mem::transmute::<usize, FutexCall>(FUTEX.load(Ordering::Relaxed)) };
        // SAFETY: the arguments are those of a futex call that the program has made.
        unsafe { futex(arguments, place, frame) }
    });
    SELECTOR.store(LET_PASS, Ordering::Relaxed);
    // SAFETY: the program, or this library, requested this call with these arguments.
    let result = controlled.unwrap_or_else(|| unsafe { raw::syscall(number, arguments) });
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = result as i64;
    if controlled.is_some() || number == libc::SYS_rt_sigprocmask {
        // The signal mask is that of all threads, and another thread or this call may have changed it
        // meanwhile.
        let mask = &raw mut context.uc_sigmask as usize;
        // SAFETY: the context has room for a mask, and none is set.
        unsafe { raw::syscall(libc::SYS_rt_sigprocmask, [0, 0, mask, 8, 0, 0]) };
        // SAFETY: there is a mask in the context, as above.
        unsafe { spare(mask as *mut u64) };
    }
    SELECTOR.store(HAND_OVER, Ordering::Relaxed);
}
