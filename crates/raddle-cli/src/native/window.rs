//! How many orders a server has at a time.
//!
//! One that waits for the next order after each run, and wakes us for each answer, loses a tenth of its time where runs are
//! short. So it has orders in stock, and half of them are answered at once. Where runs are long it has two: those that are under way when
//! the search ends are made in vain, or even waited for if the server is to tell something then. How many there are decides nothing else.

use std::time::{Duration, Instant};

/// The least and the most orders at a time.
const LEAST: usize = 2;
const MOST: usize = 64;

/// What a server should be busy with.
const STOCK: Duration = Duration::from_millis(20);

/// How many orders a server has at a time.
#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    most: usize,
    /// When the orders of now were given.
    since: Instant,
}

impl Window {
    #[expect(clippy::disallowed_methods, reason = "how many orders are under way decides nothing in runs")]
    /// How many orders a server has whose last ones are waited for, or are not.
    pub(super) fn new(are_awaited: bool) -> Window {
        Window { size: LEAST, most: if are_awaited { LEAST } else { MOST }, since: Instant::now() }
    }

    /// How many orders are to be given now to a server that has `under_way`; none if it has enough.
    pub(super) fn room(&self, under_way: usize) -> usize {
        if under_way * 2 > self.size { 0 } else { self.size - under_way }
    }

    /// Takes note that orders were given.
    #[expect(clippy::disallowed_methods, reason = "how many orders are under way decides nothing in runs")]
    pub(super) fn note_orders(&mut self) {
        let now = Instant::now();
        self.adapt(now - self.since);
        self.since = now;
    }

    /// The stock of half a window has lasted for `span`.
    fn adapt(&mut self, span: Duration) {
        if span < STOCK / 4 {
            self.size = (self.size * 2).min(self.most);
        } else if span > STOCK {
            self.size = (self.size / 2).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_ordered_in_stock_and_long_ones_are_not() {
        let mut window = Window::new(false);
        assert_eq!([0, 1, 2].map(|under_way| window.room(under_way)), [2, 1, 0]);
        for _ in 0..10 {
            window.adapt(Duration::from_micros(500));
        }
        assert_eq!([0, 32, 33].map(|under_way| window.room(under_way)), [64, 32, 0]);
        window.adapt(Duration::from_millis(10));
        assert_eq!(window.room(0), 64, "it is as it should be");
        for _ in 0..10 {
            window.adapt(Duration::from_secs(1));
        }
        assert_eq!(window.room(1), 1);
        let mut window = Window::new(true);
        window.adapt(Duration::from_micros(500));
        assert_eq!(window.room(0), 2);
    }
}
