//! What a run leaves behind for the server, in memory that the two share.
//!
//! The server's and the run's process are the same program at the same addresses, so plain data is copied as it is. The
//! memory begins with a number that says whether there are results, and what kind, and with who runs and where; then parts
//! follow, each with its length in bytes before it.
#![expect(unsafe_code, reason = "plain data is copied to and from shared memory")]

use crate::objects::Made;
use crate::outside::Wake;
use crate::raw;
use crate::runtime::{Runtime, SHARED};
use crate::values::Noted;
use raddle_model::{Event, Operation, Pick, ThreadId, Verdict};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The size of the memory; only what is written takes any.
const SIZE: usize = 1 << 30;

const NONE: u64 = 0;
const WHOLE: u64 = 1;
const LOST: u64 = 2;
const REFUSED: u64 = 3;

static MEMORY: AtomicUsize = AtomicUsize::new(0);

/// What came of a run.
pub(crate) enum Results {
    /// Nothing: the process ended in a way that the runtime did not see.
    None,
    /// It could not be controlled.
    Lost(String),
    /// The system did not give what it needs.
    Refused(String),
    /// It came to an end.
    Whole(Box<Whole>),
}

/// A run that came to an end.
pub(crate) struct Whole {
    pub(crate) verdict: Verdict,
    /// How many steps it took.
    pub(crate) steps: u64,
    /// The steps. Nothing if the run has passed and nobody wants them ([`Runtime::wants_steps`]): to copy those of a long run
    /// takes as long as the run.
    pub(crate) events: Vec<Event>,
    pub(crate) picks: Vec<Pick>,
    pub(crate) made: Vec<Made>,
    pub(crate) places: Vec<u64>,
    /// Who called them, as [`crate::stack::Callers`] keeps it; empty if nobody wants to know.
    pub(crate) callers: Vec<u64>,
    /// What each thread was about to do.
    pub(crate) pending: Vec<Option<Operation>>,
    /// Which threads have ended.
    pub(crate) ended: Vec<u8>,
    pub(crate) unwritten: Vec<u32>,
    pub(crate) interrupts: Vec<(u32, ThreadId)>,
    pub(crate) wakes: Vec<Wake>,
    /// What steps read and wrote; empty if nobody wants to know.
    pub(crate) values: Vec<Noted>,
    /// The values of earlier steps than this one were dropped.
    pub(crate) values_from: u32,
    /// Units of memory that several threads touched.
    pub(crate) shared: Vec<u64>,
    pub(crate) fingerprint: u64,
    pub(crate) rests: u64,
    pub(crate) status: i32,
    /// How many memory accesses instrumented code made.
    pub(crate) accesses: u64,
    /// How often it waited for something from outside.
    pub(crate) outside_waits: u64,
    /// How many processes it started.
    pub(crate) processes: u64,
}

impl Whole {
    /// The places by their numbers, each with its callers from the inside out. The first number is no place.
    pub(crate) fn places_with_callers(&self) -> impl Iterator<Item = Option<(u64, &[u64])>> {
        let mut callers = self.callers.split(|&address| address == 0);
        let places = self.places.iter().enumerate();
        places.map(move |(number, &place)| (number > 0).then(|| (place, callers.next().unwrap_or_default())))
    }
}

/// Makes the memory; called once, by the server. Tells whether there is any.
pub(crate) fn prepare() -> bool {
    let memory = raw::map(SIZE, true, 0);
    MEMORY.store(memory as usize, Ordering::Relaxed);
    !memory.is_null()
}

/// Where the parts begin.
const PARTS: usize = 64;

/// One of the numbers before the parts.
fn number(index: usize) -> &'static AtomicU64 {
    let base = MEMORY.load(Ordering::Relaxed) as *const AtomicU64;
    // SAFETY: the memory is mapped for as long as the process lives, and its beginning is only used as atomics.
    unsafe { &*base.add(index) }
}

fn state() -> &'static AtomicU64 {
    number(0)
}

/// Takes note who runs now, and after which place in the code, in case that nothing is heard of it any more.
#[inline]
pub(crate) fn note_running(thread: u32, place: u64) {
    number(1).store(u64::from(thread), Ordering::Relaxed);
    number(2).store(place, Ordering::Relaxed);
}

/// Takes note how many steps the run has taken.
#[inline]
pub(crate) fn note_steps(steps: u64) {
    number(4).store(steps, Ordering::Relaxed);
}

/// How many steps the run has taken.
pub(crate) fn steps() -> u64 {
    number(4).load(Ordering::Relaxed)
}

/// Takes note whether the run waits for something from outside.
pub(crate) fn note_outside(waits: bool) {
    number(3).store(u64::from(waits), Ordering::Relaxed);
}

/// Whether the run waits for something from outside.
pub(crate) fn is_outside() -> bool {
    number(3).load(Ordering::Relaxed) != 0
}

/// Who ran last, and after which place in the code.
pub(crate) fn running() -> (u64, u64) {
    (number(1).load(Ordering::Relaxed), number(2).load(Ordering::Relaxed))
}

/// Takes note on which OS thread the run goes on; 0 is the main one.
pub(crate) fn note_carrier(number: u32) {
    self::number(5).store(u64::from(number), Ordering::Relaxed);
}

/// The OS thread on which the run went on last; 0 is the main one.
pub(crate) fn carrier() -> u64 {
    number(5).load(Ordering::Relaxed)
}

/// Forgets the results of the run before.
pub(crate) fn clear() {
    state().store(NONE, Ordering::Release);
    note_running(0, 0);
    note_carrier(0);
    note_outside(false);
    note_steps(0);
}

/// Whether the run of now has written its results.
pub(crate) fn are_there() -> bool {
    state().load(Ordering::Acquire) != NONE
}

/// Writes or reads one part after the other.
struct Cursor(usize);

impl Cursor {
    fn new() -> Cursor {
        Cursor(PARTS)
    }

    fn put<T: Copy>(&mut self, items: &[T]) -> bool {
        let length = size_of_val(items);
        if self.0 + 8 + length + 16 > SIZE {
            return false;
        }
        let base = MEMORY.load(Ordering::Relaxed) + self.0;
        // SAFETY: the part lies in the memory, by the check above, and nobody reads it yet.
        unsafe {
            *(base as *mut u64) = length as u64;
            std::ptr::copy_nonoverlapping(items.as_ptr().cast::<u8>(), (base + 8) as *mut u8, length);
        }
        self.0 += 8 + length.next_multiple_of(8);
        true
    }

    fn get<T: Copy>(&mut self) -> Vec<T> {
        let base = MEMORY.load(Ordering::Relaxed) + self.0;
        // SAFETY: a length was written here by `put`.
        let length = unsafe { *(base as *const u64) } as usize;
        self.0 += 8 + length.next_multiple_of(8);
        let count = length / size_of::<T>();
        let mut items = Vec::with_capacity(count);
        // SAFETY: `put` wrote so many items of the same type here, by the same code in another process.
        unsafe {
            std::ptr::copy_nonoverlapping((base + 8) as *const T, items.as_mut_ptr(), count);
            items.set_len(count);
        }
        items
    }
}

/// Writes the results of a run that is over.
pub(crate) fn write(runtime: &mut Runtime) {
    if let Some(values) = &mut runtime.values {
        values.end(runtime.current, &runtime.engine.summary());
    }
    let summary = runtime.engine.summary();
    let verdict = serde_json::to_vec(summary.verdict).unwrap_or_default();
    let ended: Vec<u8> = runtime.threads.iter().map(|thread| u8::from(thread.ended)).collect();
    let shared = runtime.accesses.touched.iter().filter(|&(_, by)| by == SHARED);
    let mut shared: Vec<u64> = shared.map(|(unit, _)| unit).collect();
    shared.sort_unstable();
    let steps = summary.trace.events.len();
    let is_wanted = runtime.wants_steps || *summary.verdict != Verdict::Passed;
    let mut cursor = Cursor::new();
    let whole = cursor.put(&verdict)
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
        && cursor.put(runtime.values.as_ref().map_or(&[], |values| &values.noted[..]))
        && cursor.put(&shared)
        && cursor.put(&[
            summary.fingerprint,
            summary.rests,
            runtime.status as u64,
            runtime.accesses.count,
            runtime.outside.waits,
            runtime.outside.processes,
            steps as u64,
            runtime.values.as_ref().map_or(0, |values| u64::from(values.from)),
        ]);
    if whole {
        state().store(WHOLE, Ordering::Release);
    } else {
        write_loss("the run is too long to be recorded; lower the step limit");
    }
}

/// Writes that the run could not be controlled.
pub(crate) fn write_loss(message: &str) {
    Cursor::new().put(message.as_bytes());
    state().store(LOST, Ordering::Release);
}

/// Writes that the system does not let the run be made.
pub(crate) fn write_refusal(message: &str) {
    write_loss(message);
    state().store(REFUSED, Ordering::Release);
}

/// Reads the results of the run that is over.
pub(crate) fn read() -> Results {
    let mut cursor = Cursor::new();
    match state().load(Ordering::Acquire) {
        LOST => Results::Lost(String::from_utf8_lossy(&cursor.get::<u8>()).into_owned()),
        REFUSED => Results::Refused(String::from_utf8_lossy(&cursor.get::<u8>()).into_owned()),
        WHOLE => {
            let Ok(verdict) = serde_json::from_slice(&cursor.get::<u8>()) else { return Results::None };
            let (events, picks, made, places) = (cursor.get(), cursor.get(), cursor.get(), cursor.get());
            let callers = cursor.get();
            let (pending, ended, unwritten) = (cursor.get(), cursor.get(), cursor.get());
            let interrupts = cursor.get();
            let wakes = cursor.get();
            let values = cursor.get();
            let shared = cursor.get();
            let numbers: Vec<u64> = cursor.get();
            let [fingerprint, rests, status, accesses, outside_waits, processes, steps, values_from] =
                numbers[..]
            else {
                return Results::None;
            };
            Results::Whole(Box::new(Whole {
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
                values,
                values_from: values_from as u32,
                shared,
                fingerprint,
                rests,
                status: status as i32,
                accesses,
                outside_waits,
                processes,
            }))
        }
        _ => Results::None,
    }
}
