//! Sockets. Their time-outs are on the virtual clock.

use super::entry::{place, system_calls};
use super::time::FOREVER;
use super::transfer::{Use, transfer, transfer_all};
use super::{network, poll, simulated};
use crate::child::control::enter;
use crate::child::runtime::with;
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EINPROGRESS, c_int, msghdr, timeval};
use std::ffi::c_void;

system_calls! {
    recv(file: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize => receive;
    recvfrom => receive_from;
    recvmsg => receive_message;
    send(file: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize => send_bytes;
    sendto => send_to;
    sendmsg => send_message;
    accept(file: c_int, address: *mut c_void, size: *mut c_void) -> c_int => accept_one;
    accept4 => accept_with;
    connect => connect_to;
    shutdown => shut_down;
}

/// Returns the time limit of calls on a socket, from its option.
fn limit(file: c_int, option: c_int) -> u64 {
    let mut time = timeval { tv_sec: 0, tv_usec: 0 };
    let mut size = size_of::<timeval>() as u32;
    let (time_at, size_at) = (&raw mut time as usize, &raw mut size as usize);
    let arguments = [file as usize, libc::SOL_SOCKET as usize, option as usize, time_at, size_at, 0];
    // SAFETY: the buffer has room for a time.
    unsafe { raw::syscall(libc::SYS_getsockopt, arguments) };
    match (time.tv_sec as u64).saturating_mul(1_000_000_000) + time.tv_usec as u64 * 1_000 {
        0 => FOREVER,
        span => span,
    }
}

fn receiving(file: c_int, flags: c_int, place: usize) -> Use {
    let span = limit(file, libc::SO_RCVTIMEO);
    Use { waits: flags & libc::MSG_DONTWAIT == 0, span, ..Use::new(file, libc::POLLIN, place) }
}

fn sending(file: c_int, flags: c_int, place: usize) -> Use {
    let span = limit(file, libc::SO_SNDTIMEO);
    Use { waits: flags & libc::MSG_DONTWAIT == 0, span, ..Use::new(file, libc::POLLOUT, place) }
}

unsafe extern "C" fn receive(file: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: `recv` has the requirements of `recvfrom`; no address is requested.
    unsafe { receive_from(file, buffer, length, flags, std::ptr::null_mut(), std::ptr::null_mut()) }
}

unsafe extern "C" fn receive_from(
    file: c_int,
    buffer: *mut c_void,
    length: usize,
    flags: c_int,
    address: *mut c_void,
    size: *mut c_void,
) -> isize {
    let place = place();
    enter(|| {
        let mut address = address;
        let mut size = size;
        if simulated::is_simulated(file) {
            // A stream has no addresses.
            network::write_peer(&[], address, size, place);
            (address, size) = (std::ptr::null_mut(), std::ptr::null_mut());
        }
        let call = |received: usize| {
            let into = buffer as usize + received;
            let arguments =
                [file as usize, into, length - received, flags as usize, address as usize, size as usize];
            // SAFETY: the program passes room for `length` bytes, and no more than that is written.
            unsafe { raw::syscall(libc::SYS_recvfrom, arguments) }
        };
        let wanted = receiving(file, flags, place);
        if flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0 {
            transfer_all(wanted, length, call)
        } else {
            transfer(wanted, || call(0))
        }
    })
    // SAFETY: the program has called `recvfrom` with these arguments.
    .map_or_else(|| unsafe { real::recvfrom(file, buffer, length, flags, address, size) }, errno_result)
}

unsafe extern "C" fn receive_message(file: c_int, message: *mut c_void, flags: c_int) -> isize {
    let place = place();
    enter(|| {
        transfer(receiving(file, flags, place), || {
            let arguments = [file as usize, message as usize, flags as usize, 0, 0, 0];
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_recvmsg, arguments) }
        })
    })
    // SAFETY: the program has called `recvmsg` with these arguments.
    .map_or_else(|| unsafe { real::recvmsg(file, message, flags) }, errno_result)
}

unsafe extern "C" fn send_bytes(file: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: `send` has the requirements of `sendto`; there is no address.
    unsafe { send_to(file, buffer, length, flags, std::ptr::null(), 0) }
}

unsafe extern "C" fn send_to(
    file: c_int,
    buffer: *const c_void,
    length: usize,
    flags: c_int,
    address: *const c_void,
    size: u32,
) -> isize {
    let place = place();
    enter(|| {
        let (address, size) =
            if simulated::is_simulated(file) { (std::ptr::null(), 0) } else { (address, size) };
        transfer_all(sending(file, flags, place), length, |sent| {
            let from = buffer as usize + sent;
            let arguments =
                [file as usize, from, length - sent, flags as usize, address as usize, size as usize];
            // SAFETY: the program passes `length` bytes, and no more than that is sent.
            unsafe { raw::syscall(libc::SYS_sendto, arguments) }
        })
    })
    // SAFETY: the program has called `sendto` with these arguments.
    .map_or_else(|| unsafe { real::sendto(file, buffer, length, flags, address, size) }, errno_result)
}

/// Returns the number of bytes sent, if not all can be sent at once.
unsafe extern "C" fn send_message(file: c_int, message: *const c_void, flags: c_int) -> isize {
    let place = place();
    enter(|| {
        let is_mapped = raw::is_readable(message as usize, size_of::<msghdr>());
        // SAFETY: POSIX requires a valid message; for memory that is not mapped, the kernel returns `EFAULT`.
        if is_mapped && unsafe { (*message.cast::<msghdr>()).msg_controllen } > 0 {
            // It may pass files to another process.
            with(|runtime| runtime.outside.shared_files = true);
        }
        transfer(sending(file, flags, place), || {
            let arguments = [file as usize, message as usize, flags as usize, 0, 0, 0];
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_sendmsg, arguments) }
        })
    })
    // SAFETY: the program has called `sendmsg` with these arguments.
    .map_or_else(|| unsafe { real::sendmsg(file, message, flags) }, errno_result)
}

unsafe extern "C" fn accept_one(file: c_int, address: *mut c_void, size: *mut c_void) -> c_int {
    // SAFETY: `accept` has the requirements of `accept4`.
    unsafe { accept_with(file, address, size, 0) }
}

unsafe extern "C" fn accept_with(
    file: c_int,
    address: *mut c_void,
    size: *mut c_void,
    flags: c_int,
) -> c_int {
    let place = place();
    enter(|| {
        if simulated::is_simulated(file) {
            let accepted = transfer(receiving(file, 0, place), || network::accept(file, flags));
            if accepted >= 0 {
                network::write_peer(&network::accepted(file, accepted as c_int), address, size, place);
            }
            return accepted;
        }
        transfer(receiving(file, 0, place), || {
            let arguments = [file as usize, address as usize, size as usize, flags as usize, 0, 0];
            // SAFETY: the program requested this system call with these buffers.
            unsafe { raw::syscall(libc::SYS_accept4, arguments) }
        })
    })
    .map_or_else(
        // SAFETY: the program has called `accept4` with these arguments.
        || unsafe { real::accept4(file, address, size, flags) },
        |result| errno_result(result) as c_int,
    )
}

unsafe extern "C" fn connect_to(file: c_int, address: *const c_void, size: u32) -> c_int {
    let place = place();
    enter(|| {
        if let Some(result) = network::connect(file, address, size, place) {
            return result;
        }
        // SAFETY: the system call touches no memory.
        let flags =
            unsafe { raw::syscall(libc::SYS_fcntl, [file as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
        let result = transfer(sending(file, 0, place), || {
            // SAFETY: the program requested this system call with these buffers.
            unsafe {
                raw::syscall(libc::SYS_connect, [file as usize, address as usize, size as usize, 0, 0, 0])
            }
        });
        let never_waits = flags < 0 || flags & libc::O_NONBLOCK as isize != 0;
        if result != -(EINPROGRESS as isize) || never_waits {
            return result;
        }
        poll::await_connection(file, place)
    })
    // SAFETY: the program has called `connect` with these arguments.
    .map_or_else(|| unsafe { real::connect(file, address, size) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn shut_down(file: c_int, how: c_int) -> c_int {
    let place = place();
    enter(|| {
        if let Some(result) = network::shut_down(file, how, place) {
            return result;
        }
        transfer(Use::new(file, libc::POLLOUT, place), || {
            // SAFETY: the program requested this system call, which touches no memory.
            unsafe { raw::syscall(libc::SYS_shutdown, [file as usize, how as usize, 0, 0, 0, 0]) }
        })
    })
    // SAFETY: the program has called `shutdown` with these arguments.
    .map_or_else(|| unsafe { real::shutdown(file, how) }, |result| errno_result(result) as c_int)
}
