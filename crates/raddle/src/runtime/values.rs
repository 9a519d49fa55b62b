//! Values that steps read and write, in runs for reports.

use super::Runtime;
use raddle_model::{Cell, Format, Gathered, TraceStep, Values};

/// A value as its bits, its size in bytes, and its format.
pub(crate) type Word = (u64, u8, Format);

/// The values that one step read and wrote.
#[derive(Clone, Copy)]
pub(crate) struct Noted {
    step: u32,
    width: u8,
    format: Format,
    read: Option<u64>,
    written: Option<u64>,
}

/// The uses of the values of atomics in a run, in one byte: almost always there are none, and every access asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ValueUses(u8);

impl ValueUses {
    /// None: an access reads and writes the memory itself.
    pub(crate) const NONE: ValueUses = ValueUses(0);
    const RECORDED: u8 = 1;
    const MAY_BE_OLD: u8 = 2;

    /// Creates the uses of a run.
    pub(super) fn new(are_recorded: bool, may_be_old: bool) -> ValueUses {
        let bit = |is_set: bool, bit| if is_set { bit } else { 0 };
        ValueUses(bit(are_recorded, ValueUses::RECORDED) | bit(may_be_old, ValueUses::MAY_BE_OLD))
    }

    /// Returns true if values are recorded for reports.
    #[inline]
    pub(crate) fn are_recorded(self) -> bool {
        self.0 & ValueUses::RECORDED != 0
    }

    /// Returns true under weak memory, where an access may read an old value.
    #[inline]
    pub(crate) fn may_be_old(self) -> bool {
        self.0 & ValueUses::MAY_BE_OLD != 0
    }
}

impl Runtime {
    /// Starts recording values.
    pub(crate) fn note_values(&mut self) {
        self.values = Some(Vec::new());
    }

    /// Records the values that the latest step, which has just been executed, read and wrote.
    pub(crate) fn note_value(&mut self, read: Option<Word>, written: Option<Word>) {
        let step = self.latest_step();
        if let (Some(values), Some((_, width, format))) = (&mut self.values, read.or(written)) {
            let [read, written] = [read, written].map(|word| word.map(|(bits, ..)| bits));
            values.push(Noted { step, width, format, read, written });
        }
    }

    /// Records that the latest step has written nothing. It must have no record yet.
    pub(crate) fn note_nothing_written(&mut self) {
        let step = self.latest_step();
        let latest = self.values.as_mut().and_then(|values| values.last_mut());
        if let Some(noted) = latest.filter(|noted| noted.step == step) {
            noted.written = None;
        }
    }

    fn latest_step(&self) -> u32 {
        self.engine.step_count().saturating_sub(1) as u32
    }

    /// Returns the recorded values of the run with these steps.
    pub(crate) fn noted_values(&self, steps: &[TraceStep]) -> Values {
        let mut gathered = Gathered::default();
        for &Noted { step, width, format, read, written } in self.values.iter().flatten() {
            let object = steps.get(step as usize).and_then(|step| step.operation.object());
            if let Some(object) = object {
                let cell = || Cell { object, name: String::new(), width, format, names: Vec::new() };
                gathered.add((step, read, written), (object, 0, width), cell);
            }
        }
        gathered.into_values()
    }
}
