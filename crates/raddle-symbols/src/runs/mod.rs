//! Source names for the locations, objects and values of native runs.

mod address;
mod library;
mod memory;
mod places;
mod rust_names;
mod values;

pub use address::address;
pub use memory::name_objects;
pub(crate) use places::KnownPlaces;
pub use places::{Sources, locate, locate_of, translate};
