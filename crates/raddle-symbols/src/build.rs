//! Identifies the build of a program, and its compiler.

use object::{Object, ObjectSection};
use std::fmt::Write;
use std::path::Path;

/// Returns a text that identifies a build of a program: `gnu:` and the build id from the linker, or `hash:`
/// and a hash of the whole file if there is none.
pub fn build(path: &Path) -> std::io::Result<String> {
    let data = crate::file::read(path)?;
    let file = object::File::parse(&*data).ok();
    let id = file.as_ref().and_then(|file| file.build_id().ok().flatten()).filter(|id| !id.is_empty());
    Ok(match id {
        Some(id) => id.iter().fold("gnu:".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
        None => format!("hash:{:016x}", hash(&data)),
    })
}

/// Returns true if Rust's compiler built a program, or a part of it: it records its name. False if the file
/// cannot be read.
pub fn is_rust(path: &Path) -> bool {
    const COMPILER: &[u8] = b"rustc version";
    let Ok(data) = crate::file::read(path) else { return false };
    let Ok(file) = object::File::parse(&*data) else { return false };
    let comment = file.section_by_name(".comment").and_then(|section| section.uncompressed_data().ok());
    comment.is_some_and(|comment| comment.windows(COMPILER.len()).any(|window| window == COMPILER))
}

/// Computes the hash FNV-1a, eight bytes at a time.
fn hash(data: &[u8]) -> u64 {
    data.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash: u64, chunk| {
        let word = chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^ hash >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_is_another_build() {
        assert_ne!(hash(b"a program"), hash(b"b program"));
        assert_ne!(hash(b"12345678"), hash(b"123456788"));
    }
}
