//! Drives the built command line.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The output of a command, and its exit status.
pub(crate) struct CommandOutput {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i32,
}

impl CommandOutput {
    pub(crate) fn new(output: Output) -> CommandOutput {
        CommandOutput {
            out: String::from_utf8(output.stdout).expect("output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("messages are UTF-8"),
            status: output.status.code().expect("raddle is not killed by a signal"),
        }
    }

    /// Returns the output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {} {}", self.out, self.err))
    }

    /// Checks that it was a user error, reported in one message that contains all of `parts`.
    #[track_caller]
    pub(crate) fn is_user_error(&self, parts: &[&str]) {
        assert_eq!((self.status, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.starts_with("error: "), "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is missing in: {}", self.err);
        }
    }
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(words).current_dir(root());
    command
}

/// Runs `raddle` with these words, in the root of the repository.
pub(crate) fn raddle(words: &[&str]) -> CommandOutput {
    CommandOutput::new(command(words).stdin(Stdio::null()).output().expect("raddle starts"))
}

/// Runs `raddle` with `input` as standard input.
pub(crate) fn raddle_with_input(words: &[&str], input: &str) -> CommandOutput {
    use std::io::Write;
    let mut command = command(words);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("raddle starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("raddle reads its input");
    CommandOutput::new(child.wait_with_output().expect("raddle ends"))
}

/// Runs `raddle` with `input` as standard input and a closed output; returns messages and exit status.
pub(crate) fn raddle_unread(words: &[&str], input: &str) -> CommandOutput {
    use std::io::Write;
    let mut command = command(words);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("raddle starts");
    // Before raddle has its input it cannot have written anything.
    drop(child.stdout.take());
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("raddle reads its input");
    CommandOutput::new(child.wait_with_output().expect("raddle ends"))
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the crate lies in crates/")
}

/// Returns the path of a figure, relative to the root.
pub(crate) fn figure(name: &str) -> String {
    format!("crates/raddle-lab/figures/{name}.rdl")
}

/// Returns a path for a file of this test.
pub(crate) fn scratch(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().expect("the target folder has a plain name").to_owned()
}
