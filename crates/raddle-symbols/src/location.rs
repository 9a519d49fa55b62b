//! The information about an address.

use std::fmt::{Display, Formatter, Result};
use std::path::PathBuf;

/// The information about an address. Displayed as one line, such as `push at stack.c:12, inlined into main at
/// stack.c:40`, or `stack+0x12ab` if nothing is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The queried file.
    pub module: PathBuf,
    /// The queried address.
    pub address: u64,
    /// The function that contains the address, last; before it the functions inlined there, the innermost
    /// first. Empty if nothing is known.
    pub frames: Vec<Frame>,
}

/// A function, and a location in it. At least one of function and file is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The name as in the source.
    pub function: Option<String>,
    /// The path as the compiler recorded it.
    pub file: Option<String>,
    /// Counted from 1; never known without the file.
    pub line: Option<u32>,
    /// Counted from 1; never known without the line.
    pub column: Option<u32>,
}

impl Frame {
    /// Returns `file:line`, or as much as is known of it.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        Some(self.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (&self.function, self.place()) {
            (Some(function), Some(place)) => write!(f, "{function} at {place}"),
            (Some(function), None) => write!(f, "{function}"),
            (None, Some(place)) => write!(f, "{place}"),
            (None, None) => write!(f, "?"),
        }
    }
}

impl Location {
    /// Returns the module's file name and the address: `stack+0x12ab`.
    pub fn offset(&self) -> String {
        let name = self.module.file_name().unwrap_or(self.module.as_os_str());
        format!("{}+{:#x}", name.display(), self.address)
    }
}

impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Some((first, outer)) = self.frames.split_first() else {
            return write!(f, "{}", self.offset());
        };
        write!(f, "{first}")?;
        if first.file.is_none() {
            write!(f, " ({})", self.offset())?;
        }
        outer.iter().try_for_each(|frame| write!(f, ", inlined into {frame}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: Option<&str>, file: Option<&str>, line: Option<u32>) -> Frame {
        Frame { function: function.map(str::to_owned), file: file.map(str::to_owned), line, column: None }
    }

    #[test]
    fn as_much_as_is_known_is_shown() {
        let show = |frames: Vec<Frame>| {
            Location { module: PathBuf::from("/bin/stack"), address: 0x12ab, frames }.to_string()
        };
        let main = frame(Some("main"), Some("s.c"), Some(40));
        let push = frame(Some("push"), Some("s.c"), Some(12));
        assert_eq!(show(vec![push, main]), "push at s.c:12, inlined into main at s.c:40");
        assert_eq!(show(vec![frame(Some("main"), Some("s.c"), None)]), "main at s.c");
        assert_eq!(show(vec![frame(None, Some("s.c"), Some(3))]), "s.c:3");
        assert_eq!(show(vec![frame(Some("main"), None, None)]), "main (stack+0x12ab)");
        assert_eq!(show(vec![]), "stack+0x12ab");
    }
}
