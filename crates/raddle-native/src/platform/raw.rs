//! System calls without libc, whose functions may be the ones that this library replaces.
#![expect(unsafe_code, reason = "a system call is an instruction")]

use crate::platform::effects;
use std::arch::asm;

/// Calls the kernel. In a run that is to be undone, the effect of the call is recorded.
///
/// # Safety
/// As the system call `number` with these arguments.
#[inline]
pub(crate) unsafe fn syscall(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: per the contract of this function, the call may be made.
    let result = unsafe { instruction(number, arguments) };
    if effects::is_on() {
        effects::note(number, &arguments, result, is_regular);
    }
    result
}

/// Calls the kernel without recording the effect, which the caller does if there is one.
///
/// # Safety
/// As the system call `number` with these arguments.
#[inline]
pub(crate) unsafe fn unrecorded(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: per the contract of this function, the call may be made.
    unsafe { instruction(number, arguments) }
}

/// Returns true if reading an open file takes nothing away from others: it is a regular file, a directory, or a device
/// such as `/dev/zero`.
fn is_regular(file: usize) -> bool {
    // SAFETY: an all-zero status is valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the buffer has room for a status.
    let error = unsafe { instruction(libc::SYS_fstat, [file, &raw mut status as usize, 0, 0, 0, 0]) };
    /// The major number of these devices.
    const MEMORY: u32 = 1;
    error == 0
        && match status.st_mode & libc::S_IFMT {
            libc::S_IFREG | libc::S_IFDIR => true,
            libc::S_IFCHR => libc::major(status.st_rdev) == MEMORY,
            _ => false,
        }
}

/// Executes the instruction.
///
/// # Safety
/// As the system call `number` with these arguments.
#[inline]
unsafe fn instruction(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the kernel changes only the result, rcx and r11; per the contract of this function, the call
    // may touch the memory that its arguments name.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Ends the process at once.
pub(crate) fn exit(status: i32) -> ! {
    loop {
        // SAFETY: the system call touches no memory.
        unsafe { syscall(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Writes a message to standard error, for an internal error that cannot be reported in another way.
pub(crate) fn complain(message: &str) {
    for part in ["raddle: ", message, "\n"] {
        // SAFETY: the text is readable for its whole length.
        unsafe { syscall(libc::SYS_write, [2, part.as_ptr() as usize, part.len(), 0, 0, 0]) };
    }
}

/// Waits while `*word` is `value`, or shorter.
pub(crate) fn futex_wait(word: &std::sync::atomic::AtomicU32, value: u32) {
    let address = std::ptr::from_ref(word) as usize;
    // SAFETY: the word is readable; there is no time-out to be read.
    unsafe { syscall(libc::SYS_futex, [address, libc::FUTEX_WAIT as usize, value as usize, 0, 0, 0]) };
}

/// Wakes all threads that wait for `word` to change.
pub(crate) fn futex_wake(word: &std::sync::atomic::AtomicU32) {
    let address = std::ptr::from_ref(word) as usize;
    // SAFETY: the kernel uses the word's address only.
    unsafe { syscall(libc::SYS_futex, [address, libc::FUTEX_WAKE as usize, i32::MAX as usize, 0, 0, 0]) };
}

/// Maps fresh memory, which is allocated when touched; returns null on failure.
pub(crate) fn map(size: usize, shared: bool, hint: usize) -> *mut u8 {
    let sharing = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [hint, size, protection as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a fresh mapping does not change existing memory.
    let result = unsafe { syscall(libc::SYS_mmap, arguments) };
    if result < 0 { std::ptr::null_mut() } else { result as *mut u8 }
}

/// Advises the kernel about the use of memory.
///
/// # Safety
/// If the advice is that it is not needed, no code may need its contents.
pub(crate) unsafe fn advise(address: usize, size: usize, advice: i32) {
    // SAFETY: per the contract of this function, the contents are not needed if the advice discards them.
    unsafe { syscall(libc::SYS_madvise, [address, size, advice as usize, 0, 0, 0]) };
}

/// Returns whether `size` bytes, at least one, are mapped readable. Asks the kernel.
pub(crate) fn is_readable(address: usize, size: usize) -> bool {
    /// The size of the kernel's signal sets.
    const WORD: usize = 8;
    const PAGE: usize = 4096;
    let Some(last) = address.checked_add(size - 1) else { return false };
    (address / PAGE..=last / PAGE).all(|page| {
        let word = (page * PAGE).max(address) & !(WORD - 1);
        // The kernel reads the set, unless it is null, before it rejects the invalid first argument.
        let arguments = [usize::MAX, word, 0, WORD, 0, 0];
        // SAFETY: the call changes nothing.
        let result = unsafe { syscall(libc::SYS_rt_sigprocmask, arguments) };
        word != 0 && result != -(libc::EFAULT as isize)
    })
}

/// Returns the real time in nanoseconds.
pub(crate) fn real_now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the argument has room for a time.
    unsafe {
        syscall(libc::SYS_clock_gettime, [libc::CLOCK_MONOTONIC as usize, &raw mut time as usize, 0, 0, 0, 0])
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Converts a kernel result to a libc result, and sets `errno`.
pub(crate) fn errno_result(result: isize) -> isize {
    if result >= 0 {
        return result;
    }
    // SAFETY: the address is that of the calling thread's own `errno`.
    unsafe { *libc::__errno_location() = -result as i32 };
    -1
}
