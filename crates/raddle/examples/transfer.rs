//! Two transfers in opposite directions, each of which locks both accounts: a deadlock that a normal test run
//! hardly ever hits. `cargo run -p raddle --example transfer` finds and reports it.

use raddle::sync::{Arc, Mutex};
use raddle::thread;

struct Account {
    balance: Mutex<u64>,
}

fn transfer(from: &Account, to: &Account, amount: u64) {
    let mut source = from.balance.lock().unwrap();
    let mut target = to.balance.lock().unwrap();
    *source -= amount;
    *target += amount;
}

fn main() {
    raddle::check(|| {
        let accounts = Arc::new([100, 100].map(|balance| Account { balance: Mutex::new(balance) }));
        let shared = Arc::clone(&accounts);
        let other = thread::spawn(move || transfer(&shared[0], &shared[1], 10));
        transfer(&accounts[1], &accounts[0], 20);
        other.join().unwrap();
        assert_eq!(*accounts[0].balance.lock().unwrap(), 110);
    });
}
