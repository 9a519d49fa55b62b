//! Golden texts: the transcripts in `tests/golden`; README.md and the guide are in `guide.rs`.
//!
//! A transcript is a file with commands in lines that begin with `$`. After a command follow its standard
//! output, its standard error after a line `[stderr]`, and its exit status if that is not 0. `normal.rs`
//! lists the replacements. The commands of a file run in one shell folder, in order. Lines before the first
//! command are comments. To add one, write its commands and let `cargo xtask bless` write the rest.

mod guide;
mod normal;
mod programs;
mod troubleshooting;

use normal::Normal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the root of the repository.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the crate lies in crates/")
}

/// The folder for everything that these tests write.
fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("texts")
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

/// Returns the transcripts of an area, in order.
fn transcripts(area: &str) -> Vec<PathBuf> {
    let folder = root().join("crates/raddle-cli/tests/golden").join(area);
    let listed = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = listed.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{area} has no transcripts");
    files
}

/// Runs the transcripts of an area again, and compares.
fn check(area: &str) {
    let different: Vec<String> = transcripts(area).iter().filter_map(|file| difference(area, file)).collect();
    assert!(
        different.is_empty(),
        "`cargo xtask bless` rewrites the texts after a wanted change\n{}",
        different.join("\n")
    );
}

/// Runs the commands of a transcript again. Returns the difference.
fn difference(area: &str, file: &Path) -> Option<String> {
    let expected = std::fs::read_to_string(file).expect("a transcript is UTF-8");
    let name = file.file_stem().expect("a file has a name").to_string_lossy();
    let folder = scratch().join(area).join(&*name);
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test can be made");
    let (commands, mut found) = commands(&expected);
    assert!(!commands.is_empty(), "{} has no command", file.display());
    for command in commands {
        programs::provide(&folder, command);
        found += &format!("$ {command}\n{}", run(&folder, command));
    }
    if found == expected {
        return None;
    }
    if is_set("RADDLE_BLESS") {
        std::fs::write(file, found).expect("the transcript can be written");
        return None;
    }
    let other = folder.with_extension("found");
    std::fs::write(&other, found).expect("the target folder can be written to");
    let diff = Command::new("diff").arg("-u").arg(file).arg(&other).output().expect("diff starts");
    Some(String::from_utf8_lossy(&diff.stdout).into_owned())
}

/// Returns the commands of a transcript, and the comments before them.
fn commands(transcript: &str) -> (Vec<&str>, String) {
    let comments = transcript.lines().take_while(|line| !line.starts_with("$ "));
    let comments = comments.map(|line| format!("{line}\n")).collect();
    (transcript.lines().filter_map(|line| line.strip_prefix("$ ")).collect(), comments)
}

/// Returns a command of the shell that runs in a folder and finds the programs under test.
fn shell(folder: &Path, command: &str) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_raddle")).parent().expect("the program is in a folder");
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).stdin(Stdio::null());
    #[expect(clippy::disallowed_methods, reason = "what is tested comes before what is installed")]
    let path = std::env::var("PATH").expect("there is a PATH");
    shell.env("PATH", format!("{}:{path}", built.display())).env("RADDLE_CACHE", scratch().join("cache"));
    shell
        .env("LC_ALL", "C")
        .env("C", root().join("tests/c"))
        .env("FIGURES", root().join("crates/raddle-lab/figures"));
    for name in REMOVED {
        shell.env_remove(name);
    }
    shell
}

/// Returns the output of a command, in the form of a transcript.
fn run(folder: &Path, command: &str) -> String {
    let output = shell(folder, command).output().expect("sh starts");
    let normal = Normal::new(folder);
    let text = |bytes: &[u8]| {
        let text = normal.text(&String::from_utf8_lossy(bytes));
        assert!(!text.lines().any(|line| line.starts_with("$ ")), "a line looks like a command: {text}");
        if bytes.is_empty() || bytes.ends_with(b"\n") { text } else { text + "[no newline]\n" }
    };
    let mut printed = text(&output.stdout);
    if !output.stderr.is_empty() {
        printed += &format!("[stderr]\n{}", text(&output.stderr));
    }
    match output.status.code() {
        Some(0) => {}
        Some(status) => printed += &format!("[status {status}]\n"),
        None => printed += "[killed by a signal]\n",
    }
    printed
}

/// Variables that would change the build or the output.
const REMOVED: [&str; 13] = [
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_TERM_COLOR",
    "CC",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "CXX",
    "GITHUB_ACTIONS",
    "RADDLE_ERLANG",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
];

#[test]
fn help() {
    check("help");
}

/// The areas of transcripts.
const AREAS: [&str; 8] = ["help", "mistakes", "lab", "run", "failure", "tools", "cargo", "beam"];

/// A new command needs a transcript of its help, and one in which it is used.
#[test]
fn every_command_has_its_help_and_is_used() {
    let files = transcripts("help");
    let names: Vec<String> = files
        .iter()
        .map(|file| file.file_stem().expect("it has a name").to_string_lossy().into_owned())
        .collect();
    let read = |file: &PathBuf| std::fs::read_to_string(file).expect("a transcript is UTF-8");
    let used: Vec<String> =
        AREAS[1..].iter().flat_map(|area| transcripts(area)).map(|file| read(&file)).collect();
    let used: Vec<&str> = used.iter().flat_map(|text| commands(text).0).collect();
    for (file, name) in files.iter().zip(&names) {
        let text = read(file);
        let Some((_, listed)) = text.split_once("Commands:\n") else {
            let words = name.replace('-', " ").replace("raddle cargo", "cargo raddle");
            let is_used = used.iter().any(|command| format!("{command} ").contains(&format!("{words} ")));
            assert!(is_used, "no transcript in tests/golden uses `{words}`");
            continue;
        };
        let listed = listed.lines().take_while(|line| line.starts_with("  "));
        for command in listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
        {
            let wanted = format!("{name}-{command}");
            assert!(names.contains(&wanted), "tests/golden/help/{wanted}.txt is missing");
        }
    }
}

#[test]
fn mistakes() {
    check("mistakes");
}

#[test]
fn lab() {
    check("lab");
}

#[test]
fn native() {
    check("run");
}

#[test]
fn failure_files() {
    check("failure");
}

#[test]
fn tools() {
    check("tools");
}

#[test]
fn cargo() {
    check("cargo");
}

#[test]
fn beam() {
    if programs::has_erlang() {
        check("beam");
    }
}
