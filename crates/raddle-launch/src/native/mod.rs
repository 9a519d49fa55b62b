//! Pthreads programs: found, checked, started with the native runtime inside, and restarted for a recorded run.

mod debug;
mod launch;
mod observe;
mod program;
mod subject;
mod target;
mod transactions;
mod uncontrolled;

pub use launch::Server;
pub use program::{find, has_hooks_in_std, is_instrumented, library_access, uses_openmp};
pub use subject::{Program, is_another_build, namer, trace_file};
pub use target::{Found, Native, setup};
pub use transactions::{Counted, Divided, Limits};
pub use uncontrolled::Uncontrolled;
