//! The switch for x86-64: the registers that a function has to keep go on the stack that is left, and no others.
//!
//! It goes on by a jump to the place where the other stack was left. As all threads are left in one function, the jump has one
//! target, and the calls that lead there are the same on both stacks, so that the processor predicts the jump and the
//! returns after it. A switch that ends in a return, as corosensei's does, is predicted wrong every time.

use super::STACK;
use corosensei::stack::{DefaultStack, Stack};
use std::arch::asm;
use std::cell::Cell;
use std::ptr;

/// How many stacks begin at different places within a page and a set of the cache: all at the same place, they would push each
/// other out of it.
const COLOURS: usize = 128;
/// By how much they differ: five lines of the cache.
const COLOUR: usize = 5 * 64;

/// Where a computation goes on, and its stack.
pub(super) struct Place {
    /// The stack pointer; null while it runs.
    left_at: Cell<*mut usize>,
    /// None for what runs outside of all fibers, on the stack of its OS thread.
    stack: Option<DefaultStack>,
}

impl Place {
    /// What runs outside of all fibers.
    pub(super) fn outside() -> Place {
        Place { left_at: Cell::new(ptr::null_mut()), stack: None }
    }

    /// The beginning of `body` on a stack of its own.
    pub(super) fn on_stack(number: usize, body: extern "C" fn() -> !) -> Place {
        let stack = DefaultStack::new(STACK + COLOURS * COLOUR).expect("there is memory for a stack");
        let begin = (stack.base().get() - number % COLOURS * COLOUR) as *mut usize;
        // SAFETY: there is more than a mebibyte below, which nobody else uses. `begin` is a multiple of 16, so that the stack
        // is aligned at the first instruction of `body` as if it had been called. It has no caller: walkers of stacks end at 0.
        let left_at = unsafe {
            begin.sub(1).write(0);
            begin.sub(2).write(body as *const () as usize);
            begin.sub(2)
        };
        Place { left_at: Cell::new(left_at), stack: Some(stack) }
    }

    /// Whether it was left, or has not begun.
    #[inline(always)] // A part of each switch.
    pub(super) fn is_left(&self) -> bool {
        !self.left_at.get().is_null()
    }

    /// The lowest address of its stack; 0 outside of all fibers.
    pub(super) fn end(&self) -> usize {
        self.stack.as_ref().map_or(0, |stack| stack.limit().get())
    }

    /// Leaves `self` and goes on with `to`; returns when somebody goes on with `self`.
    ///
    /// # Safety
    ///
    /// `self` is what runs on this OS thread, and `to` was left on it or has not begun. Both live until `self` is gone on with, or
    /// for ever if it is not.
    #[inline(always)] // One place in the code for all operations: see above.
    pub(super) unsafe fn switch(&self, to: &Place) {
        let sp = to.left_at.replace(ptr::null_mut());
        // SAFETY: what a function has to keep is on the stack, or named as changed. `sp` points to the address at which the
        // other goes on, below that what it expects there: it was put there by this code or by `on_stack`.
        unsafe {
            asm!(
                "push rbp",
                "push rbx",
                "lea rax, [rip + 2f]",
                "push rax",
                "mov [rdi], rsp",
                "mov rsp, rsi",
                "pop rax",
                "jmp rax",
                "2:",
                "pop rbx",
                "pop rbp",
                inout("rdi") self.left_at.as_ptr() => _,
                inout("rsi") sp => _,
                lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
                clobber_abi("sysv64"),
            );
        }
    }

    /// Gives up the stack without a look at what is on it, as if it was used for ever.
    pub(super) fn forget(self) {
        std::mem::forget(self);
    }
}
