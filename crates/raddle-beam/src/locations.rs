//! Places in the code, numbered in the order in which a run comes to them.
//!
//! On the Erlang side a place is a number of its module and a number inside the module. A run that is repeated comes to the same
//! places in the same order, so what counts in a file is that order.

use raddle_model::LocationId;

/// How many bits of a place number tell the place inside its module.
const INSIDE: u32 = 14;

/// The places of one run. Keeps its memory between runs.
#[derive(Default, Debug)]
pub struct Places {
    run: u64,
    /// Per module and place inside it: in which run it was met last, and as which place of that run.
    met: Vec<Vec<(u64, u32)>>,
    /// The numbers of the Erlang side, in the order in which this run met them.
    order: Vec<u32>,
}

impl Places {
    /// Begins a run that has been nowhere.
    pub fn clear(&mut self) {
        self.run += 1;
        self.order.clear();
    }

    /// The place with this number of the Erlang side, and whether the run comes to it for the first time.
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

    /// The numbers of the Erlang side, in the order of the places.
    pub fn order(&self) -> &[u32] {
        &self.order
    }
}
