//! The end of the VM with the search that has started it.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// Ends the VM when the other end of its standard input, a socket, is closed. This is a thread of its own: a
/// process of the VM cannot run while a builtin that takes long occupies its scheduler, and a regular halt
/// waits for that builtin.
pub fn end_vm_with_input() -> std::io::Result<()> {
    let watch = || {
        let input = std::io::stdin();
        loop {
            // Waits for a hang-up or an error only, which need not be requested.
            match poll(&mut [PollFd::new(&input, PollFlags::empty())], None) {
                Err(Errno::INTR) => (),
                Ok(_) | Err(_) => _ = kill_process(getpid(), Signal::KILL),
            }
        }
    };
    std::thread::Builder::new().name("raddle input".into()).spawn(watch).map(drop)
}
