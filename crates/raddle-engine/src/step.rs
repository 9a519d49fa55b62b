//! The effects of one step on its thread, on the objects it touches, on the trace and on the fingerprint.

use crate::engine::{Engine, Reply};
use crate::semantics::Effect;
use crate::strategy::Strategy;
use crate::threads::{Status, Wake};
use raddle_model::{Event, Kind, LocationId, Operation, Pick, ThreadId, Touch, mix};

/// The answer of [`Engine::run_on_synchronisation`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RanOn {
    /// The operation was not executed and has to be announced.
    No,
    /// It was executed, and the thread continues with this reply.
    Replied(Reply),
    /// It was executed and has ended the run.
    Over,
}

impl Engine {
    /// Returns the number of steps that the chosen thread, which the strategy lets run on, may take after this one without a
    /// choice. 0 if something has to be checked before every step. A step that changes what others can do resets it.
    #[inline(always)] // A handful of instructions.
    pub(crate) fn burst(&self, more: u32) -> u64 {
        u64::from(more).min(self.alarm.saturating_sub(self.steps + 1))
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

    /// Executes `operation`, the next one of `thread`, which was resumed, if the strategy lets the thread run on and the
    /// operation is synchronisation that is enabled and asks for nothing.
    #[inline(always)] // The front end has one call of it.
    pub fn run_on_synchronisation(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        strategy: &mut dyn Strategy,
    ) -> RanOn {
        debug_assert!(self.runs_on(), "the strategy lets the thread run on");
        let kind = operation.kind;
        // What waits with a time limit has a deadline, which is set when it is announced.
        let is_timed = operation.argument != Operation::UNTIMED && kind.info().timed;
        let is_observed = self.races.is_on() || self.is_weak();
        let is_direct = kind.is_direct() || kind == Kind::Signal && self.has_no_choice_of_waiters(&operation);
        let entry = self.threads.get_mut(thread);
        debug_assert_eq!(entry.status, Status::Running, "only a resumed thread continues");
        if !is_direct || is_timed || is_observed || entry.spin.is_suspect() {
            return RanOn::No;
        }
        entry.operation = operation;
        if !kind.is_prompt() {
            (entry.wake, entry.deadline) = (Wake::None, u64::MAX);
            if !self.can_run(thread) {
                return RanOn::No;
            }
        }
        self.burst -= 1;
        let Operation { argument, touches, location, kind } = operation;
        match self.execute_synchronisation(thread, argument, touches, location, kind, strategy) {
            Some(reply) => RanOn::Replied(reply),
            None => RanOn::Over,
        }
    }

    /// Executes the next operation of `thread`. Returns its reply, if the thread continues.
    #[inline(always)] // Called once.
    pub(crate) fn execute(&mut self, thread: ThreadId, strategy: &mut dyn Strategy) -> Option<Reply> {
        let entry = self.threads.get_mut(thread);
        let Operation { argument, touches: [first, second], location, kind } = entry.operation;
        if !kind.is_memory() {
            let touches = [first, second];
            return self.execute_synchronisation(thread, argument, touches, location, kind, strategy);
        }
        self.steps += 1;
        entry.status = Status::Running;
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
        if self.races.watches(argument) { self.watch(thread, strategy) } else { Some(Reply::Go) }
    }

    /// Executes an operation other than a memory access, which `thread` has announced or runs on with. It comes in parts, which
    /// stay in registers: to read it in one piece where it has just been written would stall the processor.
    #[inline(never)] // Keeps the path of memory accesses short.
    fn execute_synchronisation(
        &mut self,
        thread: ThreadId,
        argument: u64,
        touches: [Touch; 2],
        location: LocationId,
        kind: Kind,
        strategy: &mut dyn Strategy,
    ) -> Option<Reply> {
        let [first, second] = touches;
        self.steps += 1;
        let entry = self.threads.get_mut(thread);
        // Not if the thread runs on.
        let is_announced = entry.status == Status::Pending;
        entry.status = Status::Running;
        let known = (thread, entry.bit);
        let mut print = entry.advance_synchronisation(self.steps);
        self.plain_lockers &= !known.1;
        if let Some(object) = first.object() {
            // The bit of a thread that has announced nothing is not set.
            print = print.wrapping_add(if is_announced || known.1 != 0 {
                self.pending.unlink(known, 0, object, first)
            } else {
                self.pending.touch(object, first)
            });
        }
        if second != Touch::NONE {
            let operation = &Operation { argument, touches, location, kind };
            print = if is_announced {
                self.pending.unlink_second(known, operation, print)
            } else {
                self.pending.touch_second(operation, print)
            };
        }
        self.trace.events.push(Event { thread, operation: Operation { argument, touches, location, kind } });
        self.fingerprint = self.fingerprint.wrapping_add(mix(print));
        // After the event, which would otherwise be copied from here.
        let operation = &Operation { argument, touches, location, kind };
        let wrote = self.races.is_on() && self.has_for_writing(thread, operation);
        let effect = self.perform(thread, operation, strategy);
        if self.has_state {
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
        if self.alarm == 0 || self.threads.has_changes() {
            self.burst = 0;
        }
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
