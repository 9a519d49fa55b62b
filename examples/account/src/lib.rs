//! An account that two threads can overdraw.

use std::sync::Mutex;

/// An account with a balance that must not become negative.
pub struct Account {
    balance: Mutex<i64>,
}

impl Account {
    /// Creates an account.
    pub fn new(balance: i64) -> Account {
        Account { balance: Mutex::new(balance) }
    }

    /// Returns the current balance.
    pub fn balance(&self) -> i64 {
        *self.balance.lock().unwrap()
    }

    /// Takes the amount out of the account if the balance is sufficient.
    pub fn withdraw(&self, amount: i64) -> bool {
        if self.balance() < amount {
            return false;
        }
        *self.balance.lock().unwrap() -= amount; // The balance may have changed since the check.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Account;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn two_withdrawals() {
        let account = Arc::new(Account::new(100));
        let other = Arc::clone(&account);
        let thread = thread::spawn(move || other.withdraw(60));
        account.withdraw(60);
        thread.join().unwrap();
        assert!(account.balance() >= 0, "overdrawn: {}", account.balance());
    }
}
