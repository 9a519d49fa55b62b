//! The check for cycles between the modules of one crate, so that a crate can be read bottom up.
//!
//! The rule, for every module `P` of a crate:
//!
//! * The *nodes* of `P` are its child modules, each with all of its descendants, and the own items of `P`: those in
//!   its file but in no child.
//! * A node *uses* another one where its code names an item or a module in it. A path counts for the module that defines
//!   the item: imports and re-exports are followed to their end.
//! * No nodes of `P` use each other in a cycle.
//!
//! So siblings have an order, and a child may use the items of its parent only if the parent's own items do not use that
//! child, directly or by way of others. A parent declares its children (`mod x;`) and re-exports their items
//! (`pub(crate) use x::Y;`) without using them. An import or a path in its own code does use them.
//!
//! Limits: what `#[cfg(test)]` guards, doc comments and attributes do not count. Methods are found by type, not by path, so
//! a call of a method counts only through the imports it needs. The body of a `macro_rules!` macro counts where it is
//! defined, not where it is expanded.

mod cycles;
mod names;
mod sources;

pub(crate) use cycles::{Cycle, find};
pub(crate) use sources::read;

#[cfg(test)]
mod tests;
