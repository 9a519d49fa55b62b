//! The entry points of the C functions: assembly that passes on the caller's location and frame.
//!
//! A C signature is written once. If our function hides one of libc, the signature is in the list of
//! [`real`](crate::platform::real), and an entry names the function and the handler; otherwise the entry has
//! the signature. Its type determines the register for the return address and the type of the handler
//! ([`Signature`](crate::platform::signature::Signature)): a handler with another number of arguments, or
//! with arguments of other types, does not compile.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Expands to the type of a C function: the given one, or that of the hidden function.
macro_rules! signature {
    ($name:ident) => { $crate::platform::real::signature::$name };
    ($name:ident ($($type:ty),*) $($result:ty)?) => { unsafe extern "C" fn($($type),*) $(-> $result)? };
}
pub(super) use signature;

/// Expands to the type of the handler of a C function, with the calling convention if it is not that of C.
macro_rules! handler {
    ($signature:ty) => {
        <$signature as $crate::platform::signature::Signature>::Handler
    };
    ($signature:ty, "C-unwind") => {
        <$signature as $crate::platform::signature::Signature>::UnwindingHandler
    };
}
pub(super) use handler;

/// Expands to assembly that loads the return address at `$from` into the register after those of the `{next}`
/// arguments. The assembler picks the instruction.
macro_rules! load_caller {
    ($from:literal) => {
        concat!(
            ".if {next} == 0\nmov rdi, ",
            $from,
            "\n.elseif {next} == 1\nmov rsi, ",
            $from,
            "\n.elseif {next} == 2\nmov rdx, ",
            $from,
            "\n.elseif {next} == 3\nmov rcx, ",
            $from,
            "\n.elseif {next} == 4\nmov r8, ",
            $from,
            "\n.else\nmov r9, ",
            $from,
            "\n.endif",
        )
    };
}
pub(super) use load_caller;

/// Defines C functions. Each jumps to its handler, with the return address as an additional argument. The
/// caller's frame is then in [`FRAME`](crate::child::stack::FRAME).
macro_rules! entries {
    ($($name:ident $(($($argument:ident: $type:ty),*) $(-> $result:ty)?)? => $target:path $(as $abi:tt)?;)*) => {$(
        const _: super::entry::handler!(super::entry::signature!($name $(($($type),*) $($result)?)?) $(, $abi)?) = $target;

        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                super::entry::load_caller!("[rsp]"),
                "mov qword ptr [rip + {frame}], rbp",
                "jmp {target}",
                next = const <super::entry::signature!($name $(($($type),*) $($result)?)?) as $crate::platform::signature::Signature>::NEXT,
                frame = sym $crate::child::stack::FRAME,
                target = sym $target,
            )
        }
    )*};
}
pub(super) use entries;

/// Like [`entries`], for functions that are cancellation points: if the handler requests it, the thread is
/// unwound from here, where no frame of ours is left.
macro_rules! cancellation_points {
    ($($name:ident $(($($argument:ident: $type:ty),*) $(-> $result:ty)?)? => $target:path;)*) => {$(
        const _: super::entry::handler!(super::entry::signature!($name $(($($type),*) $($result)?)?)) = $target;

        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                // Debuggers show the stack below while the thread waits.
                ".cfi_startproc",
                "sub rsp, 8",
                ".cfi_def_cfa_offset 16",
                super::entry::load_caller!("[rsp + 8]"),
                "mov qword ptr [rip + {frame}], rbp",
                "call {target}",
                "add rsp, 8",
                ".cfi_def_cfa_offset 8",
                "cmp byte ptr [rip + {due}], 0",
                "jne 2f",
                "ret",
                "2:",
                "jmp {leave}",
                ".cfi_endproc",
                next = const <super::entry::signature!($name $(($($type),*) $($result)?)?) as $crate::platform::signature::Signature>::NEXT,
                frame = sym $crate::child::stack::FRAME,
                target = sym $target,
                due = sym $crate::child::interpose::unwind::DUE,
                leave = sym $crate::child::interpose::unwind::leave,
            )
        }
    )*};
}
pub(super) use cancellation_points;

/// Like [`cancellation_points`], for functions that may have no register left and no argument on the stack:
/// the handler has the same signature, and calls [`place`] for the return address of the function.
macro_rules! system_calls {
    ($($name:ident $(($($argument:ident: $type:ty),*) $(-> $result:ty)?)? => $target:path;)*) => {$(
        const _: super::entry::signature!($name $(($($type),*) $($result)?)?) = $target;
        const _: usize =
            <super::entry::signature!($name $(($($type),*) $($result)?)?) as $crate::platform::signature::Signature>::IN_REGISTERS;

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

/// Like [`system_calls`], for functions that are not cancellation points and may have arguments on the stack.
macro_rules! full_entries {
    ($($name:ident $(($($argument:ident: $type:ty),*) $(-> $result:ty)?)? => $target:path;)*) => {$(
        const _: super::entry::signature!($name $(($($type),*) $($result)?)?) = $target;

        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov rax, [rsp]",
                "mov qword ptr [rip + {}], rax",
                "mov qword ptr [rip + {}], rbp",
                "jmp {}",
                sym $crate::child::interpose::entry::PLACE,
                sym $crate::child::stack::FRAME,
                sym $target,
            )
        }
    )*};
}
pub(super) use full_entries;

/// Checks that functions exported without an entry have the signatures of those that they hide.
macro_rules! exported {
    ($($name:ident)*) => {
        $(const _: $crate::platform::real::signature::$name = $name;)*
    };
}
pub(super) use exported;

/// The return address of the last call of a function that [`system_calls`] or [`full_entries`] defined.
pub(super) static PLACE: AtomicUsize = AtomicUsize::new(0);

/// Returns the return address of the last call of such a function. A handler must call this first.
pub(super) fn place() -> usize {
    PLACE.load(Ordering::Relaxed)
}
