//! Deliveries of the simulated network as operations of the engine.
//!
//! Each direction of a connection has a thread of the engine that is no thread of the program. Its only operation,
//! [`Kind::Deliver`], is enabled while something is in flight, and depends on calls on that direction and on polls.
//! Such a thread runs in the background: a run does not wait for it.

use crate::child::network::wire::{self, Birth, Stage};
use crate::child::objects::Class;
use crate::child::outside::{Wake, What};
use crate::child::runtime::Runtime;
use libc::{c_int, c_short};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, ObjectId, Operation, ThreadId};

impl Runtime {
    /// Returns the object of a call on a file that waits for `events`, if it may wait. The directions of a
    /// connection are different objects.
    pub(crate) fn file_for(&mut self, file: c_int, events: c_short) -> Option<ObjectId> {
        let Some(wires) = self.wires_of(file) else { return self.file(file) };
        let wire = wires[usize::from(events & libc::POLLIN != 0)];
        Some(self.network.wires[wire].object)
    }

    /// Returns the wires by which a simulated socket sends and receives, if it has them.
    pub(crate) fn wires_of(&mut self, file: c_int) -> Option<[usize; 2]> {
        if self.network.is_empty() {
            return None;
        }
        let socket = self.network.find(file)?;
        self.network.sockets[socket].wires
    }

    /// Adds the threads of a new connection, as part of the latest step of the current thread, whose location is
    /// that of the deliveries. The request is in flight.
    pub(crate) fn add_wires(&mut self, wires: [usize; 2]) {
        for number in wires {
            let value = wire::value(&self.network.wires[number]);
            let object = self.make(value, Class::Wire, value);
            let place = self.me().place;
            let parent = self.current;
            let thread = self.engine.add_child(parent);
            self.engine.set_background(thread);
            self.add_thread(std::ptr::null_mut(), 0, true);
            if let Some(thread) = self.threads.last_mut() {
                // It takes no signals.
                (thread.wire, thread.joined, thread.ended) = (Some(number), true, true);
            }
            self.births.push(Birth { step: self.engine.step_count() as u32, thread, parent });
            let wire = &mut self.network.wires[number];
            (wire.object, wire.place) = (object, place);
        }
        self.arm(wires[0]);
    }

    /// Enables the delivery of a wire.
    fn arm(&mut self, wire: usize) {
        let wire = &mut self.network.wires[wire];
        if !wire.armed {
            wire.armed = true;
            let token = wire.object;
            self.engine.give_token(token);
            let step = self.engine.step_count() as u32;
            self.outside.wakes.push(Wake { step, token, idle: false });
        }
    }

    fn arm_if_ready(&mut self, wire: usize) -> bool {
        let entry = &self.network.wires[wire];
        let arms = !entry.armed && !entry.stalled && self.network.is_ready(wire);
        if arms {
            self.arm(wire);
        }
        arms
    }

    /// Enables the deliveries that a call on a socket with these wires may have made possible.
    pub(crate) fn look_at(&mut self, [out, into]: [usize; 2]) {
        self.arm_if_ready(out);
        if std::mem::take(&mut self.network.wires[into].stalled) {
            self.arm_if_ready(into);
        }
    }

    /// Enables the deliveries that a call on a listener may have made possible: there is room for requests.
    pub(crate) fn look_at_requests(&mut self) {
        for wire in 0..self.network.wires.len() {
            let entry = &mut self.network.wires[wire];
            if entry.stage == Stage::Request && std::mem::take(&mut entry.stalled) {
                self.arm(wire);
            }
        }
    }

    /// Enables the deliveries that calls which are not seen have made possible, when no thread can continue.
    /// Returns true if there is one.
    pub(crate) fn look_at_wires(&mut self) -> bool {
        let from = self.outside.wakes.len();
        self.look_at_all_wires();
        self.outside.wakes[from..].iter_mut().for_each(|wake| wake.idle = true);
        self.outside.wakes.len() > from
    }

    /// Enables all deliveries that are possible.
    pub(crate) fn look_at_all_wires(&mut self) {
        for wire in 0..self.network.wires.len() {
            self.arm_if_ready(wire);
        }
    }

    /// Executes an operation that the engine has chosen for a thread of the network, and announces the next one.
    #[cold]
    pub(crate) fn act_for(&mut self, thread: ThreadId, reply: Reply) {
        let Some(number) = self.threads[thread.index()].wire else { return };
        if let Reply::Number(way) = reply {
            let wire = &mut self.network.wires[number];
            wire.armed = false;
            let ways = wire.announced;
            self.network.deliver(number, way, ways);
            self.arm_if_ready(number);
            self.arm_if_ready(number ^ 1);
            self.look_inside();
        }
        let all = self.all(What::All);
        let ways = self.network.count_ways(number);
        let wire = &mut self.network.wires[number];
        wire.announced = ways;
        // A request changes which connections a listener has, besides its own.
        let access = if wire.stage == Stage::Request { Access::Write } else { Access::Read };
        let operation = Operation::new(Kind::Deliver, wire.place).with_argument(ways);
        self.engine.announce(thread, operation.on(wire.object, Access::Write).on(all, access));
    }
}
