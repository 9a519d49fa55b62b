//! Atomic accesses with memory orders, and fences: how they are written, and what they do.

use super::ast::{Expression, Name, Reference, StatementKind};
use super::compile_thread::ThreadCompiler;
use super::error::{Outcome, SyntaxError};
use super::event::{Action, Event, Mode, ObjectRef};
use super::expression::{Expr, Fault};
use super::parser::Parser;
use super::{ObjectKind, Position};
use raddle_model::{Access, Kind, LocationId, MemoryOrder, ObjectId, Operation};

/// `x.store(1, release)` and so on, names still unresolved.
#[derive(Debug, Clone)]
pub(super) struct AtomicCall {
    /// The variable.
    object: Reference,
    /// The access.
    method: Method,
    /// The values before the orders.
    values: Vec<Expression>,
    orders: Vec<MemoryOrder>,
    /// Receives the value read.
    target: Option<Name>,
}

/// The methods of a shared variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Load,
    Store,
    Swap,
    FetchAdd,
    CompareExchange,
}

impl Method {
    const ALL: [(&'static str, Method); 5] = [
        ("load", Method::Load),
        ("store", Method::Store),
        ("swap", Method::Swap),
        ("fetch_add", Method::FetchAdd),
        ("compare_exchange", Method::CompareExchange),
    ];

    /// Returns how many values and orders it takes.
    fn arguments(self) -> (usize, usize) {
        match self {
            Method::Load => (0, 1),
            Method::Store | Method::Swap | Method::FetchAdd => (1, 1),
            Method::CompareExchange => (2, 2),
        }
    }

    /// Returns an example of its use.
    fn example(self) -> &'static str {
        match self {
            Method::Load => "v = x.load(acquire)",
            Method::Store => "x.store(1, release)",
            Method::Swap => "v = x.swap(1, acq_rel)",
            Method::FetchAdd => "v = x.fetch_add(1, relaxed)",
            Method::CompareExchange => "v = x.compare_exchange(0, 1, acq_rel, acquire)",
        }
    }
}

/// The words for memory orders.
const ORDERS: [(&str, MemoryOrder); 5] = [
    ("relaxed", MemoryOrder::Relaxed),
    ("acquire", MemoryOrder::Acquire),
    ("release", MemoryOrder::Release),
    ("acq_rel", MemoryOrder::AcquireRelease),
    ("seq_cst", MemoryOrder::SequentiallyConsistent),
];

impl Parser<'_> {
    /// `.method(..)` behind a variable whose result goes into `target`.
    pub(super) fn atomic(&mut self, object: Reference, target: Option<Name>) -> Outcome<StatementKind> {
        self.expect_symbol(".", "write `x.store(1, release)`")?;
        let known = Method::ALL.iter().find(|(word, _)| self.at_word(word));
        let Some(&(_, method)) = known else {
            return self.error(
                format!("expected a method, found {}", self.found()),
                "a shared variable has `load`, `store`, `swap`, `fetch_add` and `compare_exchange`",
            );
        };
        match (method, &target) {
            (Method::Load, None) => {
                return self.error(
                    "the result of `load` is not stored",
                    format!("declare `local v` and write `{}`", method.example()),
                );
            }
            (Method::Store, Some(_)) => return self.error("`store` has no result", "remove the `v =`"),
            _ => {}
        }
        self.advance();
        let hint = format!("write `{}`", method.example());
        self.expect_symbol("(", &hint)?;
        let (value_count, order_count) = method.arguments();
        let (mut values, mut orders) = (Vec::new(), Vec::new());
        for index in 0..value_count + order_count {
            if index > 0 {
                self.expect_symbol(",", &hint)?;
            }
            if index < value_count {
                values.push(self.expression()?);
            } else {
                let position = self.position();
                let order = self.order()?;
                refuse(method, orders.len(), order, position)?;
                orders.push(order);
            }
        }
        self.expect_symbol(")", &hint)?;
        Ok(StatementKind::Atomic(AtomicCall { object, method, values, orders, target }))
    }

    /// `fence(order)`.
    pub(super) fn fence(&mut self) -> Outcome<StatementKind> {
        self.advance();
        self.expect_symbol("(", "write `fence(seq_cst)`")?;
        let position = self.position();
        let order = self.order()?;
        if order == MemoryOrder::Relaxed {
            return Err(SyntaxError::new(
                position,
                "a relaxed fence orders nothing",
                "use `acquire`, `release`, `acq_rel` or `seq_cst`",
            ));
        }
        self.expect_symbol(")", "write `fence(seq_cst)`")?;
        Ok(StatementKind::Fence(order))
    }

    fn order(&mut self) -> Outcome<MemoryOrder> {
        let Some(&(_, order)) = ORDERS.iter().find(|(word, _)| self.at_word(word)) else {
            return self.error(
                format!("expected a memory order, found {}", self.found()),
                "the orders are `relaxed`, `acquire`, `release`, `acq_rel` and `seq_cst`",
            );
        };
        self.advance();
        Ok(order)
    }
}

/// Refuses the orders that Rust and C refuse: order number `index` of `method`.
fn refuse(method: Method, index: usize, order: MemoryOrder, position: Position) -> Outcome<()> {
    use MemoryOrder::{Acquire, AcquireRelease, Release};
    let only_reads = method == Method::Load || method == Method::CompareExchange && index == 1;
    let (is_refused, what) = match order {
        Release | AcquireRelease if only_reads => (true, "a read does not release"),
        Acquire | AcquireRelease if method == Method::Store => (true, "a store does not acquire"),
        _ => (false, ""),
    };
    if !is_refused {
        return Ok(());
    }
    let hint = if only_reads {
        "use `relaxed`, `acquire` or `seq_cst`"
    } else {
        "use `relaxed`, `release` or `seq_cst`"
    };
    Err(SyntaxError::new(position, what, hint))
}

/// An access to an atomic variable.
#[derive(Debug, Clone)]
pub struct AtomicAction {
    /// The variable.
    pub object: ObjectRef,
    /// The action.
    pub change: AtomicChange,
    /// The order; of an exchange, that of one that succeeds.
    pub order: MemoryOrder,
    /// Receives the value read.
    pub target: Option<u16>,
}

/// The value that an access to an atomic variable writes.
#[derive(Debug, Clone)]
pub enum AtomicChange {
    /// Nothing.
    Load,
    /// A value, without reading.
    Store(Expr),
    /// A value.
    Swap(Expr),
    /// The value read plus another one.
    Add(Expr),
    /// A value, if it reads the expected one.
    Exchange {
        /// The value to find.
        expected: Expr,
        /// The value to write.
        new: Expr,
        /// The order of the read if it finds another value.
        failure: MemoryOrder,
    },
}

impl AtomicAction {
    /// Returns how the variable is touched.
    pub(super) fn mode(&self) -> Mode {
        match self.change {
            AtomicChange::Load => Mode::Read,
            AtomicChange::Store(_) => Mode::Write,
            AtomicChange::Swap(_) | AtomicChange::Add(_) | AtomicChange::Exchange { .. } => Mode::ReadWrite,
        }
    }

    /// Returns what the access writes if it reads `before`.
    pub fn written(&self, locals: &[i64], before: i64) -> Result<Option<i64>, Fault> {
        let value = |expr: &Expr| expr.eval(locals, &[]);
        Ok(match &self.change {
            AtomicChange::Load => None,
            AtomicChange::Store(new) | AtomicChange::Swap(new) => Some(value(new)?),
            AtomicChange::Add(amount) => Some(before.wrapping_add(value(amount)?)),
            AtomicChange::Exchange { expected, new, .. } if value(expected)? == before => Some(value(new)?),
            AtomicChange::Exchange { .. } => None,
        })
    }

    /// Returns the value that an exchange expects.
    pub fn expected(&self, locals: &[i64]) -> Result<Option<i64>, Fault> {
        match &self.change {
            AtomicChange::Exchange { expected, .. } => expected.eval(locals, &[]).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the operation of the access to `object`.
    pub fn operation(&self, object: u32, location: LocationId) -> Operation {
        let (kind, access) = match self.mode() {
            Mode::Read => (Kind::Read, Access::Read),
            Mode::Write => (Kind::Write, Access::Write),
            Mode::ReadWrite | Mode::Sync => (Kind::ReadModifyWrite, Access::Write),
        };
        let operation = Operation::new(kind, location).on(ObjectId(object), access);
        match self.change {
            AtomicChange::Exchange { failure, .. } => operation.exchanging(self.order, failure),
            _ => operation.ordered(self.order),
        }
    }
}

impl ThreadCompiler<'_> {
    pub(super) fn atomic(&mut self, call: &AtomicCall, position: Position) -> Outcome<()> {
        let is_variable = |kind| kind == ObjectKind::Variable;
        let object = self.scope.object(&call.object, "a variable", is_variable)?;
        let value = |index: usize| {
            self.scope.local_expression(&call.values[index], position, "an argument of an atomic access")
        };
        let change = match call.method {
            Method::Load => AtomicChange::Load,
            Method::Store => AtomicChange::Store(value(0)?),
            Method::Swap => AtomicChange::Swap(value(0)?),
            Method::FetchAdd => AtomicChange::Add(value(0)?),
            Method::CompareExchange => {
                AtomicChange::Exchange { expected: value(0)?, new: value(1)?, failure: call.orders[1] }
            }
        };
        let target = call.target.as_ref().map(|name| self.scope.target(name)).transpose()?;
        let action = AtomicAction { object: object.clone(), change, order: call.orders[0], target };
        let touches = vec![(object, action.mode())];
        self.event(Event::new(Action::Atomic(action), touches));
        Ok(())
    }
}
