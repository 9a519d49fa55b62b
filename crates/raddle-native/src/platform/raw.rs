//! System calls without libc, whose functions may be the ones that this library replaces.
#![expect(unsafe_code, reason = "a system call is an instruction")]

use std::arch::asm;

/// Calls the kernel.
///
/// # Safety
/// As the system call `number` with these arguments.
#[inline]
pub(crate) unsafe fn syscall(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the kernel changes only the result, rcx and r11; that the call may touch the memory it names is the condition of this function.
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
        // SAFETY: it touches no memory.
        unsafe { syscall(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Writes a message of our own to standard error, for a bug of ours that nobody else can be told.
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

/// Wakes whoever waits for `word` to change.
pub(crate) fn futex_wake(word: &std::sync::atomic::AtomicU32) {
    let address = std::ptr::from_ref(word) as usize;
    // SAFETY: the kernel uses the word's address only.
    unsafe { syscall(libc::SYS_futex, [address, libc::FUTEX_WAKE as usize, i32::MAX as usize, 0, 0, 0]) };
}

/// Maps fresh memory that is used as far as it is touched; null if there is none.
pub(crate) fn map(size: usize, shared: bool, hint: usize) -> *mut u8 {
    let sharing = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [hint, size, protection as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a fresh mapping changes nothing that exists.
    let result = unsafe { syscall(libc::SYS_mmap, arguments) };
    if result < 0 { std::ptr::null_mut() } else { result as *mut u8 }
}

/// Tells the kernel what memory is for. It may not heed that.
///
/// # Safety
/// Where the advice is that it is not needed, nobody may need what is in it.
pub(crate) unsafe fn advise(address: usize, size: usize, advice: i32) {
    // SAFETY: the caller promises that nothing is lost.
    unsafe { syscall(libc::SYS_madvise, [address, size, advice as usize, 0, 0, 0]) };
}

/// The time that really is, in nanoseconds.
pub(crate) fn real_now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for a time.
    unsafe {
        syscall(libc::SYS_clock_gettime, [libc::CLOCK_MONOTONIC as usize, &raw mut time as usize, 0, 0, 0, 0])
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns what a function of libc returns for a result of the kernel, and sets `errno`.
pub(crate) fn errno_result(result: isize) -> isize {
    if result >= 0 {
        return result;
    }
    // SAFETY: the address is that of the calling thread's own `errno`.
    unsafe { *libc::__errno_location() = -result as i32 };
    -1
}
