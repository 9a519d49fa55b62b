//! Files in memory for what the program prints.
#![expect(unsafe_code, reason = "files are known by numbers")]

/// A new file in memory, out of the way of the program's numbers, which are less than `from`.
pub(super) fn memory_file(from: i32) -> i32 {
    // SAFETY: the name ends with a zero, and the number is our own.
    unsafe {
        let file = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        let moved = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, from);
        libc::close(file);
        moved
    }
}

/// The end of a file, no more than `most` bytes.
pub(super) fn contents(file: i32, most: usize) -> Vec<u8> {
    // SAFETY: the file is ours, and the buffer is writable for its length.
    unsafe {
        let length = libc::lseek(file, 0, libc::SEEK_END).max(0) as usize;
        let mut bytes = vec![0_u8; length.min(most)];
        let from = length - bytes.len();
        let count = libc::pread(file, bytes.as_mut_ptr().cast(), bytes.len(), from as i64);
        bytes.truncate(count.max(0) as usize);
        bytes
    }
}
