//! The results that a run leaves for the server, in [`shared_memory`](crate::child::shared_memory).
//!
//! The processes of the server and of the run are the same program at the same addresses, so plain data is
//! copied unchanged.

use crate::child::heap::MemoryNote;
use crate::child::known::Unit;
use crate::child::network::wire::Birth;
use crate::child::objects::ObjectRecord;
use crate::child::outside::Wake;
use crate::child::runtime::Runtime;
use crate::child::shared_memory::{self, COMPLETE, Cursor, LOST, REFUSED, write_loss};
use crate::child::values::Noted;
use raddle_model::native::Site;
use raddle_model::{Event, Operation, Pick, ThreadId, Verdict};
use std::sync::atomic::Ordering;

/// The outcome of a run.
pub(crate) enum Results {
    /// None: the process ended in a way that the runtime did not see.
    None,
    /// The run could not be controlled.
    Lost(String),
    /// The system denied a required resource.
    Refused(String),
    /// The run completed.
    Complete(Box<RunData>),
}

/// A completed run.
pub(crate) struct RunData {
    pub(crate) verdict: Verdict,
    /// The number of steps.
    pub(crate) steps: u64,
    /// The steps. Empty if the run has passed and they are not requested ([`Runtime::wants_steps`]): copying
    /// those of a long run takes as long as the run.
    pub(crate) events: Vec<Event>,
    pub(crate) picks: Vec<Pick>,
    pub(crate) made: Vec<ObjectRecord>,
    pub(crate) places: Vec<u64>,
    /// Their callers, as in [`crate::child::stack::Callers`]; empty if not requested.
    pub(crate) callers: Vec<u64>,
    /// The next operation of each thread.
    pub(crate) pending: Vec<Option<Operation>>,
    /// The threads that have ended.
    pub(crate) ended: Vec<u8>,
    pub(crate) unwritten: Vec<u32>,
    pub(crate) interrupts: Vec<(u32, ThreadId)>,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) births: Vec<Birth>,
    /// The values that steps read and wrote; empty if not requested.
    pub(crate) values: Vec<Noted>,
    /// The values of steps before this one were dropped.
    pub(crate) values_from: u32,
    /// The origins of the memory of objects, if the run is shown.
    pub(crate) memory: Vec<MemoryNote>,
    /// Memory that several threads touched.
    pub(crate) shared: Vec<Unit>,
    pub(crate) fingerprint: u64,
    pub(crate) rests: u64,
    /// True if it had sleeps or time limits, and these ended only when nothing else could run.
    pub(crate) idle_timeouts: bool,
    pub(crate) status: i32,
    /// True if a thread sent a signal to another one, or cancelled it.
    pub(crate) has_interrupts: bool,
    /// The number of memory accesses of instrumented code.
    pub(crate) accesses: u64,
    /// The number of waits for external events.
    pub(crate) outside_waits: u64,
    /// The number of processes it started.
    pub(crate) processes: u64,
    /// True if a choice of weak memory was smaller than the model allows.
    pub(crate) forgot_writes: bool,
    /// True if an access had a memory order weaker than sequential consistency.
    pub(crate) has_weak_orders: bool,
    /// The steps that continued a transaction; see [`raddle_model::Trace::joined`].
    pub(crate) joined: Vec<u32>,
    /// The accesses of operations, if requested.
    pub(crate) sites: Vec<Site>,
}

impl RunData {
    /// Returns the locations by number, each with its callers from the inside out. The first number is no
    /// location.
    pub(crate) fn places_with_callers(&self) -> impl Iterator<Item = Option<(u64, &[u64])>> {
        let mut callers = self.callers.split(|&address| address == 0);
        let places = self.places.iter().enumerate();
        places.map(move |(number, &place)| (number > 0).then(|| (place, callers.next().unwrap_or_default())))
    }
}

/// Writes the results of a completed run.
pub(crate) fn write(runtime: &mut Runtime) {
    if let Some(values) = &mut runtime.values {
        values.end(runtime.current, &runtime.engine.summary());
    }
    let summary = runtime.engine.summary();
    let verdict = serde_json::to_vec(summary.verdict).unwrap_or_default();
    let ended: Vec<u8> = runtime.threads.iter().map(|thread| u8::from(thread.ended)).collect();
    let shared = runtime.accesses.learned();
    let steps = summary.trace.events.len();
    let is_wanted = runtime.wants_steps || *summary.verdict != Verdict::Passed;
    let mut cursor = Cursor::new();
    let complete = cursor.put(&verdict)
        && cursor.put(&summary.trace.events[..if is_wanted { steps } else { 0 }])
        && cursor.put(&summary.trace.picks)
        && cursor.put(&runtime.objects.made)
        && cursor.put(&runtime.places)
        && cursor.put(runtime.callers.as_ref().map_or(&[], |callers| &callers.all[..]))
        && cursor.put(&summary.trace.pending)
        && cursor.put(&ended)
        && cursor.put(&runtime.unwritten)
        && cursor.put(&runtime.interrupts)
        && cursor.put(&runtime.outside.wakes)
        && cursor.put(&runtime.births)
        && cursor.put(runtime.values.as_ref().map_or(&[], |values| &values.noted[..]))
        && cursor.put(&shared)
        && cursor.put(&runtime.memory)
        && cursor.put(&summary.trace.joined)
        && cursor.put(&runtime.transactions.as_ref().map_or_else(Vec::new, |progress| progress.sites()))
        && cursor.put(&[
            summary.fingerprint,
            summary.rests,
            u64::from(runtime.engine.has_idle_timeouts()),
            runtime.status as u64,
            runtime.accesses.count,
            runtime.outside.waits,
            runtime.outside.processes,
            steps as u64,
            runtime.values.as_ref().map_or(0, |values| u64::from(values.from)),
            u64::from(summary.forgot_writes),
            u64::from(runtime.accesses.has_weak_orders),
            u64::from(runtime.has_interrupts),
        ]);
    if complete {
        let has_passed = *summary.verdict == Verdict::Passed && runtime.status & 0xff == 0;
        shared_memory::note_plain(if has_passed { cursor.length() } else { 0 });
        shared_memory::state().store(COMPLETE, Ordering::Release);
    } else {
        write_loss("the run is too long to be recorded\nhelp: lower --step-limit");
    }
}

/// Reads the results of the latest run.
pub(crate) fn read() -> Results {
    let mut cursor = Cursor::new();
    match shared_memory::state().load(Ordering::Acquire) {
        LOST => Results::Lost(String::from_utf8_lossy(&cursor.get::<u8>()).into_owned()),
        REFUSED => Results::Refused(String::from_utf8_lossy(&cursor.get::<u8>()).into_owned()),
        COMPLETE => read_parts(&mut cursor).map_or(Results::None, Results::Complete),
        _ => Results::None,
    }
}

/// Reads the results of a completed run from its parts.
pub(crate) fn read_parts(cursor: &mut Cursor) -> Option<Box<RunData>> {
    let verdict = serde_json::from_slice(&cursor.get::<u8>()).ok()?;
    let (events, picks, made, places) = (cursor.get(), cursor.get(), cursor.get(), cursor.get());
    let callers = cursor.get();
    let (pending, ended, unwritten) = (cursor.get(), cursor.get(), cursor.get());
    let interrupts = cursor.get();
    let wakes = cursor.get();
    let births = cursor.get();
    let values = cursor.get();
    let shared = cursor.get();
    let memory = cursor.get();
    let (joined, sites) = (cursor.get(), cursor.get());
    let numbers: Vec<u64> = cursor.get();
    let [
        fingerprint,
        rests,
        idle_timeouts,
        status,
        accesses,
        outside_waits,
        processes,
        steps,
        values_from,
        forgot_writes,
        has_weak_orders,
        has_interrupts,
    ] = numbers[..]
    else {
        return None;
    };
    Some(Box::new(RunData {
        verdict,
        steps,
        events,
        picks,
        made,
        places,
        callers,
        pending,
        ended,
        unwritten,
        interrupts,
        wakes,
        births,
        values,
        values_from: values_from as u32,
        memory,
        shared,
        fingerprint,
        rests,
        idle_timeouts: idle_timeouts != 0,
        status: status as i32,
        accesses,
        outside_waits,
        processes,
        forgot_writes: forgot_writes != 0,
        has_weak_orders: has_weak_orders != 0,
        has_interrupts: has_interrupts != 0,
        joined,
        sites,
    }))
}
