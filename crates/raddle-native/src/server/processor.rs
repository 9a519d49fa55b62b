//! The processor on which runs begin.
//!
//! The kernel starts a new process on a processor that has nothing to do, far from what the server has just written for it, and the
//! server only waits for it. So the server lets itself be bound to the processor that it is on, for as long as it takes to fork: a tenth of
//! a short run is saved. If there are several servers, no processor has nothing to do, and they would only be in each other's way.
#![expect(unsafe_code, reason = "the kernel is asked for a set of processors")]

use crate::platform::raw;

/// A set of more processors than these 1,024 is not dealt with.
const WORDS: usize = 16;

/// A set of processors.
type Set = [u64; WORDS];

/// The processors on which the program may run.
pub(super) struct Processors {
    all: Set,
    /// How much of it the kernel knows; nothing if it is not to be told.
    size: Option<usize>,
}

impl Processors {
    /// Those on which this process may run, and whether it is the only server.
    pub(super) fn known(is_alone: bool) -> Processors {
        let mut all: Set = [0; WORDS];
        let arguments = [0, size_of::<Set>(), all.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: the kernel writes no more than there is room for, and tells how much.
        let size = unsafe { raw::syscall(libc::SYS_sched_getaffinity, arguments) };
        let size = usize::try_from(size).ok();
        let has_choice = all.iter().map(|word| word.count_ones()).sum::<u32>() > 1;
        Processors { all, size: size.filter(|_| has_choice && is_alone) }
    }

    /// Does `fork` on the processor of now. Both processes that come out of it may run on all again.
    pub(super) fn stay(&self, fork: impl FnOnce() -> i32) -> i32 {
        let Some(size) = self.size else { return fork() };
        let mut number = 0_usize;
        // SAFETY: the kernel writes a number of four bytes.
        unsafe { raw::syscall(libc::SYS_getcpu, [&raw mut number as usize, 0, 0, 0, 0, 0]) };
        let mut here: Set = [0; WORDS];
        here[number / 64 % WORDS] = 1 << (number % 64);
        allow(&here, size);
        let child = fork();
        allow(&self.all, size);
        child
    }
}

/// Lets this process run on these processors alone. The kernel refuses if there is none of them.
fn allow(processors: &Set, size: usize) {
    // SAFETY: the kernel reads as much as it told that it knows.
    unsafe { raw::syscall(libc::SYS_sched_setaffinity, [0, size, processors.as_ptr() as usize, 0, 0, 0]) };
}
