//! An account with a bug: two deposits at the same time may count as one.

use raddle::sync::Mutex;

/// An account.
#[derive(Default)]
pub struct Account {
    /// The balance. Std's mutex, unless the tests of this package are built.
    pub balance: Mutex<u64>,
}

impl Account {
    /// Adds to the balance.
    pub fn deposit(&self, amount: u64) {
        let before = *self.balance.lock().unwrap();
        // Another deposit may come here.
        *self.balance.lock().unwrap() = before + amount;
    }
}
