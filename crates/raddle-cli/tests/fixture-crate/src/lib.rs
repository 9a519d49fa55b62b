//! Typical tests of concurrent code, correct and wrong.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;

/// A counter that loses updates.
#[derive(Default)]
pub struct Counter(AtomicU32);

impl Counter {
    pub fn add(&self) {
        let value = self.0.load(Ordering::SeqCst);
        self.0.store(value + 1, Ordering::SeqCst);
    }

    pub fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Two locks that are taken in both orders.
#[derive(Default)]
pub struct Pair {
    left: Mutex<u32>,
    right: Mutex<u32>,
}

impl Pair {
    pub fn to_the_left(&self) {
        let right = self.right.lock().unwrap();
        *self.left.lock().unwrap() += *right;
    }

    pub fn to_the_right(&self) {
        let left = self.left.lock().unwrap();
        *self.right.lock().unwrap() += *left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn single() {
        let counter = Counter::default();
        counter.add();
        assert_eq!(counter.get(), 1);
    }

    #[test]
    fn single_and_wrong() {
        println!("before the end");
        assert_eq!(Counter::default().get(), 1, "nobody has added");
    }

    #[test]
    fn loses_updates() {
        let counter = Arc::new(Counter::default());
        let other = counter.clone();
        let adder = thread::spawn(move || other.add());
        counter.add();
        adder.join().unwrap();
        println!("counted to {}", counter.get());
        assert_eq!(counter.get(), 2, "an update is lost");
    }

    #[test]
    fn locks_in_both_orders() {
        let pair = Arc::new(Pair::default());
        let other = pair.clone();
        let thread = thread::spawn(move || other.to_the_left());
        pair.to_the_right();
        thread.join().unwrap();
    }

    #[test]
    fn locked() {
        let sum = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let sum = sum.clone();
                thread::spawn(move || *sum.lock().unwrap() += 1)
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*sum.lock().unwrap(), 2);
    }

    #[test]
    fn a_panic_is_returned() {
        let thread = thread::spawn(|| panic!("on purpose"));
        assert!(thread.join().is_err());
    }

    #[test]
    fn a_panic_is_handed_on() {
        let counter = Arc::new(Counter::default());
        let other = counter.clone();
        let thread = thread::spawn(move || {
            other.add();
            assert_eq!(other.get(), 1, "somebody else has added");
        });
        counter.add();
        thread.join().unwrap();
    }

    #[test]
    #[should_panic(expected = "right")]
    fn has_to_panic() {
        let thread = thread::spawn(|| {});
        thread.join().unwrap();
        panic!("all is right");
    }

    #[test]
    #[ignore]
    fn is_ignored() {
        panic!("nobody asked for it");
    }

    #[test]
    fn is_skipped() {
        panic!("raddle.toml leaves it out");
    }
}
