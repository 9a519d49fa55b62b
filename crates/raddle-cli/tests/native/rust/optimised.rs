//! Waits for a message that nobody sends.

use std::sync::mpsc;

fn main() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let waiter = std::thread::spawn(move || {
        receiver.recv().unwrap() // waits
    });
    let number = waiter.join().unwrap();
    sender.send(number).unwrap();
}
