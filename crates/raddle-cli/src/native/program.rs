//! The program that a user names: where it is, and whether it can be put under control.

use anyhow::{Context, Result, bail, ensure};
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program that a user means by `name`: a path, or a name to be looked for in `PATH`. Says what is wrong with one that
/// cannot be put under control.
pub(crate) fn find(name: &str) -> Result<PathBuf> {
    let path = if name.contains('/') {
        PathBuf::from(name)
    } else {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&paths)
            .map(|folder| folder.join(name))
            .find(|path| path.metadata().is_ok_and(|data| data.is_file() && is_executable(&data)));
        found.with_context(|| {
            format!("{name}: no such program in PATH; write ./{name} for one that is here")
        })?
    };
    let path = std::fs::canonicalize(&path).with_context(|| format!("cannot find {name}"))?;
    check_file(&path)?;
    check_content(&path)?;
    Ok(path)
}

/// Whether the program was compiled so that it calls the hooks of memory accesses.
pub(super) fn is_instrumented(program: &Path) -> Result<bool> {
    const HOOKS: &[u8] = b"__tsan_";
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    Ok(bytes.windows(HOOKS.len()).any(|window| window == HOOKS))
}

/// Whether the program was compiled for OpenMP, by gcc or clang.
pub(super) fn uses_openmp(program: &Path) -> Result<bool> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let names: [&[u8]; 2] = [b"GOMP_parallel", b"__kmpc_fork_call"];
    Ok(names.iter().any(|name| bytes.windows(name.len()).any(|window| window == *name)))
}

fn is_executable(data: &Metadata) -> bool {
    data.permissions().mode() & 0o111 != 0
}

/// Refuses what the system would not start, or would start without our library.
fn check_file(path: &Path) -> Result<()> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let shown = path.display();
    let data = path.metadata().with_context(|| format!("cannot read {shown}"))?;
    ensure!(!data.is_dir(), "{shown}: it is a directory; name the program in it");
    ensure!(data.is_file(), "{shown}: it is no file");
    ensure!(is_executable(&data), "{shown}: it is not executable; chmod +x makes it so");
    // Also if they are our own rights: the system then starts it with randomised addresses, whatever it is told.
    ensure!(
        data.permissions().mode() & (SET_USER | SET_GROUP) == 0,
        "{shown}: it runs with the rights of its owner (setuid or setgid), so the system keeps raddle's library out of it; a copy \
         made by `cp` has no such rights and can be run"
    );
    Ok(())
}

/// The parts of an ELF file that decide whether it can be put under control.
mod elf {
    /// The size of the header of a 64-bit file.
    pub(super) const HEADER: usize = 64;
    pub(super) const MAGIC: &[u8] = b"\x7fELF";
    pub(super) const CLASS_64: u8 = 2;
    pub(super) const LITTLE_ENDIAN: u8 = 1;
    pub(super) const X86_64: u16 = 62;
    /// The kind of program header that names the dynamic loader.
    pub(super) const INTERPRETER: u64 = 3;

    /// Processors that programs are often compiled for.
    pub(super) fn processor(machine: u16) -> Option<&'static str> {
        Some(match machine {
            3 => "x86 with 32 bits",
            8 => "MIPS",
            20 | 21 => "PowerPC",
            22 => "S/390",
            40 => "ARM with 32 bits",
            X86_64 => "x86-64",
            183 => "ARM with 64 bits (aarch64)",
            243 => "RISC-V",
            258 => "LoongArch",
            _ => return None,
        })
    }
}

/// A number of `size` bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Refuses files that are no dynamically linked programs for this machine.
fn check_content(path: &Path) -> Result<()> {
    let shown = path.display();
    let bytes = {
        // Program headers and the name of the loader are at the beginning of the file.
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {shown}"))?;
        let mut bytes = Vec::new();
        file.take(1 << 16).read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
        bytes
    };
    if let Some(rest) = bytes.strip_prefix(b"#!") {
        return script(path, rest);
    }
    ensure!(
        bytes.len() >= elf::HEADER && bytes.starts_with(elf::MAGIC),
        "{shown}: it is no program for Linux; if it is a script, name the program that it starts"
    );
    let machine = number(&bytes, 18, 2).map_or(0, |machine| machine as u16);
    let here = bytes[4] == elf::CLASS_64 && bytes[5] == elf::LITTLE_ENDIAN && machine == elf::X86_64;
    if !here {
        let bits = if bytes[4] == elf::CLASS_64 { "64-bit" } else { "32-bit" };
        let machine = if bytes[5] == elf::LITTLE_ENDIAN { machine } else { machine.swap_bytes() };
        let processor = elf::processor(machine).map_or_else(|| format!("processor {machine}"), str::to_owned);
        bail!("{shown}: it is a {bits} program for {processor}; raddle controls 64-bit programs for x86-64");
    }
    let Some(loader) = loader(&bytes) else {
        bail!("{shown}: it is linked statically, so nothing can be put under control; link it dynamically");
    };
    ensure!(
        !loader.contains("musl"),
        "{shown}: it is linked against musl; raddle controls programs that are linked against glibc"
    );
    ensure!(Path::new(&loader).exists(), "{shown}: its dynamic loader, {loader}, is not on this machine");
    Ok(())
}

/// The dynamic loader that a program names, if it does.
fn loader(bytes: &[u8]) -> Option<String> {
    let table = number(bytes, 32, 8)? as usize;
    let (size, count) = (number(bytes, 54, 2)? as usize, number(bytes, 56, 2)? as usize);
    let at = (0..count)
        .map(|index| table.saturating_add(index * size))
        .find(|&at| number(bytes, at, 4) == Some(elf::INTERPRETER))?;
    let (from, length) = (number(bytes, at + 8, 8)? as usize, number(bytes, at + 32, 8)? as usize);
    // A name that lies further back is still a name: the loader is there, whatever it is called.
    let name = bytes.get(from..from.checked_add(length)?).unwrap_or(b"/");
    Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
}

/// Says what runs a script, whose text after `#!` is `rest`.
fn script(path: &Path, rest: &[u8]) -> Result<()> {
    let shown = path.display();
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).trim().to_owned();
    ensure!(!line.is_empty(), "{shown}: it is a script that names no interpreter after `#!`");
    // `env NAME` looks NAME up in PATH, which we do as well.
    let mut words = line.split_whitespace().peekable();
    words.next_if(|word| *word == "/usr/bin/env" || *word == "/bin/env");
    let words = words.collect::<Vec<_>>().join(" ");
    bail!(
        "{shown}: it is a script, run by `{line}`; name the program that the script starts, or, to put the interpreter itself \
         under control: raddle run -- {words} {shown}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_the_least_byte_on() {
        assert_eq!(number(&[0, 1, 2, 0], 1, 2), Some(0x201));
        assert_eq!(number(&[0, 1], 1, 2), None);
        assert_eq!(number(&[0, 1], usize::MAX, 2), None);
    }
}
