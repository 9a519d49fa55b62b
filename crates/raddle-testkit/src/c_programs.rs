//! The programs in `tests/c`, with the headers that describe them.
//!
//! Each file begins with lines such as these, then a comment that describes the program:
//!
//! ```text
//! // expect: deadlock
//! // points: sync
//! // build: c
//! // options: --races fail
//! ```
//!
//! `expect` is `pass` for the programs in `tests/c/pass` and otherwise one of [`KINDS`]; `points` is `sync`
//! if scheduling points at synchronisation are enough to find the bug or to be of interest, and `shared` if
//! memory accesses have to be scheduling points too; `build` is `c` or `c++`; `options`, which is optional,
//! are for `raddle run`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The kinds of failures that programs may expect.
pub const KINDS: &[&str] = &[
    "assertion",
    "data-race",
    "deadlock",
    "double-free",
    "misuse",
    "signal",
    "step-limit",
    "use-after-free",
];

/// The scheduling points that a program needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Points {
    /// Synchronisation.
    Sync,
    /// Also accesses to shared memory, so that the program has to be instrumented.
    Shared,
}

/// The language of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CLanguage {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// A program of `tests/c`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CProgram {
    /// Its name, such as `fail/abba_deadlock`.
    pub name: String,
    /// The source.
    pub path: PathBuf,
    /// The kind of the failure that has to be found, one of [`KINDS`]; `None` for a correct program.
    pub expect: Option<String>,
    /// The scheduling points that it needs.
    pub points: Points,
    /// Its language.
    pub language: CLanguage,
    /// Arguments for `raddle run`.
    pub options: Vec<String>,
}

impl CProgram {
    /// Compiles and links the program without a warning, by a command that names the compiler.
    ///
    /// # Panics
    ///
    /// If the compiler fails or prints anything.
    pub fn compile(&self, compiler: &mut Command, program: &Path) {
        let standard = match self.language {
            CLanguage::C => "-std=gnu11",
            CLanguage::Cpp => "-std=c++20",
        };
        compiler.args([standard, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        let output = compiler.arg(&self.path).arg("-o").arg(program).output().expect("the compiler starts");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && messages.is_empty(), "{}: {messages}", self.name);
    }
}

/// Returns all programs of `tests/c`, sorted by name.
///
/// # Panics
///
/// If the header of a file is malformed, or does not match its folder.
pub fn c_programs() -> Vec<CProgram> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c");
    let mut programs = Vec::new();
    for folder in ["fail", "pass"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("tests/c has folders `fail` and `pass`");
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            let text = std::fs::read_to_string(&path).expect("programs can be read");
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("programs have plain names");
            let program = parse(format!("{folder}/{stem}"), &path, &text);
            programs.push(program.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

fn parse(name: String, path: &Path, text: &str) -> Result<CProgram, String> {
    let mut lines = text.lines();
    let mut value = |key: &str| {
        let line = lines.next().unwrap_or_default();
        let value = line.strip_prefix("// ").and_then(|line| line.strip_prefix(key)?.strip_prefix(": "));
        value.map(str::to_owned).ok_or_else(|| format!("`{line}` should be `// {key}: ..`"))
    };
    let expect = Some(value("expect")?).filter(|expect| expect != "pass");
    if let Some(kind) = expect.as_ref().filter(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(format!("there is no kind of failure `{kind}`"));
    }
    if name.starts_with("fail/") != expect.is_some() {
        return Err("wrong folder".to_owned());
    }
    let points = match value("points")?.as_str() {
        "sync" => Points::Sync,
        "shared" => Points::Shared,
        other => return Err(format!("`{other}` should be `sync` or `shared`")),
    };
    let (language, extension) = match value("build")?.as_str() {
        "c" => (CLanguage::C, "c"),
        "c++" => (CLanguage::Cpp, "cc"),
        other => return Err(format!("`{other}` should be `c` or `c++`")),
    };
    if path.extension().is_none_or(|found| found != extension) {
        return Err(format!("its name should end in `.{extension}`"));
    }
    let options = value("options").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    Ok(CProgram { name, path: path.to_owned(), expect, points, language, options })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let read = |name: &str, file: &str, text: &str| parse(name.to_owned(), Path::new(file), text);
        let text = "// expect: deadlock\n// points: sync\n// build: c\n// options: --races fail\n// About.\n";
        let program = read("fail/a", "a.c", text).expect("the header is right");
        assert_eq!((program.expect.as_deref(), program.points), (Some("deadlock"), Points::Sync));
        assert_eq!(
            (program.language, &program.options[..]),
            (CLanguage::C, &["--races".into(), "fail".into()][..])
        );
        let text = "// expect: pass\n// points: shared\n// build: c++\n// About.\n";
        let program = read("pass/b", "b.cc", text).expect("the header is right");
        assert_eq!((program.expect, program.points, program.options), (None, Points::Shared, vec![]));

        let wrong =
            |name: &str, file: &str, text: &str| read(name, file, text).expect_err("the header is wrong");
        assert_eq!(wrong("pass/b", "b.c", text), "its name should end in `.cc`");
        assert_eq!(wrong("fail/b", "b.cc", text), "wrong folder");
        assert_eq!(wrong("fail/b", "b.cc", "// expect: luck\n"), "there is no kind of failure `luck`");
        assert_eq!(wrong("fail/b", "b.cc", ""), "`` should be `// expect: ..`");
        let text = text.replace("shared", "some");
        assert_eq!(wrong("pass/b", "b.cc", &text), "`some` should be `sync` or `shared`");
    }
}
