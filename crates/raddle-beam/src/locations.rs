//! Source locations, numbered in the order in which a run reaches them.
//!
//! On the Erlang side a location is a module number and a number inside the module. A repeated run reaches
//! the same locations in the same order, so a file records only that order.

use raddle_model::LocationId;

/// The number of bits of a location number that identify the location inside its module.
const INSIDE: u32 = 14;

/// The locations of one run. Keeps its memory between runs.
#[derive(Default, Debug)]
pub struct Locations {
    run: u64,
    /// Per module and location inside it: the latest run that reached it, and its number in that run.
    met: Vec<Vec<(u64, u32)>>,
    /// The numbers of the Erlang side, in the order in which this run reached them.
    order: Vec<u32>,
}

impl Locations {
    /// Begins a run.
    pub fn clear(&mut self) {
        self.run += 1;
        self.order.clear();
    }

    /// Returns the location with this number of the Erlang side, and whether the run reaches it for the first
    /// time.
    #[inline]
    pub fn find(&mut self, raw: u32) -> (LocationId, bool) {
        let (module, inside) = ((raw >> INSIDE) as usize, (raw & ((1 << INSIDE) - 1)) as usize);
        if let Some(&(run, place)) = self.met.get(module).and_then(|module| module.get(inside))
            && run == self.run
        {
            return (LocationId(place), false);
        }
        if module >= self.met.len() {
            self.met.resize(module + 1, Vec::new());
        }
        let met = &mut self.met[module];
        if inside >= met.len() {
            met.resize(inside + 1, (0, 0));
        }
        let place = self.order.len() as u32;
        met[inside] = (self.run, place);
        self.order.push(raw);
        (LocationId(place), true)
    }

    /// Returns the numbers of the Erlang side, in the order of the locations.
    pub fn order(&self) -> &[u32] {
        &self.order
    }
}
