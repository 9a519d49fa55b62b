//! Finds the compiler behind `raddle cc`.

use anyhow::{Context, Result, bail};
use std::env::{current_exe, split_paths, var_os};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the compiler, to detect one that calls `raddle cc` again.
const RUNNING: &str = "RADDLE_CC_RUNNING";

/// The source language.
#[derive(Clone, Copy)]
pub enum Language {
    /// C, by `raddle cc`.
    C,
    /// C++, by `raddle c++`.
    Cpp,
}

impl Language {
    /// Returns the variables that name a compiler, the most specific first.
    fn variables(self) -> [&'static str; 2] {
        match self {
            Language::C => ["RADDLE_CC", "CC"],
            Language::Cpp => ["RADDLE_CXX", "CXX"],
        }
    }

    fn programs(self) -> [&'static str; 3] {
        match self {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cpp => ["c++", "g++", "clang++"],
        }
    }
}

/// The two supported families of compilers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Gcc,
    Clang,
}

impl Kind {
    /// Returns the flags for hooks that show as much as possible, without the one that enables them.
    pub(crate) fn flags(self) -> impl Iterator<Item = &'static str> {
        let both = ["-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin-memset"];
        let own: &[&str] = match self {
            Kind::Gcc => &[
                "--param=tsan-instrument-func-entry-exit=0",
                "--param=tsan-distinguish-volatile=1",
                // Otherwise gcc assumes that a hook of an atomic lets no other thread write a static
                // variable.
                "-fno-ipa-reference",
                "-Wno-tsan",
            ],
            Kind::Clang => &[
                "-mllvm",
                "-tsan-instrument-func-entry-exit=0",
                "-mllvm",
                "-tsan-distinguish-volatile=1",
                "-mllvm",
                "-tsan-instrument-read-before-write=1",
                "-fno-vectorize",
                "-fno-slp-vectorize",
                // Otherwise atomics of sixteen bytes are calls into libatomic, which has no hooks.
                "-mcx16",
            ],
        };
        both.into_iter().chain(own.iter().copied())
    }

    /// Returns the flags for hooks at the beginning and end of the functions of the program, inlined ones too.
    pub(crate) fn function_flags(self) -> &'static [&'static str] {
        match self {
            Kind::Gcc => &[
                "-finstrument-functions",
                "-finstrument-functions-exclude-file-list=/usr/include/,/usr/lib/",
            ],
            Kind::Clang => &["-finstrument-functions"],
        }
    }

    /// Returns the family of a program by its name, if possible.
    fn of_name(word: &OsStr) -> Option<Kind> {
        let name = Path::new(word).file_name()?.to_str()?;
        if name.contains("clang") {
            Some(Kind::Clang)
        } else if name.contains("gcc") || name.contains("g++") {
            Some(Kind::Gcc)
        } else {
            None
        }
    }

    /// Returns the family of a program by its predefined macros. Clang also claims to be gcc.
    fn of_macros(text: &str) -> Option<Kind> {
        let has = |name: &str| text.contains(&format!("#define {name} "));
        if has("__clang__") { Some(Kind::Clang) } else { has("__GNUC__").then_some(Kind::Gcc) }
    }
}

/// The underlying compiler.
pub(crate) struct Compiler {
    /// Invariant: not empty. The program, and arguments that belong to it, as in `CC="ccache gcc -std=c11"`.
    words: Vec<OsString>,
    pub(crate) kind: Kind,
}

impl Compiler {
    /// Finds the compiler that the environment names, or else the system's.
    pub(crate) fn find(language: Language) -> Result<Compiler> {
        let [own, _] = language.variables();
        if var_os(RUNNING).is_some() {
            bail!(
                "the compiler behind `raddle cc` is `raddle cc` itself\nhelp: set {own} to another compiler"
            );
        }
        let named = language.variables().into_iter().filter_map(var_os).map(|value| split(&value));
        let mut named = named.filter(|words| !words.is_empty() && !words.iter().any(|word| is_raddle(word)));
        let words = match named.next() {
            Some(words) => words,
            None => {
                let there = |name: &&str| in_path(OsStr::new(name)).is_some() && !is_raddle(OsStr::new(name));
                let Some(name) = language.programs().into_iter().find(there) else {
                    bail!("no compiler found in PATH\nhelp: install gcc or clang, or set {own} to one");
                };
                vec![name.into()]
            }
        };
        let mut compiler = Compiler { words, kind: Kind::Gcc };
        let named = compiler.words.iter().find_map(|word| Kind::of_name(word));
        compiler.kind = match named.or_else(|| compiler.kind_of_file()) {
            Some(kind) => kind,
            None => compiler.ask_kind(own)?,
        };
        Ok(compiler)
    }

    /// Returns the family by the name of the file that `cc` links to.
    fn kind_of_file(&self) -> Option<Kind> {
        Kind::of_name(in_path(&self.words[0])?.canonicalize().ok()?.as_os_str())
    }

    fn ask_kind(&self, variable: &str) -> Result<Kind> {
        let mut command = self.command();
        let name = command.get_program().display().to_string();
        let output = command.args(["-dM", "-E", "-x", "c", "/dev/null"]).output();
        let output = output.with_context(|| format!("cannot start {name}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Kind::of_macros(&text)
            .with_context(|| format!("{name} is neither gcc nor clang\nhelp: set {variable} to one of them"))
    }

    /// Returns the arguments that belong to the compiler's name.
    pub(crate) fn own_arguments(&self) -> impl Iterator<Item = OsString> {
        self.words.iter().skip(1).cloned()
    }

    /// Returns a command for the compiler without further arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(self.own_arguments()).env(RUNNING, "1");
        command
    }

    /// Returns the prefix of the compiler's name, such as `aarch64-linux-gnu-` for a cross compiler.
    pub(crate) fn target_prefix(&self) -> &str {
        let mut names = self.words.iter().filter_map(|word| Path::new(word).file_name()?.to_str());
        let prefix = names.find_map(|name| {
            let at = ["clang", "gcc", "g++"].into_iter().filter_map(|part| name.find(part)).min()?;
            Some(&name[..at])
        });
        prefix.unwrap_or_default()
    }
}

fn split(value: &OsStr) -> Vec<OsString> {
    match value.to_str() {
        Some(text) => text.split_whitespace().map(OsString::from).collect(),
        None => vec![value.to_owned()],
    }
}

/// Returns true if a word of a command refers to this program.
fn is_raddle(word: &OsStr) -> bool {
    let Some(path) = in_path(word) else { return false };
    let same = |ours: PathBuf| path.canonicalize().ok() == ours.canonicalize().ok();
    path.file_stem() == Some(OsStr::new("raddle")) || current_exe().is_ok_and(same)
}

/// Returns the file that a shell would start for this word.
fn in_path(word: &OsStr) -> Option<PathBuf> {
    if Path::new(word).components().count() > 1 {
        return Some(PathBuf::from(word)).filter(|path| path.is_file());
    }
    split_paths(&var_os("PATH")?).map(|folder| folder.join(word)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_name_or_macros() {
        for (name, kind) in [
            ("gcc", Some(Kind::Gcc)),
            ("/usr/bin/x86_64-linux-gnu-g++-12", Some(Kind::Gcc)),
            ("clang++-19", Some(Kind::Clang)),
            ("cc", None),
            ("/opt/gcc/bin/cc", None),
        ] {
            assert_eq!(Kind::of_name(OsStr::new(name)), kind, "{name}");
        }
        assert_eq!(Kind::of_macros("#define __GNUC__ 12\n"), Some(Kind::Gcc));
        assert_eq!(Kind::of_macros("#define __GNUC__ 4\n#define __clang__ 1\n"), Some(Kind::Clang));
        assert_eq!(Kind::of_macros("#define __TINYC__ 927\n"), None);
    }

    #[test]
    fn cross_compilers_have_a_prefix() {
        let prefix = |line: &str| {
            let compiler = Compiler { words: split(OsStr::new(line)), kind: Kind::Gcc };
            compiler.target_prefix().to_owned()
        };
        assert_eq!(prefix("ccache aarch64-linux-gnu-gcc-12 -O1"), "aarch64-linux-gnu-");
        assert_eq!(prefix("cc"), "");
    }
}
