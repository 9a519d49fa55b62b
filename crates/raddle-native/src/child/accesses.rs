//! Memory touched by instrumented code: which bytes several threads share, and which ranges of bytes are
//! objects.
//!
//! Memory is tracked in units of eight bytes. The owner of each byte of a unit is one byte of a word, so one
//! lookup per unit distinguishes neighboring variables. The *layout* of a unit has the boundaries inside it:
//! the bytes at which an access that was a scheduling point began or ended. The bytes between two boundaries
//! are one object. Layouts are read only at scheduling points.
//!
//! The first runs learn both. Later runs start with what is known ([`Known`]).
//!
//! An operation names at most two objects. If an access of at most two units covers more, these are joined,
//! so that none is missed; but not if data races are tracked, because then two accesses that do not overlap
//! would race.

use crate::child::known::{ENDS, JOINED, Known, LEARNED, SHARED, Unit};
use raddle_model::ThreadId;

/// The log2 of the unit size in bytes.
const UNIT_BITS: u32 = 3;
/// Only this many units of a longer access are considered.
const LONGEST: u64 = 4096;

/// The owner of a byte that several threads have touched and that is mapped without write permission.
const CONSTANT: u8 = u8::MAX - 1;
/// The owner of bytes of all threads whose number does not fit. Two of them always share.
const LATE: u8 = u8::MAX - 2;

/// The boundary of a unit that the run touches first: most variables have four or eight bytes.
const MIDDLE: u8 = 1 << 4;

/// The memory of a run.
#[derive(Default)]
pub(crate) struct Accesses {
    known: Known,
    /// True while layouts are learned.
    pub(crate) learns: bool,
    /// True if data races or weak memory are tracked, so that objects must not have bytes of other objects.
    pub(crate) races: bool,
    /// True if an access had a memory order weaker than sequential consistency.
    pub(crate) has_weak_orders: bool,
    /// The number of accesses.
    pub(crate) count: u64,
    /// The number of consecutive accesses that were not scheduling points: atomic ones, plain reads without a
    /// write between them, and all.
    unseen: [u32; 3],
    /// The addresses of the last of these reads, since the latest yield.
    recent: RecentReads,
}

/// The addresses that a thread reads between two yields, if they are few.
#[derive(Default)]
struct RecentReads {
    addresses: [usize; 4],
    count: usize,
    /// The number of consecutive yields with few addresses and without a step of another thread.
    times: u32,
}

impl RecentReads {
    /// Records a read.
    fn add(&mut self, address: usize) {
        if self.count > self.addresses.len() || self.addresses[..self.count].contains(&address) {
            return;
        }
        if let Some(entry) = self.addresses.get_mut(self.count) {
            *entry = address;
        }
        self.count += 1;
    }

    /// Records a yield. Returns the number of consecutive ones with few addresses and without a step of another thread.
    fn note_yield(&mut self, is_alone: bool) -> u32 {
        let is_few = std::mem::take(&mut self.count) <= self.addresses.len();
        self.times = if is_few && is_alone { self.times.saturating_add(1) } else { 0 };
        self.times
    }
}

/// The number of atomic accesses, consecutive reads and accesses before other threads may run.
const MOST_UNSEEN: [u32; 3] = [1 << 10, 1 << 16, 1 << 22];

/// The divisor of these numbers after the first time.
const PART: u32 = 64;

/// The first bytes of the objects that an access touches, in order. Objects after the first two are only counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Touched {
    pub(crate) first: Option<u64>,
    pub(crate) second: Option<u64>,
    count: u32,
}

impl Touched {
    fn add(&mut self, address: u64) {
        match self.count {
            0 => self.first = Some(address),
            1 => self.second = Some(address),
            _ => {}
        }
        self.count += 1;
    }
}

/// Returns the units of a range of bytes, each with the offsets of the first byte in it and of the one after
/// the last.
fn units(address: u64, size: usize) -> impl Iterator<Item = (u64, u32, u32)> {
    let end = address + size.max(1) as u64;
    let (first, last) = (address >> UNIT_BITS, (end - 1) >> UNIT_BITS);
    (first..=last.min(first + LONGEST)).map(move |unit| {
        let begin = unit << UNIT_BITS;
        (unit, address.saturating_sub(begin) as u32, (end - begin).min(8) as u32)
    })
}

/// Returns the bits `from..to`, both at most 8.
fn bits(from: u32, to: u32) -> u8 {
    (((1_u32 << to) - 1) & !((1 << from) - 1)) as u8
}

/// A word with 1 in each byte.
const EACH: u64 = u64::MAX / 255;

/// Returns a mask of the bytes `from..to` of a word, at least one.
#[inline]
fn mask(from: u32, to: u32) -> u64 {
    (u64::MAX >> (64 - 8 * (to - from))) << (8 * from)
}

impl Accesses {
    /// Starts a run with the knowledge of earlier ones.
    pub(crate) fn recall(&mut self, known: &Known) {
        self.known = known.clone();
    }

    /// Counts an access that is not a scheduling point. Returns which of [`MOST_UNSEEN`] is exceeded, if one is.
    #[inline]
    pub(crate) fn count_unseen(&mut self, address: usize, is_read: bool, is_atomic: bool) -> Option<usize> {
        let [atomic, reads, all] = &mut self.unseen;
        *atomic += u32::from(is_atomic);
        *reads = if is_read { *reads + 1 } else { 0 };
        *all += 1;
        if *reads > MOST_UNSEEN[1] - MOST_UNSEEN[1] / PART {
            self.recent.add(address);
        }
        let unseen = self.unseen;
        (0..MOST_UNSEEN.len()).find(|&index| unseen[index] > MOST_UNSEEN[index])
    }

    /// Resets the counts at a scheduling point.
    pub(crate) fn clear_unseen(&mut self) {
        self.unseen = [0; 3];
    }

    /// Sets the count that was exceeded so that it is exceeded sooner the next time. A thread that only reads the
    /// same few variables while no other thread takes a step (`is_alone`) is spinning: it yields even more often,
    /// to reach the step limit soon.
    pub(crate) fn lower_unseen(&mut self, index: usize, is_alone: bool) {
        /// The number of consecutive yields after which such a thread is spinning, and the number of reads between
        /// its yields from then on.
        const SPINNING: (u32, u32) = (256, 16);
        let times = self.recent.note_yield(is_alone && index == 1);
        let next = if times > SPINNING.0 { SPINNING.1 } else { MOST_UNSEEN[index] / PART };
        self.unseen[index] = MOST_UNSEEN[index] - next;
    }

    /// Records that a thread asks whether another one has ended, so that the ends of threads have to be scheduling
    /// points.
    pub(crate) fn note_observed_end(&mut self) {
        self.known.owners.set(ENDS, u64::from(SHARED));
    }

    /// Returns true if ends of threads are scheduling points.
    pub(crate) fn observes_ends(&self) -> bool {
        self.known.owners.get(ENDS).is_some()
    }

    /// Records that the kernel accesses memory for `thread`: if another thread accesses it too, it is shared.
    pub(crate) fn note_kernel(&mut self, thread: ThreadId, address: u64, size: usize) {
        self.shared_units(owner(thread), address, size, |_| false);
    }

    /// Returns the first object of an access to bytes of one unit.
    pub(crate) fn object(&mut self, address: u64, size: usize) -> u64 {
        let mut touched = Touched::default();
        for (unit, from, to) in units(address, size) {
            self.add_objects(&mut touched, unit, from, to, bits(from, to));
        }
        touched.first.unwrap_or(address)
    }

    /// Returns the objects of an access that is always a scheduling point.
    pub(crate) fn all(&mut self, address: u64, size: usize) -> Touched {
        self.count += 1;
        let mut touched = Touched::default();
        for (unit, from, to) in units(address, size) {
            self.add_objects(&mut touched, unit, from, to, bits(from, to));
        }
        touched
    }

    /// Returns the shared objects that `thread` touches, and records the access. `is_constant` returns true
    /// for addresses that cannot be written.
    #[inline]
    pub(crate) fn shared(
        &mut self,
        thread: ThreadId,
        address: u64,
        size: usize,
        is_constant: impl Fn(u64) -> bool,
    ) -> Touched {
        self.count += 1;
        let mine = owner(thread);
        // Most accesses are of one unit, and to bytes that only their thread has touched.
        let from = (address % 8) as u32;
        if mine != LATE && (1..=8 - from as usize).contains(&size) {
            let mask = mask(from, from + size as u32);
            let owners = self.known.owners.get(address >> UNIT_BITS).unwrap_or(0);
            if owners & mask == (EACH * u64::from(mine)) & mask {
                return Touched::default();
            }
        }
        self.shared_units(mine, address, size, is_constant)
    }

    /// The same for any access.
    fn shared_units(
        &mut self,
        mine: u8,
        address: u64,
        size: usize,
        is_constant: impl Fn(u64) -> bool,
    ) -> Touched {
        let mut touched = Touched::default();
        for (unit, from, to) in units(address, size) {
            let mask = mask(from, to);
            let owners = self.known.owners.get(unit).unwrap_or(0);
            let own = (EACH * u64::from(mine)) & mask;
            if owners & mask == own && mine != LATE {
                continue;
            }
            if owners & mask == 0 {
                self.known.owners.set(unit, owners | own);
                continue;
            }
            let points = self.meet(unit, owners, (from, to), mine, &is_constant);
            if points != 0 {
                self.add_objects(&mut touched, unit, from, to, points);
            }
        }
        if touched.count > 2 && self.learns && !self.races {
            self.join(address, size);
        }
        touched
    }

    /// Records that a thread touches bytes of a unit some of which have an owner. Returns the shared ones.
    fn meet(
        &mut self,
        unit: u64,
        owners: u64,
        (from, to): (u32, u32),
        mine: u8,
        is_constant: &impl Fn(u64) -> bool,
    ) -> u8 {
        let (mut now, mut points) = (owners.to_le_bytes(), 0);
        for byte in from..to {
            let by = &mut now[byte as usize];
            *by = match *by {
                0 => mine,
                SHARED | CONSTANT => *by,
                same if same == mine && mine != LATE => mine,
                _ if is_constant(unit << UNIT_BITS) => CONSTANT,
                _ => SHARED,
            };
            points |= u8::from(*by == SHARED) << byte;
        }
        let now = u64::from_le_bytes(now);
        if now != owners {
            self.known.owners.set(unit, now);
        }
        points
    }

    /// Records that `thread` frees memory: bytes that another thread has touched are shared.
    pub(crate) fn free(&mut self, thread: ThreadId, address: u64, size: usize) {
        let mine = owner(thread);
        for (unit, from, to) in units(address, size) {
            let Some(owners) = self.known.owners.get(unit) else { continue };
            let mut now = owners.to_le_bytes();
            for by in &mut now[from as usize..to as usize] {
                if ![0, mine, CONSTANT].contains(by) {
                    *by = SHARED;
                }
            }
            let now = u64::from_le_bytes(now);
            if now != owners {
                self.known.owners.set(unit, now);
            }
        }
    }

    /// Adds the objects of `points`, which are bytes of an access to `from..to` of a unit.
    fn add_objects(&mut self, touched: &mut Touched, unit: u64, from: u32, to: u32, points: u8) {
        let cuts = self.boundaries(unit, from, to);
        let mut previous = None;
        for byte in (0..8).filter(|byte| points & 1 << byte != 0) {
            let before = cuts & bits(0, byte + 1);
            let start = 7_u32.saturating_sub(before.leading_zeros());
            if previous.replace(start) != Some(start) {
                touched.add((unit << UNIT_BITS) + u64::from(start));
            }
        }
    }

    /// Returns the boundaries of a unit. Those of an access to `from..to` are added if layouts may still
    /// change: later accesses of the run could miss an object of an earlier one, so runs with known layouts
    /// do not add any, unless they track data races.
    fn boundaries(&mut self, unit: u64, from: u32, to: u32) -> u8 {
        let known = self.known.layouts.get(unit).unwrap_or(0);
        let mut layout = known;
        if self.learns || self.races || known & LEARNED == 0 {
            layout |= u32::from((bits(from, from + 1) | (1_u32 << to) as u8) & !1);
            if layout != known {
                self.known.layouts.set(unit, layout);
            }
        }
        let default = if layout & LEARNED == 0 { MIDDLE } else { 0 };
        (layout as u8 | default) & !((layout >> JOINED) as u8)
    }

    /// Joins the objects of an access in each of its units, if there are at most two units.
    fn join(&mut self, address: u64, size: usize) {
        if units(address, size).count() > 2 {
            return;
        }
        for (unit, from, to) in units(address, size) {
            let layout = self.known.layouts.get(unit).unwrap_or(0);
            self.known.layouts.set(unit, layout | u32::from(bits(from + 1, to)) << JOINED);
        }
    }

    /// Returns the units with bytes that several threads have touched, in order.
    pub(crate) fn learned(&self) -> Vec<Unit> {
        self.known.units()
    }
}

fn owner(thread: ThreadId) -> u8 {
    u8::try_from(thread.0 + 1).unwrap_or(LATE).min(LATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: u64 = 0x1000;

    fn shared(accesses: &mut Accesses, thread: u32, address: u64, size: usize) -> Vec<u64> {
        let touched = accesses.shared(ThreadId(thread), address, size, |_| false);
        [touched.first, touched.second].into_iter().flatten().collect()
    }

    /// Repeats the same accesses until nothing new is learned, and returns the state of a run with that
    /// knowledge.
    fn learn(races: bool, all: &[(u32, u64, usize)]) -> Accesses {
        let mut known = Known::default();
        loop {
            let mut run = Accesses { learns: true, races, ..Accesses::default() };
            run.recall(&known);
            all.iter().for_each(|&(thread, address, size)| _ = shared(&mut run, thread, address, size));
            if !known.add(&run.learned()) {
                break;
            }
        }
        let mut run = Accesses { races, ..Accesses::default() };
        run.recall(&Known::read(&known.packed()));
        run
    }

    #[test]
    fn neighbours_of_different_threads_are_private() {
        let mut run = learn(false, &[(1, X, 4), (2, X + 4, 4), (1, X, 4), (2, X + 4, 4)]);
        assert!(shared(&mut run, 1, X, 4).is_empty());
        assert!(shared(&mut run, 2, X + 4, 4).is_empty());
        assert!(shared(&mut run, 1, X, 4).is_empty());
    }

    #[test]
    fn shared_neighbours_are_different_objects() {
        let all = [(1, X, 4), (2, X, 4), (1, X + 4, 1), (2, X + 4, 1), (1, X + 5, 1), (2, X + 5, 1)];
        let mut run = learn(true, &all);
        assert_eq!(shared(&mut run, 1, X, 4), [X]);
        assert_eq!(shared(&mut run, 2, X + 4, 1), [X + 4]);
        assert_eq!(shared(&mut run, 2, X + 5, 1), [X + 5]);
    }

    #[test]
    fn a_wider_access_touches_both_of_its_halves() {
        let all = [(1, X, 4), (2, X, 4), (1, X + 4, 4), (2, X, 8)];
        for races in [false, true] {
            let mut run = learn(races, &all);
            assert_eq!(shared(&mut run, 2, X, 8), [X, X + 4]);
            assert_eq!(shared(&mut run, 1, X + 4, 4), [X + 4]);
        }
    }

    #[test]
    fn no_access_misses_an_object_of_an_overlapping_one() {
        let bytes: Vec<(u32, u64, usize)> = (0..8).map(|byte| (1, X + byte, 1)).collect();
        let mut run = learn(false, &[&bytes[..], &[(2, X, 8)]].concat());
        for byte in 0..8 {
            assert_eq!(shared(&mut run, 1, X + byte, 1), shared(&mut run, 2, X, 8), "byte {byte}");
        }
        // Two units with two variables each, and a copy of all four.
        let ints = [(1, X, 4), (1, X + 4, 4), (1, X + 8, 4), (1, X + 12, 4), (2, X, 16)];
        let mut run = learn(false, &ints);
        assert_eq!(shared(&mut run, 2, X, 16), [X, X + 8]);
        assert_eq!(shared(&mut run, 1, X + 12, 4), [X + 8]);
    }

    #[test]
    fn accesses_that_do_not_overlap_are_different_objects_where_races_count() {
        let bytes: Vec<(u32, u64, usize)> = (0..8).map(|byte| (1, X + byte, 1)).collect();
        let mut run = learn(true, &[&bytes[..], &[(2, X, 8)]].concat());
        let objects: Vec<u64> = (0..8).flat_map(|byte| shared(&mut run, 1, X + byte, 1)).collect();
        assert_eq!(objects, (X..X + 8).collect::<Vec<_>>());
        // Even if only this run has them.
        let mut run = learn(true, &[(1, X, 8), (2, X, 8)]);
        assert_ne!(shared(&mut run, 1, X, 4), shared(&mut run, 2, X + 4, 4));
    }

    #[test]
    fn a_run_whose_layouts_are_known_keeps_them() {
        let mut run = learn(false, &[(1, X, 8), (2, X, 8)]);
        assert_eq!(shared(&mut run, 1, X, 8), [X]);
        assert_eq!(shared(&mut run, 2, X + 4, 4), [X], "the previous access named no other object");
    }

    #[test]
    fn unaligned_accesses_touch_both_units() {
        let mut run = learn(false, &[(1, X + 6, 4), (2, X + 6, 4), (1, X + 8, 8)]);
        assert_eq!(shared(&mut run, 1, X + 6, 4), [X + 6, X + 8]);
        assert_eq!(shared(&mut run, 2, X + 8, 2), [X + 8]);
    }

    #[test]
    fn threads_without_a_number_of_their_own_share() {
        let mut run = Accesses::default();
        assert!(shared(&mut run, 300, X, 4).is_empty());
        assert_eq!(shared(&mut run, 301, X, 4), [X]);
    }

    #[test]
    fn constant_bytes_are_never_points() {
        let mut run = Accesses::default();
        for thread in [1, 2, 3, 1] {
            let touched = run.shared(ThreadId(thread), X, 8, |_| true);
            assert_eq!(touched, Touched::default());
        }
    }

    #[test]
    fn freed_bytes_of_others_are_shared() {
        let mut run = Accesses::default();
        shared(&mut run, 1, X, 4);
        shared(&mut run, 2, X + 4, 4);
        run.free(ThreadId(2), X, 8);
        assert_eq!(run.learned(), [Unit { unit: X >> 3, layout: 0, shared: 0x0f }]);
    }
}
