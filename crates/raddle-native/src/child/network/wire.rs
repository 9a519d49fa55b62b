//! Wires: one for each direction of a connection.

use raddle_model::{LocationId, ObjectId, ThreadId};

/// The state of a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// A request to connect is in flight.
    Request,
    Open,
    /// Nothing can follow, or nothing has begun.
    Ended,
}

/// A direction of a connection.
pub(crate) struct Wire {
    /// The number of the connection in the run.
    pub(crate) connection: usize,
    /// True if it leads from the client to the server.
    pub(crate) to_server: bool,
    /// The sending and the receiving socket.
    pub(crate) sockets: [usize; 2],
    pub(crate) stage: Stage,
    /// Its object, and the location where the program connected.
    pub(crate) object: ObjectId,
    pub(crate) place: LocationId,
    /// The number of ways that its next delivery was announced with.
    pub(crate) announced: u64,
    /// True if a delivery is enabled.
    pub(crate) armed: bool,
    /// True if the receiver has no room.
    pub(crate) stalled: bool,
    /// True if a reset is in flight.
    pub(super) reset: bool,
    /// How often what is in flight may still be split.
    pub(super) splits: u32,
}

/// A thread of the engine that was added as part of a step of another one: it stands for the deliveries of a wire. Plain data.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Birth {
    /// The number of steps of the run before it.
    pub(crate) step: u32,
    pub(crate) thread: ThreadId,
    pub(crate) parent: ThreadId,
}

/// How often the bytes of a wire are split in a run.
const SPLITS: u32 = 1;

impl Wire {
    /// Returns true if nothing is in flight that could be delivered.
    pub(super) fn is_quiet(&self) -> bool {
        self.stage == Stage::Open && !self.armed && !self.stalled
    }

    /// Creates a wire of a connection that is about to be requested. Its bytes may be split `short` times more than usual.
    pub(super) fn new(connection: usize, to_server: bool, sockets: [usize; 2], short: u32) -> Wire {
        Wire {
            connection,
            to_server,
            sockets,
            stage: if to_server { Stage::Request } else { Stage::Ended },
            object: ObjectId(0),
            place: LocationId(0),
            announced: 1,
            armed: false,
            stalled: false,
            reset: false,
            splits: SPLITS.saturating_add(short),
        }
    }
}

/// The value of the object of a wire.
pub(crate) fn value(wire: &Wire) -> u64 {
    (wire.connection as u64) << 1 | u64::from(wire.to_server)
}

/// Returns the report's name of a wire whose object has this value.
pub(crate) fn text(value: u64) -> String {
    let way = if value & 1 == 1 { "client to server" } else { "server to client" };
    format!("connection {} ({way})", value >> 1)
}
