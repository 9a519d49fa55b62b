//! The steps of a run that is divided into transactions: those that continue one are announced as such.

use crate::child::accesses::Touched;
use crate::child::runtime::{Runtime, with};
use raddle_model::Kind;

/// Returns the objects that make an access a scheduling point, and prepares the engine for it.
#[inline(never)] // Keeps the path of other runs short.
pub(crate) fn points(
    runtime: &mut Runtime,
    kind: Kind,
    (address, size): (usize, usize),
    place: usize,
) -> Touched {
    let Runtime { accesses, modules, current, transactions, engine, .. } = runtime;
    let touched = accesses.shared(*current, address as u64, size, |address| modules.is_constant(address));
    let shared = touched.first.is_some();
    let continues = transactions
        .as_mut()
        .is_some_and(|transactions| transactions.access(*current, kind, place as u64, shared));
    if shared && continues {
        engine.join_next(*current);
    }
    touched
}

/// Prepares the engine for a step that is no access to memory.
#[inline(never)] // Keeps the path of other runs short.
pub(crate) fn synchronize(runtime: &mut Runtime) {
    let current = runtime.current;
    if runtime.transactions.as_mut().is_some_and(|transactions| transactions.synchronize(current)) {
        runtime.engine.join_next(current);
    }
}

/// Records that the current thread calls a function.
pub(crate) fn enter_function(function: usize) {
    with(|runtime| {
        let current = runtime.current;
        if let Some(transactions) = &mut runtime.transactions {
            transactions.enter(current, function as u64);
        }
    });
}

/// Records that a function returns.
pub(crate) fn leave_function(function: usize) {
    with(|runtime| {
        let current = runtime.current;
        if let Some(transactions) = &mut runtime.transactions {
            transactions.leave(current, function as u64);
        }
    });
}
