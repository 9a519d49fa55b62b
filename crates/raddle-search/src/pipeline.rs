//! The number of requests in flight to a remote worker.
//!
//! A worker that waits for the next request after each run, and wakes the search for each result, loses a
//! tenth of its time when runs are short. So requests are pipelined, and results come in halves of the
//! pipeline. When runs are long there are two: those in flight when the search ends are wasted. The length of
//! the pipeline affects nothing else.

use std::time::{Duration, Instant};

/// The smallest and the largest number of requests in flight.
const LEAST: usize = 2;
const MOST: usize = 64;

/// The amount of work that should be in flight.
const AHEAD: Duration = Duration::from_millis(20);

/// The number of requests that a worker has at a time.
#[derive(Debug)]
pub(crate) struct Window {
    size: usize,
    most: usize,
    /// The time of the latest requests.
    since: Instant,
}

impl Window {
    /// Creates the window of a worker; `are_awaited` if its last results are awaited.
    #[expect(clippy::disallowed_methods, reason = "the number of requests does not affect runs")]
    pub(crate) fn new(are_awaited: bool) -> Window {
        Window { size: LEAST, most: if are_awaited { LEAST } else { MOST }, since: Instant::now() }
    }

    /// Returns the number of requests to send now to a worker that has `under_way`; 0 if it has enough.
    #[inline]
    pub(crate) fn room(&self, under_way: usize) -> usize {
        if under_way * 2 > self.size { 0 } else { self.size - under_way }
    }

    /// Records that requests were sent.
    #[expect(clippy::disallowed_methods, reason = "the number of requests does not affect runs")]
    #[inline]
    pub(crate) fn note_requests(&mut self) {
        let now = Instant::now();
        self.adapt(now - self.since);
        self.since = now;
    }

    /// Adapts to half a window that took `span`.
    fn adapt(&mut self, span: Duration) {
        if span < AHEAD / 4 {
            self.size = (self.size * 2).min(self.most);
        } else if span > AHEAD {
            self.size = (self.size / 2).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_pipelined_and_long_ones_are_not() {
        let mut window = Window::new(false);
        assert_eq!([0, 1, 2].map(|under_way| window.room(under_way)), [2, 1, 0]);
        for _ in 0..10 {
            window.adapt(Duration::from_micros(500));
        }
        assert_eq!([0, 32, 33].map(|under_way| window.room(under_way)), [64, 32, 0]);
        window.adapt(Duration::from_millis(10));
        assert_eq!(window.room(0), 64, "the window is unchanged");
        for _ in 0..10 {
            window.adapt(Duration::from_secs(1));
        }
        assert_eq!(window.room(1), 1);
        let mut window = Window::new(true);
        window.adapt(Duration::from_micros(500));
        assert_eq!(window.room(0), 2);
    }
}
