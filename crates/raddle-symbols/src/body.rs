//! Identifies functions by their contents, so that they are recognized in another build.

use crate::module::Module;
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Object, ObjectSection, SectionKind};
use std::ops::Range;
use std::path::Path;

/// A code location whose name is the same in another build unless its own function was changed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct InFunction {
    /// The symbol of the function, as the linker knows it.
    pub function: String,
    /// A hash of the function's instructions, in which external references count by name, not by address.
    pub body: u64,
    /// The offset in the function in bytes.
    pub offset: u64,
}

/// The code of a file: sections by address.
#[derive(Default)]
pub(crate) struct Code(Vec<(u64, Vec<u8>)>);

impl Code {
    /// Reads the executable sections of a file; none if it cannot be read.
    pub(crate) fn read(path: &Path) -> Code {
        let Ok(data) = crate::file::read(path) else { return Code::default() };
        let Ok(file) = object::File::parse(&*data) else { return Code::default() };
        let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
        Code(
            sections.filter_map(|section| Some((section.address(), section.data().ok()?.to_vec()))).collect(),
        )
    }

    /// Returns the bytes at a range of addresses, if all of it is code.
    fn bytes(&self, range: &Range<u64>) -> Option<&[u8]> {
        self.0.iter().find_map(|(start, bytes)| {
            let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
            let to = usize::try_from(range.end.checked_sub(*start)?).ok()?;
            bytes.get(from..to)
        })
    }
}

impl Module {
    /// Returns the location at an address; `None` if no symbol covers it.
    pub(crate) fn in_function(&self, address: u64) -> Option<InFunction> {
        let (range, name) = self.function(address)?;
        Some(InFunction { function: name.to_owned(), body: self.body(range)?, offset: address - range.start })
    }

    /// Returns the address of a location; `None` if there is no such function, or it was changed.
    pub(crate) fn address(&self, place: &InFunction) -> Option<u64> {
        let same = |range: &&Range<u64>| self.body(range) == Some(place.body);
        let range = self.functions_named(&place.function).find(same)?;
        let address = range.start.checked_add(place.offset)?;
        range.contains(&address).then_some(address)
    }

    /// Returns a hash of the instructions of a function.
    fn body(&self, range: &Range<u64>) -> Option<u64> {
        let bytes = self.code().bytes(range).filter(|bytes| !bytes.is_empty())?;
        let mut decoder = Decoder::with_ip(64, bytes, range.start, DecoderOptions::NONE);
        let mut hash = Hash::default();
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            let from = decoder.position();
            decoder.decode_out(&mut instruction);
            let mut own = bytes[from..decoder.position()].to_vec();
            let constants = decoder.get_constant_offsets(&instruction);
            let outside = if instruction.is_ip_rel_memory_operand() {
                blank(&mut own, constants.displacement_offset(), constants.displacement_size());
                Some(instruction.ip_rel_memory_address())
            } else {
                // 0 if it is not a branch.
                let target = instruction.near_branch_target();
                let leaves = target != 0 && !range.contains(&target);
                leaves.then(|| {
                    blank(&mut own, constants.immediate_offset(), constants.immediate_size());
                    target
                })
            };
            hash.add(&own);
            if let Some(name) = outside.and_then(|address| self.name_of(address)) {
                hash.add(name.as_bytes());
            }
        }
        Some(hash.0)
    }

    /// Returns the symbol at an address, if there is one.
    fn name_of(&self, address: u64) -> Option<String> {
        if let Some((range, name)) = self.function(address) {
            return Some(format!("{name}+{}", address - range.start));
        }
        self.variable(address).map(|(name, offset)| format!("{name}+{offset}"))
    }
}

/// Blanks the address bytes of an instruction, which differ between builds.
fn blank(bytes: &mut [u8], from: usize, size: usize) {
    if let Some(part) = bytes.get_mut(from..from + size) {
        part.fill(0);
    }
}

/// FNV-1a, with the length of each part.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, part: &[u8]) {
        let length = (part.len() as u64).to_le_bytes();
        for &byte in length.iter().chain(part) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
