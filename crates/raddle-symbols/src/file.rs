//! Reading of files. Memory maps also name entries that are not program files: anonymous shared memory is
//! `/dev/zero`, which has no end.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// Returns true if a path leads to a regular file.
pub(crate) fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.is_file())
}

/// Reads a regular file.
pub(crate) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symbols;

    #[test]
    fn only_regular_files_are_read() {
        let endless = Path::new("/dev/zero");
        assert!(!is_regular(endless) && read(endless).is_err());
        let mut symbols = Symbols::new();
        assert_eq!((symbols.first_address(endless), symbols.variable(endless, 8)), (0, None));
        assert!(symbols.in_function(endless, 8).is_none() && !symbols.has_functions(endless));
        assert!(crate::build(endless).is_err() && !crate::is_rust(endless));
        let own = std::env::current_exe().expect("the test is a program");
        assert!(read(&own).is_ok_and(|data| !data.is_empty()));
    }
}
