//! The processor on which runs begin.
//!
//! The kernel starts a new process on an idle processor, far from the caches that the server has just filled,
//! and the server only waits for it. So the server pins itself to its current processor during the fork,
//! which saves a tenth of a short run. With several servers, no processor is idle, and they would only
//! compete.
#![expect(unsafe_code, reason = "sets the processor affinity")]

use crate::platform::raw;

/// The size of a set in words: at most 1,024 processors are supported.
const WORDS: usize = 16;

/// A set of processors.
type Set = [u64; WORDS];

/// The processors on which the program may run.
pub(super) struct Processors {
    all: Set,
    /// The size that the kernel uses; `None` if pinning is off.
    size: Option<usize>,
}

impl Processors {
    /// Returns the processors on which this process may run; `is_alone`: it is the only server.
    pub(super) fn known(is_alone: bool) -> Processors {
        let mut all: Set = [0; WORDS];
        let arguments = [0, size_of::<Set>(), all.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: the kernel writes no more than the given size, and returns how much.
        let size = unsafe { raw::syscall(libc::SYS_sched_getaffinity, arguments) };
        let size = usize::try_from(size).ok();
        let has_choice = all.iter().map(|word| word.count_ones()).sum::<u32>() > 1;
        Processors { all, size: size.filter(|_| has_choice && is_alone) }
    }

    /// Calls `fork` on the current processor. Both resulting processes may then run on all again.
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

/// Restricts this process to these processors. The kernel refuses an empty set.
fn allow(processors: &Set, size: usize) {
    // SAFETY: the kernel reads as much as it returned before.
    unsafe { raw::syscall(libc::SYS_sched_setaffinity, [0, size, processors.as_ptr() as usize, 0, 0, 0]) };
}
