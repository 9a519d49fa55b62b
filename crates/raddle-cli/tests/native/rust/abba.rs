//! Two locks, taken in either order.

use std::sync::Mutex;

static ONE: Mutex<u64> = Mutex::new(0);
static OTHER: Mutex<u64> = Mutex::new(0);

fn forth() {
    let mut one = ONE.lock().unwrap(); // forth, first
    *one += *OTHER.lock().unwrap(); // forth, second
}

fn back() {
    let mut other = OTHER.lock().unwrap(); // back, first
    *other += *ONE.lock().unwrap(); // back, second
}

fn main() {
    let threads = [std::thread::spawn(forth), std::thread::spawn(back)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
