//! Code locations as texts, and their names.

use crate::{Name, mix};

/// The separator between a location and its caller. A module is named once in a row: `/a/program+0x12 < +0x34
/// < /a/library+0x56`.
pub const CALLED_BY: &str = " < ";

/// Returns the name of a code location, `/path/module+0x12ab`, or of one with its callers ([`CALLED_BY`]). It
/// does not depend on folders, because the meaning of a seed must not.
pub fn location_name(text: &str) -> Name {
    let mut way = way(text);
    let (module, offset) = way.next().unwrap_or_default();
    let offset_of =
        |text: &str| u64::from_str_radix(text.trim_start_matches(['+', '0', 'x']), 16).unwrap_or(0);
    let first = Name::of_text(&format!("{}{offset}", module_name(module)));
    way.fold(first, |name, (module, offset)| {
        called_by(name, Name::of_text(module_name(module)), offset_of(offset))
    })
}

/// Returns the name of location `name` when called from `offset` in a module. `module` is the name of the
/// text of [`module_name`].
pub fn called_by(name: Name, module: Name, offset: u64) -> Name {
    Name(mix(name.0 ^ mix(module.0 ^ mix(offset))))
}

/// Returns the file of a module without its folder.
pub fn module_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Iterates over a location and its callers, innermost first, each as a module with its folder and an offset
/// such as `+0x12ab`. An address outside all modules stands alone.
pub fn way(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut module = "";
    text.split(CALLED_BY).map(move |part| {
        let Some(plus) = part.rfind('+') else { return ("", part) };
        let (of, offset) = part.split_at(plus);
        module = if of.is_empty() { module } else { of };
        (module, offset)
    })
}
