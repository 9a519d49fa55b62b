//! Finds the module that a path leads to.

use super::sources::{Id, Module, Use};

/// The largest number of imports that are followed; a longer chain is a cycle.
const LIMIT: usize = 32;

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Module(Id),
    /// An item that the module defines.
    Item(Id),
    /// An item that the module may get from a macro.
    Guess(Id),
}

/// Returns the module that a path in the code of `from` leads to: the one that it names, or the one that defines what it names.
/// Returns nothing for the items of other crates, and for local names.
pub(crate) fn target(modules: &[Module], from: Id, used: &Use) -> Option<Id> {
    let [first, rest @ ..] = &used.path[..] else { return None };
    if rest.is_empty() && !modules[from].imports.contains_key(first) {
        return None;
    }
    match resolve(modules, from, &used.path, LIMIT)? {
        Target::Module(id) | Target::Item(id) => Some(id),
        // A macro may define a module around such a path.
        Target::Guess(_) if used.in_macro && ["self", "super"].contains(&first.as_str()) => None,
        Target::Guess(id) => Some(id),
    }
}

fn resolve(modules: &[Module], from: Id, path: &[String], limit: usize) -> Option<Target> {
    let limit = limit.checked_sub(1)?;
    let (first, mut rest) = path.split_first()?;
    let mut module = match first.as_str() {
        "crate" => 0,
        "self" => from,
        "super" => modules[from].parent?,
        name => match member(modules, from, name, limit)? {
            Target::Module(module) => module,
            item => return Some(item),
        },
    };
    while let Some((name, others)) = rest.split_first() {
        rest = others;
        module = match name.as_str() {
            "super" => modules[module].parent?,
            "self" => module,
            name => match member(modules, module, name, limit) {
                Some(Target::Module(child)) => child,
                Some(item) => return Some(item),
                None => return Some(Target::Guess(module)),
            },
        };
    }
    Some(Target::Module(module))
}

/// Returns the meaning of a name in a module.
fn member(modules: &[Module], module: Id, name: &str, limit: usize) -> Option<Target> {
    let limit = limit.checked_sub(1)?;
    let scope = &modules[module];
    if let Some(&child) = scope.children.get(name) {
        return Some(Target::Module(child));
    }
    if scope.defined.contains(name) {
        return Some(Target::Item(module));
    }
    if let Some(path) = scope.imports.get(name) {
        return resolve(modules, module, path, limit);
    }
    scope.globs.iter().find_map(|path| match resolve(modules, module, path, limit)? {
        Target::Module(other) if other != module => member(modules, other, name, limit),
        _ => None,
    })
}
