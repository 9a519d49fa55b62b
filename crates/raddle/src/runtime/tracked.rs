//! Values that a run must have dropped at its end, and those that are known by their address alone: both of Loom's types.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;

thread_local! {
    /// The values of the run on this OS thread that have not been dropped, by number: what they are, and where they were made.
    static TRACKED: RefCell<Tracked> =
        const { RefCell::new(Tracked { next: 0, lasting: 0, values: BTreeMap::new() }) };
}

thread_local! {
    /// The values that were turned into a pointer, by address.
    static KEPT: RefCell<BTreeMap<usize, Vec<Box<dyn Any>>>> = const { RefCell::new(BTreeMap::new()) };
}

struct Tracked {
    next: u64,
    /// How many initializations of statics are going on, whose values last until the next run.
    lasting: usize,
    values: BTreeMap<u64, (&'static str, &'static Location<'static>)>,
}

/// Notes a value that must be dropped in the run, and returns its number.
pub(crate) fn track(what: &'static str, place: &'static Location<'static>) -> u64 {
    TRACKED.with_borrow_mut(|tracked| {
        tracked.next += 1;
        if tracked.lasting == 0 {
            tracked.values.insert(tracked.next, (what, place));
        }
        tracked.next
    })
}

/// Notes that a value was dropped. One of an earlier run is not known any more.
pub(crate) fn untrack(number: u64) {
    _ = TRACKED.try_with(|tracked| tracked.borrow_mut().values.remove(&number));
}

/// The time in which a value is made that lasts longer than the run: what else is made meanwhile need not be dropped.
pub(crate) struct Lasting(());

impl Lasting {
    pub(crate) fn begin() -> Lasting {
        TRACKED.with_borrow_mut(|tracked| tracked.lasting += 1);
        Lasting(())
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        TRACKED.with_borrow_mut(|tracked| tracked.lasting = tracked.lasting.saturating_sub(1));
    }
}

/// Forgets the values of the run before.
pub(super) fn forget() {
    TRACKED.with_borrow_mut(|tracked| {
        tracked.values.clear();
        tracked.lasting = 0;
    });
}

/// The first value that was not dropped.
pub(super) fn leaked() -> Option<String> {
    TRACKED.with_borrow(|tracked| {
        let (what, place) = tracked.values.values().next()?;
        Some(format!("{what} leaked: it was made at {place} and not dropped"))
    })
}

/// Keeps a value under an address, which may have several.
pub(crate) fn keep(address: usize, value: Box<dyn Any>) {
    KEPT.with_borrow_mut(|kept| kept.entry(address).or_default().push(value));
}

/// Takes a value that was kept under an address.
pub(crate) fn take_kept(address: usize) -> Option<Box<dyn Any>> {
    KEPT.with_borrow_mut(|kept| {
        let values = kept.get_mut(&address)?;
        let value = values.pop();
        if values.is_empty() {
            kept.remove(&address);
        }
        value
    })
}

/// Whether a value is kept.
pub(super) fn has_kept() -> bool {
    KEPT.with_borrow(|kept| !kept.is_empty())
}

/// Drops what is kept, at the end of a run.
pub(super) fn drop_kept() {
    while let Some(values) = KEPT.with_borrow_mut(BTreeMap::pop_first) {
        drop(values);
    }
}
