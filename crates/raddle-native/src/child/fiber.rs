//! glibc threads as fibers of one OS thread, the carrier.
//!
//! `pthread_create` creates a real thread, with its descriptor, thread-local storage and stack. Its OS thread
//! saves its registers and parks on a futex without using its stack
//! ([`park`](crate::child::switching::park)). From then on the carrier can become that thread by loading its
//! stack pointer and FS base ([`switch`](crate::child::switching::switch)). At its end the carrier abandons
//! the stack, and [`Fiber::release`] lets the OS thread continue from there, so that glibc ends it.
//!
//! A suspended context has its registers on its own stack, and the [`Fiber`] knows where:
//!
//! ```text
//!   Fiber                       stack of the thread
//!   +--------------------+      :  frames of the program    :  high addresses
//!   | +0  stack_pointer  |--+   :                           :
//!   | +8  fs_base        |  |   +---------------------------+
//!   | +16 state          |  |   | frame of `hand_over`      |  has called `switch_stacks`
//!   +--------------------+  |   +---------------------------+
//!                           |   | +56 return address        |
//!                           |   | +48 rbp                   |
//!                           |   | +40 rbx                   |
//!                           |   | +32 r12                   |
//!                           |   | +24 r13                   |
//!                           |   | +16 r14                   |
//!                           |   | +8  r15                   |
//!                           |   | +4  x87 control word      |
//!                           +-->| +0  MXCSR                 |  low addresses
//!                               +---------------------------+
//! ```
//!
//! A switch pushes these registers, stores the stack pointer and the FS base in the current fiber, loads
//! those of the next fiber, and pops the registers there: the `ret` at its end returns on the other stack.
//! All other registers are the caller's to save. [`park`](crate::child::switching::park) and [`leave_behind`]
//! create the same layout on a new thread's stack.
//!
//! A thread may also be created before the process forks ([`leave_behind`]). Its OS thread ends, and a child
//! inherits a context without an OS thread, which the carrier can still become. If glibc has work to do at
//! the end of the thread, it gets an OS thread then.
//!
//! With `--threads os`, [`os_thread`](crate::child::os_thread) does all of this instead.
#![expect(unsafe_code, reason = "registers, stacks and FS bases are switched by hand")]

use crate::child::{loss, trap};
use crate::platform::{raw, signals};
use std::arch::naked_asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A thread that can be switched to while it is suspended.
#[repr(C)]
pub(crate) struct Fiber {
    // The assembly below knows the offsets of the first three.
    stack_pointer: usize,
    fs_base: usize,
    pub(crate) state: AtomicU32,
    /// The kernel's id of the OS thread; 0 for the carrier, or the main thread.
    pub(crate) number: AtomicU32,
    /// The address where the kernel writes 0 when the OS thread has run its last instruction; 0 if unknown.
    end: AtomicUsize,
    /// The state of the OS thread of this fiber.
    behind: AtomicU32,
}

/// The fiber has an OS thread.
const OS_THREAD: u32 = 0;
/// It has none, and glibc has work to do at the end of the thread.
const NOTHING: u32 = 1;
/// It has none, and there is no work to do either.
const NOTHING_LEFT: u32 = 2;

/// Asks the kernel for the word that it clears at the end of the calling thread.
const PR_GET_TID_ADDRESS: usize = 40;

/// Not parked yet.
const NEW: u32 = 0;
/// The OS thread waits; its context belongs to the carrier.
pub(crate) const PARKED: u32 = 1;
/// The OS thread may continue from where the carrier left its context.
pub(crate) const RELEASED: u32 = 2;
/// The OS thread may continue its own work; only if threads stay on their own OS threads.
pub(crate) const TURN: u32 = 3;
/// The OS thread ends without a look at its context; only after a run.
const ABANDONED: u32 = 4;

impl Fiber {
    /// Creates a fiber without a context. The carrier's fiber gets one when it is switched away from, others
    /// by parking.
    pub(crate) const fn new() -> Fiber {
        Fiber {
            stack_pointer: 0,
            fs_base: 0,
            state: AtomicU32::new(NEW),
            number: AtomicU32::new(0),
            end: AtomicUsize::new(0),
            behind: AtomicU32::new(OS_THREAD),
        }
    }

    /// Returns the word by which glibc knows the OS thread and that the kernel clears, if it is one: it holds
    /// the thread's id.
    pub(crate) fn word(&self) -> Option<&AtomicU32> {
        let end = self.end.load(Ordering::Relaxed) as *const AtomicU32;
        // SAFETY: the word is in glibc's descriptor of a thread that has not been joined, so it is mapped.
        unsafe { end.as_ref() }
    }

    /// Waits until the OS thread that left this fiber behind has ended.
    pub(crate) fn wait_until_ended(&self) {
        self.wait_until_parked();
        self.wait_for_end();
        self.behind.store(NOTHING, Ordering::Relaxed);
    }

    /// Sets the id by which glibc knows the thread of a fiber that was left behind.
    pub(crate) fn adopt(&self, number: u32) {
        if !self.was_left_behind() {
            return;
        }
        self.number.store(number, Ordering::Relaxed);
        self.word().inspect(|word| word.store(number, Ordering::Relaxed));
    }

    /// Returns true if this fiber has no OS thread.
    pub(crate) fn was_left_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed) != OS_THREAD
    }

    /// Records that glibc has no work to do at the end of this thread.
    pub(crate) fn needs_no_end(&self) {
        if self.was_left_behind() {
            self.behind.store(NOTHING_LEFT, Ordering::Relaxed);
        }
    }

    /// Waits until the OS thread of this fiber has parked.
    pub(crate) fn wait_until_parked(&self) {
        while self.state.load(Ordering::Acquire) == NEW {
            raw::futex_wait(&self.state, NEW);
        }
    }

    /// Records the id of the calling OS thread, which is about to park.
    pub(crate) fn note_number(&self) {
        // SAFETY: the system call touches no memory.
        let number = unsafe { raw::syscall(libc::SYS_gettid, [0; 6]) };
        self.number.store(number as u32, Ordering::Relaxed);
        let mut end = 0_usize;
        let to = &raw mut end as usize;
        // SAFETY: the kernel writes one address to `end`, or fails.
        unsafe { raw::syscall(libc::SYS_prctl, [PR_GET_TID_ADDRESS, to, 0, 0, 0, 0]) };
        self.end.store(end, Ordering::Relaxed);
        if self.word().is_some_and(|word| word.load(Ordering::Relaxed) != number as u32) {
            self.end.store(0, Ordering::Relaxed);
        }
    }

    /// Lets the OS thread continue where the carrier left its context, never to return, and waits for its
    /// end. So glibc's work at the end of a thread happens at the same point in every run.
    pub(crate) fn release(&self) {
        debug_assert_eq!(self.state.load(Ordering::Relaxed), PARKED, "only a parked thread is released");
        self.state.store(RELEASED, Ordering::Release);
        match self.behind.load(Ordering::Relaxed) {
            OS_THREAD => raw::futex_wake(&self.state),
            NOTHING => self.go_on_by_itself(),
            _ => {
                // For glibc the thread has run its last instruction.
                self.word().inspect(|word| word.store(0, Ordering::Release));
                return;
            }
        }
        self.wait_for_end();
    }

    /// Ends the OS thread, which is parked, after a run whose memory is put back.
    pub(crate) fn abandon(&self) {
        self.state.store(ABANDONED, Ordering::Release);
        raw::futex_wake(&self.state);
        self.wait_for_end();
    }

    /// Creates an OS thread that continues where the carrier left the context.
    fn go_on_by_itself(&self) {
        /// The clone flags of glibc's threads.
        const FLAGS: i32 = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM
            | libc::CLONE_SETTLS
            | libc::CLONE_PARENT_SETTID
            | libc::CLONE_CHILD_CLEARTID;
        let number = trap::pass(|| {
            let mask = signals::block_signals();
            // SAFETY: the context is suspended, the carrier never returns to it, and the word is that of its
            // thread.
            let number = unsafe { start_thread_in(self, FLAGS as usize, self.end.load(Ordering::Relaxed)) };
            signals::set_signals(mask);
            number
        });
        if number < 0 {
            loss::refuse(
                "the system refuses to create a thread; this is not a failure of the program\nhelp: raise `ulimit -u`, or use fewer --jobs",
            );
        }
        self.number.store(number as u32, Ordering::Relaxed);
    }

    /// Waits until the OS thread has ended.
    fn wait_for_end(&self) {
        let thread = self.number.load(Ordering::Relaxed);
        // The kernel changes the word from the thread's id to 0 once, and wakes one waiter.
        if let Some(end) = self.word() {
            while end.load(Ordering::Acquire) == thread {
                raw::futex_wait(end, thread);
            }
        }
        self.wait_until_gone(thread as usize);
    }

    /// Waits until the kernel no longer knows the OS thread. It is about to end, so the first checks spin: on
    /// a busy machine, a yielding thread is not rescheduled soon.
    fn wait_until_gone(&self, thread: usize) {
        const LOOKS: u32 = 100;
        let process = std::process::id() as usize;
        let mut looks = 0;
        // SAFETY: signal 0 only tests whether this process has such a thread.
        while unsafe { raw::syscall(libc::SYS_tgkill, [process, thread, 0, 0, 0, 0]) } == 0 {
            looks += 1;
            if looks > LOOKS {
                // SAFETY: the system call touches no memory.
                unsafe { raw::syscall(libc::SYS_sched_yield, [0; 6]) };
            }
        }
    }
}

/// Suspends the current context in `fiber` and ends the OS thread. Returns on a carrier that switches to the
/// fiber, in a child of this process; if that carrier switches away from it and an OS thread is needed,
/// returns from that switch on the OS thread.
///
/// # Safety
/// As for [`park`](crate::child::switching::park), if threads are fibers.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave_behind(fiber: *mut Fiber) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov rbx, rdi",
        "mov [rbx], rsp",
        "rdfsbase rax",
        "mov [rbx + 8], rax",
        "mov dword ptr [rbx + 16], {PARKED}",
        // futex(&state, WAKE, ..), exit(0).
        "lea rdi, [rbx + 16]",
        "mov esi, 1",
        "mov edx, 0x7fffffff",
        "mov eax, 202",
        "syscall",
        "xor edi, edi",
        "mov eax, 60",
        "syscall",
        "ud2",
        PARKED = const PARKED,
    )
}

/// Calls clone(flags, the stack of `fiber`, word, word, the FS base of `fiber`). Returns the id of the OS
/// thread, which continues with the context, or an error as the kernel does.
///
/// # Safety
/// The context is suspended, and nothing else continues it.
#[unsafe(naked)]
unsafe extern "C" fn start_thread_in(fiber: *const Fiber, flags: usize, word: usize) -> isize {
    naked_asm!(
        "mov r8, [rdi + 8]",
        "mov rax, [rdi]",
        "mov rdi, rsi",
        "mov rsi, rax",
        "mov r10, rdx",
        "mov eax, 56",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Suspends the current context in `from` and continues the one in `to`, on the carrier.
///
/// # Safety
/// As for [`switch`](crate::child::switching::switch).
#[unsafe(naked)]
pub(super) unsafe extern "C" fn switch_stacks(from: *mut Fiber, to: *const Fiber) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "rdfsbase rax",
        "mov [rdi + 8], rax",
        "mov rax, [rsi + 8]",
        "wrfsbase rax",
        "mov rsp, [rsi]",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Suspends the current context in `fiber` and parks the OS thread, for the carrier.
///
/// # Safety
/// As for [`park`](crate::child::switching::park).
#[unsafe(naked)]
pub(super) unsafe extern "C" fn park_stack(fiber: *mut Fiber) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov rbx, rdi",
        "mov [rbx], rsp",
        "rdfsbase rax",
        "mov [rbx + 8], rax",
        "mov dword ptr [rbx + 16], {PARKED}",
        // Wake the waiter, then wait to be released: futex(&state, WAKE or WAIT, ..).
        "lea rdi, [rbx + 16]",
        "mov esi, 1",
        "mov edx, 0x7fffffff",
        "mov eax, 202",
        "syscall",
        "2:",
        "mov eax, [rbx + 16]",
        "cmp eax, {RELEASED}",
        "je 3f",
        "cmp eax, {ABANDONED}",
        "je 4f",
        "lea rdi, [rbx + 16]",
        "xor esi, esi",
        "mov edx, {PARKED}",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        "jmp 2b",
        "3:",
        "mov rsp, [rbx]",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        // exit(0).
        "4:",
        "xor edi, edi",
        "mov eax, 60",
        "syscall",
        "ud2",
        PARKED = const PARKED,
        RELEASED = const RELEASED,
        ABANDONED = const ABANDONED,
    )
}

unsafe extern "C" {
    fn __sigsetjmp();
    fn __pthread_register_cancel();
    fn __pthread_unregister_cancel();
}

/// Calls `start(a, b, c)` as the outermost frame of a thread. If `pthread_exit` unwinds the thread, the
/// unwinding ends here instead of in glibc's start routine, which would end the carrier; then `*unwound` is
/// set and the result is null.
///
/// The frame holds a `__pthread_unwind_buf_t` of 104 bytes, registered as `pthread_cleanup_push` does it.
///
/// # Safety
/// `start` can be called with these arguments, and no context above this call is unwound by others.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn guard(
    start: *const c_void,
    a: *mut c_void,
    b: *mut c_void,
    c: *mut c_void,
    unwound: *mut u8,
) -> *mut c_void {
    naked_asm!(
        // To unwinders and debuggers this is the first frame of the thread.
        ".cfi_startproc",
        ".cfi_undefined rip",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 120",
        ".cfi_def_cfa_offset 176",
        "mov rbx, rdi",
        "mov r12, rsi",
        "mov r13, rdx",
        "mov r14, rcx",
        "mov r15, r8",
        "mov rdi, rsp",
        "xor esi, esi",
        "call {sigsetjmp}@PLT",
        "test eax, eax",
        "jne 2f",
        "mov rdi, rsp",
        "call {register}@PLT",
        "mov rdi, r12",
        "mov rsi, r13",
        "mov rdx, r14",
        "call rbx",
        "mov r12, rax",
        "mov rdi, rsp",
        "call {unregister}@PLT",
        "mov rax, r12",
        "jmp 3f",
        "2:",
        "mov byte ptr [r15], 1",
        "xor eax, eax",
        "3:",
        "add rsp, 120",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        ".cfi_endproc",
        sigsetjmp = sym __sigsetjmp,
        register = sym __pthread_register_cancel,
        unregister = sym __pthread_unregister_cancel,
    )
}

/// Calls `function(a, b)` further down on the current stack, at an address that does not depend on the amount
/// of data at the top of the stack, as long as it is less than 256 KiB. Arguments and environment are stored
/// there.
///
/// # Safety
/// `function` can be called with these arguments, and the stack has room for as much again.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_further_down(
    function: unsafe extern "C" fn(usize, *mut c_void) -> i32,
    a: usize,
    b: *mut c_void,
) -> i32 {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "and rsp, -0x40000",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

/// Returns true if this machine lets programs read and write the FS base, which a switch needs.
pub(crate) fn is_supported() -> bool {
    /// The bit of `AT_HWCAP2` for it.
    const FSGSBASE: u64 = 2;
    // SAFETY: the function only reads the auxiliary vector of the process.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}
