//! The type of a variable.

/// A variable, or a part of one, with its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Typed {
    /// The name.
    pub name: String,
    /// The offset of the queried address in it.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The kind of its values.
    pub base: Base,
    /// The named values, if it is an enumeration; negative ones as their complement in 64 bits.
    pub names: Vec<(u64, String)>,
}

/// The kind of values of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Base {
    /// Unknown, or with several parts.
    #[default]
    Unknown,
    /// Signed numbers.
    Signed,
    /// Unsigned numbers.
    Unsigned,
    /// Booleans.
    Bool,
    /// Characters.
    Character,
    /// Floating-point numbers.
    Float,
    /// Addresses.
    Pointer,
    /// Numbers that share their bytes with others.
    BitField,
}
