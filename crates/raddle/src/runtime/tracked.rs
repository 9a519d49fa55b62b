//! Values that must be dropped before the end of a run, and values identified by their address: both for
//! Loom's types.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;

thread_local! {
    /// The values of the run on this OS thread that have not been dropped, by number: their kind, and where
    /// they were created.
    static TRACKED: RefCell<Tracked> =
        const { RefCell::new(Tracked { next: 0, lasting: 0, values: BTreeMap::new() }) };
}

thread_local! {
    /// The values that were converted into a pointer, by address.
    static STORED: RefCell<BTreeMap<usize, Vec<Box<dyn Any>>>> = const { RefCell::new(BTreeMap::new()) };
}

struct Tracked {
    next: u64,
    /// The number of initializations of statics in progress, whose values last until the next run.
    lasting: usize,
    values: BTreeMap<u64, (&'static str, &'static Location<'static>)>,
}

/// Records a value that must be dropped in the run, and returns its number.
pub(crate) fn track(what: &'static str, location: &'static Location<'static>) -> u64 {
    TRACKED.with_borrow_mut(|tracked| {
        tracked.next += 1;
        if tracked.lasting == 0 {
            tracked.values.insert(tracked.next, (what, location));
        }
        tracked.next
    })
}

/// Records that a value was dropped. Values of earlier runs are ignored.
pub(crate) fn untrack(number: u64) {
    _ = TRACKED.try_with(|tracked| tracked.borrow_mut().values.remove(&number));
}

/// The time during which a value is created that outlives the run: other values created meanwhile need not be
/// dropped.
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

/// Forgets the values of the previous run.
pub(super) fn forget() {
    TRACKED.with_borrow_mut(|tracked| {
        if !tracked.values.is_empty() {
            tracked.values.clear();
        }
        tracked.lasting = 0;
    });
}

/// Returns the first value that was not dropped.
pub(super) fn leaked() -> Option<String> {
    TRACKED.with_borrow(|tracked| {
        let (what, location) = tracked.values.values().next()?;
        Some(format!("{what} leaked: created at {location} and never dropped"))
    })
}

/// Stores a value under an address, which may have several.
pub(crate) fn store_value(address: usize, value: Box<dyn Any>) {
    STORED.with_borrow_mut(|kept| kept.entry(address).or_default().push(value));
}

/// Takes a value that was stored under an address.
pub(crate) fn take_stored(address: usize) -> Option<Box<dyn Any>> {
    STORED.with_borrow_mut(|kept| {
        let values = kept.get_mut(&address)?;
        let value = values.pop();
        if values.is_empty() {
            kept.remove(&address);
        }
        value
    })
}

/// Returns true if a value is stored.
pub(super) fn has_stored() -> bool {
    STORED.with_borrow(|kept| !kept.is_empty())
}

/// Drops the stored values, at the end of a run.
pub(super) fn drop_stored() {
    while let Some(values) = STORED.with_borrow_mut(BTreeMap::pop_first) {
        drop(values);
    }
}
