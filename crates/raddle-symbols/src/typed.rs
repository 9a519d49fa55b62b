//! What a variable is, besides its name.

/// A variable, or a part of one, with its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Typed {
    /// What it is called.
    pub name: String,
    /// How many bytes into it the address is that was asked about.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
    /// What its values are.
    pub base: Base,
    /// The values that have a name, if it is of an enumeration; negative ones as their complement in 64 bits.
    pub names: Vec<(u64, String)>,
}

/// What the values of a type are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Base {
    /// Nothing is known, or they have several parts.
    #[default]
    Unknown,
    /// Numbers with a sign.
    Signed,
    /// Numbers without a sign.
    Unsigned,
    /// True and false.
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
