//! System calls that a library makes by an instruction, without a function: the OpenMP library of gcc waits on futexes so.
//!
//! Where it is loaded, the kernel hands every system call of a run that is not made in libc to a handler (Syscall User Dispatch, Linux
//! 5.11), which runs on the stack of the thread, and so can be switched away from. Futexes are then as by `syscall`; all else is done as it
//! was asked. That costs some microseconds a call, also for those of this library. Threads that stay on their OS threads do not have it.
#![expect(unsafe_code, reason = "the kernel hands calls over to a handler")]

use crate::child::control;
use crate::platform::{raw, real};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Whether system calls are handed over, as the kernel reads it.
static SELECTOR: AtomicU8 = AtomicU8::new(LET_PASS);
const LET_PASS: u8 = 0;
const HAND_OVER: u8 = 1;

/// `prctl`'s numbers for it.
const DISPATCH: usize = 59;
const ON: usize = 1;

/// The signal by which they are, as a bit. The kernel ends a process that has it blocked then.
const OWN: u64 = 1 << (libc::SIGSYS - 1);

/// Whether system calls of this process are handed over.
pub(crate) fn is_on() -> bool {
    SELECTOR.load(Ordering::Relaxed) == HAND_OVER
}

/// A process that the program has made has none handed over.
pub(crate) fn end() {
    SELECTOR.store(LET_PASS, Ordering::Relaxed);
}

/// Does `action` on the carrier without system calls handed over, as a thread cannot be made in a handler.
pub(crate) fn pass<R>(action: impl FnOnce() -> R) -> R {
    let before = SELECTOR.swap(LET_PASS, Ordering::Relaxed);
    let result = action();
    SELECTOR.store(before, Ordering::Relaxed);
    result
}

/// Takes the signal that is needed for this out of a set.
///
/// # Safety
/// There is a set of the kernel's at `set`.
pub(crate) unsafe fn spare(set: *mut u64) {
    // SAFETY: there is a set of eight bytes at `set`.
    unsafe { *set &= !OWN };
}

/// What is to be known of the program.
#[derive(Default)]
struct Loaded {
    /// Where the code of libc is: its beginning and length.
    libc: Option<(usize, usize)>,
    /// Whether a library is there that makes such calls.
    wanted: bool,
}

/// Where the code of libc is, if a library needs this; otherwise there is none.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Makes a futex call with these arguments from the location and the frame of the caller, under control.
pub(crate) type FutexCall = unsafe fn([usize; 6], usize, usize) -> isize;

/// The [`FutexCall`] that [`prepare`] was given.
static FUTEX: AtomicUsize = AtomicUsize::new(0);

/// Looks whether there is a library that needs this. Futexes are handed to `futex`. Called before the first run.
pub(crate) fn prepare(futex: FutexCall) {
    FUTEX.store(futex as usize, Ordering::Relaxed);
    let mut loaded = Loaded::default();
    // SAFETY: the function takes what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut loaded).cast()) };
    if let Loaded { libc: Some((begin, length)), wanted: true } = loaded {
        BEGIN.store(begin, Ordering::Relaxed);
        LENGTH.store(length, Ordering::Relaxed);
    }
}

/// Has the system calls of this process handed over, if that is needed. Called on the carrier.
pub(crate) fn begin() {
    let (begin, length) = (BEGIN.load(Ordering::Relaxed), LENGTH.load(Ordering::Relaxed));
    if length == 0 {
        return;
    }
    // SAFETY: an action of zeroes is a valid one; the handler has the type that the flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handed_over as *const () as usize;
        // Others run while a thread waits in the handler, and make such calls, too.
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
    // SAFETY: the loader hands over a description of a file that is loaded, and what it was given.
    let (info, loaded) = unsafe { (&*info, &mut *loaded.cast::<Loaded>()) };
    // SAFETY: the name ends with a zero.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    loaded.wanted |= name.windows(8).any(|part| part == b"libgomp.");
    // SAFETY: there are so many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let (begin, length) = ((info.dlpi_addr + header.p_vaddr) as usize, header.p_memsz as usize);
        if (begin..begin + length).contains(&real::pthread_exit()) {
            loaded.libc = Some((begin, length));
        }
    }
    0
}

/// Makes the system call that was handed over. What it gives is put where the instruction would have left it.
unsafe extern "C" fn handed_over(_: c_int, _: *const libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over a context of this type, and takes it back when the handler returns.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let register = |number: c_int| context.uc_mcontext.gregs[number as usize] as usize;
    let number = register(libc::REG_RAX) as i64;
    let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9]
        .map(register);
    let (place, frame) = (register(libc::REG_RIP), register(libc::REG_RBP));
    let controlled = (number == libc::SYS_futex && control::is_running()).then(|| {
        // SAFETY: `prepare` has stored a function of this type before the first run, and calls are handed over in runs only.
        let futex = unsafe { std::mem::transmute::<usize, FutexCall>(FUTEX.load(Ordering::Relaxed)) };
        // SAFETY: the arguments are those of a futex call that the program has made.
        unsafe { futex(arguments, place, frame) }
    });
    SELECTOR.store(LET_PASS, Ordering::Relaxed);
    // SAFETY: as the program, or this library, has asked for it.
    let result = controlled.unwrap_or_else(|| unsafe { raw::syscall(number, arguments) });
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = result as i64;
    if controlled.is_some() || number == libc::SYS_rt_sigprocmask {
        // The mask of signals is that of all threads, and one that ran meanwhile may have changed it, or this call.
        let mask = &raw mut context.uc_sigmask as usize;
        // SAFETY: there is room for a mask, and none is set.
        unsafe { raw::syscall(libc::SYS_rt_sigprocmask, [0, 0, mask, 8, 0, 0]) };
        // SAFETY: as above.
        unsafe { spare(mask as *mut u64) };
    }
    SELECTOR.store(HAND_OVER, Ordering::Relaxed);
}
