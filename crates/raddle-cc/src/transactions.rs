//! Programs whose transactions are enforced.
//!
//! Such a program is the one that was checked, byte for byte, except for the name of the library with its hooks: the other
//! library has a name of the same length. So the addresses of a plan are those of the program.

use crate::compiler::{Compiler, Language};
use crate::hooks::{SOURCE, succeed};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const RUNTIME: &str = include_str!("transactions.c");
/// The names of the folders and files of the two libraries. Invariant: of equal length.
const PLAIN: [&str; 2] = ["/hooks-", "/libraddle_hooks.so"];
const ENFORCING: [&str; 2] = ["/trans-", "/libraddle_trans.so"];

/// The argument of `raddle cc` for hooks at the beginning and end of each function.
pub const OPERATIONS: &str = "--operations";

/// The marks of a plan. Addresses are those in the file of the program.
#[derive(Default)]
pub struct Marks {
    /// The first instructions of operations.
    pub operations: Vec<u64>,
    /// The accesses before which a transaction begins: the address after the call of the hook.
    pub before: Vec<u64>,
    /// The accesses after which one begins.
    pub after: Vec<u64>,
}

impl Marks {
    /// Returns the marks as a text: in each line an address and the sum of its marks.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for (mark, addresses) in [(4, &self.operations), (1, &self.before), (2, &self.after)] {
            for address in addresses {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{address:x} {mark}");
            }
        }
        text
    }

    /// Returns the contents of the table in the runtime.
    fn table(&self) -> String {
        let mut text = String::new();
        for (name, addresses) in
            [("OPERATION", &self.operations), ("BEFORE", &self.before), ("AFTER", &self.after)]
        {
            for address in addresses {
                // Writing to a string cannot fail.
                let _ = write!(text, "{{{address:#x},{name}}},");
            }
        }
        text
    }
}

/// The environment variable with the path of a file of marks ([`Marks::lines`]), for programs of
/// [`enforce_from_environment`].
pub const MARKS: &str = "RADDLE_TRANSACTIONS";

/// Writes a copy of `program` to `output` that reads the marks of its transactions when it starts, so that many plans can be
/// timed.
pub fn enforce_from_environment(program: &Path, output: &Path) -> Result<()> {
    enforce_table(program, "", &["-DFROM_ENVIRONMENT"], output)
}

/// Writes a copy of `program` to `output` in which the transactions of `marks` are enforced.
pub fn enforce(program: &Path, marks: &Marks, output: &Path) -> Result<()> {
    enforce_table(program, &marks.table(), &[], output)
}

fn enforce_table(program: &Path, table: &str, flags: &[&str], output: &Path) -> Result<()> {
    let mut bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let place = plain_library(&bytes);
    let Some((start, end)) = place else {
        bail!(
            "{}: is not linked against Raddle's hooks\nhelp: compile and link it with: raddle cc {OPERATIONS}",
            program.display()
        );
    };
    let name = String::from_utf8_lossy(&bytes[start..end]).into_owned();
    let library = build(table, flags, &name)?;
    let library = library.to_str().context("the path of the cache folder is not valid UTF-8")?;
    ensure!(library.len() == name.len(), "{library} and {name} differ in length");
    bytes[start..end].copy_from_slice(library.as_bytes());
    let written = || format!("cannot write {}", output.display());
    // A program that runs cannot be written to, but it can be replaced.
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(folder).with_context(written)?;
    std::fs::write(file.path(), &bytes).with_context(written)?;
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o755)).with_context(written)?;
    file.persist(output).with_context(written)?;
    Ok(())
}

/// Returns where the name of the library with the hooks is in a program.
fn plain_library(bytes: &[u8]) -> Option<(usize, usize)> {
    let suffix = format!("{}\0", PLAIN[1]);
    let found = bytes.windows(suffix.len()).position(|window| window == suffix.as_bytes())?;
    let start = bytes[..found].iter().rposition(|&byte| byte == 0)? + 1;
    let name = &bytes[start..found];
    name.windows(PLAIN[0].len()).any(|window| window == PLAIN[0].as_bytes()).then_some(())?;
    Some((start, found + PLAIN[1].len()))
}

/// Builds the runtime for a plan, unless it is there, beside the library called `plain`. Returns its path.
fn build(table: &str, flags: &[&str], plain: &str) -> Result<PathBuf> {
    let compiler = Compiler::find(Language::C)?;
    let mut hasher = DefaultHasher::new();
    (SOURCE, RUNTIME, table, flags, compiler.target_prefix()).hash(&mut hasher);
    let cache =
        plain.strip_suffix(PLAIN[1]).and_then(|folder| folder.rfind(PLAIN[0]).map(|at| &folder[..at]));
    let cache = cache.context("the library with the hooks is in no cache folder")?;
    let folder = PathBuf::from(format!("{cache}{}{:016x}", ENFORCING[0], hasher.finish()));
    let library = PathBuf::from(format!("{}{}", folder.display(), ENFORCING[1]));
    if library.is_file() {
        return Ok(library);
    }
    let writable = || format!("cannot write the runtime of transactions into {}", folder.display());
    std::fs::create_dir_all(&folder).with_context(writable)?;
    let own = tempfile::tempdir_in(&folder).with_context(writable)?;
    let name = |file: &str| own.path().join(file);
    std::fs::write(name("hooks.c"), SOURCE).with_context(writable)?;
    std::fs::write(name("transactions.c"), RUNTIME.replace("{TABLE}", &format!("{{{table}}}")))
        .with_context(writable)?;
    let mut compile = compiler.command();
    compile.args(["-std=gnu11", "-O2", "-g0", "-fPIC", "-fno-builtin", "-fno-lto", "-w", "-shared"]);
    compile.args(flags);
    compile.args(["-Xlinker", "-soname", "-Xlinker"]).arg(&library);
    succeed(compile.arg(name("transactions.c")).arg("-o").arg(name("made.so")))?;
    std::fs::rename(name("made.so"), &library).with_context(writable)?;
    own.close().with_context(writable)?;
    Ok(library)
}

/// Returns the arguments without the one that requests hooks of functions, and true if it was there.
pub(crate) fn without_operations(args: &[OsString]) -> (Vec<OsString>, bool) {
    let rest: Vec<OsString> = args.iter().filter(|word| *word != OPERATIONS).cloned().collect();
    let was_there = rest.len() < args.len();
    (rest, was_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_libraries_have_names_of_equal_length() {
        for (plain, enforcing) in PLAIN.iter().zip(ENFORCING) {
            assert_eq!(plain.len(), enforcing.len());
        }
        let bytes = b"\0libc.so.6\0/home/a/hooks-0123/libraddle_hooks.so\0x\0";
        let (start, end) = plain_library(bytes).unwrap();
        assert_eq!(&bytes[start..end], b"/home/a/hooks-0123/libraddle_hooks.so");
        assert_eq!(plain_library(b"\0/home/a/libraddle_hooks.so\0"), None);
    }
}
