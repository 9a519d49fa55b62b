//! Names of objects on the heap and on stacks.

use super::address::address;
use super::library;
use crate::{Frame, LocalQuery, Symbols};
use raddle_model::native::{self, ObjectMemory};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Returns names for objects: `c made at lib.rs:3` for one on the heap, `bank.log` for a variable of a function. The user's own
/// code is in the folder `own`.
pub fn name_objects(
    symbols: &mut Symbols,
    memory: &[ObjectMemory],
    own: Option<&str>,
) -> BTreeMap<u32, String> {
    let mut asked: BTreeMap<PathBuf, Vec<(usize, LocalQuery)>> = BTreeMap::new();
    let mut made: Vec<Option<String>> = vec![None; memory.len()];
    for (index, object) in memory.iter().enumerate() {
        let query = match object.block {
            None => address(symbols, &object.place)
                .map(|(module, address)| (module, LocalQuery::Stack { address, offset: object.offset })),
            Some(size) => allocation(symbols, &object.place, own).map(|found| {
                let Allocation { module, address, file, line, element } = found;
                made[index] = Some(format!("{file}:{line}"));
                let offset = object.offset.unsigned_abs();
                (module, LocalQuery::Block { address, file, line, offset, size, element })
            }),
        };
        if let Some((module, query)) = query {
            asked.entry(module).or_default().push((index, query));
        }
    }
    let mut names: BTreeMap<u32, (String, String)> = BTreeMap::new();
    for (module, asked) in asked {
        let queries: Vec<LocalQuery> = asked.iter().map(|(_, query)| query.clone()).collect();
        for ((index, _), name) in asked.iter().zip(symbols.locals(&module, &queries)) {
            let object = &memory[*index];
            let place = made[*index].as_ref().map_or_else(String::new, |made| format!(" made at {made}"));
            let name = match (name, &made[*index]) {
                (Some(name), _) => name,
                (None, Some(made)) if object.offset == 0 => format!("block of {made}"),
                (None, Some(made)) => format!("block of {made}+{:#x}", object.offset),
                (None, None) => continue,
            };
            names.insert(object.object, (name, place));
        }
    }
    // Several blocks that one line allocates have numbers.
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let numbered = names.into_iter().map(|(object, (name, place))| {
        let number = seen.entry(name.clone()).or_default();
        *number += 1;
        let number = if *number == 1 { String::new() } else { format!(" #{number}") };
        (object, format!("{name}{number}{place}"))
    });
    numbered.collect()
}

/// The user's line that allocated a block.
struct Allocation {
    module: PathBuf,
    /// The address of the call in the module.
    address: u64,
    /// The name of the file, without folders.
    file: String,
    line: u32,
    /// The type that C++'s allocator was asked for.
    element: Option<String>,
}

fn allocation(symbols: &mut Symbols, way: &str, own: Option<&str>) -> Option<Allocation> {
    let mut element = None;
    for (module, offset) in native::way(way) {
        let Some((path, address)) = address(symbols, &format!("{module}{offset}")) else { continue };
        let is_user =
            |frame: &Frame| frame.file.as_deref().is_some_and(|file| library::name(file, own).is_none());
        let frames = symbols.locate(&path, address).frames;
        element = element.or_else(|| frames.iter().find_map(|frame| allocated(frame.function.as_deref()?)));
        if let Some(frame) = frames.iter().find(|frame| is_user(frame)) {
            let file = frame.file.as_deref()?.rsplit('/').next()?.to_owned();
            return Some(Allocation { module: path, address, file, line: frame.line?, element });
        }
    }
    None
}

/// Returns the type that a function of C++'s standard library allocates, such as `Account` for
/// `std::__new_allocator<Account>::allocate(unsigned long, void const*)`.
fn allocated(function: &str) -> Option<String> {
    let (_, from) = function.split_once("new_allocator<")?;
    let (kind, _) = from.split_once(">::allocate")?;
    Some(kind.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_says_what_it_allocates() {
        let function =
            "std::__new_allocator<std::_List_node<bank::Account> >::allocate(unsigned long, void const*)";
        assert_eq!(allocated(function).as_deref(), Some("std::_List_node<bank::Account>"));
        assert_eq!(allocated("Account::allocate()"), None);
    }
}
