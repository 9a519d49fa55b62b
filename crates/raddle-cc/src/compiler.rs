//! Which compiler stands behind `raddle cc`.

use anyhow::{Context, Result, bail};
use std::env::{current_exe, split_paths, var_os};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the compiler, so that one which leads back here is noticed.
const RUNNING: &str = "RADDLE_CC_RUNNING";

/// What is compiled.
#[derive(Clone, Copy)]
pub enum Language {
    /// C, by `raddle cc`.
    C,
    /// C++, by `raddle c++`.
    Cpp,
}

impl Language {
    /// The variables that name a compiler, the most particular one first.
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

/// The two families of compilers whose hooks are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Gcc,
    Clang,
}

impl Kind {
    /// The flags for hooks that show as much as possible, without the one that switches them on.
    pub(crate) fn flags(self) -> impl Iterator<Item = &'static str> {
        let both = ["-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin-memset"];
        let own: &[&str] = match self {
            Kind::Gcc => &[
                "--param=tsan-instrument-func-entry-exit=0",
                "--param=tsan-distinguish-volatile=1",
                // Else gcc takes it for granted that a hook of an atomic lets no other thread write a static variable.
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
                // Else atomics of sixteen bytes are calls into libatomic, where no hook sees them.
                "-mcx16",
            ],
        };
        both.into_iter().chain(own.iter().copied())
    }

    /// The family of a program by its name, if the name tells.
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

    /// The family of a program by the macros that it defines. Clang also claims to be gcc.
    fn of_macros(text: &str) -> Option<Kind> {
        let has = |name: &str| text.contains(&format!("#define {name} "));
        if has("__clang__") { Some(Kind::Clang) } else { has("__GNUC__").then_some(Kind::Gcc) }
    }
}

/// The compiler that does the work.
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
            bail!("the compiler behind `raddle cc` is `raddle cc` again; name another one in {own}");
        }
        let named = language.variables().into_iter().filter_map(var_os).map(|value| split(&value));
        let mut named = named.filter(|words| !words.is_empty() && !words.iter().any(|word| is_raddle(word)));
        let words = match named.next() {
            Some(words) => words,
            None => {
                let there = |name: &&str| in_path(OsStr::new(name)).is_some() && !is_raddle(OsStr::new(name));
                let Some(name) = language.programs().into_iter().find(there) else {
                    bail!("no compiler was found in PATH; install gcc or clang, or name one in {own}");
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

    /// What the name of the file tells that `cc` is a link to.
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
            .with_context(|| format!("{name} is neither gcc nor clang; name one of them in {variable}"))
    }

    /// The arguments that belong to the compiler's name.
    pub(crate) fn own_arguments(&self) -> impl Iterator<Item = OsString> {
        self.words.iter().skip(1).cloned()
    }

    /// A call of the compiler without further arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(self.own_arguments()).env(RUNNING, "1");
        command
    }

    /// What comes before the name of the compiler proper, such as `aarch64-linux-gnu-` for a cross compiler.
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

/// Whether a word of a command leads back to this program.
fn is_raddle(word: &OsStr) -> bool {
    let Some(path) = in_path(word) else { return false };
    let same = |ours: PathBuf| path.canonicalize().ok() == ours.canonicalize().ok();
    path.file_stem() == Some(OsStr::new("raddle")) || current_exe().is_ok_and(same)
}

/// The file that a shell would start for this word.
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
