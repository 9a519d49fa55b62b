//! A network inside the run: internet sockets whose two ends are both in the program.
//!
//! Such a socket is a Unix socket of the kernel, and its other end is *hidden*: only the runtime has it. What the
//! program writes is in flight until a *delivery* ([`delivery`]) reads it from the hidden end of one socket and writes it to the
//! hidden end of the other, so that it can be read. Therefore blocking, readiness (`poll`, `select`, `epoll` in all
//! modes), duplicates, options about buffers, and the numbers of files are the kernel's own, and deliveries are
//! operations of the engine ([`deliveries`](crate::child::deliveries)).
//!
//! ```text
//!   client  program's end === hidden end  --- delivery -->  hidden end === program's end  server
//!                                         <-- delivery ---
//! ```
//!
//! A connection is established by a delivery, too. Until then the buffer of the client's socket is full of bytes
//! without meaning, so that it is not ready for anything. A socket that is connected to an address on which no thread in the run
//! listens is replaced by a real one.

pub(crate) mod address;
mod calls;
mod delivery;
pub(crate) mod sockets;
pub(crate) mod wire;

pub(crate) use address::Address;
pub(crate) use sockets::{Network, State};
