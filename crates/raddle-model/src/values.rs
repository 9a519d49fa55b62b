//! The values that the steps of a run read and wrote, where known.
//!
//! Values are for people. Replays, fingerprints and names of failures do not depend on them, since a value
//! may be an address or come from outside the program.

use crate::ObjectId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The values of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Values {
    /// The first step whose values are kept; earlier ones are left out of long runs.
    #[serde(default)]
    pub from: u32,
    /// The variables that have values.
    pub cells: Vec<Cell>,
    /// Invariant: in the order of the steps. A step may have several values, of different cells.
    pub list: Vec<Value>,
}

/// A variable, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The object it belongs to.
    pub object: ObjectId,
    /// Its name, if it differs from that of the object.
    pub name: String,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub width: u8,
    /// The format of its values.
    pub format: Format,
    /// Named values, such as those of an enumeration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(u64, String)>,
}

/// The values that one step read from a cell and wrote to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Value {
    /// The step, from 0.
    pub step: u32,
    /// An index into [`Values::cells`].
    pub cell: u32,
    /// The value that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// The value that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

/// The format of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// The type is unknown.
    #[default]
    Unknown,
    /// An unsigned number.
    Unsigned,
    /// A signed number.
    Signed,
    /// True or false.
    Bool,
    /// A character.
    Character,
    /// A floating-point number of four or eight bytes.
    Float,
    /// An address.
    Pointer,
}

impl Format {
    /// All formats, in the order of their numbers in files.
    pub const ALL: [Format; 7] = [
        Format::Unknown,
        Format::Unsigned,
        Format::Signed,
        Format::Bool,
        Format::Character,
        Format::Float,
        Format::Pointer,
    ];
}

impl Values {
    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Iterates over the values of one step, each with its cell. A damaged file may lack a cell.
    pub fn of(&self, step: usize) -> impl Iterator<Item = (&Cell, &Value)> {
        let begin = self.list.partition_point(|value| (value.step as usize) < step);
        let own = self.list[begin..].iter().take_while(move |value| value.step as usize == step);
        own.filter_map(|value| Some((self.cells.get(value.cell as usize)?, value)))
    }
}

impl Cell {
    /// Formats a value of this cell: `-1`, `'a'`, `0x7f0012`, `null`.
    pub fn text(&self, value: u64) -> String {
        /// Numbers of unknown type are printed in hexadecimal from this value on: they may be negative
        /// numbers, addresses or floating-point numbers, as in a union.
        const LARGE: u64 = 1 << 28;
        let bits = 8 * u32::from(self.width.clamp(1, 8));
        let value = value & (u64::MAX >> (64 - bits));
        if let Some((_, name)) = self.names.iter().find(|(named, _)| *named == value) {
            return name.clone();
        }
        match (self.format, value) {
            (Format::Bool, 0) => "false".to_owned(),
            (Format::Bool, 1) => "true".to_owned(),
            (Format::Pointer, 0) => "null".to_owned(),
            (Format::Pointer, _) => format!("{value:#x}"),
            (Format::Signed, _) => ((value << (64 - bits)) as i64 >> (64 - bits)).to_string(),
            (Format::Float, _) if bits == 32 => format!("{:?}", f32::from_bits(value as u32)),
            (Format::Float, _) if bits == 64 => format!("{:?}", f64::from_bits(value)),
            (Format::Character, 0) => "'\\0'".to_owned(),
            (Format::Character, 0x80..) if bits == 8 => format!("'\\x{value:02x}'"),
            (Format::Character, _) => match u32::try_from(value).ok().and_then(char::from_u32) {
                Some(character) => format!("'{}'", character.escape_debug()),
                None => format!("{value:#x}"),
            },
            (Format::Unknown | Format::Float, LARGE..) => format!("{value:#x}"),
            _ => value.to_string(),
        }
    }
}

/// Collects the values of a run.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    values: Values,
    known: BTreeMap<(ObjectId, u64, u8), u32>,
}

impl Gathered {
    /// Adds the values that a step read and wrote; the step is not before the latest one. `key` identifies
    /// the cells of one object and width; `cell` creates a new one.
    pub fn add(
        &mut self,
        (step, read, written): (u32, Option<u64>, Option<u64>),
        key: (ObjectId, u64, u8),
        cell: impl FnOnce() -> Cell,
    ) {
        let Values { cells, list, .. } = &mut self.values;
        let cell = *self.known.entry(key).or_insert_with(|| {
            cells.push(cell());
            cells.len() as u32 - 1
        });
        list.push(Value { step, cell, read, written });
    }

    /// Returns everything that was added.
    pub fn into_values(self) -> Values {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_formatted_by_type() {
        let text = |format, width, value: u64| {
            let cell = Cell { object: ObjectId(0), name: String::new(), width, format, names: Vec::new() };
            cell.text(value)
        };
        assert_eq!(text(Format::Signed, 4, 0xffff_ffff), "-1");
        assert_eq!(text(Format::Signed, 8, u64::MAX - 1), "-2");
        assert_eq!(text(Format::Signed, 1, 0x180), "-128", "bits beyond the width do not count");
        assert_eq!(text(Format::Unsigned, 4, 0xffff_ffff), "4294967295");
        assert_eq!(text(Format::Unknown, 4, 70_000), "70000");
        assert_eq!(text(Format::Unknown, 4, 0xffff_ffff), "0xffffffff");
        assert_eq!(text(Format::Unknown, 4, u64::from(1.5_f32.to_bits())), "0x3fc00000");
        assert_eq!(text(Format::Bool, 1, 1), "true");
        assert_eq!(text(Format::Bool, 1, 7), "7");
        assert_eq!(text(Format::Pointer, 8, 0), "null");
        assert_eq!(text(Format::Pointer, 8, 0x7f00), "0x7f00");
        assert_eq!(text(Format::Float, 8, 1.5_f64.to_bits()), "1.5");
        assert_eq!(text(Format::Float, 4, u64::from(2_f32.to_bits())), "2.0");
        assert_eq!(text(Format::Character, 1, 0x61), "'a'");
        assert_eq!(text(Format::Character, 1, 0), "'\\0'");
        assert_eq!(text(Format::Character, 1, 10), "'\\n'");
        assert_eq!(text(Format::Character, 1, 0xe4), "'\\xe4'");
        assert_eq!(text(Format::Character, 4, 0xe4), "'\u{e4}'");
        assert_eq!(text(Format::Character, 4, 0xffff_ffff), "0xffffffff");
        let names = vec![(2, "OPEN".to_owned())];
        let state =
            Cell { object: ObjectId(0), name: String::new(), width: 4, format: Format::Unsigned, names };
        assert_eq!([state.text(2), state.text(3)], ["OPEN", "3"]);
    }

    #[test]
    fn cells_are_created_once_and_values_found_by_step() {
        let mut gathered = Gathered::default();
        let cell = || Cell {
            object: ObjectId(1),
            name: String::new(),
            width: 4,
            format: Format::Signed,
            names: Vec::new(),
        };
        gathered.add((2, Some(5), None), (ObjectId(1), 0, 4), cell);
        gathered.add((4, None, Some(6)), (ObjectId(1), 0, 4), cell);
        gathered.add((4, None, Some(7)), (ObjectId(1), 4, 4), cell);
        let values = gathered.into_values();
        assert_eq!(values.cells.len(), 2);
        let written = |step| values.of(step).filter_map(|(_, value)| value.written).collect::<Vec<_>>();
        assert_eq!((written(2), written(3), written(4)), (vec![], vec![], vec![6, 7]));
    }
}
