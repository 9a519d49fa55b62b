//! The locations, objects and values of native runs in the words of the source.

mod address;
mod places;
mod rust_names;
mod values;

pub use address::address;
pub use places::{Sources, locate, translate};
