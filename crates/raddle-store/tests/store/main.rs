//! Stores in files and in databases.

mod common;
mod files;
mod shared;
