//! From addresses in native programs to functions, source lines and variables, after the run and from the files alone.
//!
//! [`Symbols`] reads the debugging information of a program or library at the first question about it and keeps it. A question
//! never fails: where files, debugging information or symbols are missing or broken, the answer says less, down to
//! `module+0x12ab`. Debugging information is looked for where debuggers look: in the file, behind its debug link or build
//! id, and in split files.

mod body;
mod build;
mod file;
mod location;
mod module;
pub mod runs;
mod typed;
mod variables;

pub use body::InFunction;
pub use build::{build, is_rust};
pub use location::{Frame, Location};
pub use typed::{Base, Typed};

use module::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Answers where addresses are in the source. Reads each module at most once.
#[derive(Default)]
pub struct Symbols {
    modules: BTreeMap<PathBuf, Module>,
}

impl Symbols {
    /// Knows no module yet.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// Where an address is in the source.
    ///
    /// `address` is the one that the file itself uses: the address in memory less the address at which the module was
    /// loaded, which is 0 for a program that is not position-independent. It is the address of an instruction. A
    /// return address belongs to the instruction before it, so ask for the address less one.
    pub fn locate(&mut self, module: &Path, address: u64) -> Location {
        let frames = self.module(module).frames(address);
        Location { module: module.to_owned(), address, frames }
    }

    /// The global variable that holds an address, and how many bytes into it the address is. Where the debugging information
    /// tells what is inside the variable, the answer is the part: `pool[1].lock`. Nothing if the file names none there. The
    /// address counts as for [`Symbols::locate`].
    pub fn variable(&mut self, module: &Path, address: u64) -> Option<(String, u64)> {
        self.module(module).variable(address)
    }

    /// The same with its type.
    pub fn typed_variable(&mut self, module: &Path, address: u64) -> Option<Typed> {
        self.module(module).typed_variable(address)
    }

    /// The address that the file itself uses for its first page in memory: 0 for most files that are
    /// position-independent. So an address in memory, less that of the module's first page, plus this is what
    /// [`Symbols::locate`] wants. 0 if the file cannot be read.
    pub fn first_address(&mut self, module: &Path) -> u64 {
        self.module(module).first_address()
    }

    /// A place in the code, named so that another build knows it again; nothing if the file does not tell which function it
    /// is in. The address counts as for [`Symbols::locate`].
    pub fn in_function(&mut self, module: &Path, address: u64) -> Option<InFunction> {
        self.module(module).in_function(address)
    }

    /// The address of a place in this build; nothing if its function is gone or was changed.
    pub fn address(&mut self, module: &Path, place: &InFunction) -> Option<u64> {
        self.module(module).address(place)
    }

    /// Whether a file tells which functions it has.
    pub fn has_functions(&mut self, module: &Path) -> bool {
        self.module(module).has_functions()
    }

    /// The source files that a module was made from, as its debugging information names them; none if it has none.
    pub fn sources(&mut self, module: &Path) -> BTreeSet<String> {
        self.module(module).sources()
    }

    fn module(&mut self, path: &Path) -> &Module {
        if !self.modules.contains_key(path) {
            self.modules.insert(path.to_owned(), Module::open(path));
        }
        &self.modules[path]
    }

    /// Where each of a list of addresses is, in the order of the list.
    pub fn locate_all<'a>(&mut self, addresses: impl IntoIterator<Item = (&'a Path, u64)>) -> Vec<Location> {
        addresses.into_iter().map(|(module, address)| self.locate(module, address)).collect()
    }
}
