//! For tests only: scripted programs and checks of probabilistic bounds.

mod bound;
mod script;

pub use bound::{assert_hit_rate, assert_never, hits};
pub use script::{Act, Script};
