//! A child that executes many runs: after a run, it puts everything back to the moment before the first one.
//!
//! That moment is in [`stay`], on the stack of the main thread, just before `main`:
//!
//! ```text
//!   main thread's stack                       our own stack
//!   stay -- saves its registers ----------->  begin: remember the memory (`PutBack`)
//!        <---------------- returns from stay  resume
//!   main .. end of the run (any thread) --->  after_run: report the run, put the memory back, wait for an order
//!        <---------------- returns from stay  resume
//! ```
//!
//! What a run changes is memory, which [`put_back`](crate::child::put_back) restores; state of the kernel, whose changes
//! are recorded and undone ([`effects`]); and variables of this library, of which the ones that a run changes are
//! reset here. If something cannot be undone, the process ends with the run as any other child, and the server forks
//! another one.
#![expect(unsafe_code, reason = "switches to another stack and back")]

use crate::child::put_back::PutBack;
use crate::child::{control, pool, runtime, shared_memory, streams, trap};
use crate::platform::effects::{self, Effects};
use crate::platform::{raw, signals};
use std::arch::naked_asm;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The server's part.
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    /// The code and data of this library.
    pub(crate) own: fn() -> Range<usize>,
    /// Keeps the results of the run, which is over, or reports them to the server, and learns from it. Returns true if
    /// it has kept them: then the next run has the output for itself.
    pub(crate) over: fn() -> bool,
    /// Waits for the next run and sets it up, and resets the variables of the entry points.
    pub(crate) next: fn(),
}

/// The state of a process that executes many runs.
struct Resident {
    hooks: Hooks,
    /// `None` if only the first run can be executed.
    memory: Option<PutBack>,
    pool: pool::Unused,
    mask: u64,
    /// The end of our own stack.
    stack: usize,
    /// The FS base of the main thread.
    base: usize,
}

struct Slot(UnsafeCell<Option<Resident>>);

// SAFETY: only the carrier uses it.
unsafe impl Sync for Slot {}

static RESIDENT: Slot = Slot(UnsafeCell::new(None));

/// The stack pointer of the main thread in [`stay`].
static MOMENT: AtomicUsize = AtomicUsize::new(0);

/// The size of our own stack.
const STACK: usize = 1 << 20;

fn resident() -> &'static mut Resident {
    // SAFETY: only the carrier comes here, and no caller keeps the reference while it calls another function here.
    unsafe { (*RESIDENT.0.get()).as_mut() }.expect("this process executes many runs")
}

/// Makes this process, which is about to execute a run, one that executes many.
pub(crate) fn prepare(hooks: Hooks) {
    let Ok(layout) = std::alloc::Layout::from_size_align(STACK, PAGE) else { return };
    // SAFETY: the layout has a nonzero size.
    let stack = unsafe { std::alloc::alloc(layout) } as usize;
    if stack == 0 {
        return;
    }
    let resident =
        Resident { hooks, memory: None, pool: pool::unused(), mask: 0, stack: stack + STACK, base: 0 };
    // SAFETY: only the carrier comes here, and no reference exists.
    unsafe { *RESIDENT.0.get() = Some(resident) };
}

const PAGE: usize = 4096;

/// Returns once for each run of this process, on the stack of the main thread.
pub(crate) fn stay() {
    // SAFETY: only the carrier comes here, and the reference is not kept.
    let Some(stack) = (unsafe { (*RESIDENT.0.get()).as_ref() }).map(|resident| resident.stack) else {
        return;
    };
    // SAFETY: the stack is fresh memory, and `begin` resumes this context.
    unsafe { save_and_call(MOMENT.as_ptr(), stack, begin) }
}

extern "C" fn begin() -> ! {
    let resident = resident();
    // SAFETY: the instruction only reads a register; children with fibers are only created where it is allowed.
    unsafe {
        std::arch::asm!("rdfsbase {}", out(reg) resident.base, options(nomem, nostack, preserves_flags))
    };
    resident.mask = signals::mask_signals(libc::SIG_BLOCK, 0);
    let own = (resident.hooks.own)();
    let is_possible = !trap::is_prepared();
    if is_possible && trap::record(&own) {
        resident.memory = PutBack::remember(own);
    }
    if resident.memory.is_some() {
        effects::begin();
    } else {
        shared_memory::note_no_reset(is_possible);
        if is_possible {
            trap::end();
        }
    }
    resume()
}

fn resume() -> ! {
    // SAFETY: `stay` has saved its context there, and the memory of its stack is as it was then.
    unsafe { restore(MOMENT.load(Ordering::Relaxed)) }
}

/// Ends the run, whose results are written. Also ends the process, unless it executes many runs and this one can be
/// undone.
pub(crate) fn end_run() -> ! {
    trap::stop_recording();
    // SAFETY: only the carrier comes here, and the reference is not kept.
    let kept = unsafe { (*RESIDENT.0.get()).as_ref() }.filter(|resident| resident.memory.is_some());
    let Some((stack, base)) = kept.map(|resident| (resident.stack, resident.base)) else { raw::exit(0) };
    // SAFETY: nothing is on our own stack; the FS base is that of the main thread, whose descriptor still exists.
    unsafe { call_on(base, stack, after_run) }
}

extern "C" fn after_run() -> ! {
    let resident = resident();
    let (Some(effects), Some(memory)) = (effects::end(), &mut resident.memory) else { raw::exit(0) };
    if !memory.is_whole(&effects) || has_pending_signals() {
        raw::exit(0);
    }
    runtime::with(|runtime| runtime.abandon_os_threads());
    let continues = (resident.hooks.over)();
    undo(&effects, continues);
    // The server has the results, and forks another process if this one does not take the next order.
    if memory.put_back(&effects).is_none() {
        raw::exit(0);
    }
    signals::set_signals(resident.mask);
    pool::restore(&resident.pool);
    control::forget();
    streams::LOCKED.store(0, Ordering::Relaxed);
    // This function does not return.
    drop(effects);
    (resident.hooks.next)();
    effects::begin();
    resume()
}

/// Undoes the effects of a run, except for those on memory; if the process `continues` with another run of its batch,
/// also the output.
fn undo(effects: &Effects, continues: bool) {
    let call = |number, [a, b, c, d]: [usize; 4]| {
        // SAFETY: the run, which is over, opened the files; the actions are those that the signals had before it.
        unsafe { raw::syscall(number, [a, b, c, d, 0, 0]) };
    };
    effects.files.iter().for_each(|file| call(libc::SYS_close, [file.number, 0, 0, 0]));
    for (signal, action) in &effects.actions {
        call(libc::SYS_rt_sigaction, [*signal as usize, std::ptr::from_ref(action) as usize, 0, 8]);
    }
    if continues && effects.has_output {
        call(libc::SYS_ftruncate, [1, 0, 0, 0]);
        call(libc::SYS_lseek, [1, 0, libc::SEEK_SET as usize, 0]);
    }
    if effects.has_flags {
        [1, 2].into_iter().for_each(|file| call(libc::SYS_fcntl, [file, libc::F_SETFL as usize, 0, 0]));
    }
}

fn has_pending_signals() -> bool {
    let mut set = 0_u64;
    // SAFETY: the set has eight bytes.
    unsafe { raw::syscall(libc::SYS_rt_sigpending, [&raw mut set as usize, 8, 0, 0, 0, 0]) };
    set != 0
}

/// Saves the current context at `moment`, and calls `function` on another stack. Returns when the context is restored,
/// any number of times.
///
/// # Safety
/// `stack` is the aligned end of a stack that nothing else uses.
#[unsafe(naked)]
unsafe extern "C" fn save_and_call(moment: *mut usize, stack: usize, function: extern "C" fn() -> !) {
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
        "mov rsp, rsi",
        "xor ebp, ebp",
        "call rdx",
        "ud2",
    )
}

/// Continues the context at `moment`.
///
/// # Safety
/// `save_and_call` has saved it, and its stack has the same contents as then. The FS base is that of its thread.
#[unsafe(naked)]
unsafe extern "C" fn restore(moment: usize) -> ! {
    naked_asm!(
        "mov rsp, rdi",
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

/// Calls `function` on another stack, with another FS base, and abandons the current context.
///
/// # Safety
/// `stack` is the aligned end of a stack that nothing else uses, and `base` the FS base of a thread of this process.
#[unsafe(naked)]
unsafe extern "C" fn call_on(base: usize, stack: usize, function: extern "C" fn() -> !) -> ! {
    naked_asm!("wrfsbase rdi", "mov rsp, rsi", "xor ebp, ebp", "cld", "call rdx", "ud2")
}
