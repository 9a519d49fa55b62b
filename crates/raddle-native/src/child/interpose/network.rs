//! Sockets whose two ends are in the run; see [`crate::child::network`].

use super::entry::entries;
use super::poll;
use super::simulated::{find, touch_addresses, touch_both};
use crate::child::control::{self, enter};
use crate::child::loss;
use crate::child::network::{Address, State};
use crate::child::outside::What;
use crate::child::runtime::{Runtime, with};
use crate::platform::effects;
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EFAULT, EINVAL, ENOTCONN, c_int};
use raddle_model::NetworkMode;
use std::ffi::c_void;

entries! {
    socket => open;
    bind => give_address;
    listen => start_listening;
    getsockname => own_address;
    getpeername => other_address;
    setsockopt => set_option;
    getsockopt => get_option;
}

fn from(result: Result<(), c_int>) -> isize {
    result.map_or_else(|error| -(error as isize), |()| 0)
}

unsafe extern "C" fn open(domain: c_int, kind: c_int, protocol: c_int, _: usize) -> c_int {
    let opened = enter(|| {
        let flags = kind & (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
        let is_stream = kind & !flags == libc::SOCK_STREAM && matches!(protocol, 0 | libc::IPPROTO_TCP);
        let is_internet = matches!(domain, libc::AF_INET | libc::AF_INET6);
        with(|runtime| {
            // Other processes would not find it.
            let is_real = runtime.network.settings.mode == NetworkMode::Real;
            if !is_stream || !is_internet || is_real || runtime.outside.shared_files {
                return None;
            }
            let file = runtime.network.socket(domain, flags);
            if let Ok(file) = file {
                runtime.outside.note_created(What::Socket, &[file]);
            }
            Some(file.map_or_else(|error| -(error as isize), |file| file as isize))
        })
    });
    match opened.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the function has no preconditions.
        None => unsafe { real::socket(domain, kind, protocol) },
    }
}

/// Copies an address that the program passes. The error is that of the system call.
fn read_address(address: *const c_void, size: u32) -> Result<Option<Address>, c_int> {
    Ok(Address::read(&poll::copy(address.cast::<u8>(), size as usize)?))
}

/// Writes a value and its size to memory of the program, which has room for as many bytes as it says there.
fn write(value: &[u8], room: *mut c_void, size: *mut c_void, place: usize) -> isize {
    let size = size.cast::<u32>();
    if !raw::is_readable(size as usize, size_of::<u32>()) {
        return -(EFAULT as isize);
    }
    // SAFETY: the memory is mapped, and the call requires a number there.
    let given = unsafe { size.read_unaligned() } as usize;
    let count = given.min(value.len());
    if count > 0 && !raw::is_readable(room as usize, count) {
        return -(EFAULT as isize);
    }
    for (index, &byte) in value[..count].iter().enumerate() {
        // SAFETY: the caller has room for `given` bytes, which are mapped.
        unsafe { control::write(room.cast::<u8>().add(index), byte, place) };
    }
    // SAFETY: as above.
    unsafe { control::write(size, value.len() as u32, place) };
    0
}

/// Creates a socket of the kernel's with the options and the address of a simulated one. Its effects are recorded only if
/// it replaces that.
fn real_socket(socket: usize) -> Result<c_int, c_int> {
    let call = |number, arguments: [usize; 6]| {
        // SAFETY: the file is the one created here, and the values live as long as the call.
        match unsafe { raw::unrecorded(number, arguments) } {
            result if result < 0 => Err(-result as c_int),
            result => Ok(result as c_int),
        }
    };
    let (family, options, local) = with(|runtime| {
        let socket = &runtime.network.sockets[socket];
        (socket.family, socket.options.clone(), socket.local)
    });
    let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as usize;
    let new = call(libc::SYS_socket, [family as usize, kind, 0, 0, 0, 0])?;
    for (level, name, value) in &options {
        let at = value.as_ptr() as usize;
        let _ =
            call(libc::SYS_setsockopt, [new as usize, *level as usize, *name as usize, at, value.len(), 0]);
    }
    if let Some(bytes) = local.map(|local| local.bytes(family))
        && let Err(error) =
            call(libc::SYS_bind, [new as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0])
    {
        let _ = call(libc::SYS_close, [new as usize, 0, 0, 0, 0, 0]);
        return Err(error);
    }
    Ok(new)
}

/// Replaces a simulated socket, which is not connected, by one of the kernel's: what it reaches is outside of the run.
fn replace(socket: usize, new: c_int) {
    let call = |number, arguments: [usize; 6]| {
        // SAFETY: the files are those of the socket, and the values live as long as the call.
        unsafe { raw::syscall(number, arguments) }
    };
    let (old, flags) = with(|runtime| {
        let file = runtime.network.sockets[socket].files.first().copied();
        let flags = file.map_or(0, |file| runtime.network.flags(file));
        (runtime.network.give_up(socket), flags)
    });
    // Later runs would find it.
    effects::leave_trace();
    let mode = if flags & libc::SOCK_NONBLOCK != 0 { libc::O_NONBLOCK as usize } else { 0 };
    call(libc::SYS_fcntl, [new as usize, libc::F_SETFL as usize, mode, 0, 0, 0]);
    for &file in &old.files {
        let closed = if flags & libc::SOCK_CLOEXEC != 0 { libc::O_CLOEXEC as usize } else { 0 };
        call(libc::SYS_dup3, [new as usize, file as usize, closed, 0, 0, 0]);
    }
    for (set, event) in &old.registrations {
        let Some(&file) = old.files.first() else { continue };
        let add = libc::EPOLL_CTL_ADD as usize;
        call(libc::SYS_epoll_ctl, [*set as usize, add, file as usize, event.as_ptr() as usize, 0, 0]);
    }
    call(libc::SYS_close, [new as usize, 0, 0, 0, 0, 0]);
}

/// Connects a simulated socket with an address on which the run does not listen. It then is a real one, unless it is
/// refused.
fn connect_outside(socket: usize, file: c_int, address: &[u8], place: usize) -> isize {
    if with(|runtime| runtime.network.settings.mode == NetworkMode::Inside) {
        let target = Address::read(address).map_or("another address".to_owned(), |target| target.to_string());
        loss::lose(&format!(
            "it connects to {target}, where nothing in the run listens, and --network inside excludes that\n\
             help: let the program listen there before it connects, or leave out --network inside"
        ));
    }
    let new = match real_socket(socket) {
        Ok(new) => new,
        Err(error) => return -(error as isize),
    };
    let arguments = [new as usize, address.as_ptr() as usize, address.len(), 0, 0, 0];
    // SAFETY: the file was created here, and the address lives as long as the call.
    let mut result = unsafe { raw::unrecorded(libc::SYS_connect, arguments) };
    let is_near = Address::read(address).is_some_and(|address| address.is_loopback());
    if result == -(libc::EINPROGRESS as isize) && is_near {
        // This machine answers at once.
        result = with(|runtime| runtime.network.await_answer(new));
    }
    if result < 0 && result != -(libc::EINPROGRESS as isize) {
        // SAFETY: as above.
        unsafe { raw::unrecorded(libc::SYS_close, [new as usize, 0, 0, 0, 0, 0]) };
        return result;
    }
    replace(socket, new);
    let waits = with(|runtime| runtime.network.flags(file)) & libc::SOCK_NONBLOCK == 0;
    if result == 0 || !waits { result } else { poll::await_connection(file, place) }
}

unsafe extern "C" fn give_address(file: c_int, address: *const c_void, size: u32, place: usize) -> c_int {
    let bound = enter(|| {
        let socket = find(file)?;
        let address = match read_address(address, size) {
            Ok(Some(address)) => address,
            Ok(None) => return Some(-(EINVAL as isize)),
            Err(error) => return Some(-(error as isize)),
        };
        if !address.is_any() && !address.is_loopback() {
            match real_socket(socket) {
                Ok(new) => replace(socket, new),
                Err(error) => return Some(-(error as isize)),
            }
            return None;
        }
        touch_addresses(place);
        Some(from(with(|runtime| runtime.network.bind(socket, address))))
    });
    match bound.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `bind` with these arguments.
        None => unsafe { real::bind(file, address, size) },
    }
}

unsafe extern "C" fn start_listening(file: c_int, backlog: c_int, place: usize) -> c_int {
    let listens = enter(|| {
        let socket = find(file)?;
        touch_addresses(place);
        Some(from(with(|runtime| runtime.network.listen(socket, backlog))))
    });
    match listens.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `listen` with these arguments.
        None => unsafe { real::listen(file, backlog) },
    }
}

unsafe extern "C" fn own_address(file: c_int, room: *mut c_void, size: *mut c_void, place: usize) -> c_int {
    let written = enter(|| {
        let socket = find(file)?;
        let bytes = with(|runtime| {
            let socket = &runtime.network.sockets[socket];
            socket.local.unwrap_or(Address::any(socket.family)).bytes(socket.family)
        });
        Some(write(&bytes, room, size, place))
    });
    match written.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `getsockname` with these arguments.
        None => unsafe { real::getsockname(file, room, size) },
    }
}

unsafe extern "C" fn other_address(file: c_int, room: *mut c_void, size: *mut c_void, place: usize) -> c_int {
    let written = enter(|| {
        let socket = find(file)?;
        // The outcome of connecting depends on the delivery of the request.
        if let Some(wires) = with(|runtime| runtime.wires_of(file)) {
            touch_both(wires, place);
        }
        let bytes = with(|runtime| {
            let socket = &runtime.network.sockets[socket];
            let is_connected = socket.state == State::Connected;
            socket.peer.filter(|_| is_connected).map(|peer| peer.bytes(socket.family))
        });
        Some(bytes.map_or(-(ENOTCONN as isize), |bytes| write(&bytes, room, size, place)))
    });
    match written.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `getpeername` with these arguments.
        None => unsafe { real::getpeername(file, room, size) },
    }
}

unsafe extern "C" fn set_option(
    file: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    size: u32,
    _: usize,
) -> c_int {
    let set = enter(|| {
        let socket = find(file)?;
        Some(match poll::copy(value.cast::<u8>(), size as usize) {
            Ok(value) => with(|runtime| runtime.network.set_option(socket, (level, name, value))),
            Err(error) => -(error as isize),
        })
    });
    match set.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `setsockopt` with these arguments.
        None => unsafe { real::setsockopt(file, level, name, value, size) },
    }
}

unsafe extern "C" fn get_option(
    file: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    size: *mut c_void,
    place: usize,
) -> c_int {
    let got = enter(|| {
        let socket = find(file)?;
        if (level, name) == (libc::SOL_SOCKET, libc::SO_ERROR)
            && let Some(wires) = with(|runtime| runtime.wires_of(file))
        {
            touch_both(wires, place);
        }
        let found = with(|runtime| runtime.network.option(socket, level, name))?;
        Some(write(&found, value, size, place))
    });
    match got.flatten() {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: the program has called `getsockopt` with these arguments.
        None => unsafe { real::getsockopt(file, level, name, value, size) },
    }
}

/// Shuts a side of a file down, if it is a simulated socket.
pub(super) fn shut_down(file: c_int, how: c_int, place: usize) -> Option<isize> {
    let socket = find(file)?;
    let wires = with(|runtime| runtime.wires_of(file));
    match wires {
        Some(wires) => touch_both(wires, place),
        None => touch_addresses(place),
    }
    if !with(|runtime| runtime.network.shut_down(socket, how)) {
        return Some(-(ENOTCONN as isize));
    }
    // SAFETY: the system call touches no memory.
    let result = unsafe { raw::syscall(libc::SYS_shutdown, [file as usize, how as usize, 0, 0, 0, 0]) };
    with(|runtime| {
        if let Some(wires) = wires {
            runtime.look_at(wires);
        }
        runtime.look_inside();
    });
    Some(result)
}

/// Records the file of a connection that a listener has accepted. Returns the address of the other end in C's layout.
pub(super) fn accepted(listener: c_int, file: c_int) -> Vec<u8> {
    with(|runtime| {
        let socket = runtime.network.find(listener).and_then(|found| runtime.network.accepted(found, file));
        runtime.outside.note_created(What::Socket, &[file]);
        runtime.look_at_requests();
        if let Some(wires) = runtime.wires_of(file) {
            runtime.look_at(wires);
        }
        runtime.look_inside();
        let socket = socket.map(|socket| &runtime.network.sockets[socket]);
        socket.and_then(|socket| Some(socket.peer?.bytes(socket.family))).unwrap_or_default()
    })
}

/// Writes the address of the other end of an accepted connection, if the program wants it.
pub(super) fn write_peer(bytes: &[u8], room: *mut c_void, size: *mut c_void, place: usize) {
    if !room.is_null() {
        write(bytes, room, size, place);
    }
}

/// Accepts a connection without waiting.
pub(super) fn accept(listener: c_int, flags: c_int) -> isize {
    with(|runtime| runtime.network.accept(listener, flags))
}

/// Connects a simulated socket. Returns `None` if it is none.
pub(super) fn connect(file: c_int, address: *const c_void, size: u32, place: usize) -> Option<isize> {
    let socket = find(file)?;
    let target = match read_address(address, size) {
        Ok(Some(address)) => address.target(),
        Ok(None) => return Some(-(EINVAL as isize)),
        Err(error) => return Some(-(error as isize)),
    };
    touch_addresses(place);
    match with(|runtime| runtime.network.sockets[socket].state) {
        State::Fresh => {}
        State::Connecting => return Some(-(libc::EALREADY as isize)),
        State::Connected if with(|runtime| runtime.network.tell(socket)) => return Some(0),
        State::Refused => return Some(-(with(|runtime| runtime.network.take_error(file, socket)) as isize)),
        State::Listening | State::Connected | State::Reset => return Some(-(libc::EISCONN as isize)),
    }
    if with(|runtime| runtime.network.listener(&target)).is_none() {
        let bytes = poll::copy(address.cast::<u8>(), size as usize).unwrap_or_default();
        return Some(connect_outside(socket, file, &bytes, place));
    }
    let sent: Result<bool, c_int> = with(|runtime: &mut Runtime| {
        let wires = runtime.network.connect(socket, target)?;
        runtime.add_wires(wires);
        Ok(runtime.network.flags(file) & libc::SOCK_NONBLOCK != 0)
    });
    match sent {
        Err(error) => Some(-(error as isize)),
        Ok(true) => Some(-(libc::EINPROGRESS as isize)),
        Ok(false) => {
            poll::wait_for(file, libc::POLLOUT, place);
            with(|runtime| runtime.network.tell(socket));
            let state = with(|runtime| runtime.network.sockets[socket].state);
            if state == State::Connecting {
                // A signal has ended the wait.
                return Some(-(libc::EINTR as isize));
            }
            Some(-(with(|runtime| runtime.network.take_error(file, socket)) as isize))
        }
    }
}

/// Replaces listeners by real ones, to which a process that is about to be started may connect.
pub(super) fn expose_listeners() {
    const BACKLOG: usize = 128;
    let listens = |runtime: &mut Runtime| {
        let sockets = runtime.network.sockets.iter().enumerate();
        let open = sockets.filter(|(_, socket)| socket.state == State::Listening && !socket.files.is_empty());
        open.map(|(index, socket)| (index, socket.local)).collect::<Vec<_>>()
    };
    for (socket, local) in with(listens) {
        let one = 1_i32.to_ne_bytes().to_vec();
        with(|runtime| runtime.network.set_option(socket, (libc::SOL_SOCKET, libc::SO_REUSEADDR, one)));
        match real_socket(socket) {
            Ok(new) => {
                // SAFETY: the file was created here.
                unsafe { raw::unrecorded(libc::SYS_listen, [new as usize, BACKLOG, 0, 0, 0, 0]) };
                replace(socket, new);
            }
            Err(error) => loss::lose(&format!(
                "it starts a process, which may connect to {}, but the system does not give it that address (error {error})\n\
                 help: use --network real",
                local.map(|local| local.to_string()).unwrap_or_default()
            )),
        }
    }
}
