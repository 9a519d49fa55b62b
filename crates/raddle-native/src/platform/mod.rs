//! Facts of the operating system, libc and the loader that both processes use.

pub(crate) mod effects;
pub(crate) mod huge_pages;
pub(crate) mod memory;
pub(crate) mod modules;
pub(crate) mod raw;
pub(crate) mod real;
pub(crate) mod signals;
pub(crate) mod signature;
pub(crate) mod table;
pub(crate) mod written_pages;
