//! The effect of each operation, its enabling condition, and the ends of runs.

mod channel;
mod condition;
mod deadlock;
mod follow;
mod interrupt;
mod mailbox;
mod misuse;
mod mutex;
mod park;
mod replay;
mod running_on;
mod rwlock;
mod semaphore_barrier_once;
mod spin;
mod state;
mod threads;
mod time;
