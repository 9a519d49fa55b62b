//! Translates addresses in native programs to functions, source lines and variables, after the run and from
//! the files alone.
//!
//! [`Symbols`] reads the debug information of a program or library at the first query and keeps it. A query
//! never fails: if files, debug information or symbols are missing or broken, the answer is less specific,
//! down to `module+0x12ab`. Debug information is searched for where debuggers search: in the file, through
//! its debug link or build id, and in split files.

mod body;
mod build;
mod file;
mod locals;
mod location;
mod module;
pub mod runs;
mod typed;
mod variables;

pub use body::InFunction;
pub use build::{build, is_rust};
pub use locals::LocalQuery;
pub use location::{Frame, Location};
pub use typed::{Base, Typed};

use module::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Locates addresses in the source. Reads each module at most once.
#[derive(Default)]
pub struct Symbols {
    modules: BTreeMap<PathBuf, Module>,
    places: runs::KnownPlaces,
}

impl Symbols {
    /// Creates an empty instance.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// Returns the source location of an address.
    ///
    /// `address` is relative to the file itself: the address in memory minus the load address of the module,
    /// which is 0 for a program that is not position-independent. It is the address of an instruction. A
    /// return address belongs to the instruction before it, so pass the address minus one.
    pub fn locate(&mut self, module: &Path, address: u64) -> Location {
        let frames = self.module(module).frames(address);
        Location { module: module.to_owned(), address, frames }
    }

    /// Returns the global variable at an address, and the offset of the address in it. If the debug
    /// information describes the contents of the variable, the answer is the part: `pool[1].lock`. `None` if
    /// the file has no variable there. The address is as for [`Symbols::locate`].
    pub fn variable(&mut self, module: &Path, address: u64) -> Option<(String, u64)> {
        self.module(module).variable(address)
    }

    /// Returns the same with its type.
    pub fn typed_variable(&mut self, module: &Path, address: u64) -> Option<Typed> {
        self.module(module).typed_variable(address)
    }

    /// Returns the file's own address of its first page in memory: 0 for most position-independent files. So
    /// an address in memory, minus that of the module's first page, plus this is an address for
    /// [`Symbols::locate`]. 0 if the file cannot be read.
    pub fn first_address(&mut self, module: &Path) -> u64 {
        self.module(module).first_address()
    }

    /// Returns a code location that another build recognizes; `None` if the file does not know its function.
    /// The address is as for [`Symbols::locate`].
    pub fn in_function(&mut self, module: &Path, address: u64) -> Option<InFunction> {
        self.module(module).in_function(address)
    }

    /// Returns the address of a code location in this build; `None` if its function is gone or was changed.
    pub fn address(&mut self, module: &Path, place: &InFunction) -> Option<u64> {
        self.module(module).address(place)
    }

    /// Returns the first instructions of the functions whose name matches, sorted. `matches` gets the name without arguments
    /// and types: `Stack::push`.
    pub fn functions(&mut self, module: &Path, matches: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
        self.module(module).functions(matches)
    }

    /// Returns true if a file has function symbols.
    pub fn has_functions(&mut self, module: &Path) -> bool {
        self.module(module).has_functions()
    }

    /// Returns the source files of a module, as its debug information names them; empty if it has none.
    pub fn sources(&mut self, module: &Path) -> BTreeSet<String> {
        self.module(module).sources()
    }

    /// Names variables of the functions of a module; nothing for those that its debugging information does not tell.
    pub fn locals(&mut self, module: &Path, queries: &[LocalQuery]) -> Vec<Option<String>> {
        locals::answer(module, queries)
    }

    fn module(&mut self, path: &Path) -> &Module {
        if !self.modules.contains_key(path) {
            self.modules.insert(path.to_owned(), Module::open(path));
        }
        &self.modules[path]
    }

    /// Returns the source location of each address, in the order of the list.
    pub fn locate_all<'a>(&mut self, addresses: impl IntoIterator<Item = (&'a Path, u64)>) -> Vec<Location> {
        addresses.into_iter().map(|(module, address)| self.locate(module, address)).collect()
    }
}
