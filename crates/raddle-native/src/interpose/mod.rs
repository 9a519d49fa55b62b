//! The C functions that the program calls, one file for each family. Each entry point takes its caller's address along,
//! for the place of the operation, converts, and asks the runtime; meaning lives in the engine.
#![expect(unsafe_code, reason = "C functions are defined")]

mod access;
mod annotate;
mod atomic;
mod c11;
mod cancel;
mod cond;
mod futex;
mod guard;
mod heap;
mod mutex;
mod once;
mod process;
mod rwlock;
mod sem;
mod thread;
mod time;
mod wide;

/// Defines functions of C. Each jumps to the function of ours behind it, with the address that it will return to as one
/// more argument, in the named register.
macro_rules! entries {
    ($($name:ident + $register:literal => $target:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym $target)
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
                "call {}",
                "add rsp, 8",
                ".cfi_def_cfa_offset 8",
                "cmp byte ptr [rip + {}], 0",
                "jne 2f",
                "ret",
                "2:",
                "jmp {}",
                ".cfi_endproc",
                sym $target,
                sym $crate::interpose::cancel::DUE,
                sym $crate::interpose::cancel::leave,
            )
        }
    )*};
}
pub(crate) use cancellation_points;

/// A span of time in the place of a time limit, for waits without one.
pub(crate) const FOREVER: u64 = raddle_model::Operation::UNTIMED;
