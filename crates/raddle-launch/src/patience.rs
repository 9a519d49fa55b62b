//! Reads from other processes that a signal or a deadline can end.

use raddle_search::is_interrupted;
use std::io::{BufRead, ErrorKind, Read, Result};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The interval between two checks for a signal or a deadline.
const TICK: Duration = Duration::from_millis(100);

/// Sets the read timeout that [`read_all`] and [`wait`] rely on.
pub(crate) fn set_ticking(stream: &UnixStream) -> Result<()> {
    stream.set_read_timeout(Some(TICK))
}

/// Returns true if a read timed out or was interrupted.
fn is_tick(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Fills `buffer`. Fails at the end of the stream, and if the process is interrupted.
pub(crate) fn read_all(stream: &mut impl Read, buffer: &mut [u8]) -> Result<()> {
    read_while(stream, buffer, &|| !is_interrupted())
}

/// Fills `buffer` as long as `goes_on`.
pub(crate) fn read_while(
    stream: &mut impl Read,
    buffer: &mut [u8],
    goes_on: &dyn Fn() -> bool,
) -> Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(more) => filled += more,
            Err(error) if is_tick(error.kind()) && goes_on() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for data, the end of the stream or an error. Returns false if `is_over` returns true before.
pub(crate) fn wait(stream: &mut impl BufRead, is_over: &dyn Fn() -> bool) -> bool {
    loop {
        match stream.fill_buf() {
            Err(error) if is_tick(error.kind()) => {
                if is_over() {
                    return false;
                }
            }
            _ => return true,
        }
    }
}
