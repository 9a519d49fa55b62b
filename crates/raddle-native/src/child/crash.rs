//! Signals that end a run.
#![expect(unsafe_code, reason = "signal handlers are installed")]

use crate::child::{control, loss, results, runtime, shared_memory, stack};
use crate::platform::{raw, signals};
use raddle_model::Failure;
use std::ffi::{c_int, c_void};

const FATAL: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Returns the signal by which the server asks a run where it is. Programs have no use for it.
pub(crate) fn late_signal() -> c_int {
    libc::SIGRTMAX()
}

/// The stack on which a crash is told; it has room for writing the results.
const STACK: usize = 1 << 20;

/// Watches for signals that end the program. The stack of the handler belongs to the carrier, and so to all threads; where
/// threads stay on their OS threads, each of the others calls [`use_own_stack`].
pub(crate) fn watch() {
    use_own_stack();
    let asked: Handler = asked;
    let handlers =
        FATAL.map(|signal| (signal, caught as Handler)).into_iter().chain([(late_signal(), asked)]);
    for (signal, handler) in handlers {
        // SAFETY: an action of zeroes is a valid one; the handler has the type that the flags say.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Gives the current OS thread a stack for the handlers of signals. It is of the library's own memory, so that what the
/// program maps has the same addresses with and without it.
pub(crate) fn use_own_stack() {
    let Ok(layout) = std::alloc::Layout::from_size_align(STACK, 4096) else { return };
    // SAFETY: the layout has a size.
    let memory = unsafe { std::alloc::alloc(layout) };
    if memory.is_null() {
        return;
    }
    let stack = libc::stack_t { ss_sp: memory.cast(), ss_flags: 0, ss_size: STACK };
    let arguments = [std::ptr::from_ref(&stack) as usize, 0, 0, 0, 0, 0];
    // SAFETY: the stack is fresh memory that is never freed.
    unsafe { raw::syscall(libc::SYS_sigaltstack, arguments) };
}

/// A handler of a signal, with what the kernel tells of it.
type Handler = unsafe extern "C" fn(c_int, *const libc::siginfo_t, *const c_void);

/// Tells the server which instruction the run is at.
unsafe extern "C" fn asked(_: c_int, _: *const libc::siginfo_t, context: *const c_void) {
    // SAFETY: the kernel hands over a context of this type.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    shared_memory::note_late(registers[libc::REG_RIP as usize] as u64);
    // The run is lost, and the server ends it.
    loop {
        // SAFETY: it waits, and touches no memory.
        unsafe { raw::syscall(libc::SYS_pause, [0; 6]) };
    }
}

unsafe extern "C" fn caught(signal: c_int, info: *const libc::siginfo_t, context: *const c_void) {
    // SAFETY: the kernel hands over a context of this type, and information about this signal.
    let (registers, address) =
        unsafe { (&(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs, (*info).si_addr() as u64) };
    let [place, frame, top] =
        [libc::REG_RIP, libc::REG_RBP, libc::REG_RSP].map(|register| registers[register as usize] as usize);
    // A frame pointer that is none may point anywhere.
    stack::set_frame(if frame >= top { frame } else { 0 });
    // What glibc does at the end of a thread happens inside, and aborts if the program has damaged its memory.
    if control::is_inside() && signal != libc::SIGABRT {
        loss::lose(&format!(
            "a mistake of raddle: {} at {place:#x} inside the runtime",
            signals::name(signal)
        ));
    }
    if !control::is_running() && !control::is_inside() {
        // The program's own end, after the run: as without us.
        // SAFETY: the default action ends the process when the signal comes again, at the same instruction.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    control::end();
    let has_address = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    runtime::with(|runtime| {
        if let Some(values) = runtime.values.as_mut().filter(|_| has_address) {
            values.refuse(address);
        }
        // Places are return addresses, one instruction after what is meant.
        runtime.fail(control::probed_at().unwrap_or(place + 1), |thread, location| Failure::Signal {
            thread,
            location,
            signal: signals::name(signal),
            address: has_address.then_some(address),
        });
        results::write(runtime);
    });
    raw::exit(0)
}

/// Said of a run that was killed from outside, and so was the one that was made in its place.
pub(crate) const KILLED: &str = "a run was killed from outside (SIGKILL), and again when it was made a second time: the system does that \
     where memory runs out; this is not a failure of the program; make fewer runs at a time with --jobs, or give them more memory";

/// Returns whether a run with this status was ended by a signal that users and the system send, and the program itself did not.
pub(crate) fn is_from_outside(status: i32) -> bool {
    let from_others = [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP];
    libc::WIFSIGNALED(status)
        && from_others.contains(&libc::WTERMSIG(status))
        && shared_memory::sent() != libc::WTERMSIG(status)
}

/// Why a run left nothing behind, by the status of its process.
pub(crate) fn unseen(status: i32) -> String {
    if libc::WIFSIGNALED(status) {
        let signal = signals::name(libc::WTERMSIG(status));
        return format!("a run was ended by {signal}, and not at the same point when it was made again");
    }
    "a run ended by a system call that raddle does not see, and not at the same point when it was made again"
        .to_owned()
}
