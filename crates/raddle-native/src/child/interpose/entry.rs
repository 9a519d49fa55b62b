//! The entry points of the C functions: assembly that takes the caller's location and frame along.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Defines functions of C. Each jumps to the function of ours behind it, with the address that it will return to as one
/// more argument, in the named register. The caller's frame is in [`crate::child::stack::FRAME`] then.
macro_rules! entries {
    ($($name:ident + $register:literal => $target:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "mov qword ptr [rip + {}], rbp",
                "jmp {}",
                sym $crate::child::stack::FRAME,
                sym $target,
            )
        }
    )*};
}
pub(super) use entries;

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
                sym $crate::child::stack::FRAME,
                sym $target,
                sym $crate::child::interpose::unwind::DUE,
                sym $crate::child::interpose::unwind::leave,
            )
        }
    )*};
}
pub(super) use cancellation_points;

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
                sym $crate::child::interpose::entry::PLACE,
                sym $crate::child::stack::FRAME,
                sym $target,
                sym $crate::child::interpose::unwind::DUE,
                sym $crate::child::interpose::unwind::leave,
            )
        }
    )*};
}
pub(super) use system_calls;

/// Where the system call that is being made was called from.
pub(super) static PLACE: AtomicUsize = AtomicUsize::new(0);

/// Where the function that [`system_calls`] led to was called from; to be asked first of all.
pub(super) fn place() -> usize {
    PLACE.load(Ordering::Relaxed)
}
