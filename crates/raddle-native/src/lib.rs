//! Puts the threads of an unmodified pthreads program under control. Linux on x86-64 with glibc.
//!
//! The library is preloaded. If [`raddle_model::native::SOCKET`] is not in the environment, every function in it hands
//! its call on to the one that it hides, after a [`delay`] if the environment asks for that. Otherwise, in the order of a run:
//!
//! 1. [`start`] takes the place of `__libc_start_main`. When the program's constructors have run, it stops before `main`
//!    and becomes a fork server ([`server`]): each run is a child, and what it leaves behind in shared memory
//!    ([`results`]) goes to the command line over the socket.
//! 2. In a child, [`interpose`] has the C functions that the program calls. Each converts its arguments, asks
//!    [`control`] whether the call comes from the program or from inside the runtime, and announces an operation.
//! 3. [`runtime`] hands operations to the engine and runs the thread that it names. All threads are fibers of one OS
//!    thread ([`fiber`]), or, if that is asked for, have their turns on their own ([`os_thread`]). The first few are there
//!    before the fork ([`pool`]).
//! 4. A thread that waits for a file, a signal or a process lets others run ([`outside`]).
//! 5. Where a library makes system calls without a function, the kernel hands them over ([`trap`]).
//! 6. If the program wants it, places are told with their callers ([`stack`]).
//! 7. If the run is made to be shown, what its steps read and write is noted ([`values`]).
//! 8. When the engine says that the run is over, or a signal does ([`crash`]), the results are written and the child ends.
//!
//! The library has its own allocator ([`memory`]) and uses no lock of std, because those would call the functions that it
//! replaces.

mod bind;
mod control;
mod crash;
mod delay;
mod doubt;
mod enact;
mod fiber;
mod halt;
mod heap;
mod interpose;
mod memory;
mod objects;
mod os_thread;
mod outside;
mod panics;
mod pool;
mod raw;
mod real;
mod record;
mod results;
mod runtime;
mod server;
mod stack;
mod start;
mod table;
mod text;
mod timer_file;
mod trap;
mod values;
mod wire;
