//! Transactions: sequences of steps of one thread that no other thread interrupts.
//!
//! The front end says of an operation that it continues the transaction of the previous one of its thread. The strategy is
//! not asked before such an operation. Other runs pay nothing: the operation sets the alarm.

use crate::engine::{Engine, Reply};
use crate::strategy::{Point, Strategy};
use raddle_model::{Event, Failure, ThreadId, Verdict};

/// The largest number of steps of a transaction. A longer one is taken for a loop that waits for another thread.
pub const LONGEST_TRANSACTION: u64 = 10_000;

impl Engine {
    /// Records that the operation that `thread` announces next continues the transaction of its latest one, which was the
    /// latest step of the run: nothing may come between them. If the operation cannot be executed at once, or the transaction
    /// does not end, the run fails, because the others cannot continue either.
    #[cold]
    pub fn join_next(&mut self, thread: ThreadId) {
        if self.trace.events.last().is_some_and(|event| event.thread == thread) {
            self.inside = Some(thread);
            self.burst = 0;
            self.alarm = 0;
        }
    }

    /// Records the point before a step that continues a transaction. Returns false if that step is impossible, and the run
    /// is over.
    pub(crate) fn prepare_inside(&mut self, thread: ThreadId) -> bool {
        self.trace.joined.push(self.trace.events.len() as u32);
        if !self.threads.is_enabled(thread) {
            let verdict = self.deadlock();
            self.end(verdict);
            return false;
        }
        if self.length_of_latest() as u64 > LONGEST_TRANSACTION {
            let failure = Failure::StepLimit { limit: LONGEST_TRANSACTION, spinning: vec![thread] };
            self.end(Verdict::Failed { failure });
            return false;
        }
        if self.needs.enabled {
            self.trace.enabled_from.push(self.trace.enabled.len() as u32);
            self.trace.enabled.push(thread);
        }
        if self.needs.state {
            self.trace.states.push(self.state());
        }
        true
    }

    /// Executes the operation of `thread` that continues its transaction.
    #[cold]
    pub(crate) fn execute_inside(&mut self, thread: ThreadId, strategy: &mut dyn Strategy) -> Option<Reply> {
        self.execute(thread, strategy)
    }

    /// Returns the number of events of the latest transaction, with one that was prepared.
    fn length_of_latest(&self) -> usize {
        let mut from = self.trace.events.len();
        let mut joined = self.trace.joined.iter().rev();
        while joined.next().is_some_and(|&event| event as usize == from) {
            from -= 1;
        }
        self.trace.events.len() - from
    }
}

impl<'a> Point<'a> {
    /// Returns the events of the latest transaction: the latest event, and those before it that it continues.
    pub fn latest(&self) -> &'a [Event] {
        let trace = &self.engine.trace;
        let mut from = trace.events.len().saturating_sub(1);
        let mut joined = trace.joined.iter().rev();
        while joined.next().is_some_and(|&event| event as usize == from) {
            from -= 1;
        }
        &trace.events[from..]
    }
}
