//! A program that uses the library. It compiles only if Raddle's types are std's.

use library::Account;
use raddle::{hint, thread, time};

raddle::thread_local! {
    static DEPOSITS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The mutex of the library and of Raddle is std's.
fn is_std(mutex: raddle::sync::Mutex<u64>) -> std::sync::Mutex<u64> {
    mutex
}

fn key_is_std(key: &'static std::thread::LocalKey<std::cell::Cell<u64>>) -> u64 {
    key.get()
}

fn main() {
    let begun: std::time::Instant = time::Instant::now();
    let account = Account::default();
    let thread: std::thread::JoinHandle<()> = thread::spawn(hint::spin_loop);
    thread.join().unwrap();
    account.deposit(2);
    DEPOSITS.set(key_is_std(&DEPOSITS) + 1);
    let balance = is_std(account.balance).into_inner().unwrap();
    assert!(begun.elapsed() > time::Duration::ZERO);
    println!("{} deposit, balance {balance}", DEPOSITS.get());
}
