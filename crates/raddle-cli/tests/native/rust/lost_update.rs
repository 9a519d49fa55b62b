//! Two threads add to a number, which they read and write in two critical sections.

use std::sync::{Arc, Mutex};

fn main() {
    let number = Arc::new(Mutex::new(0));
    let add = {
        let number = Arc::clone(&number);
        move || {
            let seen = *number.lock().unwrap(); // reads
            *number.lock().unwrap() = seen + 1; // writes
        }
    };
    let other = std::thread::spawn(add.clone());
    add();
    other.join().unwrap();
    assert_eq!(*number.lock().unwrap(), 2);
}
