//! System calls that a library makes with an instruction, without a function: gcc's OpenMP library waits on
//! futexes this way.
//!
//! If it is loaded, the kernel forwards every system call of a run that is not made in libc to a handler
//! (Syscall User Dispatch, Linux 5.11), which runs on the stack of the thread, and so can be suspended.
//! Futexes then work as by `syscall`; all other calls are executed unchanged. That costs some microseconds
//! per call, also for those of this library. It is not available if threads stay on their OS threads.
#![expect(unsafe_code, reason = "the kernel forwards calls to a handler")]

use crate::child::control;
use crate::platform::effects::{self, Action, Effect};
use crate::platform::{raw, real};
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// The switch for forwarding system calls, as the kernel reads it.
static SELECTOR: AtomicU8 = AtomicU8::new(LET_PASS);
const LET_PASS: u8 = 0;
const HAND_OVER: u8 = 1;

/// The `prctl` numbers.
const DISPATCH: usize = 59;
const ON: usize = 1;

/// The signal for forwarded calls, as a bit. The kernel ends a process that blocks it.
const OWN: u64 = 1 << (libc::SIGSYS - 1);

/// True if the system calls of all code but that of this library are forwarded, only to record their effects.
static RECORDS: AtomicBool = AtomicBool::new(false);

/// Returns true if system calls of this process are forwarded to be controlled.
pub(crate) fn is_on() -> bool {
    SELECTOR.load(Ordering::Relaxed) == HAND_OVER && !RECORDS.load(Ordering::Relaxed)
}

/// Returns true if system calls are forwarded to be controlled in every run.
pub(crate) fn is_prepared() -> bool {
    LENGTH.load(Ordering::Relaxed) != 0
}

/// Disables forwarding in a process that the program has created, and in one that does not record effects after all.
pub(crate) fn end() {
    SELECTOR.store(LET_PASS, Ordering::Relaxed);
    RECORDS.store(false, Ordering::Relaxed);
    effects::end();
}

/// Stops forwarding until the next run, if calls are forwarded to record their effects.
pub(crate) fn stop_recording() {
    if RECORDS.load(Ordering::Relaxed) {
        SELECTOR.store(LET_PASS, Ordering::Relaxed);
    }
}

/// Calls `action` on the carrier without forwarding, because a thread cannot be created in a handler.
pub(crate) fn pass<R>(action: impl FnOnce() -> R) -> R {
    let before = SELECTOR.swap(LET_PASS, Ordering::Relaxed);
    let result = action();
    SELECTOR.store(before, Ordering::Relaxed);
    result
}

/// True while the C library creates a thread for the runtime.
static CREATES: AtomicBool = AtomicBool::new(false);

/// Calls `action`, which creates a thread with the C library. Its system calls are recorded up to the one that creates
/// the thread, which cannot be executed in a handler. An OS thread leaves no trace if it has ended when the run ends.
pub(crate) fn create_thread<R>(action: impl FnOnce() -> R) -> R {
    if !RECORDS.load(Ordering::Relaxed) {
        return action();
    }
    let before = SELECTOR.load(Ordering::Relaxed);
    CREATES.store(true, Ordering::Relaxed);
    let result = action();
    CREATES.store(false, Ordering::Relaxed);
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
    if RECORDS.load(Ordering::Relaxed) {
        SELECTOR.store(HAND_OVER, Ordering::Relaxed);
        return;
    }
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

/// Prepares to record the effects of all system calls of runs in this process ([`effects`]), except those made from
/// `own`, the code of this library, which records its own. Returns false if that is not possible. Not for OpenMP, whose
/// calls are controlled ([`is_prepared`]).
pub(crate) fn record(own: &Range<usize>) -> bool {
    const SA_RESTORER: u64 = 0x0400_0000;
    let flags = SA_RESTORER | (libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK) as u64;
    let action: Action = [recorded as *const () as u64, flags, return_from_handler as *const () as u64, 0];
    let set = [libc::SIGSYS as usize, std::ptr::from_ref(&action) as usize, 0, 8, 0, 0];
    let dispatch = [DISPATCH, ON, own.start, own.len(), SELECTOR.as_ptr() as usize, 0];
    // SAFETY: the handler has the type that the flags require; the kernel only reads the selector, which is never freed.
    let done = unsafe {
        raw::syscall(libc::SYS_rt_sigaction, set) == 0 && raw::syscall(libc::SYS_prctl, dispatch) == 0
    };
    RECORDS.store(done, Ordering::Relaxed);
    done
}

/// Returns from a handler. The C library's code for that would be forwarded.
#[unsafe(naked)]
unsafe extern "C" fn return_from_handler() {
    std::arch::naked_asm!("mov eax, {}", "syscall", const libc::SYS_rt_sigreturn)
}

/// Executes a system call of the program and records its effect. One that leaves a trace is repeated by the program,
/// and from then on calls are not forwarded: the process ends with the run in any case.
unsafe extern "C" fn recorded(_: c_int, _: *const libc::siginfo_t, context: *mut c_void) {
    /// The size of a system call instruction.
    const INSTRUCTION: i64 = 2;
    SELECTOR.store(LET_PASS, Ordering::Relaxed);
    // SAFETY: the kernel passes a context of this type, and restores it when the handler returns.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    let register = |number: c_int| registers[number as usize] as usize;
    let number = register(libc::REG_RAX) as i64;
    let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9]
        .map(register);
    let effect = effects::effect(number, &arguments);
    let is_bad_action = effect == Effect::SetsAction && !raw::is_readable(arguments[1], size_of::<Action>());
    if !effects::is_contained(effect, &arguments, false) || is_bad_action {
        let creates = CREATES.load(Ordering::Relaxed) && matches!(number, libc::SYS_clone | libc::SYS_clone3);
        if !creates {
            effects::leave_trace();
        }
        registers[libc::REG_RIP as usize] -= INSTRUCTION;
        return;
    }
    // SAFETY: the program requested this call with these arguments.
    let call = |arguments| unsafe { raw::syscall(number, arguments) };
    let result = if effect == Effect::SetsAction { set_action(arguments) } else { call(arguments) };
    registers[libc::REG_RAX as usize] = result as i64;
    if effect == Effect::Mask {
        copy_mask(context);
    }
    SELECTOR.store(HAND_OVER, Ordering::Relaxed);
}

/// Sets the action of a signal, as the program requested it, but lets the handler be interrupted by our own signal.
fn set_action(arguments: [usize; 6]) -> isize {
    let [signal, new, old, size, ..] = arguments;
    let mut before: Action = [0; 4];
    let ask = [signal, 0, &raw mut before as usize, size, 0, 0];
    // SAFETY: there is an action at `new`, which the caller has checked, and room for one at `before`.
    unsafe {
        if raw::syscall(libc::SYS_rt_sigaction, ask) == 0 {
            effects::note_action(signal as c_int, before);
        }
        let mut action = (new as *const Action).read_unaligned();
        action[3] &= !OWN;
        raw::syscall(libc::SYS_rt_sigaction, [signal, &raw const action as usize, old, size, 0, 0])
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
        copy_mask(context);
    }
    SELECTOR.store(HAND_OVER, Ordering::Relaxed);
}

/// Makes the current signal mask the one that the handler returns to: it is that of all threads, and another thread or
/// the forwarded call may have changed it meanwhile.
fn copy_mask(context: &mut libc::ucontext_t) {
    let mask = &raw mut context.uc_sigmask as usize;
    // SAFETY: the context has room for a mask, and none is set.
    unsafe { raw::syscall(libc::SYS_rt_sigprocmask, [0, 0, mask, 8, 0, 0]) };
    // SAFETY: there is a mask in the context, as above.
    unsafe { spare(mask as *mut u64) };
}
