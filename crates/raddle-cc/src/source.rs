//! `raddle run program.c`: a source file instead of a program.
//!
//! The program is kept in the cache folder, under a name derived from all inputs: the preprocessed text, the
//! compiler and its flags. So a recorded run names a file that stays unchanged when the source is edited, and
//! that the same command rebuilds if the cache was cleared.

use crate::compiler::{Compiler, Language};
use crate::{hooks, instrumented};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The folder of programs in the cache folder.
const PROGRAMS: &str = "programs";
/// The compiler flags before the user's.
const FLAGS: &[&str] = &["-g", "-O1", "-pthread"];

/// A source file to compile and run.
pub struct Source<'a> {
    path: &'a Path,
    language: Language,
}

impl<'a> Source<'a> {
    /// Returns the source file `name`, if it has such an extension.
    pub fn of(name: &'a str) -> Option<Source<'a>> {
        let path = Path::new(name);
        let language = match path.extension()?.to_str()? {
            "c" => Language::C,
            "cc" | "cp" | "cpp" | "cxx" | "c++" | "C" | "CPP" => Language::Cpp,
            _ => return None,
        };
        Some(Source { path, language })
    }

    /// Compiles it to a program with hooks, and returns the program; `flags` come after the source, so that
    /// they may name libraries. The compiler's messages go to standard error unchanged.
    pub fn compile(&self, flags: &[String]) -> Result<PathBuf> {
        let shown = self.path.display();
        // Compilers report this verbosely.
        std::fs::File::open(self.path)
            .with_context(|| format!("cannot read {shown}\nhelp: check the path"))?;
        let failed = || format!("cannot compile {shown}; see the compiler's messages above");
        let compiler = Compiler::find(self.language)?;
        let preprocessed = output(&mut self.call(&compiler, flags, &["-E".into()])?)?;
        if !preprocessed.status.success() {
            // A failure to write to standard error cannot be reported.
            let _ = std::io::stderr().lock().write_all(&preprocessed.stderr);
        }
        ensure!(preprocessed.status.success(), failed());

        let folder = hooks::cache()?.join(PROGRAMS).join(self.key(&compiler, flags, &preprocessed.stdout)?);
        let program = folder.join(self.path.file_stem().unwrap_or_default());
        if program.is_file() {
            return Ok(program);
        }
        let writable = || {
            let folder = folder.display();
            format!("cannot write a program into {folder}\nhelp: set RADDLE_CACHE to a writable folder")
        };
        std::fs::create_dir_all(&folder).with_context(writable)?;
        let own = tempfile::tempdir_in(&folder).with_context(writable)?;
        let made = own.path().join("program");
        let mut call = self.call(&compiler, flags, &["-o".into(), made.clone().into()])?;
        let name = call.get_program().display().to_string();
        let status = call.stdout(Stdio::null()).status().with_context(|| format!("cannot start {name}"))?;
        if !status.success() {
            drop(own);
            // Fails if it is not empty, or another process uses it.
            let _ = std::fs::remove_dir(&folder);
        }
        ensure!(status.success(), failed());
        std::fs::rename(&made, &program).with_context(writable)?;
        Ok(program)
    }

    fn call(&self, compiler: &Compiler, flags: &[String], mode: &[OsString]) -> Result<Command> {
        let mut args: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
        args.extend_from_slice(mode);
        args.push(self.path.into());
        args.extend(flags.iter().map(OsString::from));
        instrumented(compiler, &args)
    }

    /// Returns a key of everything that affects the program.
    fn key(&self, compiler: &Compiler, flags: &[String], preprocessed: &[u8]) -> Result<String> {
        let call = self.call(compiler, flags, &[])?;
        let version = output(compiler.command().arg("--version"))?.stdout;
        let here = std::env::current_dir().context("the current folder no longer exists")?;
        let mut hasher = DefaultHasher::new();
        // The debug information contains the folder.
        (preprocessed, version, here, call.get_program()).hash(&mut hasher);
        call.get_args().for_each(|argument| argument.hash(&mut hasher));
        Ok(format!("{:016x}", hasher.finish()))
    }
}

/// Returns true if [`Source::compile`] created a program.
pub fn was_compiled_here(program: &Path) -> bool {
    let Ok(cache) = hooks::cache() else { return false };
    // Recorded paths have no symbolic links.
    let cache = cache.canonicalize().unwrap_or(cache);
    program.starts_with(cache.join(PROGRAMS))
}

fn output(command: &mut Command) -> Result<Output> {
    let name = command.get_program().display().to_string();
    command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_by_their_ends() {
        let language = |name| Source::of(name).map(|source| matches!(source.language, Language::Cpp));
        for (name, cpp) in [
            ("a.c", Some(false)),
            ("./b/a.cc", Some(true)),
            ("a.C", Some(true)),
            ("a.cpp", Some(true)),
            ("a.o", None),
            ("./program", None),
            ("c", None),
            (".c", None),
        ] {
            assert_eq!(language(name), cpp, "{name}");
        }
    }
}
