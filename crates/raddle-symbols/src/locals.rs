//! Variables of functions: those on a stack by their offsets, and those that hold a block of the heap by the line that declares
//! them.
//!
//! A block is named after the variable that is declared on the line which allocates it: `let c = Arc::new(..)`. Limits are those
//! of [`variables`](crate::variables).

use crate::variables::{Dwarf, Entry, OfUnit, Reader, Shape, with_dwarf};
use addr2line::gimli;
use gimli::{AttributeValue, Operation, Unit, UnitOffset};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// A question about a variable of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LocalQuery {
    /// The variable on the stack of the function at `address`, so many bytes from its canonical frame address.
    Stack {
        /// An address in the function.
        address: u64,
        /// Negative for variables of the function.
        offset: i64,
    },
    /// The variable that is declared on a line of the function at `address` and points to a block.
    Block {
        /// An address in the function.
        address: u64,
        /// The name of the source file, without folders.
        file: String,
        /// The line, from 1.
        line: u32,
        /// Bytes from the beginning of the block.
        offset: u64,
        /// The bytes of the block.
        size: u64,
        /// The type that C++'s allocator was asked for, as its name in the source.
        element: Option<String>,
    },
}

impl LocalQuery {
    fn address(&self) -> u64 {
        match self {
            LocalQuery::Stack { address, .. } | LocalQuery::Block { address, .. } => *address,
        }
    }
}

/// Pointers inside records inside each other; more are taken for damage.
const DEEPEST: u32 = 12;

/// Frame pointers are so far below the canonical frame address.
const BELOW_CFA: i64 = 16;

/// Register 6 is the frame pointer of x86-64.
const FRAME_POINTER: u16 = 6;

/// Answers questions about the variables of a file by their names, such as `bank.log` or `job->done`.
pub(crate) fn answer(path: &Path, queries: &[LocalQuery]) -> Vec<Option<String>> {
    let mut answers = vec![None; queries.len()];
    let Ok(data) = crate::file::read(path) else { return answers };
    let Ok(file) = object::File::parse(&*data) else { return answers };
    with_dwarf(&file, &mut |dwarf| {
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            let own: Vec<usize> = (0..queries.len())
                .filter(|&index| {
                    answers[index].is_none() && is_in_unit(dwarf, &unit, queries[index].address())
                })
                .collect();
            if own.is_empty() {
                continue;
            }
            let mut of_unit = OfUnit { dwarf, unit: &unit, shapes: BTreeMap::new() };
            for index in own {
                answers[index] = of_unit.local(&queries[index]).ok().flatten();
            }
        }
    });
    answers
}

fn is_in_unit(dwarf: &Dwarf<'_>, unit: &Unit<Reader<'_>>, address: u64) -> bool {
    let Ok(mut ranges) = dwarf.unit_ranges(unit) else { return false };
    while let Ok(Some(range)) = ranges.next() {
        if (range.begin..range.end).contains(&address) {
            return true;
        }
    }
    false
}

impl<'d> OfUnit<'_, 'd> {
    fn local(&mut self, query: &LocalQuery) -> gimli::Result<Option<String>> {
        let mut entries = self.unit.entries();
        // The depth of the function that holds the address, and where its variables are counted from.
        let mut inside: Option<(isize, i64)> = None;
        let mut found = Vec::new();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            if inside.is_some_and(|(function, _)| depth <= function) {
                break;
            }
            if entry.tag() == gimli::DW_TAG_subprogram && self.holds(entry, query.address()) {
                inside = Some((depth, self.frame_base(entry).unwrap_or(0)));
                continue;
            }
            let is_variable = matches!(entry.tag(), gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter);
            if let Some((_, base)) = inside.filter(|_| is_variable) {
                found.push((entry.clone(), base));
            }
        }
        let mut names: Vec<String> = Vec::new();
        for (entry, base) in &found {
            names.extend(self.matches(entry, *base, query));
        }
        names.dedup();
        if let (true, LocalQuery::Block { offset, size, element: Some(element), .. }) =
            (names.len() != 1, query)
        {
            return self.of_element(element, *offset, *size);
        }
        // Of several variables that are declared on one line, it is not known which it is.
        let is_clear = matches!(query, LocalQuery::Stack { .. }) || names.len() == 1;
        Ok(names.into_iter().next().filter(|_| is_clear))
    }

    /// Names a part of a block of C++'s allocator by the type of its value: `Account.lock`. What a smart pointer counts and
    /// what links a node to others comes before the value.
    fn of_element(&mut self, element: &str, offset: u64, size: u64) -> gimli::Result<Option<String>> {
        let Some(name) = value_type(element) else { return Ok(None) };
        let Some(shape) = self.record_named(name)?.filter(|shape| (1..=size).contains(&shape.size)) else {
            return Ok(None);
        };
        let before = if name == element { 0 } else { (size - shape.size) & !7 };
        let short = &name[after_namespaces(name)..];
        let Some(inside) = offset.checked_sub(before) else { return Ok(Some(format!("{short} (count)"))) };
        let mut fields = String::new();
        shape.find(inside % shape.size, &mut fields);
        Ok(Some(format!("{short}{fields}")))
    }

    /// Returns the layout of the record with this name, if it is defined in this unit.
    fn record_named(&mut self, name: &str) -> gimli::Result<Option<Rc<Shape>>> {
        let short = &name[after_namespaces(name)..];
        let mut entries = self.unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let is_record = matches!(entry.tag(), gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type);
            if is_record
                && entry.attr(gimli::DW_AT_byte_size).is_some()
                && entry.attr_value(gimli::DW_AT_name).and_then(|name| self.text(name)).as_deref()
                    == Some(short)
            {
                let offset = entry.offset();
                return Ok(self.shape_of(Some(AttributeValue::UnitRef(offset)), 0));
            }
        }
        Ok(None)
    }

    fn holds(&self, entry: &Entry<'d>, address: u64) -> bool {
        let Ok(mut ranges) = self.dwarf.die_ranges(self.unit, entry) else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&address) {
                return true;
            }
        }
        false
    }

    /// The base of a function's variables, relative to its canonical frame address.
    fn frame_base(&self, function: &Entry<'d>) -> Option<i64> {
        let Some(AttributeValue::Exprloc(base)) = function.attr_value(gimli::DW_AT_frame_base) else {
            return None;
        };
        match base.operations(self.unit.encoding()).next().ok()?? {
            Operation::CallFrameCFA => Some(0),
            Operation::Register { register } if register.0 == FRAME_POINTER => Some(-BELOW_CFA),
            _ => None,
        }
    }

    /// The name of a variable, if it is the one that is asked for.
    fn matches(&mut self, entry: &Entry<'d>, base: i64, query: &LocalQuery) -> Option<String> {
        let origin = crate::variables::declaration(entry).and_then(|origin| self.unit.entry(origin).ok());
        let attribute = |at: gimli::DwAt| entry.attr_value(at).or_else(|| origin.as_ref()?.attr_value(at));
        let mut name = attribute(gimli::DW_AT_name).and_then(|name| self.text(name))?;
        let kind = attribute(gimli::DW_AT_type);
        match query {
            LocalQuery::Stack { offset, .. } => {
                let from = self.frame_offset(entry)? + base;
                let shape = self.shape_of(kind, 0)?;
                let inside = u64::try_from(offset - from).ok().filter(|inside| *inside < shape.size)?;
                let mut fields = String::new();
                shape.find(inside, &mut fields);
                name.push_str(&if self.is_rust() { own_fields(&fields, false) } else { fields });
            }
            LocalQuery::Block { file, line, offset, size, .. } => {
                let declared = attribute(gimli::DW_AT_decl_line)?.udata_value()?;
                if declared != u64::from(*line) || !self.is_file(attribute(gimli::DW_AT_decl_file)?, file) {
                    return None;
                }
                let AttributeValue::UnitRef(kind) = kind? else { return None };
                let target = self.pointee(kind, 0)?;
                let shape = self.shape_of(Some(AttributeValue::UnitRef(target)), 0)?;
                // What a smart pointer counts comes before the value.
                let before = size.saturating_sub(shape.size) & !7;
                let is_pointer =
                    self.unit.entry(kind).is_ok_and(|kind| kind.tag() == gimli::DW_TAG_pointer_type);
                // A line may allocate more than the variable points to.
                if file.ends_with(".rs") && shape.size != *size {
                    return None;
                }
                let before = if is_pointer { 0 } else { before };
                let Some(inside) = offset.checked_sub(before) else { return Some(format!("{name} (count)")) };
                let mut fields = String::new();
                shape.find(inside % shape.size.max(1), &mut fields);
                name.push_str(&own_fields(&fields, is_pointer));
            }
        }
        Some(name)
    }

    /// Returns true for a unit of a Rust crate, which is named after a source file.
    fn is_rust(&self) -> bool {
        self.unit.name.as_ref().is_some_and(|name| name.to_string_lossy().contains(".rs"))
    }

    /// The offset of a variable in its frame.
    fn frame_offset(&self, entry: &Entry<'d>) -> Option<i64> {
        let Some(AttributeValue::Exprloc(place)) = entry.attr_value(gimli::DW_AT_location) else {
            return None;
        };
        let mut operations = place.operations(self.unit.encoding());
        let Operation::FrameOffset { offset } = operations.next().ok()?? else { return None };
        operations.next().ok()?.is_none().then_some(offset)
    }

    fn is_file(&self, index: AttributeValue<Reader<'d>>, name: &str) -> bool {
        let AttributeValue::FileIndex(index) = index else { return false };
        let Some(program) = &self.unit.line_program else { return false };
        let Some(file) = program.header().file(index) else { return false };
        self.text(file.path_name()).is_some_and(|path| path.rsplit('/').next() == Some(name))
    }

    /// The type that the first pointer inside a type points to.
    fn pointee(&self, kind: UnitOffset, depth: u32) -> Option<UnitOffset> {
        if depth > DEEPEST {
            return None;
        }
        let entry = self.unit.entry(kind).ok()?;
        let inner = match entry.attr_value(gimli::DW_AT_type) {
            Some(AttributeValue::UnitRef(inner)) => Some(inner),
            _ => None,
        };
        match entry.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => inner,
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                self.pointee(inner?, depth + 1)
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                let inside = self.inside(kind).ok()?;
                let parts = inside
                    .iter()
                    .filter(|part| matches!(part.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance));
                parts.into_iter().find_map(|part| match part.attr_value(gimli::DW_AT_type) {
                    Some(AttributeValue::UnitRef(part)) => self.pointee(part, depth + 1),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

/// Returns the type after which a block is called: that of the value in a record of C++'s standard library, or the type itself.
fn value_type(element: &str) -> Option<&str> {
    /// Records around a value, which is their first parameter.
    const AROUND: [&str; 5] =
        ["_Sp_counted_ptr_inplace<", "_List_node<", "_Rb_tree_node<", "_Hash_node<", "_Fwd_list_node<"];
    let inner = AROUND.iter().find_map(|around| {
        let (_, from) = element.split_once(around)?;
        let mut depth = 0;
        let end = from.find(|letter| {
            depth += i32::from(letter == '<') - i32::from(letter == '>');
            depth < 0 || depth == 0 && letter == ','
        });
        Some(from[..end.unwrap_or(from.len())].trim_end())
    });
    Some(inner.unwrap_or(element)).filter(|name| !name.starts_with("std::"))
}

/// Returns the position after the namespaces of a type.
fn after_namespaces(name: &str) -> usize {
    let end = name.find('<').unwrap_or(name.len());
    name[..end].rfind("::").map_or(0, |from| from + 2)
}

/// Returns the fields of a variable of Rust without the words of locks and atomics of the standard library: `stock.items` for
/// `stock.items.inner.state.v.value`.
pub(crate) fn without_words(fields: &str) -> &str {
    /// What `RwLock`, `OnceLock` and `Once`, `Mutex` and atomics consist of.
    const WORDS: [&str; 5] =
        [".inner.state", ".once.inner.state_and_queued", ".inner.state_and_queued", ".inner.futex", ""];
    let Some(inner) = fields.strip_suffix(".v.value") else { return fields };
    WORDS.iter().find_map(|words| inner.strip_suffix(words)).unwrap_or(inner)
}

/// The fields of a block as a person would say them, without those of the standard library around and inside the value.
fn own_fields(fields: &str, is_pointer: bool) -> String {
    /// Fields of Rust's `Arc`, `Mutex`, atomics and cells.
    const INNER: [&str; 7] = ["data", "v", "value", "inner", "futex", "__0", "pointer"];
    let mut path: Vec<&str> = without_words(fields).split('.').filter(|field| !field.is_empty()).collect();
    if is_pointer {
        return if path.is_empty() { String::new() } else { format!("->{}", path.join(".")) };
    }
    while path.last().is_some_and(|field| INNER.contains(field)) {
        path.pop();
    }
    while path.first().is_some_and(|field| INNER.contains(field)) {
        path.remove(0);
    }
    path.iter().map(|field| format!(".{field}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_called_after_its_value() {
        let shared =
            "std::_Sp_counted_ptr_inplace<bank::Account, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>";
        assert_eq!(value_type(shared), Some("bank::Account"));
        assert_eq!(value_type("std::_List_node<Pair<int, Job> >"), Some("Pair<int, Job>"));
        assert_eq!(value_type("Job"), Some("Job"));
        assert_eq!(value_type("std::_List_node<std::string>"), None);
        assert_eq!(&"bank::Account"[after_namespaces("bank::Account")..], "Account");
        assert_eq!(&"a::Pair<b::C>"[after_namespaces("a::Pair<b::C>")..], "Pair<b::C>");
    }

    #[test]
    fn fields_of_the_standard_library_are_left_out() {
        assert_eq!(own_fields(".data.v.value", false), "");
        assert_eq!(own_fields(".strong.v.value", false), ".strong");
        assert_eq!(own_fields(".data.data.value.balance", false), ".balance");
        assert_eq!(own_fields(".data.items.inner.state.v.value", false), ".items");
        assert_eq!(own_fields(".state.v.value", false), ".state");
        assert_eq!(without_words("shop::NAME.once.inner.state_and_queued.v.value"), "shop::NAME");
        assert_eq!(without_words("shop::NEXT.v.value"), "shop::NEXT");
        assert_eq!(without_words("config.value"), "config.value");
        assert_eq!(own_fields(".done", true), "->done");
        assert_eq!(own_fields("", true), "");
    }
}
