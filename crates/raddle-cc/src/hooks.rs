//! The files that compiler calls refer to: the hooks as a library and as an object, and gcc's specs.
//!
//! The compiler builds them at its first call, and they are kept in the cache folder. The folder's name
//! identifies their contents, so that a newer Raddle builds new ones and existing programs keep theirs.

use crate::compiler::Compiler;
use anyhow::{Context, Result, bail};
use std::env::var_os;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const SOURCE: &str = include_str!("hooks.c");
/// The header that programs may include.
const HEADER: &str = include_str!("linearizable.h");
/// Its folder.
const INCLUDE: &str = "include";
/// Adds the flag to the compiler proper, hidden from the driver.
const SPECS: &str = "*cc1:\n+ -fsanitize=thread\n";

/// The paths of the files.
pub(crate) struct Hooks {
    /// For dynamically linked programs. The runtime's definitions come before it.
    pub(crate) library: PathBuf,
    /// For static programs.
    pub(crate) object: PathBuf,
    specs: PathBuf,
    /// The folder of headers.
    pub(crate) include: PathBuf,
}

impl Hooks {
    /// Returns the argument that makes gcc use the specs.
    pub(crate) fn specs_argument(&self) -> OsString {
        let mut argument = OsString::from("-specs=");
        argument.push(&self.specs);
        argument
    }
}

/// Finds or builds the files. Several processes may do so at once.
pub(crate) fn prepare(compiler: &Compiler) -> Result<Hooks> {
    let mut hasher = DefaultHasher::new();
    (SOURCE, SPECS, HEADER, compiler.target_prefix()).hash(&mut hasher);
    let folder = cache()?.join(format!("hooks-{:016x}", hasher.finish()));
    let hooks = Hooks {
        library: folder.join("libraddle_hooks.so"),
        object: folder.join("hooks.o"),
        specs: folder.join("gcc.specs"),
        include: folder.join(INCLUDE),
    };
    // It is built last.
    if !hooks.library.is_file() {
        make(compiler, &folder, &hooks)?;
    }
    Ok(hooks)
}

/// Returns the cache folder.
pub fn cache() -> Result<PathBuf> {
    let folder = |name: &str| var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(folder) = folder("RADDLE_CACHE") {
        return Ok(folder);
    }
    let base = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    let base = base.context(
        "no cache folder: HOME is not set\nhelp: set RADDLE_CACHE to the absolute path of a folder",
    )?;
    Ok(base.join("raddle"))
}

fn make(compiler: &Compiler, folder: &Path, hooks: &Hooks) -> Result<()> {
    let writable = || {
        let folder = folder.display();
        format!("cannot write the hooks into {folder}\nhelp: set RADDLE_CACHE to a writable folder")
    };
    std::fs::create_dir_all(folder).with_context(writable)?;
    let own = tempfile::tempdir_in(folder).with_context(writable)?;
    let name = |file: &str| own.path().join(file);
    std::fs::write(name("hooks.c"), SOURCE).with_context(writable)?;
    std::fs::write(name("gcc.specs"), SPECS).with_context(writable)?;

    let mut compile = compiler.command();
    compile.args(["-x", "c", "-std=gnu11", "-O2", "-g0", "-fPIC", "-fno-builtin", "-fno-lto", "-w", "-c"]);
    succeed(compile.arg(name("hooks.c")).arg("-o").arg(name("hooks.o")))?;
    // Its full path is its soname: programs find it without a search path.
    let mut link = compiler.command();
    link.args(["-shared", "-nostdlib", "-Wl,-z,defs", "-Xlinker", "-soname", "-Xlinker"]).arg(&hooks.library);
    succeed(link.arg(name("hooks.o")).arg("-o").arg(name("hooks.so")))?;

    let headers = hooks.include.join("raddle");
    std::fs::create_dir_all(&headers).with_context(writable)?;
    std::fs::write(name("header"), HEADER).with_context(writable)?;
    std::fs::rename(name("header"), headers.join("linearizable.h")).with_context(writable)?;
    for (from, to) in [("gcc.specs", &hooks.specs), ("hooks.o", &hooks.object), ("hooks.so", &hooks.library)]
    {
        std::fs::rename(name(from), to).with_context(writable)?;
    }
    own.close().with_context(writable)
}

pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let name = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name} cannot compile the hooks:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(())
}
