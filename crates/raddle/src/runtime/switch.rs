//! Stack switching: the unsafe code of this crate, except for a function that `LazyLock` needs.
//!
//! A [`Fiber`] runs task after task, so that its stack is set up once and used in many runs. Control passes
//! directly to any suspended fiber, from another fiber or from outside all fibers; fibers have no hierarchy.
//! The stacks are corosensei's. The switch is our own on supported processors (`direct`), and corosensei's
//! elsewhere (`portable`). A [`Scope`] lets a task borrow from the stack of another fiber.

#![expect(unsafe_code, reason = "stack switching, and a scope that extends a lifetime")]

#[cfg(target_os = "linux")]
mod abort;
#[cfg(not(target_os = "linux"))]
#[path = "switch/abort_unknown.rs"]
mod abort;
#[cfg(all(target_arch = "x86_64", unix, any(test, not(feature = "portable-switch"))))]
mod direct;
mod fiber;
#[cfg(target_os = "linux")]
pub(crate) mod overflow;
#[cfg(not(target_os = "linux"))]
#[path = "switch/overflow_unknown.rs"]
pub(crate) mod overflow;
#[cfg(any(test, feature = "portable-switch", not(all(target_arch = "x86_64", unix))))]
mod portable;
mod scope;
#[cfg(target_os = "linux")]
pub(super) mod stack;
#[cfg(not(target_os = "linux"))]
#[path = "switch/stack_unknown.rs"]
pub(super) mod stack;

#[cfg(all(target_arch = "x86_64", unix, not(feature = "portable-switch")))]
use direct::Computation;
#[cfg(any(feature = "portable-switch", not(all(target_arch = "x86_64", unix))))]
use portable::Computation;

pub(super) use abort::abandon_at_abort;
pub(super) use fiber::{Fiber, SuspendReason, is_forced_end};
pub use scope::Scope;
pub(crate) use scope::lend;

/// The minimum size of a stack, without the guard page at its end.
const STACK: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    /// The tests that both switches must pass.
    macro_rules! switches {
        ($name:ident) => {
            mod $name {
                use super::super::$name::Computation;
                use std::cell::{Cell, RefCell};

                thread_local! {
                    static COMPUTATIONS: RefCell<Vec<&'static Computation>> = const { RefCell::new(Vec::new()) };
                    static SEEN: RefCell<Vec<(usize, u64)>> = const { RefCell::new(Vec::new()) };
                    static RUNS: Cell<usize> = const { Cell::new(0) };
                }

                fn go(to: usize) {
                    let from = RUNS.replace(to);
                    let (from, to) = COMPUTATIONS.with_borrow(|locations| (locations[from], locations[to]));
                    assert!(!from.is_suspended(), "the running one is not suspended");
                    assert!(to.is_suspended(), "the other one is");
                    // SAFETY: `from` runs, `to` is suspended or has not begun, and both are leaked.
                    unsafe { from.switch(to) };
                }

                /// Cycles through the fibers, with numbers that each computes on its own stack.
                extern "C" fn body() -> ! {
                    let me = RUNS.get();
                    let mut product = me as u64;
                    let mut real = 1.0 / me as f64;
                    loop {
                        let location = std::hint::black_box([product; 32]);
                        let depth =
                            (&raw const location as usize) - COMPUTATIONS.with_borrow(|all| all[me].end());
                        assert!(depth < 2 * super::super::STACK, "each has its own stack");
                        SEEN.with_borrow_mut(|seen| seen.push((me, product)));
                        go(if me == 3 { 0 } else { me + 1 });
                        assert_eq!(location, [product; 32], "values on a stack are preserved");
                        product *= me as u64 + 1;
                        real /= me as f64 + 1.0;
                        assert!((real * product as f64 - 1.0).abs() < 1e-9, "so are numbers in registers");
                    }
                }

                #[test]
                fn each_goes_on_where_it_was_left() {
                    let locations = (0..4).map(|number| -> &'static Computation {
                        let location =
                            if number == 0 { Computation::outside() } else { Computation::on_stack(number, body) };
                        Box::leak(Box::new(location))
                    });
                    COMPUTATIONS.set(locations.collect());
                    for first in [1, 1, 2, 3, 1] {
                        go(first);
                    }
                    let seen = SEEN.take();
                    let rounds =
                        [(1, 1), (2, 2), (3, 3), (1, 2), (2, 6), (3, 12), (2, 18), (3, 48), (3, 192)];
                    let last = [(1, 4), (2, 54), (3, 768)];
                    assert_eq!(seen, [&rounds[..], &last[..]].concat());
                    Computation::on_stack(4, body).forget();
                }
            }
        };
    }

    #[cfg(all(target_arch = "x86_64", unix))]
    switches!(direct);
    switches!(portable);
}
