//! The global variables in the debug information, and their parts: `pool[1].lock`.
//!
//! Limitations: only information in the file itself is read, not in split or supplementary files; types that
//! are defined in another unit than their use are opaque. If this has no information, the symbol tables are
//! used.

use crate::typed::Base;
use addr2line::gimli;
use gimli::{AttributeValue, EndianSlice, LittleEndian, Operation, Unit, UnitOffset};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) type Reader<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;

/// The maximum size of debug information that is read: more would take too long for a name.
const MOST_BYTES: u64 = 1 << 26;
/// The maximum nesting of types; deeper nesting is treated as damage.
const DEEPEST: u32 = 32;

/// A variable with a fixed address in memory.
pub(crate) struct Variable {
    start: u64,
    name: String,
    shape: Rc<Shape>,
}

/// The memory layout of a type, as far as its parts have names.
pub(crate) struct Shape {
    pub(crate) size: u64,
    parts: Parts,
    base: Base,
    /// The named values of an enumeration.
    names: Rc<[(u64, String)]>,
}

enum Parts {
    /// No named parts: a number, a pointer, a union such as the C library's locks.
    None,
    /// The lengths of the dimensions, the outermost first.
    Array(Vec<u64>, Rc<Shape>),
    /// Invariant: sorted by offset. The name is empty for unnamed members, such as base classes.
    Members(Vec<Member>),
}

/// An offset in a record, its name and its type.
type Member = (u64, String, Rc<Shape>);

/// The smallest named part of a variable at an address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) base: Base,
    pub(crate) names: Rc<[(u64, String)]>,
}

/// Shows the debugging information of a file. Returns nothing if there is none, or none that can be read.
pub(crate) fn with_dwarf(file: &object::File<'_>, look: &mut dyn FnMut(&Dwarf<'_>)) -> Option<()> {
    let section = |id: gimli::SectionId| {
        let section = file.section_by_name(id.name());
        section.and_then(|section| section.uncompressed_data().ok()).unwrap_or(Cow::Borrowed(&[]))
    };
    let size = file.section_by_name(gimli::SectionId::DebugInfo.name())?.size();
    if size > MOST_BYTES || !file.is_little_endian() {
        return None;
    }
    let sections = gimli::DwarfSections::load(|id| Ok::<_, gimli::Error>(section(id))).ok()?;
    look(&sections.borrow(|section| EndianSlice::new(section, LittleEndian)));
    Some(())
}

/// The variables of a file by their addresses. Nothing if there is no such information, or none that can be read.
pub(crate) fn read(file: &object::File<'_>) -> Option<Vec<Variable>> {
    let mut variables = Vec::new();
    with_dwarf(file, &mut |dwarf| {
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            // What can be read of a damaged unit is good enough.
            if let Ok(unit) = dwarf.unit(header) {
                let mut of_unit = OfUnit { dwarf, unit: &unit, shapes: BTreeMap::new() };
                _ = of_unit.variables(&mut variables);
            }
        }
    })?;
    variables.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
    Some(variables)
}

/// Returns the part at `address`, from sorted variables.
pub(crate) fn part(variables: &[Variable], address: u64) -> Option<Part> {
    let end = variables.partition_point(|variable| variable.start <= address);
    let start = variables[..end].last()?.start;
    // Several may begin at one address, such as an empty one and its neighbor.
    let mut here = variables[..end].iter().rev().take_while(|variable| variable.start == start);
    let variable = here.find(|variable| address - start < variable.shape.size)?;
    let mut name = variable.name.clone();
    let (start, shape) = variable.shape.find(address - start, &mut name);
    let (start, names) = (variable.start + start, Rc::clone(&shape.names));
    let name = crate::locals::without_words(&name).to_owned();
    Some(Part { name, start, size: shape.size, base: shape.base, names })
}

impl Shape {
    fn new(size: u64, parts: Parts, base: Base) -> Rc<Shape> {
        Rc::new(Shape { size, parts, base, names: Rc::from([]) })
    }

    /// Appends the path to the part at `offset` to `name`; returns the part and its beginning.
    pub(crate) fn find(&self, offset: u64, name: &mut String) -> (u64, &Shape) {
        match &self.parts {
            Parts::Array(lengths, element) if element.size > 0 => {
                let mut index = offset / element.size;
                let begin = index * element.size;
                let mut text = String::new();
                for length in lengths.iter().skip(1).rev().map(|&length| length.max(1)) {
                    text.insert_str(0, &format!("[{}]", index % length));
                    index /= length;
                }
                name.push_str(&format!("[{index}]{text}"));
                let (start, part) = element.find(offset - begin, name);
                (begin + start, part)
            }
            Parts::Members(members) => {
                let end = members.partition_point(|(start, ..)| *start <= offset);
                let mut before = members[..end].iter().rev();
                let holder = before.find(|(start, _, shape)| offset - start < shape.size);
                let Some((begin, member, shape)) = holder else { return (0, self) };
                if !member.is_empty() {
                    name.push('.');
                    name.push_str(member);
                }
                let (start, part) = shape.find(offset - begin, name);
                (begin + start, part)
            }
            _ => (0, self),
        }
    }
}

/// The data for reading one unit of the debug information.
pub(crate) struct OfUnit<'a, 'd> {
    pub(crate) dwarf: &'a Dwarf<'d>,
    pub(crate) unit: &'a Unit<Reader<'d>>,
    /// The types read so far.
    pub(crate) shapes: BTreeMap<UnitOffset, Rc<Shape>>,
}

/// Returns the entry with the name and the type of a variable that was declared before.
pub(crate) fn declaration(entry: &Entry<'_>) -> Option<UnitOffset> {
    let origin = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
    match origin.into_iter().find_map(|at| entry.attr_value(at))? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

pub(crate) type Entry<'d> = gimli::DebuggingInformationEntry<Reader<'d>>;

impl<'d> OfUnit<'_, 'd> {
    fn variables(&mut self, variables: &mut Vec<Variable>) -> gimli::Result<()> {
        let mut entries = self.unit.entries();
        // The names of the namespaces and classes around an entry, with their depths.
        let mut around: Vec<(isize, String)> = Vec::new();
        let mut declared: BTreeMap<UnitOffset, String> = BTreeMap::new();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            around.retain(|(outer, _)| *outer < depth);
            let path = || {
                let outer = around.iter().filter(|(_, outer)| !outer.is_empty());
                outer.map(|(_, outer)| format!("{outer}::")).collect::<String>()
            };
            match entry.tag() {
                gimli::DW_TAG_namespace | gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                    around.push((depth, self.name(entry).unwrap_or_default()));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_member => {
                    let Some(start) = self.address(entry) else {
                        if !around.is_empty() {
                            declared.insert(entry.offset(), path());
                        }
                        continue;
                    };
                    // The definition may be separate from its declaration.
                    let origin = declaration(entry);
                    let path = origin.and_then(|origin| declared.get(&origin).cloned()).unwrap_or_else(path);
                    let origin = origin.and_then(|origin| self.unit.entry(origin).ok());
                    let attribute_of =
                        |at: gimli::DwAt| entry.attr_value(at).or_else(|| origin.as_ref()?.attr_value(at));
                    let name = attribute_of(gimli::DW_AT_name).and_then(|name| self.text(name));
                    // The definition knows the length of an array.
                    let shape = self.shape_of(attribute_of(gimli::DW_AT_type), 0);
                    let (Some(name), Some(shape)) = (name, shape) else { continue };
                    variables.push(Variable { start, name: path + &name, shape });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the address of a variable that has one for the whole run.
    fn address(&self, entry: &Entry<'d>) -> Option<u64> {
        let Some(AttributeValue::Exprloc(place)) = entry.attr_value(gimli::DW_AT_location) else {
            return None;
        };
        let mut operations = place.operations(self.unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(self.unit, index).ok()?,
            _ => return None,
        };
        // More than an address is something else, such as a thread-local variable.
        operations.next().ok()?.is_none().then_some(address)
    }

    fn name(&self, entry: &Entry<'d>) -> Option<String> {
        self.text(entry.attr_value(gimli::DW_AT_name)?)
    }

    pub(crate) fn text(&self, value: AttributeValue<Reader<'d>>) -> Option<String> {
        Some(self.dwarf.attr_string(self.unit, value).ok()?.to_string_lossy().into_owned())
    }

    pub(crate) fn shape_of(
        &mut self,
        kind: Option<AttributeValue<Reader<'d>>>,
        depth: u32,
    ) -> Option<Rc<Shape>> {
        let Some(AttributeValue::UnitRef(offset)) = kind else { return None };
        if let Some(known) = self.shapes.get(&offset) {
            return Some(Rc::clone(known));
        }
        if depth > DEEPEST {
            return None;
        }
        let entry = self.unit.entry(offset).ok()?;
        let size = entry.attr(gimli::DW_AT_byte_size).and_then(|size| size.udata_value());
        let kind = entry.attr_value(gimli::DW_AT_type);
        let shape = match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => self.shape_of(kind, depth + 1)?,
            gimli::DW_TAG_array_type => {
                let element = self.shape_of(kind, depth + 1)?;
                let lengths = self.lengths(offset).unwrap_or_default();
                let count =
                    lengths.iter().try_fold(1, |product: u64, &length| product.checked_mul(length))?;
                let size = count.checked_mul(element.size)?;
                Shape::new(size, Parts::Array(lengths, element), Base::Unknown)
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                let (members, hidden) = self.members(offset, size?, depth).unwrap_or_default();
                // A C++ atomic is a record around the value, which should be transparent.
                let whole = hidden.iter().find(|hidden| members.is_empty() && Some(hidden.size) == size);
                let base = whole.map_or(Base::Unknown, |whole| whole.base);
                let names = whole.map_or(Rc::from([]), |whole| Rc::clone(&whole.names));
                Rc::new(Shape { size: size?, parts: Parts::Members(members), base, names })
            }
            // A pointer may have the machine's default size.
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
                Shape::new(size.unwrap_or(8), Parts::None, Base::Pointer)
            }
            gimli::DW_TAG_base_type => Shape::new(size?, Parts::None, self.base(&entry)),
            gimli::DW_TAG_enumeration_type => {
                let names = self.enumerators(offset).unwrap_or_default();
                let base = match self.shape_of(kind, depth + 1).map(|integer| integer.base) {
                    Some(base @ (Base::Signed | Base::Unsigned)) => base,
                    _ if names.iter().any(|&(value, _)| (value as i64) < 0) => Base::Signed,
                    _ => Base::Unsigned,
                };
                Rc::new(Shape { size: size?, parts: Parts::None, base, names: Rc::from(names) })
            }
            _ => Shape::new(size?, Parts::None, Base::Unknown),
        };
        self.shapes.insert(offset, Rc::clone(&shape));
        Some(shape)
    }

    /// Returns the kind of a type without parts.
    fn base(&self, entry: &Entry<'d>) -> Base {
        let encoding = entry.attr_value(gimli::DW_AT_encoding);
        let Some(AttributeValue::Encoding(encoding)) = encoding else { return Base::Unknown };
        // In C `char` is for characters; explicitly signed or unsigned ones are small numbers.
        let is_char = || self.name(entry).is_some_and(|name| name == "char");
        match encoding {
            gimli::DW_ATE_boolean => Base::Bool,
            gimli::DW_ATE_UTF => Base::Character,
            gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char if is_char() => Base::Character,
            gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Base::Signed,
            gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char => Base::Unsigned,
            gimli::DW_ATE_float => Base::Float,
            gimli::DW_ATE_address => Base::Pointer,
            _ => Base::Unknown,
        }
    }

    /// Returns the named values of an enumeration.
    fn enumerators(&self, enumeration: UnitOffset) -> gimli::Result<Vec<(u64, String)>> {
        let named = |entry: &Entry<'d>| {
            let value = entry.attr(gimli::DW_AT_const_value)?;
            // GCC encodes 200 in one byte, without a sign.
            let value = value.udata_value().or_else(|| value.sdata_value().map(|value| value as u64))?;
            Some((value, self.name(entry)?))
        };
        let inside = self.inside(enumeration)?;
        Ok(inside.iter().filter(|entry| entry.tag() == gimli::DW_TAG_enumerator).filter_map(named).collect())
    }

    /// Returns the direct children of the entry at `offset`.
    pub(crate) fn inside(&self, offset: UnitOffset) -> gimli::Result<Vec<Entry<'d>>> {
        let mut entries = self.unit.entries_at_offset(offset)?;
        let outer = entries.next_dfs()?.map_or(0, |entry| entry.depth());
        let mut inside = Vec::new();
        while let Some(entry) = entries.next_dfs()?.filter(|entry| entry.depth() > outer) {
            if entry.depth() == outer + 1 {
                inside.push(entry.clone());
            }
        }
        Ok(inside)
    }

    fn lengths(&self, array: UnitOffset) -> gimli::Result<Vec<u64>> {
        let length = |entry: &Entry<'d>| {
            let number = |at: gimli::DwAt| entry.attr(at).and_then(|value| value.udata_value());
            number(gimli::DW_AT_count)
                .or_else(|| number(gimli::DW_AT_upper_bound)?.checked_add(1))
                .unwrap_or_default()
        };
        let inside = self.inside(array)?;
        Ok(inside.iter().filter(|entry| entry.tag() == gimli::DW_TAG_subrange_type).map(length).collect())
    }

    /// Returns the members that have a name or are base classes, and the hidden ones at the beginning.
    fn members(
        &mut self,
        record: UnitOffset,
        size: u64,
        depth: u32,
    ) -> gimli::Result<(Vec<Member>, Vec<Rc<Shape>>)> {
        let (mut members, mut hidden) = (Vec::new(), Vec::new());
        for entry in self.inside(record)? {
            if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
                continue;
            }
            let number = |at: gimli::DwAt| entry.attr(at).and_then(|place| place.udata_value());
            let mut place = number(gimli::DW_AT_data_member_location);
            let name = self.name(&entry).unwrap_or_default();
            // Names with an underscore are internal: the library's, inside its locks and atomics.
            let is_hidden = name.starts_with('_');
            let mut shape = self.shape_of(entry.attr_value(gimli::DW_AT_type), depth + 1);
            if let Some(bits) = number(gimli::DW_AT_bit_size) {
                let whole = shape.map_or(0, |shape| shape.size);
                let begin = number(gimli::DW_AT_data_bit_offset).or_else(|| {
                    // Before DWARF 4 it was counted from the highest bit of an integer.
                    let integer = number(gimli::DW_AT_byte_size).unwrap_or(whole).checked_add(place?)?;
                    let above = number(gimli::DW_AT_bit_offset)?.checked_add(bits)?;
                    integer.checked_mul(8)?.checked_sub(above)
                });
                let end = begin.and_then(|begin| Some(begin.checked_add(bits)?.div_ceil(8)));
                place = begin.map(|begin| begin / 8);
                shape =
                    place.zip(end).map(|(place, end)| Shape::new(end - place, Parts::None, Base::BitField));
            }
            match place.zip(shape) {
                Some((0, shape)) if is_hidden => hidden.push(shape),
                Some((place, shape)) if !is_hidden => members.push((place, name, shape)),
                _ => {}
            }
        }
        members.sort_by_key(|(place, ..)| *place);
        Ok((join_bit_fields(members, size), hidden))
    }
}

/// Joins bit fields that share a byte, because the byte does not identify one of them. The joined part has
/// all bytes up to the next member: bit fields are read and written with the unused bits of their integer.
fn join_bit_fields(members: Vec<Member>, size: u64) -> Vec<Member> {
    let mut joined: Vec<Member> = Vec::with_capacity(members.len());
    for (place, name, shape) in members {
        match joined.last_mut() {
            Some((start, names, before))
                if [&shape, &*before].iter().all(|shape| shape.base == Base::BitField)
                    && place - *start < before.size =>
            {
                names.push('|');
                names.push_str(&name);
                let end = (*start + before.size).max(place + shape.size);
                *before = Shape::new(end - *start, Parts::None, Base::BitField);
            }
            _ => joined.push((place, name, shape)),
        }
    }
    let mut end = size;
    for (place, _, shape) in joined.iter_mut().rev() {
        if shape.base == Base::BitField && end > *place + shape.size {
            *shape = Shape::new(end - *place, Parts::None, Base::BitField);
        }
        end = *place;
    }
    joined
}
