//! One program or library.

use crate::body::Code;
use crate::location::Frame;
use crate::typed::{Base, Typed};
use crate::variables::{self, Part, Variable};
use addr2line::{Loader, demangle_auto};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The information about one file.
pub(crate) struct Module {
    path: PathBuf,
    /// `None` if the file cannot be read, or is not a program.
    debugging: Option<Loader>,
    /// Read only for an address without debug information, or a data address.
    symbols: OnceCell<Symbols>,
    /// The variables of the debugging information, which knows what is inside them; in order, and empty if there is none. Read
    /// only for an address of data: it takes long.
    variables: OnceCell<Vec<Variable>>,
    /// Read only to identify functions across builds.
    code: OnceCell<Code>,
}

/// The contents of the symbol tables.
#[derive(Default)]
struct Symbols {
    /// Invariant, also of the variables: sorted by the beginning.
    functions: Vec<(Range<u64>, String)>,
    variables: Vec<(Range<u64>, String)>,
    /// The lowest page that is loaded.
    first: u64,
}

impl Module {
    /// Opens a module. Never fails: an unreadable file has no information.
    pub(crate) fn open(path: &Path) -> Module {
        let debugging = crate::file::is_regular(path).then(|| Loader::new(path).ok()).flatten();
        Module {
            path: path.to_owned(),
            debugging,
            symbols: OnceCell::new(),
            variables: OnceCell::new(),
            code: OnceCell::new(),
        }
    }

    /// Returns the functions at an address, the innermost first.
    pub(crate) fn frames(&self, address: u64) -> Vec<Frame> {
        let mut frames = self.debugging.as_ref().map_or_else(Vec::new, |loader| debugged(loader, address));
        let nameless = frames.last().is_none_or(|frame| frame.function.is_none());
        if let Some(function) = nameless.then(|| self.symbol(address)).flatten() {
            match frames.last_mut() {
                Some(frame) => frame.function = Some(function),
                None => frames.push(Frame { function: Some(function), ..Frame::default() }),
            }
        }
        frames
    }

    /// Returns the global variable at an address, or the part of it, and the offset of the address.
    pub(crate) fn variable(&self, address: u64) -> Option<(String, u64)> {
        let part = self.part(address)?;
        Some((part.name, address - part.start))
    }

    /// Returns the same with its type.
    pub(crate) fn typed_variable(&self, address: u64) -> Option<Typed> {
        let Part { name, start, size, base, names } = self.part(address)?;
        Some(Typed { name, offset: address - start, size, base, names: names.to_vec() })
    }

    fn part(&self, address: u64) -> Option<Part> {
        let variables = self.variables.get_or_init(|| self.variables().unwrap_or_default());
        variables::part(variables, address).or_else(|| self.symbols().variable(address))
    }

    fn variables(&self) -> Option<Vec<Variable>> {
        let data = crate::file::read(&self.path).ok()?;
        variables::read(&object::File::parse(&*data).ok()?)
    }

    /// Returns the source files that the debug information names.
    pub(crate) fn sources(&self) -> BTreeSet<String> {
        let lines = self.debugging.as_ref().and_then(|loader| loader.find_location_range(0, u64::MAX).ok());
        lines.into_iter().flatten().filter_map(|(_, _, line)| line.file.map(str::to_owned)).collect()
    }

    /// Returns the lowest load address of the file, if it is loaded at its preferred address.
    pub(crate) fn first_address(&self) -> u64 {
        self.symbols().first
    }

    fn symbol(&self, address: u64) -> Option<String> {
        self.function(address).map(|(_, name)| demangled(name))
    }

    /// Returns the function at an address, as the linker knows it.
    pub(crate) fn function(&self, address: u64) -> Option<(&Range<u64>, &str)> {
        holder(&self.symbols().functions, address)
    }

    /// Returns the functions with a name; several if they are static ones of several files.
    pub(crate) fn functions_named(&self, name: &str) -> impl Iterator<Item = &Range<u64>> {
        let functions = &self.symbols().functions;
        functions.iter().filter(move |(_, own)| own == name).map(|(range, _)| range)
    }

    /// Returns the functions whose plain name matches, by their beginnings.
    pub(crate) fn functions(&self, matches: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
        let named =
            self.symbols().functions.iter().map(|(range, name)| (plain_name(&demangled(name)), range.start));
        let mut found: Vec<(String, u64)> = named.filter(|(name, _)| matches(name)).collect();
        found.dedup_by_key(|(_, address)| *address);
        found
    }

    /// Returns true if the file has function symbols.
    pub(crate) fn has_functions(&self) -> bool {
        !self.symbols().functions.is_empty()
    }

    /// Returns the bytes of the functions.
    pub(crate) fn code(&self) -> &Code {
        self.code.get_or_init(|| Code::read(&self.path))
    }

    fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| Symbols::read(&self.path).unwrap_or_default())
    }
}

/// Returns the symbol whose extent contains the address. The nearest one before it would often be wrong,
/// since a stripped library has only the symbols of its exported functions.
fn holder(symbols: &[(Range<u64>, String)], address: u64) -> Option<(&Range<u64>, &str)> {
    let end = symbols.partition_point(|(range, _)| range.start <= address);
    let (range, name) = symbols[..end].last()?;
    range.contains(&address).then_some((range, name))
}

/// Returns the name as in the source. A C name is unchanged: `a` alone would be the code of a C++ type.
fn demangled(name: &str) -> String {
    let is_mangled = ["_Z", "__Z", "_R"].iter().any(|start| name.starts_with(start));
    if is_mangled { demangle_auto(Cow::from(name), None).into_owned() } else { name.to_owned() }
}

/// Returns the name of a function without its arguments, its result and the arguments of templates.
fn plain_name(name: &str) -> String {
    let (mut plain, mut depth) = (String::new(), 0);
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    // The result of a template comes first.
    plain.trim().rsplit(' ').next().unwrap_or_default().to_owned()
}

/// Returns the frames from the debug information, as far as it can be read.
fn debugged(loader: &Loader, address: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    // The loader computes the address after it.
    let found = if address < u64::MAX { loader.find_frames(address).ok() } else { None };
    let Some(mut iterator) = found else { return frames };
    while let Ok(Some(found)) = iterator.next() {
        let function = found.function.as_ref().and_then(|name| name.demangle().ok());
        let mut frame = Frame { function: function.map(Cow::into_owned), ..Frame::default() };
        if let Some(place) = found.location {
            frame.file = place.file.map(str::to_owned);
            // Zero is the compiler's encoding of no line.
            frame.line = place.line.filter(|&line| line > 0 && frame.file.is_some());
            frame.column = place.column.filter(|&column| column > 0 && frame.line.is_some());
        }
        if frame.function.is_some() || frame.file.is_some() {
            frames.push(frame);
        }
    }
    frames
}

impl Symbols {
    fn read(path: &Path) -> Option<Symbols> {
        const PAGE: u64 = 0x1000;
        let data = crate::file::read(path).ok()?;
        let file = object::File::parse(&*data).ok()?;
        let first = file.segments().map(|segment| segment.address()).min().unwrap_or_default();
        Some(Symbols {
            functions: of_kind(&file, SymbolKind::Text),
            variables: of_kind(&file, SymbolKind::Data),
            first: first & !(PAGE - 1),
        })
    }

    /// Returns the variable at an address from the symbol tables.
    fn variable(&self, address: u64) -> Option<Part> {
        let (range, name) = holder(&self.variables, address)?;
        // The compiler numbers the static variables of functions: `count.0`.
        let plain = name.rsplit_once('.').filter(|(_, end)| end.bytes().all(|byte| byte.is_ascii_digit()));
        let name = demangled(plain.map_or(name, |(plain, _)| plain));
        let size = range.end - range.start;
        Some(Part { name, start: range.start, size, base: Base::Unknown, names: Rc::from([]) })
    }
}

fn of_kind(file: &object::File<'_>, kind: SymbolKind) -> Vec<(Range<u64>, String)> {
    let all = file.symbols().chain(file.dynamic_symbols());
    let mut symbols: Vec<_> = all
        .filter(|symbol| symbol.kind() == kind && symbol.is_definition())
        .filter_map(|symbol| {
            let end = symbol.address().checked_add(symbol.size())?;
            Some((symbol.address()..end, symbol.name().ok()?.to_owned()))
        })
        .collect();
    // Of several names of one address the first in the alphabet is taken, so that the answer is
    // deterministic.
    symbols.sort_by(|(a, a_name), (b, b_name)| (a.start, a.end, b_name).cmp(&(b.start, b.end, a_name)));
    symbols
}

#[cfg(test)]
mod tests {
    #[test]
    fn plain_names_are_without_types() {
        for (name, plain) in [
            ("push", "push"),
            ("Stack<int>::push(int const&)", "Stack::push"),
            ("void Queue<std::pair<int, int>, 4>::put<int>(int)", "Queue::put"),
            ("a::b(void (*)(int))", "a::b"),
        ] {
            assert_eq!(super::plain_name(name), plain);
        }
    }
}
