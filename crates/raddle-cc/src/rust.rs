//! The flags that insert hooks into Rust code.
//!
//! `rustc` has LLVM's pass for ThreadSanitizer, but offers it only for builds with the sanitizer's own
//! runtime. The stable compiler accepts passes by name, though, and LLVM's options: one marks all functions
//! for instrumentation, the others are the passes. None of that is guaranteed by the compiler; `cargo raddle
//! doctor` reports when it stops working.
//!
//! The precompiled standard library has no hooks. A build of it from its sources with the same flags has: cargo's
//! `-Zbuild-std`, for which `RUSTC_BOOTSTRAP` is set.

use anyhow::{Context, Result, bail, ensure};
use cargo_platform::{Cfg, Platform};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The separator of flags in [`VARIABLE`].
const SEPARATOR: &str = "\x1f";
/// The variable from which cargo takes flags, before all others.
pub const VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// Debug information for source locations and callers. Cargo strips a release by default.
const READABLE: [&str; 3] = ["-Cdebuginfo=2", "-Cstrip=none", "-Cforce-frame-pointers=yes"];
/// The read of `x += 1` has a separate hook; entry and exit of functions have none.
const PRECISE: [&str; 2] =
    ["-Cllvm-args=-tsan-instrument-read-before-write=1", "-Cllvm-args=-tsan-instrument-func-entry-exit=0"];
const PASSES: [&str; 2] =
    ["-Cpasses=forceattrs tsan-module tsan", "-Cllvm-args=-force-attribute=sanitize_thread"];
/// The linker defines this symbol in a program whose standard library has hooks.
const STANDARD: &str = "raddle_hooks_in_std";
/// Builds it with few optimizations in the profile that has none for the program: its checks are not what is tested.
const BUILT: [&str; 9] = [
    "-Zbuild-std",
    "--config=profile.dev.package.std.opt-level=1",
    "--config=profile.dev.package.std.debug-assertions=false",
    "--config=profile.dev.package.core.opt-level=1",
    "--config=profile.dev.package.core.debug-assertions=false",
    "--config=profile.dev.package.alloc.opt-level=1",
    "--config=profile.dev.package.alloc.debug-assertions=false",
    "--config=profile.dev.package.test.opt-level=1",
    "--config=profile.dev.package.test.debug-assertions=false",
];
/// Allows cargo's and the compiler's own unstable options.
const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
const SANITIZER: [&str; 3] =
    ["-Zsanitizer=thread", "-Zexternal-clangrt", "-Cunsafe-allow-abi-mismatch=sanitizer"];

/// The way hooks get into Rust code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hooks {
    /// By the names of LLVM's passes.
    Passes,
    /// By the compiler's own option, for which `RUSTC_BOOTSTRAP` is set.
    Sanitizer,
}

/// The flags for rustc, and its environment.
pub struct Flags {
    /// The flags.
    pub flags: Vec<String>,
    /// Variables of the compiler's environment.
    pub environment: &'static [(&'static str, &'static str)],
    /// Arguments of cargo.
    pub arguments: &'static [&'static str],
}

impl Flags {
    /// Returns the flags for hooks, which a small library resolves when the program is not controlled.
    pub fn new(hooks: Hooks) -> Result<Flags> {
        let library =
            crate::hooks_library().context("programs with hooks are linked against a small library")?;
        let library = library.to_str().context("the path of the hooks' library is not valid UTF-8")?;
        let (own, environment): (&[&str], &[_]) = match hooks {
            Hooks::Passes => (&PASSES, &[]),
            Hooks::Sanitizer => (&SANITIZER, &[UNSTABLE]),
        };
        let fixed = own.iter().chain(&PRECISE).chain(&READABLE).map(|&flag| flag.to_owned());
        let flags = fixed.chain([format!("-Clink-arg={library}")]).collect();
        Ok(Flags { flags, environment, arguments: &[] })
    }

    /// Lets cargo build the standard library with hooks too. Its sources must be there.
    pub fn with_standard_library(mut self) -> Result<Flags> {
        let sysroot = asked(rustc().args(["--print", "sysroot"]))?;
        let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
        ensure!(
            sources.is_file(),
            "the sources of Rust's standard library are not installed: it is built with hooks, so that accesses to atomics in it \
             are seen\n\
             help: install them with `rustup component add rust-src`"
        );
        self.flags.push(format!("-Clink-arg=-Wl,--defsym={STANDARD}=0"));
        self.environment = &[UNSTABLE];
        self.arguments = &BUILT;
        Ok(self)
    }

    /// Returns the value of [`VARIABLE`]: the user's flags for crates in `folder`, and these.
    pub fn encoded(&self, folder: &Path, host: &str) -> String {
        let mut flags = users(&variable, &tables(folder), host, &|| conditions(host));
        flags.extend(self.flags.iter().cloned());
        flags.join(SEPARATOR)
    }
}

/// Returns true if the standard library of a program, whose file has these contents, has hooks.
pub fn has_hooks_in_std(program: &[u8]) -> bool {
    program.windows(STANDARD.len()).any(|window| window == STANDARD.as_bytes())
}

/// Returns the flags that cargo would use without Raddle, from the first source that it reads. Conditions
/// refer to `set`.
fn users(
    variable: &dyn Fn(&str) -> Option<String>,
    tables: &[toml::Table],
    host: &str,
    set: &dyn Fn() -> Vec<Cfg>,
) -> Vec<String> {
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if let Some(encoded) = variable(VARIABLE) {
        return encoded.split(SEPARATOR).filter(|flag| !flag.is_empty()).map(str::to_owned).collect();
    }
    if let Some(plain) = variable("RUSTFLAGS") {
        return words(plain);
    }
    // A variable comes after the files, as the last of them.
    let of = |keys: &[&str]| -> Vec<String> {
        let name = format!("CARGO_{}", keys.join("_")).to_uppercase().replace(['-', '.'], "_");
        let files = tables.iter().flat_map(|table| listed(table, keys));
        files.chain(variable(&name).map(words).unwrap_or_default()).collect()
    };
    let mut own = of(&["target", host, "rustflags"]);
    let targets = tables.iter().filter_map(|table| table.get("target")?.as_table());
    let conditions: BTreeSet<&String> =
        targets.flat_map(toml::Table::keys).filter(|key| key.starts_with("cfg(")).collect();
    if !conditions.is_empty() {
        let set = set();
        let held = conditions.into_iter().filter(|condition| holds(condition, &set));
        own.extend(held.flat_map(|condition| of(&["target", condition, "rustflags"])));
    }
    if own.is_empty() { of(&["build", "rustflags"]) } else { own }
}

/// Returns the configuration of programs for `host`. Empty if the compiler does not print it; the build will
/// then report the error.
fn conditions(host: &str) -> Vec<Cfg> {
    let reported = asked(rustc().args(["--print", "cfg", "--target", host])).unwrap_or_default();
    reported.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Returns the compiler that cargo would call.
pub fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc")))
}

/// Returns the output of a command; its standard error, if any, is the error.
pub fn asked(command: &mut Command) -> Result<String> {
    let name = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.trim().trim_start_matches("error: ");
        bail!("{name}: {complaint}");
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {name} is not valid UTF-8"))
}

/// Returns true if `condition`, such as `cfg(unix)`, holds with all of `set`. One that cargo would not parse
/// does not.
fn holds(condition: &str, set: &[Cfg]) -> bool {
    matches!(condition.parse(), Ok(Platform::Cfg(condition)) if condition.matches(set))
}

/// Returns a variable of our environment, if it is valid UTF-8.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)?.into_string().ok()
}

/// Returns the contents of cargo's configuration files for a folder.
fn tables(folder: &Path) -> Vec<toml::Table> {
    let read = |path: &PathBuf| std::fs::read_to_string(path).ok()?.parse().ok();
    config_files(folder).iter().filter_map(read).collect()
}

/// Returns cargo's configuration files for a folder, the nearest last, in cargo's order.
fn config_files(folder: &Path) -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut folders: Vec<PathBuf> = folder.ancestors().map(|folder| folder.join(".cargo")).collect();
    if let Some(home) = home.filter(|home| !folders.contains(home)) {
        folders.push(home);
    }
    let file = |folder: &PathBuf| {
        ["config.toml", "config"].map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
    };
    folders.iter().rev().filter_map(file).collect()
}

/// Returns the words under keys of a table: a list, or a text with spaces.
fn listed(table: &toml::Table, keys: &[&str]) -> Vec<String> {
    let [first, rest @ ..] = keys else { return Vec::new() };
    let found = rest.iter().try_fold(table.get(*first), |value, key| Some(value?.get(key))).flatten();
    match found {
        Some(toml::Value::Array(words)) => {
            words.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect()
        }
        Some(toml::Value::String(words)) => words.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_lists_or_texts() {
        let table: toml::Table =
            "[build]\nrustflags = ['-g', '-Ca b']\n[target.here]\nrustflags = '-x  -y'\n"
                .parse()
                .expect("TOML");
        assert_eq!(listed(&table, &["build", "rustflags"]), ["-g", "-Ca b"]);
        assert_eq!(listed(&table, &["target", "here", "rustflags"]), ["-x", "-y"]);
        assert!(listed(&table, &["target", "there", "rustflags"]).is_empty());
    }

    #[test]
    fn conditions_are_those_of_cargo() {
        let set = ["unix", "target_os=\"linux\""].map(|line| line.parse().expect("rustc prints such lines"));
        for (condition, expected) in [
            ("cfg(all(unix, not(windows),))", true),
            ("cfg(any(windows, target_os = \"l\"))", false),
            ("cfg(true)", true),
            ("cfg(unix))", false),
            ("unix", false),
        ] {
            assert_eq!(holds(condition, &set), expected, "{condition}");
        }
    }

    #[test]
    fn flags_come_from_the_first_place_that_has_some() {
        let files: toml::Table = "[build]\nrustflags = ['-b']\n".parse().expect("TOML");
        let own: toml::Table = "[target.a-b]\nrustflags = ['-t']\n".parse().expect("TOML");
        let of = |set: &[(&str, &str)], tables: &[&toml::Table]| {
            let variable =
                |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
            let tables: Vec<toml::Table> = tables.iter().copied().cloned().collect();
            users(&variable, &tables, "a-b", &|| vec!["unix".parse().expect("a condition")]).join(" ")
        };
        let build = ("CARGO_BUILD_RUSTFLAGS", "-c  -d");
        let target = ("CARGO_TARGET_A_B_RUSTFLAGS", "-e");
        assert_eq!(of(&[build], &[&files]), "-b -c -d");
        assert_eq!(of(&[build], &[&files, &own]), "-t");
        assert_eq!(of(&[build, target], &[&files]), "-e");
        assert_eq!(of(&[target], &[&own]), "-t -e");
        let conditional: toml::Table = "[target.'cfg(unix)']\nrustflags = '-u'\n\
                                        [target.'cfg(windows)']\nrustflags = '-w'\n"
            .parse()
            .expect("TOML");
        assert_eq!(of(&[build], &[&files, &conditional]), "-u");
        assert_eq!(of(&[target], &[&conditional, &own]), "-t -e -u");
        assert_eq!(of(&[build, target, ("RUSTFLAGS", "-r")], &[&own]), "-r");
        assert_eq!(of(&[("RUSTFLAGS", "-r"), (VARIABLE, "-x y\x1f-z")], &[]), "-x y -z");
    }
}
