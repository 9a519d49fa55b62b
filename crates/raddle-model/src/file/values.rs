//! The values of a run as columns of small numbers, as in [`super::packed`].
//!
//! A value is stored as the difference from the latest value of its cell: zero when a written value is read
//! again.

use super::packed::{Reader, put, put_names, unzigzag, zigzag};
use crate::{Cell, Format, ObjectId, Value, Values};
use std::collections::BTreeMap;

/// The largest size of the values before compression. If there are more, only the latest are kept: they
/// matter most for finding the cause of a failure.
pub(super) const MOST_BYTES: usize = 1 << 18;
/// The largest size that a reader accepts, so that a small file cannot fill the memory.
pub(super) const MOST_READ: u64 = 1 << 22;
/// The largest number of values that a file keeps.
const MOST: usize = 1 << 17;

const READ: u64 = 1;
const WRITTEN: u64 = 2;

/// Packs as many of the latest values as fit.
pub(super) fn pack(values: &Values) -> Vec<u8> {
    let mut kept = values.list.len().min(MOST);
    loop {
        let left_out = values.list.len() - kept;
        // Either all values of a step are kept, or none.
        let from = match left_out.checked_sub(1) {
            Some(last) => values.from.max(values.list[last].step + 1),
            None => values.from,
        };
        let begin = left_out + values.list[left_out..].partition_point(|value| value.step < from);
        let bytes = columns(&values.cells, &values.list[begin..], from);
        if bytes.len() <= MOST_BYTES || kept == 0 {
            return bytes;
        }
        kept /= 2;
    }
}

fn columns(cells: &[Cell], list: &[Value], from: u32) -> Vec<u8> {
    let mut numbers: BTreeMap<u32, u64> = BTreeMap::new();
    let mut used: Vec<&Cell> = Vec::new();
    for value in list {
        if let Some(cell) = cells.get(value.cell as usize) {
            numbers.entry(value.cell).or_insert_with(|| {
                used.push(cell);
                used.len() as u64 - 1
            });
        }
    }
    let mut out = Vec::new();
    put(&mut out, u64::from(from));
    put_names(&mut out, used.iter().map(|cell| &cell.name));
    for cell in &used {
        put(&mut out, u64::from(cell.object.0));
        put(&mut out, u64::from(cell.width));
        put(&mut out, cell.format as u64);
        put_names(&mut out, cell.names.iter().map(|(_, name)| name));
        cell.names.iter().for_each(|&(value, _)| put(&mut out, value));
    }
    let known = |value: &&Value| numbers.contains_key(&value.cell);
    put(&mut out, list.iter().filter(known).count() as u64);
    let mut before = from;
    for value in list.iter().filter(known) {
        put(&mut out, u64::from(value.step.saturating_sub(before)));
        before = value.step;
    }
    for value in list.iter().filter(known) {
        let read = if value.read.is_some() { READ } else { 0 };
        let written = if value.written.is_some() { WRITTEN } else { 0 };
        put(&mut out, numbers[&value.cell] << 2 | read | written);
    }
    let mut latest = vec![0_u64; used.len()];
    for value in list.iter().filter(known) {
        let latest = &mut latest[numbers[&value.cell] as usize];
        for number in value.read.into_iter().chain(value.written) {
            put(&mut out, zigzag(number.wrapping_sub(std::mem::replace(latest, number))));
        }
    }
    out
}

/// Unpacks the values of [`pack`], without those that were left out.
pub(super) fn unpack(bytes: &[u8]) -> Result<Values, String> {
    let mut reader = Reader::new(bytes);
    let from = reader.small()?;
    let mut names = Vec::new();
    reader.names(&mut names)?;
    let mut cells = Vec::with_capacity(names.len());
    for name in names {
        let (object, width, format) = (ObjectId(reader.small()?), reader.next()?, reader.next()?);
        let width = u8::try_from(width).map_err(|_| "a value is wider than 8 bytes".to_owned())?;
        // A newer writer may know more formats.
        let format = Format::ALL.get(usize::try_from(format).unwrap_or(usize::MAX)).copied();
        let mut texts = Vec::new();
        reader.names(&mut texts)?;
        let names = texts.into_iter().map(|text| Ok((reader.next()?, text)));
        let names = names.collect::<Result<_, String>>()?;
        cells.push(Cell { object, name, width, format: format.unwrap_or_default(), names });
    }
    let count = reader.count()?;
    let mut list = Vec::with_capacity(count);
    let mut step = from;
    for _ in 0..count {
        step = step.checked_add(reader.small()?).ok_or("a value has no step")?;
        list.push(Value { step, cell: 0, read: None, written: None });
    }
    let mut parts = Vec::with_capacity(count);
    for value in &mut list {
        let number = reader.next()?;
        value.cell = u32::try_from(number >> 2).map_err(|_| "a value has no cell".to_owned())?;
        parts.push(number & (READ | WRITTEN));
    }
    let mut latest = vec![0_u64; cells.len()];
    for (value, parts) in list.iter_mut().zip(parts) {
        let latest = latest.get_mut(value.cell as usize).ok_or("a value has no cell")?;
        let mut next = |part: u64| -> Result<Option<u64>, String> {
            if parts & part == 0 {
                return Ok(None);
            }
            *latest = latest.wrapping_add(unzigzag(reader.next()?));
            Ok(Some(*latest))
        };
        value.read = next(READ)?;
        value.written = next(WRITTEN)?;
    }
    match reader.bytes.len() {
        0 => Ok(Values { from, cells, list }),
        more => Err(format!("{more} unused bytes")),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{long, sample};
    use super::super::{FileError, TraceFile, base64, packed};
    use super::*;

    fn cell(object: u32, name: &str) -> Cell {
        let names = vec![(7, format!("{name} is seven"))];
        Cell { object: ObjectId(object), name: name.to_owned(), width: 4, format: Format::Signed, names }
    }

    /// Creates values of a run with `steps` steps and at least three objects, each some steps after the
    /// previous one.
    pub(crate) fn some(list: &[(u32, Option<u64>, Option<u64>)], steps: u32, names: &[String; 3]) -> Values {
        let mut values = Values::default();
        let mut step = 0;
        for &(gap, read, written) in list {
            step += gap / 3;
            // Cells are in the order in which they are used.
            let cell_of = (gap % 3).min(values.cells.len() as u32);
            if step < steps {
                if cell_of as usize == values.cells.len() {
                    values.cells.push(cell(cell_of, &names[cell_of as usize]));
                }
                values.list.push(Value { step, cell: cell_of, read, written });
            }
        }
        values
    }

    fn unpacked(values: &Values) -> Values {
        unpack(&pack(values)).unwrap()
    }

    #[test]
    fn values_survive_a_round_trip() {
        let names = ["", "x", "xy"].map(str::to_owned);
        let list = [(0, Some(5), None), (1, None, Some(u64::MAX)), (5, Some(7), Some(0)), (1, None, None)];
        let values = some(&list, 9, &names);
        assert_eq!(values.list.len(), 4);
        assert_eq!(unpacked(&values), values);
    }

    #[test]
    fn only_the_latest_of_many_values_are_kept() {
        let list = (0..3_000_000_u32).map(|step| Value {
            step: step / 2,
            cell: 0,
            read: Some(crate::mix(u64::from(step))),
            written: None,
        });
        let values = Values { from: 0, cells: vec![cell(0, "x")], list: list.collect() };
        assert!(pack(&values).len() <= MOST_BYTES);
        let kept = unpacked(&values);
        assert!(kept.list.len() > 10_000, "{}", kept.list.len());
        assert_eq!(kept.list[..], values.list[values.list.len() - kept.list.len()..]);
        assert_eq!(kept.from, kept.list[0].step);
        assert_eq!(kept.list[1].step, kept.from, "a step keeps all of its values");
        assert_eq!(unpacked(&kept), kept, "writing it again loses nothing more");
    }

    #[test]
    fn a_million_steps_with_values_are_small() {
        let mut file = long(1_000_000);
        file.values.cells = (0..1_000).map(|object| cell(object, "")).collect();
        let random = |step: u32| crate::mix(u64::from(step));
        let list = (0..1_000_000).map(|step| Value {
            step,
            cell: step % 1_000,
            read: Some(random(step)),
            written: Some(random(!step)),
        });
        file.values.list = list.collect();
        let text = file.to_json();
        assert!(text.len() < 2_000_000, "{} bytes", text.len());
        assert!(!TraceFile::from_json(&text).unwrap().values.is_empty());
    }

    #[test]
    fn the_short_id_does_not_depend_on_values() {
        let mut file = sample();
        file.id.clear();
        let name = file.file_name();
        let without = file.to_json();
        assert!(!without.contains("values"), "a file without values is as it always was: {without}");
        file.values = some(&[(0, Some(1), None)], 1, &["", "", ""].map(str::to_owned));
        assert_eq!(file.file_name(), name);
        let read = TraceFile::from_json(&file.to_json()).unwrap();
        assert_eq!((&read.values, &read.file_name()), (&file.values, &name));
    }

    /// A reader that does not know values ignores the unknown fields.
    #[test]
    fn values_are_optional() {
        let mut file = sample();
        let without: serde_json::Value = serde_json::from_str(&file.to_json()).unwrap();
        file.values = some(&[(0, Some(1), None)], 1, &["", "", ""].map(str::to_owned));
        let mut with: serde_json::Value = serde_json::from_str(&file.to_json()).unwrap();
        let fields = with.as_object_mut().unwrap();
        assert!(fields.remove("values").is_some() && fields.remove("values_length").is_some());
        assert_eq!(with, without);
    }

    #[test]
    fn damaged_values_are_rejected() {
        let file = sample();
        let with = |bytes: &[u8], length: u64| {
            let mut json: serde_json::Value = serde_json::from_str(&file.to_json()).unwrap();
            json["values"] = base64::encode(&packed::deflate(bytes)).into();
            json["values_length"] = length.into();
            TraceFile::from_json(&json.to_string())
        };
        let good = pack(&some(&[(0, Some(1), Some(2))], 1, &["", "", ""].map(str::to_owned)));
        assert!(with(&good, good.len() as u64).is_ok());
        for length in 0..good.len() {
            let error = with(&good[..length], length as u64).unwrap_err();
            assert!(matches!(error, FileError::Values { .. }), "{length}: {error}");
        }
        // Values of a step and of an object that the run does not have.
        for values in [
            Values { from: 1, cells: vec![cell(0, "")], list: vec![value(1)] },
            Values { from: 0, cells: vec![cell(9, "")], list: vec![value(0)] },
        ] {
            let bytes = pack(&values);
            let error = with(&bytes, bytes.len() as u64).unwrap_err();
            assert!(matches!(error, FileError::Inconsistent { .. }), "{error}");
        }
        for at in 0..good.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = byte;
                if let Ok(read) = with(&bytes, bytes.len() as u64) {
                    assert!(read.values.of(0).all(|(cell, _)| cell.object == ObjectId(0)), "{bytes:?}");
                }
            }
        }
    }

    /// A few bytes may claim names that do not fit into memory.
    #[test]
    fn a_small_file_does_not_fill_the_memory() {
        let mut json: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
        let mut refused = |bytes: &[u8]| {
            json["values"] = base64::encode(&packed::deflate(bytes)).into();
            json["values_length"] = bytes.len().into();
            TraceFile::from_json(&json.to_string()).unwrap_err().to_string()
        };
        let error = refused(&vec![0; MOST_READ as usize + 1]);
        assert!(error.contains("exceed the limit"), "{error}");
        // One name of 32 KB and many others of the same length: 64 MB in 96 KB, for each of many cells.
        let mut bytes = Vec::new();
        put(&mut bytes, 0);
        put_names(&mut bytes, vec![String::new(); 40].iter());
        for _ in 0..40 {
            [0, 4, 0].into_iter().for_each(|number| put(&mut bytes, number));
            put_names(&mut bytes, vec!["x".repeat(1 << 15); 1 << 11].iter());
            (0..1 << 11).for_each(|_| put(&mut bytes, 0));
        }
        assert!((bytes.len() as u64) < MOST_READ, "{}", bytes.len());
        let error = refused(&bytes);
        assert!(error.contains("the names are too long"), "{error}");
    }

    fn value(step: u32) -> Value {
        Value { step, cell: 0, read: Some(1), written: None }
    }
}
