//! What one step does: to its thread, to the objects it touches, to the trace and to the fingerprint.

use crate::engine::{Engine, Reply};
use crate::pending::bit;
use crate::semantics::Effect;
use crate::spin;
use crate::strategy::Strategy;
use crate::threads::Status;
use raddle_model::{Event, Kind, ObjectId, Operation, Pick, ThreadId, Touch, mix};

/// Added to a thread's version at each of its steps.
const STEP: u64 = 0xd6e8_feb8_6659_fd93;
/// Added to an object's version at each write.
const WRITE: u64 = 0xa076_1d64_78bd_642f;

impl Engine {
    /// How many memory accesses `thread`, which the strategy lets run on, may make after this one without a choice. None if
    /// something has to be looked at before every step, or if this one may change what others can do.
    pub(crate) fn burst(&self, thread: ThreadId, more: u32) -> u64 {
        let calm = self.resting.is_empty() && !self.needs.enabled && !self.needs.state;
        let memory = self.threads.operation(thread).kind <= Kind::ReadModifyWrite;
        if calm && memory { u64::from(more).min(self.turns.next_look - self.steps - 1) } else { 0 }
    }

    /// Executes `operation`, the next one of `thread`, which was resumed, if the strategy lets the thread run on and the
    /// operation is a memory access. If it does not say so, the operation has to be announced.
    #[inline]
    pub fn go_on(&mut self, thread: ThreadId, operation: &Operation) -> bool {
        if self.burst == 0 || operation.kind > Kind::ReadModifyWrite || self.races.watches(operation) {
            return false;
        }
        let entry = self.threads.get_mut(thread);
        debug_assert_eq!(entry.status, Status::Running, "only a resumed thread goes on");
        if entry.spin.has_returned() {
            return false;
        }
        self.burst -= 1;
        entry.operation = *operation;
        self.record(thread, operation);
        true
    }

    /// Executes the next operation of `thread` and tells what it brought, if the thread goes on.
    #[inline]
    pub(crate) fn execute(&mut self, thread: ThreadId, strategy: &mut dyn Strategy) -> Option<Reply> {
        let entry = self.threads.get_mut(thread);
        let operation = entry.operation;
        entry.status = Status::Running;
        if let Some(object) = operation.touches[0].object() {
            self.pending.unlink(thread, 0, object);
            if let Some(object) = second_node(&operation) {
                self.pending.unlink(thread, 1, object);
            }
        }
        self.record(thread, &operation);
        if operation.kind > Kind::ReadModifyWrite {
            return self.execute_synchronisation(thread, &operation, strategy);
        }
        if self.races.watches(&operation) { self.watch(thread, &operation) } else { Some(Reply::Go) }
    }

    /// Makes `operation` of `thread` the latest event.
    #[inline(always)] // Twice in the hot path.
    fn record(&mut self, thread: ThreadId, operation: &Operation) {
        self.steps += 1;
        let entry = self.threads.get_mut(thread);
        entry.progress += 1;
        entry.last_step = self.steps;
        entry.version = entry.version.wrapping_add(STEP);
        let mut print = entry.version;
        if operation.kind <= Kind::ReadModifyWrite {
            entry.spin.note_memory(operation);
        }
        self.trace.events.push(Event { thread, operation: *operation });
        if let Some(object) = operation.touches[0].object() {
            print = print.wrapping_add(self.touch(object, operation.touches[0]));
            if let Some(object) = second_node(operation) {
                print = print.wrapping_add(self.touch(object, operation.touches[1]).rotate_left(17));
            }
        }
        self.fingerprint = self.fingerprint.wrapping_add(mix(print));
    }

    /// Takes note that `object` is touched now, and tells its part of the fingerprint.
    #[inline(always)] // A handful of instructions.
    fn touch(&mut self, object: ObjectId, touch: Touch) -> u64 {
        let object = self.objects.get_mut(object);
        let version = object.version;
        object.version = version.wrapping_add(if touch.writes() { WRITE } else { 0 });
        version
    }

    #[inline(never)] // Keeps the path of memory accesses short.
    fn execute_synchronisation(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        strategy: &mut dyn Strategy,
    ) -> Option<Reply> {
        self.plain_lockers &= !bit(thread);
        let wrote = self.races.is_on() && self.has_for_writing(thread, operation);
        let effect = self.perform(thread, operation, strategy);
        if self.races.is_on() {
            self.follow(thread, operation, effect, wrote);
        }
        let spin = &mut self.threads.get_mut(thread).spin;
        if operation.kind == Kind::Choose {
            spin.pass_over();
        } else {
            let acquired = effect == Effect::Goes(Reply::Acquired);
            spin.note(operation, spin::mark(operation.kind, acquired));
        }
        match effect {
            Effect::Goes(reply) => Some(reply),
            Effect::Stays => None,
        }
    }

    /// Asks the strategy for a number below `arity`, as part of the step just begun by `thread`.
    pub(crate) fn ask(&mut self, thread: ThreadId, arity: u32, strategy: &mut dyn Strategy) -> u32 {
        let value = self.draw(arity, strategy);
        self.print_outcome(thread, u64::from(value));
        value
    }

    /// As [`Engine::ask`], but leaves it to the caller to print what came of it.
    pub(crate) fn draw(&mut self, arity: u32, strategy: &mut dyn Strategy) -> u32 {
        let value = if arity > 1 { strategy.pick(arity) } else { 0 };
        assert!(value < arity.max(1), "a strategy picked {value} of {arity}");
        let step = self.trace.events.len() as u32 - 1;
        if arity > 1 {
            self.trace.picks.push(Pick { step, arity, value });
        }
        value
    }

    /// Adds to the fingerprint how the latest step of `thread` turned out, where the order of accesses does not tell.
    pub(crate) fn print_outcome(&mut self, thread: ThreadId, outcome: u64) {
        let print = self.threads.get(thread).version ^ mix(outcome + 1);
        self.fingerprint = self.fingerprint.wrapping_add(mix(print));
    }
}

/// The second object that `operation` touches, if it is another one than the first.
#[inline]
pub(crate) fn second_node(operation: &Operation) -> Option<ObjectId> {
    operation.touches[1].object().filter(|&object| operation.touches[0].object() != Some(object))
}
