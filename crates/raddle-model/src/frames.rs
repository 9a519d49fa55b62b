//! Call stacks in the text of a location.
//!
//! A location reads `push at stack.c:12, inlined into main at main.c:3`, the innermost function first. The file of a library is in
//! angle brackets: `Mutex::lock at <std>/sync/mutex.rs:300, called by count at lib.rs:3`.

use std::borrow::Cow;

/// The text between a function and the one that it was inlined into.
pub const INLINED: &str = ", inlined into ";

/// The text between a function and its caller.
pub const CALLED: &str = ", called by ";

/// One function of a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TextFrame<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The function, if it is named.
    pub function: Option<&'a str>,
    /// The file, if it is named.
    pub file: Option<&'a str>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

impl<'a> TextFrame<'a> {
    fn parse(text: &'a str) -> TextFrame<'a> {
        let mut frame = TextFrame { text, ..TextFrame::default() };
        let (function, spot) =
            text.rsplit_once(" at ").map_or((None, text), |(function, spot)| (Some(function), spot));
        if spot.starts_with('<') && spot.ends_with('>') {
            (frame.function, frame.file) = (function, Some(spot));
            return frame;
        }
        let Some((before, last)) = spot.rsplit_once(':') else { return frame };
        let Ok(last) = last.parse() else { return frame };
        let with_column = before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line, column) = match with_column {
            Some((file, line)) => (file, line, Some(last)),
            None => (before, last, None),
        };
        TextFrame { text, function, file: Some(file), line: Some(line), column }
    }

    /// Returns true if the function belongs to a library.
    pub fn is_library(&self) -> bool {
        self.file.is_some_and(|file| file.starts_with('<'))
    }

    /// Returns `stack.c:12`, or as much of it as is known.
    pub fn place(&self) -> &'a str {
        self.text.rsplit_once(" at ").map_or(self.text, |(_, place)| place)
    }
}

/// Returns true if a file name is one of the standard library or the system.
pub fn is_standard(file: &str) -> bool {
    const STANDARD: [&str; 6] = ["<std>", "<core>", "<alloc>", "<c++>", "<include>", "<gcc>"];
    STANDARD.iter().any(|library| file.starts_with(library)) || file.starts_with('<') && file.ends_with('>')
}

/// Returns true if a text is an address, or a pointer that is not null.
pub fn is_address(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    digits.len() > 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the name of an object without its creation location, or that it is a thread.
pub fn short_object(name: &str) -> &str {
    let name = name.split(" made at ").next().unwrap_or(name);
    name.strip_suffix(", a thread").unwrap_or(name)
}

/// Returns the name of an object without its creation location. One that is known only by its address is called by its number.
pub fn brief_object(name: &str, number: u32) -> Cow<'_, str> {
    let short = short_object(name);
    if is_address(short) { Cow::Owned(format!("memory #{number}")) } else { Cow::Borrowed(short) }
}

/// Returns the functions of a location, the innermost first.
pub fn frames(text: &str) -> impl Iterator<Item = TextFrame<'_>> {
    text.split(INLINED).flat_map(|part| part.split(CALLED)).map(TextFrame::parse)
}

/// Returns the innermost function of a location that belongs to no library. If all do, it is the innermost that is not of the
/// standard library, or the innermost.
pub fn user_frame(text: &str) -> TextFrame<'_> {
    let innermost = |is: &dyn Fn(&str) -> bool| frames(text).find(|frame| frame.file.is_some_and(is));
    let user = innermost(&|file| !file.starts_with('<')).or_else(|| innermost(&|file| !is_standard(file)));
    user.or_else(|| frames(text).next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_frames_are_skipped() {
        let text = "lock at <std>/sync/mutex.rs:300, inlined into get at <x-1.0>/a.rs:7, called by count at lib.rs:3";
        assert_eq!(frames(text).filter(TextFrame::is_library).count(), 2);
        assert_eq!((user_frame(text).function, user_frame(text).place()), (Some("count"), "lib.rs:3"));
        let library = "join at <libstdc++.so.6+0x12>";
        assert!(user_frame(library).is_library());
        assert_eq!(user_frame(library).place(), "<libstdc++.so.6+0x12>");
    }

    #[test]
    fn lines_and_columns_are_understood() {
        let frame = user_frame("src/lib.rs:12:5");
        assert_eq!((frame.file, frame.line, frame.column), (Some("src/lib.rs"), Some(12), Some(5)));
        assert_eq!(user_frame("main (/bin/x+0x12ab)").file, None);
        assert_eq!(user_frame("").place(), "");
    }
}
