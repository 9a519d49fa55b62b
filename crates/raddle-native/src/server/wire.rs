//! Messages over the socket; see [`raddle_model::native`].
#![expect(unsafe_code, reason = "the socket is a number from the command line")]

use crate::platform::raw::{self, real_now};
use raddle_model::native::Answer;

/// The maximum number of bytes that are read at a time.
const AHEAD: usize = 4096;

/// The time for which answers are held, in nanoseconds: an observer of the search sees progress.
const HELD: u64 = 20_000_000;

/// The socket to the command line.
pub(crate) struct Wire {
    pub(crate) socket: i32,
    /// Answers that the command line does not wait for yet, and when the latest ones were sent.
    held: Vec<u8>,
    sent: u64,
    /// The bytes that were read, and how many of them were consumed.
    ahead: Vec<u8>,
    taken: usize,
}

impl Wire {
    pub(crate) fn new(socket: i32) -> Wire {
        Wire { socket, held: Vec::new(), sent: 0, ahead: Vec::new(), taken: 0 }
    }

    /// Keeps an answer that the command line does not wait for until the next one is sent, which may be this
    /// one.
    pub(crate) fn hold_or_send(&mut self, answer: &Answer) {
        if real_now() - self.sent < HELD {
            self.hold(answer);
        } else {
            self.send(answer);
        }
    }

    fn hold(&mut self, answer: &Answer) {
        let begin = self.held.len();
        self.held.extend([0; 4]);
        serde_json::to_writer(&mut self.held, answer)
            .expect("an answer has only string keys and finite numbers");
        let length = (self.held.len() - begin - 4) as u32;
        self.held[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Sends an answer, after the held ones. Ends the process if the connection is closed.
    pub(crate) fn send(&mut self, answer: &Answer) {
        self.hold(answer);
        let mut sent = 0;
        while sent < self.held.len() {
            let rest = &self.held[sent..];
            let [from, length] = [rest.as_ptr() as usize, rest.len()];
            let arguments = [self.socket as usize, from, length, libc::MSG_NOSIGNAL as usize, 0, 0];
            // SAFETY: the rest of the messages is readable.
            match unsafe { raw::syscall(libc::SYS_sendto, arguments) } {
                count @ 1.. => sent += count as usize,
                error if error == -(libc::EINTR as isize) => {}
                _ => raw::exit(0),
            }
        }
        self.held.clear();
        self.sent = real_now();
    }

    /// Returns the text of the next message. Ends the process if there is none.
    ///
    /// It stays where it was read. Every page that is written between two runs is copied.
    pub(crate) fn receive(&mut self) -> &[u8] {
        self.read(4);
        let length = self.ahead[self.taken..][..4].iter().rev();
        let length = length.fold(0, |length, &byte| length << 8 | usize::from(byte));
        self.read(4 + length);
        let begin = self.taken + 4;
        self.taken = begin + length;
        &self.ahead[begin..self.taken]
    }

    /// Returns true if a message is there that was read already.
    pub(crate) fn has_message(&self) -> bool {
        let unread = &self.ahead[self.taken..];
        unread.first_chunk().is_some_and(|&length| unread.len() >= 4 + u32::from_le_bytes(length) as usize)
    }

    /// Reads until `wanted` unconsumed bytes are there.
    fn read(&mut self, wanted: usize) {
        while self.ahead.len() < self.taken + wanted {
            self.ahead.drain(..std::mem::take(&mut self.taken));
            let filled = self.ahead.len();
            self.ahead.resize(wanted.max(filled + AHEAD), 0);
            let rest = &mut self.ahead[filled..];
            let arguments = [self.socket as usize, rest.as_mut_ptr() as usize, rest.len(), 0, 0, 0];
            // SAFETY: the rest of the buffer is writable.
            let count = unsafe { raw::syscall(libc::SYS_read, arguments) };
            self.ahead.truncate(filled + count.max(0) as usize);
            if count <= 0 && count != -(libc::EINTR as isize) {
                raw::exit(0);
            }
        }
    }
}
