//! Identities that are the same in every run.

use serde::{Deserialize, Serialize};

/// A 64-bit identity of a thread, an object or a code location that is the same in every run of a program.
///
/// A thread is named by its creation path (the name of its parent and the number of earlier children of that
/// parent), an object by what its front end knows of it (symbol and offset, creating location and ordinal).
/// Equal names are taken to be the same thing; two different things share a name with probability about
/// 2^-64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(pub u64);

impl Name {
    /// The parent of the threads that a program starts with.
    pub const PROGRAM: Name = Name(0x5241_4444_4c45_0001);

    /// Returns the name of the `ordinal`-th child (from 0) of this thread, or of the `ordinal`-th part of
    /// this object.
    #[inline]
    pub fn child(self, ordinal: u64) -> Name {
        Name(mix(self.0 ^ mix(ordinal.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// Returns the name of something identified by a text, such as a symbol.
    pub fn of_text(text: &str) -> Name {
        let folded = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Name(mix(folded))
    }
}

/// Spreads every bit of `value` over the whole result (the finalizer of SplitMix64, a bijection).
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
