//! Strategies around another one.

use crate::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Ledger, Stronger};

/// The difference between a strategy and the inner one that [`Wrapped`] puts it around. Every default does what the
/// inner strategy does.
pub trait Wrapper: Clone + Send + Sync + 'static {
    /// See [`Strategy::begin`].
    fn begin(&mut self, inner: &mut dyn Strategy, rng: Rng) -> Plan {
        inner.begin(rng)
    }

    /// See [`Strategy::choose`].
    #[inline]
    fn choose(&mut self, inner: &mut dyn Strategy, point: &Point<'_>) -> Choice {
        inner.choose(point)
    }

    /// See [`Strategy::learn`].
    fn learn(&mut self, inner: &mut dyn Strategy, run: &RunSummary<'_>) {
        inner.learn(run);
    }

    /// Returns the needs of the strategy; `inner` are those of the inner one.
    fn needs(&self, inner: Needs) -> Needs {
        inner
    }

    /// Returns true if `learn` can change later runs; `inner` is true if that of the inner strategy can.
    fn learns(&self, inner: bool) -> bool {
        inner
    }

    /// Returns the known iRoots; `inner` are those that the inner strategy knows.
    fn ledger<'a>(&'a self, inner: Option<&'a Ledger>) -> Option<&'a Ledger> {
        inner
    }

    /// Adds the iRoots known from earlier searches, which the inner strategy has been given.
    fn recall(&mut self, _known: &Ledger) {}
}

/// A strategy that differs from an inner one as its [`Wrapper`] says.
pub struct Wrapped<W> {
    inner: Box<dyn Strategy>,
    wrapper: W,
}

impl<W: Wrapper> Wrapped<W> {
    /// Puts `wrapper` around `inner`.
    pub fn new(inner: Box<dyn Strategy>, wrapper: W) -> Wrapped<W> {
        Wrapped { inner, wrapper }
    }

    /// Returns the wrapper.
    pub fn wrapper(&self) -> &W {
        &self.wrapper
    }
}

impl<W: Wrapper> Strategy for Wrapped<W> {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.wrapper.begin(&mut *self.inner, rng)
    }

    #[inline]
    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.wrapper.choose(&mut *self.inner, point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.inner.pick(arity)
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.inner.pick_message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.wrapper.learn(&mut *self.inner, run);
    }

    fn needs(&self) -> Needs {
        self.wrapper.needs(self.inner.needs())
    }

    fn stronger(&self) -> Vec<Stronger> {
        self.inner.stronger()
    }

    fn learns(&self) -> bool {
        self.wrapper.learns(self.inner.learns())
    }

    fn space(&self) -> Option<f64> {
        self.inner.space()
    }

    fn ledger(&self) -> Option<&Ledger> {
        self.wrapper.ledger(self.inner.ledger())
    }

    fn recall(&mut self, known: &Ledger) {
        self.inner.recall(known);
        self.wrapper.recall(known);
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(Wrapped { inner: self.inner.fork(), wrapper: self.wrapper.clone() })
    }
}
