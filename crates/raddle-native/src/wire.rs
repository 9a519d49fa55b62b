//! Messages over the socket; see [`raddle_model::native`].
#![expect(unsafe_code, reason = "the socket is a number that the command line handed over")]

use crate::raw;
use raddle_model::native::Answer;

/// The socket to the command line.
#[derive(Clone, Copy)]
pub(crate) struct Wire(pub(crate) i32);

impl Wire {
    /// Sends an answer. If nobody listens any more, ends the process.
    pub(crate) fn send(self, answer: &Answer) {
        let text = serde_json::to_vec(answer).expect("an answer has only string keys and finite numbers");
        let mut message = (text.len() as u32).to_le_bytes().to_vec();
        message.extend(text);
        let mut sent = 0;
        while sent < message.len() {
            let rest = &message[sent..];
            // SAFETY: the rest of the message is readable.
            let count = unsafe {
                raw::syscall(
                    libc::SYS_sendto,
                    [self.0 as usize, rest.as_ptr() as usize, rest.len(), libc::MSG_NOSIGNAL as usize, 0, 0],
                )
            };
            match count {
                1.. => sent += count as usize,
                _ if count == -(libc::EINTR as isize) => {}
                _ => raw::exit(0),
            }
        }
    }

    /// The text of the next message. If there is none any more, ends the process.
    pub(crate) fn receive(self) -> Vec<u8> {
        let mut length = [0; 4];
        self.fill(&mut length);
        let mut text = vec![0; u32::from_le_bytes(length) as usize];
        self.fill(&mut text);
        text
    }

    fn fill(self, buffer: &mut [u8]) {
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &mut buffer[filled..];
            // SAFETY: the rest of the buffer is writable.
            let count = unsafe {
                raw::syscall(
                    libc::SYS_read,
                    [self.0 as usize, rest.as_mut_ptr() as usize, rest.len(), 0, 0, 0],
                )
            };
            match count {
                1.. => filled += count as usize,
                _ if count == -(libc::EINTR as isize) => {}
                _ => raw::exit(0),
            }
        }
    }
}
