//! Code that runs in the child of the fork server, which executes one run of the program.

pub(crate) mod accesses;
pub(crate) mod control;
pub(crate) mod crash;
pub(crate) mod delay;
pub(crate) mod fiber;
pub(crate) mod halt;
pub(crate) mod heap;
pub(crate) mod heap_checks;
pub(crate) mod inconclusive;
pub(crate) mod interpose;
pub(crate) mod loss;
pub(crate) mod objects;
pub(crate) mod os_thread;
pub(crate) mod outside;
pub(crate) mod pool;
pub(crate) mod results;
pub(crate) mod runtime;
pub(crate) mod scheduling;
pub(crate) mod shared_memory;
pub(crate) mod stack;
pub(crate) mod streams;
pub(crate) mod switching;
pub(crate) mod timer_file;
pub(crate) mod trap;
pub(crate) mod values;
pub(crate) mod waits;
