//! Signals that end a run.
#![expect(unsafe_code, reason = "signal handlers are installed")]

use crate::child::{callers, control, loss, results, runtime, shared_memory, stack};
use crate::platform::{raw, signals};
use raddle_model::Failure;
use std::ffi::{c_int, c_void};

const FATAL: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Returns the signal by which the server asks a run for its location. Programs do not use it.
pub(crate) fn late_signal() -> c_int {
    libc::SIGRTMAX()
}

/// The stack on which a crash is handled; it has room for writing the results.
const STACK: usize = 1 << 20;

/// Installs handlers for signals that end the program. The stack of the handler belongs to the carrier, and
/// so to all threads; if threads stay on their OS threads, each of the others calls [`use_own_stack`].
pub(crate) fn watch() {
    use_own_stack();
    let asked: Handler = asked;
    let handlers =
        FATAL.map(|signal| (signal, caught as Handler)).into_iter().chain([(late_signal(), asked)]);
    for (signal, handler) in handlers {
        // SAFETY: an all-zero action is valid; the handler has the type that the flags require.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Returns true for the handler by which a crash is reported; the program has not set one.
pub(crate) fn is_own(handler: usize) -> bool {
    handler == caught as *const () as usize
}

/// Sets a stack for the signal handlers of the current OS thread. It is part of the library's own memory, so
/// that the program's mappings have the same addresses with and without it.
pub(crate) fn use_own_stack() {
    let Ok(layout) = std::alloc::Layout::from_size_align(STACK, 4096) else { return };
    // SAFETY: the layout has a nonzero size.
    let memory = unsafe { std::alloc::alloc(layout) };
    if memory.is_null() {
        return;
    }
    let stack = libc::stack_t { ss_sp: memory.cast(), ss_flags: 0, ss_size: STACK };
    let arguments = [std::ptr::from_ref(&stack) as usize, 0, 0, 0, 0, 0];
    // SAFETY: the stack is fresh memory that is never freed.
    unsafe { raw::syscall(libc::SYS_sigaltstack, arguments) };
}

/// A signal handler that receives the kernel's description of the signal.
type Handler = unsafe extern "C" fn(c_int, *const libc::siginfo_t, *const c_void);

/// Reports the current instruction of the run to the server.
unsafe extern "C" fn asked(_: c_int, _: *const libc::siginfo_t, context: *const c_void) {
    // SAFETY: the kernel passes a context of this type.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let [place, top] = [libc::REG_RIP, libc::REG_RSP].map(|register| registers[register as usize] as usize);
    // Locations are return addresses, one instruction after the call.
    shared_memory::note_late(callers::of_program_here(place, top) as u64 - 1);
    // The run is lost, and the server ends it, unless the server was killed meanwhile.
    let second = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    // SAFETY: the system call touches no memory.
    let parent = || unsafe { raw::syscall(libc::SYS_getppid, [0; 6]) };
    let server = parent();
    while parent() == server {
        let arguments = [std::ptr::from_ref(&second) as usize, 0, 0, 0, 0, 0];
        // SAFETY: the kernel reads the time, which is valid.
        unsafe { raw::syscall(libc::SYS_nanosleep, arguments) };
    }
    raw::exit(0)
}

unsafe extern "C" fn caught(signal: c_int, info: *const libc::siginfo_t, context: *const c_void) {
    // SAFETY: the kernel passes a context of this type, and information about this signal.
    let (registers, address) =
        unsafe { (&(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs, (*info).si_addr() as u64) };
    let [place, frame, top] =
        [libc::REG_RIP, libc::REG_RBP, libc::REG_RSP].map(|register| registers[register as usize] as usize);
    // An invalid frame pointer may point anywhere.
    stack::set_frame(if frame >= top { frame } else { 0 });
    // glibc's work at the end of a thread runs inside the runtime, and aborts if the program has corrupted
    // its memory.
    let probed = control::probed_at();
    if control::is_inside() && probed.is_none() && signal != libc::SIGABRT {
        loss::lose(&format!("internal error: {} at {place:#x} inside the runtime", signals::name(signal)));
    }
    if !control::is_running() && !control::is_inside() {
        // The program's own end, after the run: as without Raddle. SAFETY: the default action ends the
        // process when the signal recurs, at the same instruction.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    control::end();
    let has_address = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    runtime::with(|runtime| {
        if let Some(values) = runtime.values.as_mut().filter(|_| has_address) {
            values.refuse(address);
        }
        // Locations are return addresses, one instruction after the call.
        let place = probed.unwrap_or_else(|| callers::of_program(runtime.modules, place, top));
        runtime.fail(place, |thread, location| Failure::Signal {
            thread,
            location,
            signal: signals::name(signal),
            address: has_address.then_some(address),
        });
        results::write(runtime);
    });
    raw::exit(0)
}

/// The message for a run that was killed from outside, twice in a row.
pub(crate) const KILLED: &str = "a run was killed from outside (SIGKILL) twice in a row; the system does that when memory runs out, \
     and it is not a failure of the program\nhelp: use fewer --jobs, or provide more memory";

/// Returns true if a run with this status was ended by a signal from a user or the system, and not from the
/// program itself.
pub(crate) fn is_from_outside(status: i32) -> bool {
    let from_others = [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP];
    libc::WIFSIGNALED(status)
        && from_others.contains(&libc::WTERMSIG(status))
        && shared_memory::sent() != libc::WTERMSIG(status)
}

/// Returns the reason why a run left no result, by the status of its process.
pub(crate) fn unseen(status: i32) -> String {
    if libc::WIFSIGNALED(status) {
        let signal = signals::name(libc::WTERMSIG(status));
        return format!("a run was ended by {signal}, and at another point when it was repeated");
    }
    "a run ended with a system call that raddle does not see, and at another point when it was repeated"
        .to_owned()
}
