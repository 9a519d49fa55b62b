//! The orders of the command line, some of which are read in advance.

use super::wire::Wire;
use crate::platform::raw;
use raddle_model::native::Order;
use std::collections::VecDeque;

/// The orders that were read and not handled.
#[derive(Default)]
pub(super) struct Orders(VecDeque<Order>);

impl Orders {
    /// Returns the next order. Ends the process if there is none.
    pub(super) fn next(&mut self, wire: &mut Wire) -> Order {
        self.0.pop_front().unwrap_or_else(|| read(wire))
    }

    /// Reads orders that have arrived already, so that there are up to `most`.
    pub(super) fn look_ahead(&mut self, wire: &mut Wire, most: usize) {
        while self.0.len() < most && wire.has_message() {
            self.0.push_back(read(wire));
        }
    }

    /// Returns the runs that come next: the indexes of their strategies, and their own.
    pub(super) fn runs(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.0.iter().map_while(|order| match order {
            Order::Run { strategy, run, .. } => Some((*strategy, *run)),
            _ => None,
        })
    }
}

fn read(wire: &mut Wire) -> Order {
    let order = serde_json::from_slice(wire.receive());
    order.unwrap_or_else(|_| raw::exit(0))
}
