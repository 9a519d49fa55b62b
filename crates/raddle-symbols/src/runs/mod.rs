//! Source names for the locations, objects and values of native runs.

mod address;
mod places;
mod rust_names;
mod values;

pub use address::address;
pub use places::{Sources, locate, translate};
