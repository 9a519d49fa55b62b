//! System calls on the files of simulated sockets. Their only effects on the kernel's state are the files that exist, which
//! are recorded here.
#![expect(unsafe_code, reason = "calls the kernel")]

use crate::platform::{effects, raw};
use libc::{c_int, pollfd};

/// The least number of a hidden file, above those that programs use, and one for programs with many sockets.
const HIDDEN: [c_int; 2] = [600, 200];

/// A flag for sockets that nothing waits for and no other program inherits.
pub(super) const QUIET: c_int = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;

/// Makes a system call whose effects, apart from files, are none.
fn call(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: the callers in this file pass valid pointers, and files of the simulated network.
    unsafe { raw::unrecorded(number, arguments) }
}

fn created(result: isize) -> Result<c_int, c_int> {
    if result < 0 {
        return Err(-result as c_int);
    }
    effects::note_created(result as usize);
    Ok(result as c_int)
}

pub(super) fn close(file: c_int) {
    if file >= 0 {
        call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        effects::note_closed(file as usize);
    }
}

/// Creates a Unix socket.
pub(super) fn socket(flags: c_int) -> Result<c_int, c_int> {
    let kind = (libc::SOCK_STREAM | flags) as usize;
    created(call(libc::SYS_socket, [libc::AF_UNIX as usize, kind, 0, 0, 0, 0]))
}

/// Gives a file of the runtime a number that programs do not use.
pub(super) fn hide(file: c_int) -> Result<c_int, c_int> {
    let copy = |least: c_int| {
        created(call(
            libc::SYS_fcntl,
            [file as usize, libc::F_DUPFD_CLOEXEC as usize, least as usize, 0, 0, 0],
        ))
    };
    let hidden = copy(HIDDEN[0]).or_else(|_| copy(HIDDEN[1]));
    close(file);
    hidden
}

/// The name of a Unix socket in C's layout.
#[derive(Clone, Copy)]
pub(super) struct Name {
    bytes: [u8; 110],
    length: u32,
}

/// Lets the kernel choose a name for a socket, starts to listen, and returns the name.
pub(super) fn listen(file: c_int, backlog: c_int) -> Result<Name, c_int> {
    let mut name = Name { bytes: [0; 110], length: 110 };
    let family = libc::AF_UNIX as u16;
    let check = |result: isize| if result < 0 { Err(-result as c_int) } else { Ok(()) };
    let at = &raw const family as usize;
    check(call(libc::SYS_bind, [file as usize, at, size_of::<u16>(), 0, 0, 0]))?;
    set_backlog(file, backlog)?;
    let (bytes, length) = (name.bytes.as_mut_ptr() as usize, &raw mut name.length as usize);
    check(call(libc::SYS_getsockname, [file as usize, bytes, length, 0, 0, 0]))?;
    Ok(name)
}

pub(super) fn set_backlog(file: c_int, backlog: c_int) -> Result<(), c_int> {
    let result = call(libc::SYS_listen, [file as usize, backlog as usize, 0, 0, 0, 0]);
    if result < 0 { Err(-result as c_int) } else { Ok(()) }
}

/// Connects a socket without waiting.
pub(super) fn connect(file: c_int, name: &Name) -> Result<(), c_int> {
    let at = name.bytes.as_ptr() as usize;
    let result = call(libc::SYS_connect, [file as usize, at, name.length as usize, 0, 0, 0]);
    if result < 0 { Err(-result as c_int) } else { Ok(()) }
}

pub(super) fn accept(file: c_int, flags: c_int) -> Result<c_int, c_int> {
    created(call(libc::SYS_accept4, [file as usize, 0, 0, flags as usize, 0, 0]))
}

/// Sends bytes without waiting. Returns the number sent.
pub(super) fn send(file: c_int, bytes: &[u8]) -> Result<usize, c_int> {
    let flags = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as usize;
    let result = call(libc::SYS_sendto, [file as usize, bytes.as_ptr() as usize, bytes.len(), flags, 0, 0]);
    if result < 0 { Err(-result as c_int) } else { Ok(result as usize) }
}

/// Receives bytes without waiting. Returns their number; 0 at the end.
pub(super) fn receive(file: c_int, bytes: &mut [u8], peek: bool) -> Result<usize, c_int> {
    let flags = libc::MSG_DONTWAIT | if peek { libc::MSG_PEEK } else { 0 };
    let at = bytes.as_mut_ptr() as usize;
    let result = call(libc::SYS_recvfrom, [file as usize, at, bytes.len(), flags as usize, 0, 0]);
    if result < 0 { Err(-result as c_int) } else { Ok(result as usize) }
}

/// Ends what a socket sends.
pub(super) fn end(file: c_int) {
    call(libc::SYS_shutdown, [file as usize, libc::SHUT_WR as usize, 0, 0, 0, 0]);
}

/// Returns a number that is an option of a socket.
pub(super) fn option(file: c_int, name: c_int) -> c_int {
    let (mut value, mut room): (c_int, u32) = (0, size_of::<c_int>() as u32);
    let (at, room_at) = (&raw mut value as usize, &raw mut room as usize);
    call(libc::SYS_getsockopt, [file as usize, libc::SOL_SOCKET as usize, name as usize, at, room_at, 0]);
    value
}

/// Sets an option of a socket.
pub(super) fn set_option(file: c_int, name: c_int, value: &[u8]) -> isize {
    let at = value.as_ptr() as usize;
    let arguments = [file as usize, libc::SOL_SOCKET as usize, name as usize, at, value.len(), 0];
    call(libc::SYS_setsockopt, arguments)
}

/// Returns the events that a file is ready for.
pub(super) fn ready(file: c_int, events: i16) -> i16 {
    ready_within(file, events, 0)
}

/// Waits at most so many milliseconds of real time until a file is ready.
pub(super) fn ready_within(file: c_int, events: i16, limit: c_int) -> i16 {
    let mut file = pollfd { fd: file, events, revents: 0 };
    call(libc::SYS_poll, [&raw mut file as usize, 1, limit as usize, 0, 0, 0]);
    file.revents
}

/// Returns the number that identifies an open socket, 0 if there is none.
pub(super) fn inode(file: c_int) -> u64 {
    // SAFETY: an all-zero status is valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    let error = call(libc::SYS_fstat, [file as usize, &raw mut status as usize, 0, 0, 0, 0]);
    let is_socket = error == 0 && status.st_mode & libc::S_IFMT == libc::S_IFSOCK;
    if is_socket { status.st_ino } else { 0 }
}

/// Returns the flags of an open file, as for `socket`.
pub(super) fn flags(file: c_int) -> c_int {
    let get = |command: c_int| call(libc::SYS_fcntl, [file as usize, command as usize, 0, 0, 0, 0]);
    let nonblocking = get(libc::F_GETFL) & libc::O_NONBLOCK as isize != 0;
    let closed_on_exec = get(libc::F_GETFD) & libc::FD_CLOEXEC as isize != 0;
    let flag = |is_set: bool, flag: c_int| if is_set { flag } else { 0 };
    flag(nonblocking, libc::SOCK_NONBLOCK) | flag(closed_on_exec, libc::SOCK_CLOEXEC)
}
