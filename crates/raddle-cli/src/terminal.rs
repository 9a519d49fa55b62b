//! Makes foreign texts safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Replaces characters that change what a terminal displays or does: control characters and those that change
/// the writing direction. Line ends, tabs and colors are kept.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = colour(rest).unwrap_or_else(|| first.len_utf8());
        if is_active(first) && length == first.len_utf8() {
            let _ = write!(out, "{}", first.escape_unicode());
        } else {
            out.push_str(&rest[..length]);
        }
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

fn is_active(c: char) -> bool {
    let turns =
        matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

/// Returns the length of a color sequence, if the text begins with one.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_reach_the_terminal() {
        for (text, shown) in [
            ("a\tb\n", "a\tb\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("over\rwritten\u{8}", "over\\u{d}written\\u{8}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\u{202e}b\u{1b}[", "a\\u{202e}b\\u{1b}["),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
