//! Values that steps read and write, if requested: for runs that are reported, not for the search.
//!
//! A thread that announces a plain access executes it after the hook has returned. So the value it reads is
//! in memory at its step, and the value it wrote is there when the thread returns to the runtime. No other
//! thread runs in between, so one access at a time is open. The kernel reads the memory, and rejects unmapped
//! addresses.
//!
//! GCC announces the copy of a record as a write and then a read, and only then executes it. So if a write
//! seems to have changed nothing and a read of the same size follows, it may not have been executed yet, and
//! is checked once more after the read. If other threads ran in between, its value is omitted.
#![expect(unsafe_code, reason = "reads memory of the program with a system call")]

use crate::platform::raw;
use raddle_engine::RunSummary;
use raddle_model::{Failure, Kind, ThreadId};
use std::sync::atomic::{AtomicBool, Ordering};

/// The minimum number of values that are kept of a long run, the latest ones.
const MOST: usize = 1 << 17;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Returns true if values are recorded in this process.
#[inline]
pub(crate) fn are_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// The values that one step read and wrote.
#[derive(Clone, Copy)]
pub(crate) struct Noted {
    pub(crate) address: u64,
    pub(crate) step: u32,
    /// The size in bytes.
    pub(crate) width: u8,
    has_read: bool,
    has_written: bool,
    read: u64,
    written: u64,
}

impl Noted {
    /// Returns the value read, if known.
    pub(crate) fn read(&self) -> Option<u64> {
        self.has_read.then_some(self.read)
    }

    /// Returns the value written, if known.
    pub(crate) fn written(&self) -> Option<u64> {
        self.has_written.then_some(self.written)
    }

    fn set_read(&mut self, value: Option<u64>) {
        (self.has_read, self.read) = (value.is_some(), value.unwrap_or_default());
    }

    pub(super) fn set_written(&mut self, value: Option<u64>) {
        (self.has_written, self.written) = (value.is_some(), value.unwrap_or_default());
    }
}

/// A memory access that a thread is about to make.
#[derive(Clone, Copy)]
struct Announced {
    kind: Kind,
    address: u64,
    width: u8,
    is_plain: bool,
}

/// A step whose written value is not yet known.
struct Open {
    thread: ThreadId,
    /// Its index in [`Values::noted`].
    index: usize,
    /// The previous value.
    before: Option<u64>,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Its thread has not returned.
    Executing,
    /// Its thread has returned for a read, and nothing has changed: it may be half of a copy.
    Undecided,
    /// The read was the very next step, and read this.
    Copying(Option<u64>),
}

/// The values of the run.
#[derive(Default)]
pub(crate) struct Values {
    /// In the order of the steps.
    pub(crate) noted: Vec<Noted>,
    /// The values of steps before this one were dropped.
    pub(crate) from: u32,
    /// The next access of each thread, by thread number.
    announced: Vec<Option<Announced>>,
    /// At most one step is open at a time.
    open: Option<Open>,
}

impl Values {
    /// Creates the values if they are requested in this process.
    pub(crate) fn wanted() -> Values {
        WANTED.store(true, Ordering::Relaxed);
        Values::default()
    }

    /// Records the next access of a thread.
    pub(crate) fn announce(
        &mut self,
        thread: ThreadId,
        kind: Kind,
        (address, size): (usize, usize),
        is_plain: bool,
    ) {
        if self.announced.len() <= thread.index() {
            self.announced.resize(thread.index() + 1, None);
        }
        let is_value = matches!(size, 1 | 2 | 4 | 8);
        self.announced[thread.index()] =
            is_value.then_some(Announced { kind, address: address as u64, width: size as u8, is_plain });
    }

    /// Records that a thread is about to execute its announced access, as `step`.
    pub(super) fn begin(&mut self, thread: ThreadId, step: u32) {
        let Some(access) = self.announced.get_mut(thread.index()).and_then(Option::take) else { return };
        let Announced { kind, address, width, .. } = access;
        let mut noted =
            Noted { address, step, width, has_read: false, has_written: false, read: 0, written: 0 };
        let now = read(address, width);
        if kind.reads_memory() {
            noted.set_read(now);
        }
        if self.noted.len() == 2 * MOST {
            self.noted.drain(..MOST);
            self.from = self.noted[0].step;
            // Its index has changed.
            self.open = None;
        }
        self.open = match self.open.take() {
            _ if kind.writes_memory() => {
                let index = self.noted.len();
                Some(Open { thread, index, before: now, stage: Stage::Executing })
            }
            Some(open) if self.noted[open.index].step + 1 == step => {
                Some(Open { stage: Stage::Copying(now), ..open })
            }
            _ => None,
        };
        self.noted.push(noted);
    }

    /// Reads the value that the open step has written, now that `thread` enters the runtime with its next
    /// announcement.
    pub(crate) fn settle(&mut self, thread: ThreadId) {
        let Some(open) = self.open.take().filter(|open| open.thread == thread) else { return };
        let noted = &mut self.noted[open.index];
        let now = read(noted.address, noted.width);
        let next = self.announced.get(thread.index()).copied().flatten();
        let may_copy = |next: Announced| {
            next.is_plain && next.kind == Kind::Read && next.width == noted.width && now == open.before
        };
        match open.stage {
            Stage::Executing if next.is_some_and(may_copy) => {
                self.open = Some(Open { stage: Stage::Undecided, ..open });
            }
            Stage::Executing => noted.set_written(now),
            Stage::Copying(copied) if now == copied || now == open.before => noted.set_written(now),
            Stage::Copying(_) | Stage::Undecided => {}
        }
    }

    /// Replaces the values of `step`, the latest one: under weak memory, memory holds the newest values.
    pub(super) fn correct(&mut self, step: u32, read: Option<u64>, written: Option<u64>) {
        if let Some(noted) = self.noted.last_mut().filter(|noted| noted.step == step) {
            noted.set_read(read);
            noted.set_written(written);
        }
    }

    /// Records that the open step was rejected, if it was to this address.
    pub(crate) fn refuse(&mut self, address: u64) {
        let open = self.open.as_ref().map(|open| self.noted[open.index]);
        if open.is_some_and(|open| (open.address..open.address + u64::from(open.width)).contains(&address)) {
            self.open = None;
        }
    }

    /// Ends the run; `current` is the thread that ran. If the run ended before the last step was executed,
    /// the value that it would have read is in memory; but not in a freed block, which holds the runtime's
    /// pattern.
    pub(crate) fn end(&mut self, current: ThreadId, run: &RunSummary<'_>) {
        self.settle(current);
        let Some(last) = run.trace.events.last().map(|event| event.thread) else { return };
        let left = self.announced.get(last.index()).copied().flatten();
        let is_freed = matches!(run.verdict.failure(), Some(Failure::UseAfterFree { .. }));
        if left.is_some_and(|access| access.kind == Kind::Read) && !is_freed {
            self.begin(last, run.trace.events.len() as u32 - 1);
        }
    }
}

/// Returns the value in memory; `None` if it cannot be read.
fn read(address: u64, width: u8) -> Option<u64> {
    let mut value = 0_u64;
    let into =
        libc::iovec { iov_base: std::ptr::from_mut(&mut value).cast(), iov_len: usize::from(width.min(8)) };
    let from = libc::iovec { iov_base: address as *mut _, iov_len: usize::from(width) };
    // SAFETY: the system call touches no memory.
    let process = unsafe { raw::syscall(libc::SYS_getpid, [0; 6]) };
    let [into, from] = [&raw const into, &raw const from].map(|vector| vector as usize);
    // SAFETY: the kernel writes at most eight bytes into the value, and checks what it reads.
    let count = unsafe { raw::syscall(libc::SYS_process_vm_readv, [process as usize, into, 1, from, 1, 0]) };
    (count == isize::from(width)).then_some(value)
}
