//! `raddle cc` and `raddle c++`: the system's compiler, with hooks at every memory access.
//!
//! The process is replaced by the compiler with a few more arguments: nothing is run twice and nothing is
//! parsed that the compiler would not have to parse anyway. `docs/design/native-build.md` explains the flags.

mod call;
mod compiler;
mod hooks;
pub mod rust;
mod source;
mod transactions;

use anyhow::{Context, Result, bail};
use call::Call;
pub use compiler::Language;
use compiler::{Compiler, Kind};
pub use hooks::cache;
pub use source::{Source, was_compiled_here};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
pub use transactions::{MARKS, Marks, OPERATIONS, enforce, enforce_from_environment};

/// The text for `--help`.
const HELP: &str = "\
Compiles and links like the system's compiler, with hooks that let `raddle run` stop a thread at every access to memory.

Usage: raddle cc [ARGUMENTS OF THE C COMPILER]
       raddle c++ [ARGUMENTS OF THE C++ COMPILER]

Examples:
  raddle cc -O1 bank.c -o bank -pthread && raddle run ./bank
  make CC=\"raddle cc\" CXX=\"raddle c++\"
  CC=\"raddle cc\" CXX=\"raddle c++\" cmake -B build && cmake --build build
  CC=\"raddle cc\" ./configure && make
  RADDLE_CC=clang-19 raddle cc bank.c -o bank -pthread

The program also runs without Raddle, as if it had been compiled plainly, but slower.

What is behind it: RADDLE_CC, or CC, or cc, gcc or clang in PATH, whichever comes first and is not Raddle itself; for C++
RADDLE_CXX, CXX, c++, g++ and clang++. Needs gcc 11 or clang 12, or later.

What is different from a plain call:
  -O2 and above become -O1, since more would hide accesses; -g is on; there is no link-time optimization.
  -fsanitize=thread is left out, since it is already in; address and memory sanitizers are refused.
  A static program gets the hooks, but cannot be put under control.
  --operations adds hooks at the beginning and end of functions, which `raddle tx` needs.
  --transactions PLAN enforces the transactions of a plan of `raddle tx`.
  #include <raddle/linearizable.h> checks a data structure without assertions; its first lines say how.
  The program refers to a small library in the cache folder (RADDLE_CACHE, or raddle in XDG_CACHE_HOME or ~/.cache).

Exit status: that of the compiler; 2 if it cannot be started.
";

/// Returns the library that a program with hooks is linked against, so that it also runs without Raddle.
pub fn hooks_library() -> Result<PathBuf> {
    Ok(hooks::prepare(&Compiler::find(Language::C)?)?.library)
}

/// Replaces this process by the compiler. Returns only on failure, or with the help text to print.
pub fn run(language: Language, args: &[OsString]) -> Result<String> {
    if let [only] = args
        && only == "--help"
    {
        return Ok(HELP.to_owned());
    }
    let mut command = command(language, args)?;
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// Returns the call of the compiler for `args`, as [`run`] makes it.
pub fn command(language: Language, args: &[OsString]) -> Result<Command> {
    instrumented(&Compiler::find(language)?, args)
}

/// Returns the compiler call with these arguments and those for the hooks.
fn instrumented(compiler: &Compiler, args: &[OsString]) -> Result<Command> {
    let (args, has_operations) = transactions::without_operations(args);
    let call = Call::read(compiler.own_arguments().chain(args.iter().cloned()));
    if let Some(word) = &call.refused {
        bail!("`{}` cannot be combined with Raddle's hooks\nhelp: compile without it", word.display());
    }
    let mut command = compiler.command();
    let hooks = if call.compiles || call.links { Some(hooks::prepare(compiler)?) } else { None };
    if let (true, Some(hooks)) = (call.compiles, &hooks) {
        command.arg("-g").arg("-isystem").arg(&hooks.include);
        match compiler.kind {
            // The driver must not see -fsanitize=thread, or it would link its own runtime.
            Kind::Gcc => command.arg(hooks.specs_argument()),
            Kind::Clang => command.args(["-Xclang", "-fsanitize=thread"]),
        };
    }
    command.args(args.iter().filter_map(call::without_thread_sanitizer));
    if call.compiles {
        command.args(compiler.kind.flags());
        if has_operations {
            command.args(compiler.kind.function_flags());
        }
        if call.optimizes_much {
            command.arg("-O1");
        }
    }
    if call.uses_lto {
        command.arg("-fno-lto");
    }
    if let (true, Some(hooks)) = (call.links, &hooks) {
        // As a linker argument it is not affected by `-x c`.
        command.arg("-Xlinker").arg(if call.is_static { &hooks.object } else { &hooks.library });
    }
    Ok(command)
}
