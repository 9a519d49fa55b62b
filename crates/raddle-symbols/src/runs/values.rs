//! Names and types of the variables whose values a run records.

use super::address::address;
use crate::{Base, Symbols, Typed};
use raddle_model::{Cell, Format, TraceFile, Value, Values};
use std::collections::BTreeSet;

/// Translates variables to their names and sets the types of values, as far as the files of the program know
/// them. A value of several variables at once is omitted.
pub(super) fn translate(file: &mut TraceFile, symbols: &mut Symbols) {
    let values = &mut file.values;
    let mut is_of_several = vec![false; values.cells.len()];
    for (index, cell) in values.cells.iter_mut().enumerate() {
        let place = address(symbols, &cell.name);
        if let Some(typed) = place.and_then(|(module, address)| symbols.typed_variable(&module, address)) {
            let is_larger = typed.offset + u64::from(cell.width) > typed.size;
            is_of_several[index] = is_larger || typed.base == Base::BitField;
            describe(cell, typed);
        }
        if file.objects.get(cell.object.index()) == Some(&cell.name) {
            cell.name.clear();
        }
    }
    values.list.retain(|value| !is_of_several[value.cell as usize]);
    keep_used_names(values);
}

/// Keeps only the enumeration names of values that occur.
fn keep_used_names(values: &mut Values) {
    let Values { cells, list, .. } = values;
    let mut used: BTreeSet<(u32, u64)> = BTreeSet::new();
    for Value { cell, read, written, .. } in list.iter().filter(|value| has_names(cells, value.cell)) {
        used.extend(read.iter().chain(written).map(|&value| (*cell, value)));
    }
    for (index, cell) in cells.iter_mut().enumerate() {
        cell.names.retain(|&(value, _)| used.contains(&(index as u32, value)));
    }
}

fn has_names(cells: &[Cell], cell: u32) -> bool {
    cells.get(cell as usize).is_some_and(|cell| !cell.names.is_empty())
}

fn describe(cell: &mut Cell, typed: Typed) {
    let is_whole = typed.offset == 0 && typed.size == u64::from(cell.width);
    cell.name = match typed.offset {
        0 => typed.name,
        offset => format!("{}+{offset:#x}", typed.name),
    };
    if is_whole {
        let mask = u64::MAX >> (64 - 8 * u32::from(cell.width));
        cell.names = typed.names.into_iter().map(|(value, name)| (value & mask, name)).collect();
        cell.format = match typed.base {
            Base::Unknown | Base::BitField => Format::Unknown,
            Base::Signed => Format::Signed,
            Base::Unsigned => Format::Unsigned,
            Base::Bool => Format::Bool,
            Base::Character => Format::Character,
            Base::Float => Format::Float,
            Base::Pointer => Format::Pointer,
        };
    }
}
