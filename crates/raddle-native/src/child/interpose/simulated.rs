//! Simulated sockets in calls that apply to all files; see [`crate::child::network`].

use crate::child::network::State;
use crate::child::outside::What;
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::step;
use libc::c_int;
use raddle_model::{Access, Kind, MemoryOrder, ObjectId, Operation};

/// Returns the simulated socket of a file.
pub(super) fn find(file: c_int) -> Option<usize> {
    with(|runtime| if runtime.network.is_empty() { None } else { runtime.network.find(file) })
}

/// Returns true if a file is a simulated socket.
pub(super) fn is_simulated(file: c_int) -> bool {
    find(file).is_some()
}

/// Announces a write of two objects.
fn touch(place: usize, objects: impl FnOnce(&mut Runtime) -> [(ObjectId, Access); 2]) {
    step(|runtime| {
        let [(first, access), (second, other)] = objects(runtime);
        let operation = Operation::new(Kind::ReadModifyWrite, runtime.place(place));
        operation.on(first, access).on(second, other).ordered(MemoryOrder::SequentiallyConsistent)
    });
}

/// Announces an access to the addresses of all sockets.
pub(super) fn touch_addresses(place: usize) {
    touch(place, |runtime| {
        [(runtime.all(What::Network), Access::Write), (runtime.all(What::All), Access::Read)]
    });
}

/// Announces an access to both directions of a connection.
pub(super) fn touch_both(wires: [usize; 2], place: usize) {
    touch(place, |runtime| wires.map(|wire| (runtime.network.wires[wire].object, Access::Write)));
}

/// Executes a call on a file that may be a simulated socket, and returns what a real socket would.
pub(super) fn as_real(file: c_int, events: i16, call: impl FnOnce() -> isize) -> isize {
    let Some(socket) = find(file) else { return call() };
    let is_broken = |state| matches!(state, State::Reset | State::Refused);
    if events & libc::POLLOUT != 0 && with(|runtime| is_broken(runtime.network.sockets[socket].state)) {
        let error = with(|runtime| runtime.network.take_error(file, socket));
        if error != 0 {
            return -(error as isize);
        }
    }
    match call() {
        result if result < 0 => -(with(|runtime| runtime.network.meaning(socket, -result as c_int)) as isize),
        result => result,
    }
}

/// Executes a call that closes a file, if it is a simulated socket.
pub(super) fn change(file: c_int, place: usize, call: impl Fn() -> isize) -> Option<isize> {
    find(file)?;
    let wires = with(|runtime| runtime.wires_of(file));
    match wires {
        Some(wires) => touch_both(wires, place),
        None => touch_addresses(place),
    }
    let result = call();
    with(|runtime| {
        runtime.network.note_closed(file);
        match wires {
            Some(wires) => runtime.look_at(wires),
            None => runtime.look_at_requests(),
        }
        // A listener may have had connections that are closed with it.
        runtime.look_at_all_wires();
        runtime.look_inside();
    });
    Some(result)
}
