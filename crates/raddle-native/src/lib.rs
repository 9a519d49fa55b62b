//! Controls the threads of an unmodified pthreads program. Linux on x86-64 with glibc.
//!
//! The library is preloaded. If [`raddle_model::native::SOCKET`] is not in the environment, every function in
//! it forwards its call to the one that it hides, after a [`delay`](child::delay) if the environment requests
//! that. Otherwise there are two processes, and each folder has the code of one: [`server`] that of the fork
//! server, [`child`] that of a forked child, which executes one run. [`platform`] has the operating system
//! and libc functions that both use. Dependencies point from [`start`] to the server, from there to the
//! child, and from there to the platform. In the order of a run:
//!
//! 1. [`start`] replaces `__libc_start_main`. When the program's constructors have run, it stops before
//!    `main`    and becomes the fork server: each run is a child, and the [`results`](child::results) that it
//!    leaves in shared memory go to    the command line over the socket.
//! 2. In a child, [`interpose`](child::interpose) has the C functions that the program calls. Each converts
//!    its arguments, asks    [`control`](child::control) whether the call comes from the program or from
//!    inside the runtime, and announces an operation.
//! 3. [`scheduling`](child::scheduling) passes operations to the engine and runs the thread that it selects;
//!    the state of the run is in    [`runtime`](child::runtime). All threads are fibers of one OS thread
//!    ([`fiber`](child::fiber)) or, with `--threads os`, take    turns on their own
//!    ([`os_thread`](child::os_thread)). The first few exist before the fork ([`pool`](child::pool)).
//! 4. A thread that waits for a file, a signal or a process lets others run ([`outside`](child::outside),
//!    [`waits`](child::waits)).
//! 5. If a library makes system calls without a function, the kernel forwards them ([`trap`](child::trap)).
//! 6. With `--callers`, locations have their callers ([`stack`](child::stack)).
//! 7. If the run is reported, the values that its steps read and write are recorded
//!    ([`values`](child::values)).
//! 8. When the engine or a signal ends the run ([`crash`](child::crash)), the results are written and the
//!    child exits.
//!
//! The library has its own allocator ([`memory`](platform::memory)) and uses no locks of std, because those
//! would call the functions that it replaces.

mod arguments;
mod child;
mod platform;
mod server;
mod start;
