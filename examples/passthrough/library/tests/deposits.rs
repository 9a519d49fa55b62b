//! The library under control: `cargo test` finds the schedule that loses a deposit.

use library::Account;
use raddle::sync::Arc;
use raddle::thread;

#[raddle::test]
fn no_deposit_is_lost() {
    let account = Arc::new(Account::default());
    let other = account.clone();
    let deposit = thread::spawn(move || other.deposit(1));
    account.deposit(1);
    deposit.join().unwrap();
    assert_eq!(*account.balance.lock().unwrap(), 2, "a deposit was lost");
}
