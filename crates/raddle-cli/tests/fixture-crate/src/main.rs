//! A program that may lose an update, and reports it.

use fixture::Counter;
use std::sync::Arc;

fn main() {
    let counter = Arc::new(Counter::default());
    let other = counter.clone();
    let adder = std::thread::spawn(move || other.add());
    counter.add();
    adder.join().unwrap();
    assert_eq!(counter.get(), 2, "{:?}", std::env::args().nth(1));
}
