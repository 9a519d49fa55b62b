//! Addresses in modules, as the native runtime writes them.

use crate::Symbols;
use std::path::PathBuf;

/// Returns the module and the address in it from a text of the native runtime.
pub fn address(symbols: &mut Symbols, text: &str) -> Option<(PathBuf, u64)> {
    let (module, offset) = text.rsplit_once("+0x")?;
    let offset = u64::from_str_radix(offset, 16).ok()?;
    let module = PathBuf::from(module);
    let address = offset.checked_add(symbols.first_address(&module))?;
    module.is_absolute().then_some((module, address))
}
