//! Signatures of C functions as types, from which the compiler derives the constants for the assembly of an
//! entry point.

/// The type of a C function: `unsafe extern "C" fn(..) -> ..`.
pub(crate) trait Signature {
    /// The type of the handler that is called instead, with the caller's return address as an additional
    /// argument.
    type Handler;
    /// The same for a function that exceptions may leave.
    type UnwindingHandler;
    /// The number of registers that its arguments take. None of the functions here takes a floating-point number, or a
    /// structure of more than two words.
    const WORDS: usize;
    /// The index of the register that carries the return address to the handler: the next one after those of the arguments.
    const NEXT: usize = {
        assert!(Self::WORDS < REGISTERS, "no register is left for the return address");
        Self::WORDS
    };
    /// The same number as [`Signature::WORDS`], for a function whose arguments are all in registers.
    const IN_REGISTERS: usize = {
        assert!(Self::WORDS <= REGISTERS, "an argument is on the stack");
        Self::WORDS
    };
}

/// The number of registers for arguments: rdi, rsi, rdx, rcx, r8 and r9.
const REGISTERS: usize = 6;

/// Returns the number of registers that a value of a type takes.
const fn words<T>() -> usize {
    let words = size_of::<T>().div_ceil(size_of::<usize>());
    assert!(words <= 2, "a larger structure is passed on the stack");
    words
}

macro_rules! signatures {
    ($($($type:ident)*;)*) => {$(
        impl<$($type,)* R> Signature for unsafe extern "C" fn($($type),*) -> R {
            type Handler = unsafe extern "C" fn($($type,)* usize) -> R;
            type UnwindingHandler = unsafe extern "C-unwind" fn($($type,)* usize) -> R;
            const WORDS: usize = 0 $(+ words::<$type>())*;
        }
    )*};
}

signatures! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
}
