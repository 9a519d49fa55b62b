//! Exit statuses of the command line. Scripts may rely on them.

/// The command completed and found no bug.
pub const EXIT_NOTHING_FOUND: u8 = 0;
/// At least one run failed.
pub const EXIT_BUG_FOUND: u8 = 1;
/// Bad arguments, a bad file, or a broken setup; nothing was decided about the program.
pub const EXIT_USAGE: u8 = 2;
/// The base of the exit status after a signal: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP.
pub const EXIT_SIGNAL: u8 = 128;
