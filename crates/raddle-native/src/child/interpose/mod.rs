//! The C functions that the program calls, one file for each family. Each entry point passes on its caller's
//! address, for the location of the operation, converts the arguments, and asks the runtime; the engine
//! defines the semantics.
#![expect(unsafe_code, reason = "C functions are defined")]

pub(crate) mod access;
mod alarm;
mod annotate;
mod atomic;
mod c11;
mod calls;
pub(crate) mod cancel;
mod cond;
mod descriptor;
mod entry;
mod exec;
mod file_lock;
pub(crate) mod futex;
mod guard;
mod heap;
mod identity;
mod mask;
mod mutex;
mod mutex_object;
mod network;
mod once;
mod openmp;
mod poll;
mod process;
mod random;
pub(crate) mod robust;
mod rwlock;
mod sem;
mod shared;
pub(crate) mod signal;
mod simulated;
mod socket;
pub(crate) mod stdio;
pub(crate) mod stream;
pub(crate) mod subprocess;
pub(crate) mod syscall;
pub(crate) mod thread;
mod time;
mod timer_file;
mod transfer;
pub(crate) mod unwind;
mod wide;
