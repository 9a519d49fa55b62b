//! The files of the program, and their addresses in memory.

use raddle_model::Name;
use raddle_model::native::{CALLED_BY, called_by, location_name, module_name};
use std::ops::Range;

/// A part of a file in memory.
struct Part {
    begin: u64,
    end: u64,
    /// The address to which offsets are relative.
    base: u64,
    path: String,
    /// The name of the file.
    name: Name,
}

/// The files of the program and their addresses.
pub(crate) struct Modules {
    /// Invariant: sorted by address.
    parts: Vec<Part>,
    /// Invariant: sorted; the read-only ranges.
    constant: Vec<(u64, u64)>,
    /// The code of the program itself.
    code: Range<u64>,
}

impl Modules {
    /// Reads the memory map of this process.
    pub(crate) fn read() -> Modules {
        let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut parts: Vec<Part> = Vec::new();
        let mut constant = Vec::new();
        let mut code = 0..0;
        let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
            let Some(path) = path_of(line) else { continue };
            let Some((begin, end)) = range.split_once('-') else { continue };
            let (Ok(begin), Ok(end)) = (u64::from_str_radix(begin, 16), u64::from_str_radix(end, 16)) else {
                continue;
            };
            if rights.contains('x') && program.as_os_str() == path {
                code = if code.is_empty() { begin..end } else { code.start..end };
            }
            if path.starts_with('/') && !rights.contains('w') {
                constant.push((begin, end));
            }
            if path.starts_with('/') {
                let base = parts.iter().find(|part| part.path == path).map_or(begin, |part| part.base);
                let name = Name::of_text(module_name(path));
                parts.push(Part { begin, end, base, path: path.to_owned(), name });
            }
        }
        for index in 1..parts.len() {
            // The zeroed part of a module's data follows it without a name.
            let unnamed = text.lines().find(|line| line.starts_with(&format!("{:x}-", parts[index - 1].end)));
            let unnamed = unnamed.filter(|line| line.split_whitespace().count() == 5);
            let end = unnamed.and_then(|line| line.split(['-', ' ']).nth(1));
            if let Some(end) = end.and_then(|end| u64::from_str_radix(end, 16).ok()) {
                parts[index - 1].end = end.min(parts[index].begin);
            }
        }
        Modules { parts, constant, code }
    }

    /// Returns true if an address is in a read-only part of a file.
    pub(crate) fn is_constant(&self, address: u64) -> bool {
        let after = self.constant.partition_point(|&(begin, _)| begin <= address);
        after > 0 && address < self.constant[after - 1].1
    }

    /// Returns true if an address is in one of the files, and so means the same in every run.
    pub(crate) fn contain(&self, address: u64) -> bool {
        self.part(address).is_some()
    }

    /// Returns the range of the program's own code.
    pub(crate) fn code(&self) -> Range<u64> {
        self.code.clone()
    }

    /// Returns the address of the first page of the program itself.
    pub(crate) fn program(&self) -> u64 {
        self.part(self.code.start).map_or(0, |part| part.base)
    }

    /// Returns whether an address is in code of the program: in a file other than the runtime and the libraries that
    /// come with the compiler.
    pub(crate) fn is_program(&self, address: u64) -> bool {
        let is_file = self.part(address).is_some_and(|part| !part.path.starts_with("/dev/"));
        is_file && !self.own().contains(&address) && !self.is_library(address)
    }

    /// Returns true if an address is in a library that comes with the compiler.
    pub(crate) fn is_library(&self, address: u64) -> bool {
        const SYSTEM: [&str; 7] =
            ["libc.so", "libc-", "ld-linux", "libpthread", "libgcc_s", "libstdc++", "libm.so"];
        let Some(part) = self.part(address) else { return false };
        let name = part.path.rsplit('/').next().unwrap_or_default();
        SYSTEM.iter().any(|system| name.starts_with(system))
    }

    /// Returns the range of the runtime's own code.
    pub(crate) fn own(&self) -> Range<u64> {
        let here = self.part(Modules::read as *const () as u64);
        let own = |part: &&Part| here.is_some_and(|here| here.path == part.path);
        let begin = self.parts.iter().find(own).map_or(0, |part| part.begin);
        begin..self.parts.iter().rfind(own).map_or(0, |part| part.end)
    }

    /// Returns the part that contains an address.
    fn part(&self, address: u64) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.begin <= address);
        self.parts[..after].last().filter(|part| address < part.end)
    }

    /// Returns the name of a location (a return address, or the address after an instruction), with its
    /// callers from the inside out.
    pub(crate) fn name(&self, place: u64, callers: &[u64]) -> Name {
        callers.iter().fold(location_name(&self.text(place - 1)), |name, caller| {
            let address = caller - 1;
            match self.part(address) {
                Some(part) => called_by(name, part.name, address - part.base),
                None => called_by(name, Name::of_text(""), address),
            }
        })
    }

    /// Returns an address as a text that means the same in another process.
    pub(crate) fn text(&self, address: u64) -> String {
        match self.part(address) {
            Some(part) if !part.path.starts_with("/dev/") => {
                format!("{}+{:#x}", part.path, address - part.base)
            }
            // Anonymous shared memory, and what follows it, is not part of a file.
            _ => format!("{address:#x}"),
        }
    }

    /// Returns a location with its callers from the inside out, each by its return address. Consecutive
    /// callers in one module name it once.
    pub(crate) fn calls(&self, place: u64, callers: &[u64]) -> String {
        let mut text = String::new();
        let mut module = String::new();
        for address in [place].iter().chain(callers) {
            // A call returns to the instruction after it; the location is the call.
            let address_text = self.text(address - 1);
            let (of, offset) = address_text.split_at(address_text.rfind('+').unwrap_or(0));
            if !text.is_empty() {
                text.push_str(CALLED_BY);
            }
            text.push_str(if !text.is_empty() && of == module && !of.is_empty() {
                offset
            } else {
                &address_text
            });
            module = of.to_owned();
        }
        text
    }
}

/// Returns the path at the end of a line of a memory map, which may contain spaces.
fn path_of(line: &str) -> Option<&str> {
    let rest = (0..5).try_fold(line, |rest, _| rest.split_once(' ').map(|(_, rest)| rest.trim_start()))?;
    let path = rest.strip_suffix(" (deleted)").unwrap_or(rest);
    (!path.is_empty()).then_some(path)
}
