//! The packed part of a failure file: steps, decisions, object names and shared memory as columns of small
//! numbers, deflated.
//!
//! A schedule is stored as runs of consecutive steps of one thread. Then come the operations thread by
//! thread, so that a loop is a repetition even if it was interrupted. An operation is the index of its kind
//! and location, and the differences of its objects and its argument from those of the thread's latest
//! operation with that kind and location: zero in most loops.
//!
//! All numbers have variable length, seven bits a byte, the least significant first. Columns follow each
//! other in the order of [`pack`]; those of fixed length have no count.

use super::{TraceFile, TraceStep};
use crate::{Kind, LocationId, Operation, Touch};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use std::collections::BTreeMap;

/// The largest length of a packed part after inflation.
pub(super) const MOST_BYTES: u64 = 1 << 28;

/// The fields of a [`TraceFile`] that are packed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Packed {
    pub(super) steps: Vec<TraceStep>,
    pub(super) picks: Vec<(u32, u32, u32)>,
    pub(super) objects: Vec<String>,
    pub(super) shared: Vec<i64>,
}

/// Packs the columns of `file`. Kinds are stored as indices into `kinds`.
pub(super) fn pack(file: &TraceFile, kinds: &[Kind], shared: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    let steps = &file.steps;
    let runs: Vec<&[TraceStep]> = steps.chunk_by(|a, b| a.thread == b.thread).collect();
    put(&mut out, runs.len() as u64);
    runs.iter().for_each(|run| put(&mut out, u64::from(run[0].thread)));
    runs.iter().for_each(|run| put(&mut out, run.len() as u64));

    let mut numbers: BTreeMap<(Kind, LocationId), u64> = BTreeMap::new();
    let mut keys = Vec::new();
    let order = by_thread(steps);
    let mut column = Vec::with_capacity(steps.len());
    for &step in &order {
        let operation = &steps[step as usize].operation;
        let key = (operation.kind, operation.location);
        let next = numbers.len() as u64;
        let number = *numbers.entry(key).or_insert_with(|| {
            keys.push(key);
            next
        });
        column.push(number);
    }
    put(&mut out, keys.len() as u64);
    for (kind, location) in &keys {
        let kind = kinds.iter().position(|known| known == kind).expect("every kind of a step is listed");
        put(&mut out, kind as u64);
        put(&mut out, u64::from(location.0));
    }
    column.iter().for_each(|&number| put(&mut out, number));
    for which in 0..COLUMNS {
        let mut latest = Latest::new(keys.len());
        for (&step, &key) in order.iter().zip(&column) {
            let TraceStep { thread, operation } = &steps[step as usize];
            let value = number(operation, which);
            put(&mut out, zigzag(value.wrapping_sub(latest.replace(*thread, key, value))));
        }
    }

    put(&mut out, file.picks.len() as u64);
    let mut before = 0;
    for &(step, arity, value) in &file.picks {
        put(&mut out, zigzag(u64::from(step).wrapping_sub(before)));
        put(&mut out, u64::from(arity));
        put(&mut out, u64::from(value));
        before = u64::from(step);
    }
    put(&mut out, shared.len() as u64);
    let mut before = 0;
    for &unit in shared {
        put(&mut out, zigzag((unit as u64).wrapping_sub(before)));
        before = unit as u64;
    }
    put_names(&mut out, file.objects.iter());
    out
}

/// Compresses `bytes`.
pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    const LEVEL: u8 = 7;
    compress_to_vec_zlib(bytes, LEVEL)
}

/// Decompresses exactly `length` bytes; never allocates more, whatever `small` contains.
pub(super) fn inflate(small: &[u8], length: u64) -> Result<Vec<u8>, String> {
    if length > MOST_BYTES {
        return Err(format!("{length} bytes exceed the limit of {MOST_BYTES}"));
    }
    let bytes = decompress_to_vec_zlib_with_limit(small, length as usize)
        .map_err(|error| format!("inflation failed ({:?})", error.status))?;
    if bytes.len() as u64 != length {
        return Err(format!("{} bytes instead of {length}", bytes.len()));
    }
    Ok(bytes)
}

/// Unpacks the columns of [`pack`]. `count` is the expected number of steps.
pub(super) fn unpack(bytes: &[u8], count: u64, kinds: &[Kind]) -> Result<Packed, String> {
    // Every step has a byte in each of these columns.
    if count > (bytes.len() / (COLUMNS + 1)) as u64 {
        return Err(format!("{} bytes are not enough for {count} steps", bytes.len()));
    }
    let mut reader = Reader::new(bytes);
    let mut steps = Vec::with_capacity(count as usize);
    let runs = reader.count()?;
    let threads: Vec<u32> = (0..runs).map(|_| reader.small()).collect::<Result<_, _>>()?;
    for thread in threads {
        let length = reader.next()?;
        if length > count - steps.len() as u64 {
            return Err(format!("the segments exceed {count} steps"));
        }
        let operation = Operation::new(Kind::Local, LocationId(0));
        steps.extend((0..length).map(|_| TraceStep { thread, operation }));
    }
    if steps.len() as u64 != count {
        return Err(format!("the segments have {} steps instead of {count}", steps.len()));
    }
    let keys: Vec<(Kind, LocationId)> = (0..reader.count()?)
        .map(|_| {
            let (kind, location) = (reader.next()?, reader.small()?);
            let kind = kinds.get(usize::try_from(kind).unwrap_or(usize::MAX));
            Ok((*kind.ok_or("unknown operation kind")?, LocationId(location)))
        })
        .collect::<Result<_, String>>()?;
    let order = by_thread(&steps);
    let mut column = Vec::with_capacity(steps.len());
    for &step in &order {
        let key = reader.next()?;
        let known = keys.get(usize::try_from(key).unwrap_or(usize::MAX));
        let (kind, location) = *known.ok_or("unknown operation")?;
        steps[step as usize].operation = Operation::new(kind, location);
        column.push(key);
    }
    for which in 0..COLUMNS {
        let mut latest = Latest::new(keys.len());
        for (&step, &key) in order.iter().zip(&column) {
            let TraceStep { thread, operation } = &mut steps[step as usize];
            let value = unzigzag(reader.next()?).wrapping_add(latest.get(*thread, key));
            latest.replace(*thread, key, value);
            set_number(operation, which, value)?;
        }
    }
    let mut packed = Packed { steps, ..Packed::default() };
    let mut before = 0;
    for _ in 0..reader.count()? {
        before = unzigzag(reader.next()?).wrapping_add(before);
        let step = u32::try_from(before).map_err(|_| "a decision has no step".to_owned())?;
        packed.picks.push((step, reader.small()?, reader.small()?));
    }
    let mut before = 0;
    for _ in 0..reader.count()? {
        before = unzigzag(reader.next()?).wrapping_add(before);
        packed.shared.push(before as i64);
    }
    reader.names(&mut packed.objects)?;
    if !reader.bytes.is_empty() {
        return Err(format!("{} unused bytes", reader.bytes.len()));
    }
    Ok(packed)
}

/// The columns of numbers that belong to an operation.
const COLUMNS: usize = 3;

fn number(operation: &Operation, column: usize) -> u64 {
    match column {
        0 | 1 => u64::from(operation.touches[column].to_bits()),
        _ => operation.argument,
    }
}

fn set_number(operation: &mut Operation, column: usize, value: u64) -> Result<(), String> {
    match column {
        0 | 1 => {
            let bits = u32::try_from(value).map_err(|_| "object number out of range".to_owned())?;
            operation.touches[column] = Touch::from_bits(bits);
        }
        _ => operation.argument = value,
    }
    Ok(())
}

/// The latest value of one column for every key, in the current thread.
struct Latest(Vec<(u32, u64)>);

impl Latest {
    fn new(keys: usize) -> Latest {
        Latest(vec![(u32::MAX, 0); keys])
    }

    /// Returns zero if this thread has had none. Threads are processed one after the other.
    fn get(&self, thread: u32, key: u64) -> u64 {
        let (of, value) = self.0[key as usize];
        if of == thread { value } else { 0 }
    }

    fn replace(&mut self, thread: u32, key: u64, value: u64) -> u64 {
        let before = self.get(thread, key);
        self.0[key as usize] = (thread, value);
        before
    }
}

/// Returns the indices of all steps, thread by thread, in order for each.
fn by_thread(steps: &[TraceStep]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..steps.len() as u32).collect();
    order.sort_by_key(|&step| steps[step as usize].thread);
    order
}

pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes each name as the length of the prefix it shares with the previous name, and the rest.
pub(super) fn put_names<'a>(out: &mut Vec<u8>, names: impl ExactSizeIterator<Item = &'a String>) {
    put(out, names.len() as u64);
    let mut before: &str = "";
    for name in names {
        let common = before.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        put(out, common as u64);
        put(out, (name.len() - common) as u64);
        out.extend_from_slice(&name.as_bytes()[common..]);
        before = name;
    }
}

/// Maps numbers close to zero, positive or negative, to small numbers.
pub(super) fn zigzag(number: u64) -> u64 {
    number << 1 ^ ((number as i64 >> 63) as u64)
}

pub(super) fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// Reads numbers from the front.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    /// Total length of the names read so far.
    names: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, names: 0 }
    }

    pub(super) fn next(&mut self) -> Result<u64, String> {
        let mut number = 0_u64;
        for place in 0..10 {
            let (&byte, rest) = self.bytes.split_first().ok_or("unexpected end")?;
            self.bytes = rest;
            if place == 9 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number has too many bytes".to_owned())
    }

    pub(super) fn small(&mut self) -> Result<u32, String> {
        u32::try_from(self.next()?).map_err(|_| "a number is out of range".to_owned())
    }

    /// Reads the number of entries that follow, each of which takes at least one byte.
    pub(super) fn count(&mut self) -> Result<usize, String> {
        let count = self.next()?;
        if count > self.bytes.len() as u64 {
            return Err(format!("{count} entries do not fit in {} bytes", self.bytes.len()));
        }
        Ok(count as usize)
    }

    /// Reads names written by [`put_names`]. The names of a part together are limited to the largest length
    /// of a part.
    pub(super) fn names(&mut self, names: &mut Vec<String>) -> Result<(), String> {
        let mut before = Vec::new();
        for _ in 0..self.count()? {
            let common = self.next()?;
            let length = self.count()?;
            if common > before.len() as u64 {
                return Err("an object name has an invalid prefix length".to_owned());
            }
            before.truncate(common as usize);
            before.extend_from_slice(&self.bytes[..length]);
            self.bytes = &self.bytes[length..];
            self.names += before.len() as u64;
            if self.names > MOST_BYTES {
                return Err("the names are too long".to_owned());
            }
            names
                .push(String::from_utf8(before.clone()).map_err(|_| "a name is not valid UTF-8".to_owned())?);
        }
        Ok(())
    }
}
