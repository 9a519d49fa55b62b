//! Deliveries: they move what is in flight on a wire.

use super::calls;
use super::sockets::Network;
use super::wire::{Stage, Wire};
use libc::{EAGAIN, ECONNREFUSED};

/// The greatest number of bytes that are delivered at once.
const MOST: usize = 1 << 16;

/// The ways of deliveries. The first ones are always possible, and the others depend on the budgets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// All bytes that are in flight, or the request.
    Whole,
    /// The first byte.
    First,
    /// All bytes but the last one.
    Most,
    /// A reset instead of what is in flight.
    Reset,
    /// A refusal of the request.
    Refuse,
}

impl Network {
    /// Returns the ways of the next delivery of a wire. The first is the usual one.
    fn ways(&self, wire: usize) -> Vec<Way> {
        let entry = &self.wires[wire];
        let faults = &self.settings.faults;
        let mut ways = vec![Way::Whole];
        // Reports know the ways by their numbers.
        if entry.stage == Stage::Open && (entry.splits > 0 || faults.reset > 0) {
            ways.extend([Way::First, Way::Most]);
        }
        if entry.stage == Stage::Open && faults.reset > 0 {
            ways.push(Way::Reset);
        }
        if entry.stage == Stage::Request && faults.refuse > 0 {
            ways.push(Way::Refuse);
        }
        ways
    }

    /// Returns the number of ways of the next delivery of a wire.
    pub(crate) fn count_ways(&self, wire: usize) -> u64 {
        self.ways(wire).len() as u64
    }

    /// Returns true if something is in flight on a wire.
    pub(crate) fn is_ready(&self, wire: usize) -> bool {
        let Wire { stage, reset, sockets: [sender, _], .. } = self.wires[wire];
        let hidden = self.sockets[sender].hidden;
        reset
            || stage == Stage::Open
                && hidden >= 0
                && calls::ready(hidden, libc::POLLIN | libc::POLLRDHUP) != 0
    }

    /// Delivers what is in flight on a wire. `ways` is their number when the operation was announced; if the budgets have
    /// changed since, a fault does not happen.
    pub(crate) fn deliver(&mut self, wire: usize, way: u32, ways: u64) {
        let [sender, receiver] = self.wires[wire].sockets;
        let all = self.ways(wire);
        let is_known = all.len() as u64 == ways;
        let way = all.get(way as usize).copied().filter(|_| is_known).unwrap_or(Way::Whole);
        if self.wires[wire].reset {
            return self.break_off(wire, receiver);
        }
        match self.wires[wire].stage {
            Stage::Ended => {}
            // The client has closed its socket meanwhile.
            Stage::Request if self.sockets[sender].files.is_empty() => {
                self.refuse(sender);
                self.wires[wire].stage = Stage::Ended;
            }
            Stage::Request if way == Way::Refuse => {
                self.settings.faults.refuse -= 1;
                self.refuse(sender);
                self.wires[wire].stage = Stage::Ended;
            }
            Stage::Open if way == Way::Reset => {
                self.settings.faults.reset -= 1;
                self.break_off(wire, receiver);
            }
            Stage::Request => match self.establish(sender, receiver) {
                Ok(()) => {
                    self.wires[wire].stage = Stage::Open;
                    self.wires[wire ^ 1].stage = Stage::Open;
                }
                Err(EAGAIN) => self.wires[wire].stalled = true,
                Err(ECONNREFUSED | _) => {
                    self.refuse(sender);
                    self.wires[wire].stage = Stage::Ended;
                }
            },
            Stage::Open => self.move_bytes(wire, way, [sender, receiver]),
        }
    }

    fn move_bytes(&mut self, wire: usize, way: Way, [sender, receiver]: [usize; 2]) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.resize(MOST, 0);
        let [from, to] = [sender, receiver].map(|socket| self.sockets[socket].hidden);
        match calls::receive(from, &mut bytes, true) {
            Ok(0) if self.sockets[sender].resets && self.sockets[sender].files.is_empty() => {
                self.break_off(wire, receiver);
            }
            Ok(0) => {
                calls::end(to);
                self.end(wire);
            }
            Ok(count) => {
                let may_split = count > 1 && self.wires[wire].splits > 0;
                let wanted = match way {
                    Way::First if may_split => 1,
                    Way::Most if may_split => count - 1,
                    _ => count,
                };
                self.wires[wire].splits -= u32::from(wanted < count);
                let sent = match calls::send(to, &bytes[..wanted]) {
                    _ if self.sockets[receiver].ignores => count,
                    Ok(sent) => sent,
                    Err(EAGAIN) => 0,
                    // No thread can read it any more.
                    Err(_) => {
                        self.reply_with_reset(wire);
                        count
                    }
                };
                self.wires[wire].stalled = sent < wanted;
                let _ = calls::receive(from, &mut bytes[..sent], false);
            }
            Err(EAGAIN) => {}
            Err(_) => self.break_off(wire, receiver),
        }
        self.bytes = bytes;
    }

    /// Sends a reset in the other direction.
    fn reply_with_reset(&mut self, wire: usize) {
        self.wires[wire ^ 1].reset = true;
    }

    /// Ends a wire by a reset of its receiver, and with it the other direction.
    fn break_off(&mut self, wire: usize, receiver: usize) {
        // A program perceives a reset only of a connection that it has accepted.
        if !self.sockets[receiver].was_opened() {
            self.wires[wire].stalled = true;
            return;
        }
        self.reset(receiver);
        let [sender, _] = self.wires[wire].sockets;
        for ended in [wire, wire ^ 1] {
            self.wires[ended].stage = Stage::Ended;
            self.wires[ended].reset = false;
        }
        self.reset(sender);
    }

    fn end(&mut self, wire: usize) {
        self.wires[wire].stage = Stage::Ended;
        if self.wires[wire ^ 1].stage == Stage::Ended {
            self.hang_up(self.wires[wire].sockets);
        }
    }
}
