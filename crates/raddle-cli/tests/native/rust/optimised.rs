//! Waits for a message that is never sent.

use std::sync::mpsc;

fn main() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let waiter = std::thread::spawn(move || {
        receiver.recv().unwrap() // waits
    });
    let number = waiter.join().unwrap();
    sender.send(number).unwrap();
}
