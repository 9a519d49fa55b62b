//! The systematic strategies against each other and against published counts. Depth-first search is the reference.

mod bounding;
mod common;
mod dpor;
mod forked;
mod period;
mod random;
mod transactions;
