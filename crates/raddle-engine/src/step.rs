//! The effects of one step on its thread, on the objects it touches, on the trace and on the fingerprint.

use crate::engine::{Engine, Reply};
use crate::semantics::Effect;
use crate::strategy::Strategy;
use crate::threads::Status;
use raddle_model::{Event, Kind, LocationId, Operation, Pick, ThreadId, Touch, mix};

impl Engine {
    /// Returns the number of memory accesses that `thread`, which the strategy lets run on, may execute after
    /// this one without a choice. 0 if something has to be checked before every step, or if this one may
    /// change what others can do.
    pub(crate) fn burst(&self, thread: ThreadId, more: u32) -> u64 {
        let memory = self.threads.operation(thread).kind.is_memory();
        if memory { u64::from(more).min(self.alarm.saturating_sub(self.steps + 1)) } else { 0 }
    }

    /// Returns true if [`Engine::go_on`] may have an effect.
    #[inline]
    pub fn runs_on(&self) -> bool {
        self.burst > 0
    }

    /// Executes `operation`, the next one of `thread`, which was resumed, if the strategy lets the thread run
    /// on and the operation is a memory access. If it returns false, the operation has to be announced.
    #[inline(always)] // The front end has one call of it.
    pub fn go_on(&mut self, thread: ThreadId, operation: Operation) -> bool {
        self.runs_on()
            && operation.kind.is_memory()
            && !self.races.watches(operation.argument)
            && self.run_on_with(thread, operation)
    }

    /// Does [`Engine::go_on`] after [`Engine::runs_on`] has returned true, for a front end in which this is a
    /// function of its own.
    #[inline(always)] // The front end has one call of it.
    pub fn run_on(&mut self, thread: ThreadId, operation: Operation) -> bool {
        debug_assert!(self.runs_on(), "the strategy lets the thread run on");
        // Calls in the middle of the common case would make it save registers.
        let is_common = operation.kind.writes_memory()
            && operation.touches[1] == Touch::NONE
            && self.trace.events.len() < self.trace.events.capacity()
            && !self.races.watches(operation.argument);
        if is_common {
            return self.run_on_with(thread, operation);
        }
        let Operation { argument, touches, location, kind } = operation;
        self.run_on_otherwise(argument, touches, location, kind, thread)
    }

    #[inline(never)] // See `run_on`.
    fn run_on_otherwise(
        &mut self,
        argument: u64,
        touches: [Touch; 2],
        location: LocationId,
        kind: Kind,
        thread: ThreadId,
    ) -> bool {
        let may_go_on = kind.is_memory() && !self.races.watches(argument);
        may_go_on && self.run_on_with(thread, Operation { argument, touches, location, kind })
    }

    #[inline(always)] // Into `go_on`, and into the two cases of `run_on`.
    pub(crate) fn run_on_with(&mut self, thread: ThreadId, operation: Operation) -> bool {
        let entry = self.threads.get_mut(thread);
        debug_assert_eq!(entry.status, Status::Running, "only a resumed thread continues");
        if entry.spin.has_returned() {
            return false;
        }
        self.trace.events.push(Event { thread, operation });
        self.burst -= 1;
        self.steps += 1;
        entry.operation = operation;
        let mut print = entry.advance(self.steps);
        if let Some(object) = operation.touches[0].object() {
            print = print.wrapping_add(self.pending.touch(object, operation.touches[0]));
        }
        if operation.touches[1] != Touch::NONE {
            print = self.pending.touch_second(&operation, print);
        }
        self.fingerprint = self.fingerprint.wrapping_add(mix(print));
        true
    }

    /// Executes the next operation of `thread`. Returns its reply, if the thread continues.
    #[inline(always)] // Called once.
    pub(crate) fn execute(&mut self, thread: ThreadId, strategy: &mut dyn Strategy) -> Option<Reply> {
        self.steps += 1;
        let entry = self.threads.get_mut(thread);
        entry.status = Status::Running;
        let Operation { argument, touches: [first, second], location, kind } = entry.operation;
        let mut print = entry.advance(self.steps);
        if let Some(object) = first.object() {
            print = print.wrapping_add(self.pending.unlink((thread, entry.bit), 0, object, first));
        }
        if second != Touch::NONE {
            print = self.pending.unlink_second((thread, entry.bit), &entry.operation, print);
        }
        // Field by field: in one piece it would go through the stack.
        let operation = Operation { argument, touches: [first, second], location, kind };
        self.trace.events.push(Event { thread, operation });
        self.fingerprint = self.fingerprint.wrapping_add(mix(print));
        if !kind.is_memory() {
            return self.execute_synchronisation(thread, strategy);
        }
        if self.races.watches(argument) { self.watch(thread, strategy) } else { Some(Reply::Go) }
    }

    #[inline(never)] // Keeps the path of memory accesses short.
    fn execute_synchronisation(&mut self, thread: ThreadId, strategy: &mut dyn Strategy) -> Option<Reply> {
        // A copy: the thread may get its next operation meanwhile.
        let entry = self.threads.get(thread);
        let operation = &{ entry.operation };
        self.plain_lockers &= !entry.bit;
        let wrote = self.races.is_on() && self.has_for_writing(thread, operation);
        let effect = self.perform(thread, operation, strategy);
        if self.needs.state {
            self.note_objects(operation);
        }
        if effect == Effect::Goes(Reply::TimedOut) {
            self.pass_deadline(thread);
        }
        if self.races.is_on() {
            self.follow(thread, operation, effect, wrote);
        }
        let spin = &mut self.threads.get_mut(thread).spin;
        spin.note_synchronisation(operation, effect == Effect::Goes(Reply::Acquired));
        match effect {
            Effect::Goes(reply) => Some(reply),
            Effect::Stays => None,
        }
    }

    /// Asks the strategy for a number below `arity`, as part of the current step of `thread`.
    pub(crate) fn ask(&mut self, thread: ThreadId, arity: u32, strategy: &mut dyn Strategy) -> u32 {
        let value = self.draw(arity, strategy);
        self.print_outcome(thread, u64::from(value));
        value
    }

    /// Does [`Engine::ask`], but the caller adds the result to the fingerprint.
    pub(crate) fn draw(&mut self, arity: u32, strategy: &mut dyn Strategy) -> u32 {
        let value = if arity > 1 { strategy.pick(arity) } else { 0 };
        assert!(value < arity.max(1), "a strategy picked {value} of {arity}");
        let step = self.trace.events.len() as u32 - 1;
        if arity > 1 {
            self.trace.picks.push(Pick { step, arity, value });
        }
        value
    }

    /// Removes the latest step of `thread` from the fingerprint of the run: only some runs have such a step,
    /// and it is not ordered with others.
    pub(crate) fn unprint(&mut self, thread: ThreadId) {
        self.silent = self.silent.wrapping_add(mix(self.threads.get_mut(thread).retreat()));
    }

    /// Adds the outcome of the latest step of `thread` to the fingerprint, where the order of accesses does
    /// not determine it.
    pub(crate) fn print_outcome(&mut self, thread: ThreadId, outcome: u64) {
        let print = self.threads.get(thread).version ^ mix(outcome + 1);
        self.fingerprint = self.fingerprint.wrapping_add(mix(print));
    }
}
