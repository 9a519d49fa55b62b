//! The shared memory that runs have shown, by units of eight bytes: what a run begins with and what it leaves.

use crate::platform::table::Table;
use raddle_model::native::SharedUnit;

/// The unit that is shared if a thread has asked whether another one has ended. No memory has this address.
pub(super) const ENDS: u64 = 0;
/// The owner of a byte that several threads have touched.
pub(super) const SHARED: u8 = u8::MAX;
/// The bits of a layout: boundaries in the lowest byte, joined ones in the next. Bit `i` is the boundary
/// before byte `i`; bit 0 is unused.
pub(super) const JOINED: u32 = 8;
/// The layout was known before the run.
pub(super) const LEARNED: u32 = 1 << 16;

/// Shared bytes and layouts, by unit.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// The owners of the bytes of a unit, the first byte in the lowest eight bits; 0 for a byte that no thread has touched.
    pub(super) owners: Table<u64>,
    pub(super) layouts: Table<u32>,
}

/// The knowledge about a unit with shared bytes. Plain data, so that it can be passed to another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Unit {
    pub(super) unit: u64,
    pub(super) layout: u32,
    pub(super) shared: u32,
}

impl Unit {
    /// Returns true if it is memory, and not the fact that ends of threads are observed.
    pub(crate) fn is_memory(&self) -> bool {
        self.unit != ENDS
    }

    /// Returns the number of shared bytes.
    pub(crate) fn bytes(&self) -> u32 {
        self.shared.count_ones()
    }
}

impl Known {
    /// Reads the memory of a failure file or a request.
    pub(crate) fn read(packed: &[u64]) -> Known {
        let mut known = Known::default();
        for SharedUnit { unit, bytes, boundaries } in packed.iter().copied().map(SharedUnit::unpack) {
            known.owners.set(unit, spread(bytes, SHARED));
            known.layouts.set(unit, u32::from(boundaries) | LEARNED);
        }
        known
    }

    /// Returns the form that [`Known::read`] takes.
    pub(crate) fn packed(&self) -> Vec<u64> {
        let pack = |Unit { unit, layout, shared }: Unit| {
            let boundaries = layout as u8 & !((layout >> JOINED) as u8);
            SharedUnit { unit, bytes: shared as u8, boundaries }.pack()
        };
        self.units().into_iter().map(pack).collect()
    }

    /// Returns the units with shared bytes, in order.
    pub(crate) fn units(&self) -> Vec<Unit> {
        let shared = |owners: u64| {
            let bytes = owners.to_le_bytes();
            (0..8).fold(0, |mask, byte| mask | u32::from(bytes[byte] == SHARED) << byte)
        };
        let units = self.owners.iter().map(|(unit, owners)| Unit {
            unit,
            layout: self.layouts.get(unit).unwrap_or(0) & !LEARNED,
            shared: shared(owners),
        });
        let mut units: Vec<Unit> = units.filter(|unit| unit.shared != 0).collect();
        units.sort_unstable_by_key(|unit| unit.unit);
        units
    }

    /// Adds the knowledge of a run. Returns true if anything is new.
    pub(crate) fn add(&mut self, learned: &[Unit]) -> bool {
        let mut is_new = false;
        for &Unit { unit, layout, shared } in learned {
            let (owners, known) = (self.owners.get(unit).unwrap_or(0), self.layouts.get(unit).unwrap_or(0));
            let (more, wider) = (owners | spread(shared as u8, SHARED), known | layout | LEARNED);
            is_new |= more != owners || wider != known;
            self.owners.set(unit, more);
            self.layouts.set(unit, wider);
        }
        is_new
    }
}

/// Returns a word whose bytes are `byte` where the bits of `mask` are set.
pub(super) fn spread(mask: u8, byte: u8) -> u64 {
    // Each bit of the mask goes to the lowest bit of its byte.
    let ones = (0..8).filter(|bit| mask & 1 << bit != 0).fold(0_u64, |word, bit| word | 1 << (8 * bit));
    ones * u64::from(byte)
}
