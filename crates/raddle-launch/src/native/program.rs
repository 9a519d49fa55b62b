//! The program that a user names: its path, and whether it can be controlled.

use anyhow::{Context, Result, bail, ensure};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, elf};
use std::collections::VecDeque;
use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the program that a user means by `name`: a path, or a name to be searched for in `PATH`. Explains
/// why a program cannot be controlled.
pub fn find(name: &str) -> Result<PathBuf> {
    let path = if name.contains('/') || Path::new(name).is_dir() {
        PathBuf::from(name)
    } else {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&paths)
            .map(|folder| folder.join(name))
            .find(|path| path.metadata().is_ok_and(|data| data.is_file() && is_executable(&data)));
        found.with_context(|| {
            format!("no program `{name}` in PATH\nhelp: check the name; a program in this folder is written with its path, as ./{name}")
        })?
    };
    let path =
        std::fs::canonicalize(&path).with_context(|| format!("cannot find {name}\nhelp: check the path"))?;
    check_file(&path)?;
    check_content(&path)?;
    Ok(path)
}

/// Returns true if the program was compiled with hooks for memory accesses.
pub fn is_instrumented(program: &Path) -> Result<bool> {
    const HOOKS: &[u8] = b"__tsan_";
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    Ok(bytes.windows(HOOKS.len()).any(|window| window == HOOKS))
}

/// Returns true if the Rust standard library of the program has hooks.
pub fn has_hooks_in_std(program: &Path) -> Result<bool> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    Ok(raddle_cc::rust::has_hooks_in_std(&bytes))
}

/// Returns true if the program was compiled for OpenMP, by gcc or clang.
pub fn uses_openmp(program: &Path) -> Result<bool> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let names: [&[u8]; 2] = [b"GOMP_parallel", b"__kmpc_fork_call"];
    Ok(names.iter().any(|name| bytes.windows(name.len()).any(|window| window == *name)))
}

/// Returns a C library function that the program calls and that accesses memory of the caller, where no hooks are.
pub fn library_access(program: &Path) -> Result<Option<&'static str>> {
    const NAMES: [&str; 10] = [
        "memcpy", "memmove", "memset", "memcmp", "strcpy", "strncpy", "strcat", "sprintf", "snprintf", "read",
    ];
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    // As in the table of names, each of which ends with a zero.
    let calls = |name: &&&str| {
        let entry = format!("\0{name}\0");
        bytes.windows(entry.len()).any(|window| window == entry.as_bytes())
    };
    Ok(NAMES.iter().find(calls).copied())
}

/// Returns true if a note in the first part of a program says that the Go compiler has made it.
fn has_go_note(bytes: &[u8]) -> bool {
    const WORD: [u8; 4] = 4_u32.to_le_bytes();
    // The length of the name, the length of the content, the type, and the name.
    bytes.windows(16).any(|note| note[..4] == WORD && note[8..12] == WORD && &note[12..] == b"Go\0\0")
}

fn is_executable(data: &Metadata) -> bool {
    data.permissions().mode() & 0o111 != 0
}

/// Rejects files that the system would not start, or would start without our library.
fn check_file(path: &Path) -> Result<()> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let shown = path.display();
    let data = path.metadata().with_context(|| format!("cannot read {shown}"))?;
    ensure!(!data.is_dir(), "{shown}: is a directory\nhelp: name the program in it");
    ensure!(data.is_file(), "{shown}: is not a regular file");
    ensure!(is_executable(&data), "{shown}: is not executable\nhelp: chmod +x {shown}");
    // Even if the owner is the current user: the system then starts it with randomized addresses in any case.
    ensure!(
        data.permissions().mode() & (SET_USER | SET_GROUP) == 0,
        "{shown}: a set-user-ID or set-group-ID program, in which the dynamic linker ignores preloaded libraries\nhelp: \
         run a copy made with `cp`: it does not have these rights"
    );
    Ok(())
}

/// Returns the name of a common processor.
fn processor(machine: elf::Machine) -> Option<&'static str> {
    Some(match machine {
        elf::EM_386 => "x86 with 32 bits",
        elf::EM_MIPS => "MIPS",
        elf::EM_PPC | elf::EM_PPC64 => "PowerPC",
        elf::EM_S390 => "S/390",
        elf::EM_ARM => "ARM with 32 bits",
        elf::EM_X86_64 => "x86-64",
        elf::EM_AARCH64 => "ARM with 64 bits (aarch64)",
        elf::EM_RISCV => "RISC-V",
        elf::EM_LOONGARCH => "LoongArch",
        _ => return None,
    })
}

/// Rejects files that are not dynamically linked programs for this machine.
fn check_content(path: &Path) -> Result<()> {
    let shown = path.display();
    let bytes = {
        // Program headers and the name of the loader are at the beginning of the file.
        let file = match std::fs::File::open(path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                bail!(
                    "cannot read {shown}: {error}\nhelp: raddle reads a program before it starts it: chmod +r {shown}"
                )
            }
            opened => opened.with_context(|| format!("cannot read {shown}"))?,
        };
        let mut bytes = Vec::new();
        file.take(1 << 16).read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
        bytes
    };
    if let Some(rest) = bytes.strip_prefix(b"#!") {
        return script(path, rest);
    }
    let header = match FileKind::parse(&*bytes) {
        Ok(FileKind::Elf32) => Header::read::<elf::FileHeader32<Endianness>>(&bytes),
        Ok(FileKind::Elf64) => Header::read::<elf::FileHeader64<Endianness>>(&bytes),
        _ => None,
    };
    let Some(Header { bits, endian, machine, loader }) = header else {
        bail!(
            "{shown}: is not a Linux program (ELF)\nhelp: if it is a script without `#!`, name its interpreter, as in: raddle run -- sh {shown}"
        );
    };
    if (bits, endian, machine) != (64, Endianness::Little, elf::EM_X86_64) {
        let processor = processor(machine).map_or_else(|| format!("processor {}", machine.0), str::to_owned);
        bail!(
            "{shown}: is a {bits}-bit program for {processor}; only 64-bit programs for x86-64 are supported\nhelp: compile \
             it for x86-64"
        );
    }
    let Some(loader) = loader else {
        bail!(
            "{shown}: is linked statically, so the runtime cannot be preloaded\nhelp: link it without -static"
        );
    };
    let is_musl = loader.contains("musl");
    ensure!(
        !is_musl,
        "{shown}: is linked against musl; only programs that are linked against glibc are supported\nhelp: build it for a glibc \
         target, such as x86_64-unknown-linux-gnu"
    );
    let is_go = has_go_note(&bytes);
    ensure!(
        !is_go,
        "{shown}: is a Go program, whose runtime calls the kernel without the C library\nhelp: test Go code with `go test -race`; \
         Raddle controls programs in C, C++, Rust and Erlang"
    );
    ensure!(Path::new(&loader).exists(), "{shown}: its dynamic loader, {loader}, is not on this machine");
    Ok(())
}

/// The parts of an ELF file that decide whether it can be controlled.
struct Header {
    bits: u8,
    endian: Endianness,
    machine: elf::Machine,
    /// The dynamic loader of the program, if it has one.
    loader: Option<String>,
}

impl Header {
    /// Reads them from the beginning of a file.
    fn read<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Option<Header> {
        let header = H::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, bytes).unwrap_or_default();
        let loader = segments.iter().find(|segment| segment.p_type(endian) == elf::PT_INTERP);
        // A name further back is still a name: there is a loader, whatever its name.
        let name = loader.map(|segment| segment.interpreter(endian, bytes).ok().flatten().unwrap_or(b"/"));
        Some(Header {
            bits: if header.is_type_64() { 64 } else { 32 },
            endian,
            machine: header.e_machine(endian),
            loader: name.map(|name| String::from_utf8_lossy(name).into_owned()),
        })
    }
}

/// Reports the interpreter of a script, whose text after `#!` is `rest`.
fn script(path: &Path, rest: &[u8]) -> Result<()> {
    let shown = path.display();
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).trim().to_owned();
    ensure!(
        !line.is_empty(),
        "{shown}: is a script without an interpreter after `#!`\nhelp: name its interpreter, as in: raddle run -- sh {shown}"
    );
    let interpreter = line.split_whitespace().next().unwrap_or_default();
    ensure!(
        Path::new(interpreter).exists(),
        "{shown}: is a script, and its interpreter {interpreter} does not exist\nhelp: correct its first line"
    );
    let script = path.to_string_lossy();
    bail!(
        "{shown}: is a script, run by `{line}`\nhelp: name the program that the script starts; to control the interpreter \
         itself: {}",
        interpreted(&line, &script)
    )
}

/// Returns the command that controls the interpreter of a script; `line` is the text after `#!`.
fn interpreted(line: &str, script: &str) -> String {
    let mut words: VecDeque<&str> = line.split_whitespace().collect();
    let mut variables = Vec::new();
    // `env NAME` searches NAME in PATH, as this does. Its -S splits the single word from the kernel.
    if words.front().is_some_and(|word| word.rsplit('/').next() == Some("env")) {
        words.pop_front();
        while let Some(word) = words.front_mut() {
            let attached = word.strip_prefix("-S").or_else(|| word.strip_prefix("--split-string="));
            match attached {
                Some(first) if !first.is_empty() => *word = first,
                _ if word.starts_with('-') => drop(words.pop_front()),
                _ if word.contains('=') => variables.extend(words.pop_front()),
                _ => break,
            }
        }
    }
    let script = shlex::try_quote(script).map_or_else(|_| script.to_owned(), |quoted| quoted.into_owned());
    let words = variables.into_iter().chain(["raddle", "run", "--"]).chain(words).chain([&script[..]]);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_for_a_script_names_its_interpreter() {
        for (line, remedy) in [
            ("/bin/sh", "raddle run -- /bin/sh ./s"),
            ("/usr/bin/env python3", "raddle run -- python3 ./s"),
            ("/usr/bin/env -S python3 -u", "raddle run -- python3 -u ./s"),
            ("/usr/bin/env -Spython3 -u", "raddle run -- python3 -u ./s"),
            ("/usr/bin/env --split-string=python3 -u", "raddle run -- python3 -u ./s"),
            ("/usr/bin/env -S A=1 python3 -u", "A=1 raddle run -- python3 -u ./s"),
            ("/usr/bin/env -i perl", "raddle run -- perl ./s"),
        ] {
            assert_eq!(interpreted(line, "./s"), remedy);
        }
    }
}
