//! Barriers. Arriving is the operation; the threads that arrived continue, without a further step, when all
//! are there.
//!
//! Arrivals commute (their order cannot be observed), so an arrival touches the barrier as a reader. If a
//! program asks which thread is the serial one, the strategy picks it when the barrier opens.

use super::{Effect, first};
use crate::engine::{Engine, Reply};
use crate::objects::Resource;
use crate::strategy::Strategy;
use crate::threads::Status;
use raddle_model::{Operation, ThreadId};

impl Engine {
    /// Arrives at a barrier. `operation.argument` is 1 if the program asks for the serial thread; otherwise
    /// there is none.
    pub(crate) fn barrier(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Effect {
        let object = first(operation);
        let mut arrived = match &mut self.objects.get_mut(object).resource {
            Resource::Barrier { needed, arrived } => {
                arrived.push(thread);
                if arrived.len() < *needed as usize {
                    self.threads.get_mut(thread).status = Status::Inside;
                    self.threads.set_enabled(thread, false);
                    self.threads.note_change(thread);
                    return Effect::Stays;
                }
                std::mem::take(arrived)
            }
            _ => return self.not_usable(thread, object, operation),
        };
        // In thread order, so that the result does not depend on the order of arrival.
        arrived.sort_unstable();
        let serial =
            (operation.argument == 1).then(|| arrived[self.draw(arrived.len() as u32, strategy) as usize]);
        if let Some(serial) = serial {
            // Printed for the thread itself: neither the last arrival nor the numbers of threads are part of
            // the partial order.
            self.print_outcome(serial, 0);
        }
        for &waiting in arrived.iter().rev() {
            self.note_freed(waiting);
            self.threads.get_mut(waiting).status = Status::Running;
            self.make_ready(waiting, Reply::Number(u32::from(serial == Some(waiting))));
        }
        arrived.clear();
        if let Resource::Barrier { arrived: kept, .. } = &mut self.objects.get_mut(object).resource {
            *kept = arrived;
        }
        Effect::Stays
    }
}
