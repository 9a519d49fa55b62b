//! The switch for x86-64: only the callee-saved registers are pushed on the suspended stack.
//!
//! It continues with a jump to the address where the other stack was suspended. All threads are suspended in
//! one function, so the jump has one target, and the calls that lead there are the same on both stacks; the
//! processor predicts the jump and the returns after it. A switch that ends in a return, such as
//! corosensei's, is mispredicted every time.

use super::STACK;
use corosensei::stack::{DefaultStack, Stack};
use std::arch::asm;
use std::cell::Cell;
use std::ptr;

/// The number of different offsets of stacks within a page and a cache set: with equal offsets, stacks would
/// evict each other from the cache.
const COLOURS: usize = 128;
/// The difference between two offsets: five cache lines.
const COLOUR: usize = 5 * 64;

/// A suspended computation, and its stack.
pub(super) struct Computation {
    /// The stack pointer; null while it runs.
    suspended_at: Cell<*mut usize>,
    /// `None` for the computation outside all fibers, on the stack of its OS thread.
    stack: Option<DefaultStack>,
}

impl Computation {
    /// Returns the computation outside all fibers.
    pub(super) fn outside() -> Computation {
        Computation { suspended_at: Cell::new(ptr::null_mut()), stack: None }
    }

    /// Returns the beginning of `body` on a new stack.
    pub(super) fn on_stack(number: usize, body: extern "C" fn() -> !) -> Computation {
        let stack = DefaultStack::new(STACK + COLOURS * COLOUR).expect("there is memory for a stack");
        let begin = (stack.base().get() - number % COLOURS * COLOUR) as *mut usize;
        // SAFETY: more than a mebibyte below `begin` is unused memory of this stack. `begin` is a multiple of
        // 16, so that the stack is aligned at the first instruction of `body` as after a call. It has no
        // caller: stack walkers stop at 0.
        let suspended_at = unsafe {
            begin.sub(1).write(0);
            begin.sub(2).write(body as *const () as usize);
            begin.sub(2)
        };
        Computation { suspended_at: Cell::new(suspended_at), stack: Some(stack) }
    }

    /// Returns true if it is suspended or has not begun.
    #[inline(always)] // On the path of every switch.
    pub(super) fn is_suspended(&self) -> bool {
        !self.suspended_at.get().is_null()
    }

    /// Returns the lowest address of its stack; 0 outside all fibers.
    pub(super) fn end(&self) -> usize {
        self.stack.as_ref().map_or(0, |stack| stack.limit().get())
    }

    /// Suspends `self` and continues `to`; returns when another computation continues `self`.
    ///
    /// # Safety
    ///
    /// `self` runs on this OS thread, and `to` was suspended on it or has not begun. Both live until `self`
    /// is continued, or forever if it is not.
    #[inline(always)] // One copy for all operations: see above.
    pub(super) unsafe fn switch(&self, to: &Computation) {
        let sp = to.suspended_at.replace(ptr::null_mut());
        // SAFETY: callee-saved registers are on the stack or declared as clobbered. `sp` points to the
        // address at which the other computation continues, followed by the registers it expects: this code
        // or `on_stack` put them there.
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
                inout("rdi") self.suspended_at.as_ptr() => _,
                inout("rsi") sp => _,
                lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
                clobber_abi("sysv64"),
            );
        }
    }

    /// Leaks the stack without dropping its contents.
    pub(super) fn forget(self) {
        std::mem::forget(self);
    }
}
