//! The exit statuses of the command line, for scripts to rely on.

/// The work was done and no bug was found.
pub const EXIT_NOTHING_FOUND: u8 = 0;
/// At least one run failed.
pub const EXIT_BUG_FOUND: u8 = 1;
/// Bad arguments, a bad file, or a set-up that does not work; nothing was decided about the program.
pub const EXIT_USAGE: u8 = 2;
