//! One program or library.

use crate::location::Frame;
use addr2line::{Loader, demangle_auto};
use object::{Object, ObjectSymbol, SymbolKind};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is known of one file.
pub(crate) struct Module {
    path: PathBuf,
    /// Nothing if the file cannot be read, or is no program.
    debugging: Option<Loader>,
    /// Read only for an address without debugging information. Invariant: sorted by the beginning.
    symbols: OnceCell<Vec<(Range<u64>, String)>>,
}

impl Module {
    /// Never fails: of a file that cannot be read nothing is known.
    pub(crate) fn open(path: &Path) -> Module {
        Module { path: path.to_owned(), debugging: Loader::new(path).ok(), symbols: OnceCell::new() }
    }

    /// The functions at an address, the innermost first.
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

    /// The symbol whose extent holds the address. The nearest one before it would often be a wrong answer, since a
    /// stripped library has no symbols but for its exported functions.
    fn symbol(&self, address: u64) -> Option<String> {
        let symbols = self.symbols.get_or_init(|| symbols(&self.path).unwrap_or_default());
        let end = symbols.partition_point(|(range, _)| range.start <= address);
        let (range, name) = symbols[..end].last()?;
        range.contains(&address).then(|| demangle_auto(Cow::from(name.as_str()), None).into_owned())
    }
}

/// What the debugging information says, as far as it can be read.
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
            // Zero is how a compiler says that there is no line.
            frame.line = place.line.filter(|&line| line > 0 && frame.file.is_some());
            frame.column = place.column.filter(|&column| column > 0 && frame.line.is_some());
        }
        if frame.function.is_some() || frame.file.is_some() {
            frames.push(frame);
        }
    }
    frames
}

fn symbols(path: &Path) -> Option<Vec<(Range<u64>, String)>> {
    let data = std::fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    let functions = file.symbols().chain(file.dynamic_symbols());
    let functions = functions.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let mut symbols: Vec<_> = functions
        .filter_map(|symbol| {
            let end = symbol.address().checked_add(symbol.size())?;
            Some((symbol.address()..end, symbol.name().ok()?.to_owned()))
        })
        .collect();
    // Of several names of one function the first in the alphabet is taken, so that the answer is always the same.
    symbols.sort_by(|(a, a_name), (b, b_name)| (a.start, a.end, b_name).cmp(&(b.start, b.end, a_name)));
    Some(symbols)
}
