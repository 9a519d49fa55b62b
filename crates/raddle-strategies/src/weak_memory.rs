//! Weak memory in some runs: an inner strategy half of whose runs are under weak memory, once a run has named a memory
//! order below `SeqCst`.
//!
//! Our own. A program that is sequentially consistent throughout has the runs of the inner strategy, at the same cost. In
//! other programs a run under weak memory costs more and has more outcomes, few of which fail, so that bugs which need
//! no old value are found later: half of the runs stay sequentially consistent. One in four of the others follows
//! [PCTWM](crate::pctwm) instead of the inner strategy.
//!
//! Guarantee: the inner strategy's in each half of the runs, for sequentially consistent and weak memory; PCTWM's in one
//! of eight. Test: `raddle-lab/tests/pctwm.rs`.

use crate::catalogue::{Build, Capabilities, Entry, Family};
use crate::pctwm::Pctwm;
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Ledger, mix};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "weak-memory",
    family: Family::Wrapper,
    summary: "half of the runs of the inner strategy (any randomized one) are under weak memory, once a run named weak orders",
    parameters: &[],
    source: "Raddle",
    guarantee: "the inner strategy's in half of the runs; in 3/8 for weak memory; pctwm's in 1/8",
    capabilities: Capabilities::NONE,
    build: Build::Around(|inner| {
        Box::new(WeakMemory {
            inner,
            pctwm: Pctwm::new(None, 2, None),
            has_weak_orders: false,
            run: Memory::Sc,
        })
    }),
};

/// See the module's documentation.
struct WeakMemory {
    inner: Box<dyn Strategy>,
    pctwm: Pctwm,
    /// True if a run named an order below `SeqCst`.
    has_weak_orders: bool,
    run: Memory,
}

/// The memory of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Sc,
    Weak,
    /// Weak, under PCTWM.
    Pctwm,
}

impl WeakMemory {
    fn current(&mut self) -> &mut dyn Strategy {
        match self.run {
            Memory::Sc | Memory::Weak => &mut *self.inner,
            Memory::Pctwm => &mut self.pctwm,
        }
    }
}

impl Strategy for WeakMemory {
    fn begin(&mut self, rng: Rng) -> Plan {
        // The inner strategy keeps its random numbers.
        let drawn = mix(!rng.clone().bits());
        self.run = match drawn % 8 {
            _ if !self.has_weak_orders => Memory::Sc,
            0 => Memory::Pctwm,
            1..4 => Memory::Weak,
            _ => Memory::Sc,
        };
        self.current().begin(rng)
    }

    #[inline]
    fn choose(&mut self, point: &Point<'_>) -> Choice {
        match self.run {
            Memory::Sc | Memory::Weak => self.inner.choose(point),
            Memory::Pctwm => self.pctwm.choose(point),
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.current().pick(arity)
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.current().pick_message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let named = || run.trace.events.iter().any(|event| event.operation.is_weakly_ordered());
        if !self.has_weak_orders && run.thread_count() > 1 && named() {
            self.has_weak_orders = true;
        }
        if self.has_weak_orders {
            self.pctwm.learn(run);
        }
        if self.run != Memory::Pctwm {
            self.inner.learn(run);
        }
    }

    fn needs(&self) -> Needs {
        let needs = match self.run {
            Memory::Sc | Memory::Weak => self.inner.needs(),
            Memory::Pctwm => self.pctwm.needs(),
        };
        Needs { weak_memory: needs.weak_memory || self.run != Memory::Sc, ..needs }
    }

    fn learns(&self) -> bool {
        true
    }

    fn space(&self) -> Option<f64> {
        self.inner.space()
    }

    fn ledger(&self) -> Option<&Ledger> {
        self.inner.ledger()
    }

    fn recall(&mut self, known: &Ledger) {
        self.inner.recall(known);
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(WeakMemory { inner: self.inner.fork(), pctwm: self.pctwm.clone(), ..*self })
    }
}
