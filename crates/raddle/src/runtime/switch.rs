//! Switching stacks: the unsafe code of this crate, but for a function that `LazyLock` needs.
//!
//! A [`Fiber`] runs task after task, so that its stack is set up once and used in many runs. From whatever runs, on a fiber or
//! outside of all, one goes straight to any fiber that was left: none stands above another. The stacks are corosensei's. The
//! switch is our own where there is one for the processor (`direct`), and corosensei's elsewhere (`portable`).
//! A [`Scope`] lets a task borrow from the stack of another fiber.

#![expect(unsafe_code, reason = "stacks are left and gone back to, and a scope forgets a lifetime")]

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
use direct::Place;
#[cfg(any(feature = "portable-switch", not(all(target_arch = "x86_64", unix))))]
use portable::Place;

pub(super) use abort::leave_at_abort;
pub(super) use fiber::{Fiber, Leaving, is_forced_end};
pub use scope::Scope;
pub(crate) use scope::lend;

/// The least size of a stack, without the page that guards its end.
const STACK: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    /// What each way to switch promises.
    macro_rules! switches {
        ($name:ident) => {
            mod $name {
                use super::super::$name::Place;
                use std::cell::{Cell, RefCell};

                thread_local! {
                    static PLACES: RefCell<Vec<&'static Place>> = const { RefCell::new(Vec::new()) };
                    static SEEN: RefCell<Vec<(usize, u64)>> = const { RefCell::new(Vec::new()) };
                    static RUNS: Cell<usize> = const { Cell::new(0) };
                }

                fn go(to: usize) {
                    let from = RUNS.replace(to);
                    let (from, to) = PLACES.with_borrow(|places| (places[from], places[to]));
                    assert!(!from.is_left(), "what runs has not been left");
                    assert!(to.is_left(), "the other one has");
                    // SAFETY: `from` runs, `to` was left or has not begun, and both live for ever.
                    unsafe { from.switch(to) };
                }

                /// Goes round the fibers, with numbers that each computes on its own stack.
                extern "C" fn body() -> ! {
                    let me = RUNS.get();
                    let mut product = me as u64;
                    let mut real = 1.0 / me as f64;
                    loop {
                        let place = std::hint::black_box([product; 32]);
                        let depth =
                            (&raw const place as usize) - PLACES.with_borrow(|places| places[me].end());
                        assert!(depth < 2 * super::super::STACK, "it is its own stack");
                        SEEN.with_borrow_mut(|seen| seen.push((me, product)));
                        go(if me == 3 { 0 } else { me + 1 });
                        assert_eq!(place, [product; 32], "what is on a stack stays there");
                        product *= me as u64 + 1;
                        real /= me as f64 + 1.0;
                        assert!((real * product as f64 - 1.0).abs() < 1e-9, "so do numbers in registers");
                    }
                }

                #[test]
                fn each_goes_on_where_it_was_left() {
                    let places = (0..4).map(|number| -> &'static Place {
                        let place =
                            if number == 0 { Place::outside() } else { Place::on_stack(number, body) };
                        Box::leak(Box::new(place))
                    });
                    PLACES.set(places.collect());
                    for first in [1, 1, 2, 3, 1] {
                        go(first);
                    }
                    let seen = SEEN.take();
                    let rounds =
                        [(1, 1), (2, 2), (3, 3), (1, 2), (2, 6), (3, 12), (2, 18), (3, 48), (3, 192)];
                    let last = [(1, 4), (2, 54), (3, 768)];
                    assert_eq!(seen, [&rounds[..], &last[..]].concat());
                    Place::on_stack(4, body).forget();
                }
            }
        };
    }

    #[cfg(all(target_arch = "x86_64", unix))]
    switches!(direct);
    switches!(portable);
}
