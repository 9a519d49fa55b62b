//! The C functions that the program calls, one file for each family. Each entry point takes its caller's address along,
//! for the place of the operation, converts, and asks the runtime; meaning lives in the engine.
#![expect(unsafe_code, reason = "C functions are defined")]

pub(crate) mod access;
mod annotate;
mod atomic;
mod c11;
pub(crate) mod cancel;
pub(crate) mod child;
mod cond;
mod descriptor;
mod file_lock;
pub(crate) mod futex;
mod guard;
mod heap;
mod identity;
mod mask;
mod mutex;
mod once;
mod openmp;
mod poll;
mod process;
mod random;
pub(crate) mod robust;
mod rwlock;
mod sem;
pub(crate) mod signal;
mod socket;
pub(crate) mod stdio;
pub(crate) mod stream;
pub(crate) mod thread;
mod time;
mod timer_file;
mod wide;

use std::sync::atomic::{AtomicUsize, Ordering};

/// Defines functions of C. Each jumps to the function of ours behind it, with the address that it will return to as one
/// more argument, in the named register. The caller's frame is in [`crate::stack::FRAME`] then.
macro_rules! entries {
    ($($name:ident + $register:literal => $target:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "mov qword ptr [rip + {}], rbp",
                "jmp {}",
                sym $crate::stack::FRAME,
                sym $target,
            )
        }
    )*};
}
pub(crate) use entries;

/// As [`entries`], for functions in which a thread may be cancelled: if ours says so, the thread is unwound from here, where
/// no frame of ours is left.
macro_rules! cancellation_points {
    ($($name:ident + $register:literal => $target:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                // Debuggers show the stack below while the thread waits.
                ".cfi_startproc",
                "sub rsp, 8",
                ".cfi_def_cfa_offset 16",
                concat!("mov ", $register, ", [rsp + 8]"),
                "mov qword ptr [rip + {}], rbp",
                "call {}",
                "add rsp, 8",
                ".cfi_def_cfa_offset 8",
                "cmp byte ptr [rip + {}], 0",
                "jne 2f",
                "ret",
                "2:",
                "jmp {}",
                ".cfi_endproc",
                sym $crate::stack::FRAME,
                sym $target,
                sym $crate::interpose::cancel::DUE,
                sym $crate::interpose::cancel::leave,
            )
        }
    )*};
}
pub(crate) use cancellation_points;

/// As [`cancellation_points`], for functions that may have no register left, and no argument on the stack: the address that the function will return to is
/// in [`PLACE`] when ours is called.
macro_rules! system_calls {
    ($($name:ident => $target:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov rax, [rsp]",
                "mov qword ptr [rip + {}], rax",
                "mov qword ptr [rip + {}], rbp",
                "sub rsp, 8",
                "call {}",
                "add rsp, 8",
                "cmp byte ptr [rip + {}], 0",
                "jne 2f",
                "ret",
                "2:",
                "jmp {}",
                sym $crate::interpose::PLACE,
                sym $crate::stack::FRAME,
                sym $target,
                sym $crate::interpose::cancel::DUE,
                sym $crate::interpose::cancel::leave,
            )
        }
    )*};
}
pub(crate) use system_calls;

/// Where the system call that is being made was called from.
static PLACE: AtomicUsize = AtomicUsize::new(0);

/// Where the function that [`system_calls`] led to was called from; to be asked first of all.
fn place() -> usize {
    PLACE.load(Ordering::Relaxed)
}

/// What a function of libc returns for a result of the kernel; sets `errno`.
pub(crate) fn told(result: isize) -> isize {
    if result >= 0 {
        return result;
    }
    // SAFETY: each thread has its own.
    unsafe { *libc::__errno_location() = -result as i32 };
    -1
}

/// A span of time in the place of a time limit, for waits without one.
pub(crate) const FOREVER: u64 = raddle_model::Operation::UNTIMED;
