//! `cargo raddle`, as started by cargo: forwards everything to `raddle cargo`, which is in the same folder.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The exit status for errors that are not bugs of the program under test.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    // Cargo puts the name of the subcommand before its arguments.
    let mut words = std::env::args_os().skip(1).peekable();
    words.next_if(|word| word == "raddle");
    let beside = std::env::current_exe().ok().map(|here| here.with_file_name("raddle"));
    let raddle =
        beside.filter(|path| path.is_file()).map_or_else(|| OsString::from("raddle"), OsString::from);
    let error = Command::new(&raddle).arg("cargo").args(words).exec();
    // A failure to write to standard error cannot be reported.
    let _ = writeln!(
        std::io::stderr().lock(),
        "error: cannot start {}: {error}; `cargo install --path crates/raddle-cli` installs it",
        raddle.display()
    );
    ExitCode::from(EXIT_USAGE)
}
