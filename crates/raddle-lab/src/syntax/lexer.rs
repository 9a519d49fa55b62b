//! Text to tokens. Newlines are tokens, because a statement ends with its line.

use super::ast::Position;
use super::error::{Outcome, SyntaxError};

/// The kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a keyword; the parser distinguishes them.
    Word(String),
    /// A decimal number.
    Number(i64),
    /// An operator or a bracket, by its text.
    Symbol(&'static str),
    /// End of a statement: a newline or `;`.
    End,
    /// End of the text.
    Eof,
}

/// One token and its position.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// Its kind.
    pub(crate) kind: TokenKind,
    /// Its start, for messages.
    pub(crate) position: Position,
    /// Byte range in the source, for quoting statements.
    pub(crate) start: usize,
    /// One past its last byte.
    pub(crate) end: usize,
}

/// Longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 27] = [
    "++", "--", "+=", "-=", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "!", "=",
    "(", ")", "[", "]", "{", "}", ",", ".",
];

/// Splits `source` into tokens; the last one is always [`TokenKind::Eof`].
pub(crate) fn tokenize(source: &str) -> Outcome<Vec<Token>> {
    let mut tokens = Vec::new();
    let (mut offset, mut line, mut column) = (0, 1, 1);
    while let Some(first) = source[offset..].chars().next() {
        let rest = &source[offset..];
        let position = Position { line, column };
        let (kind, length) = match first {
            '\n' | ';' => (Some(TokenKind::End), 1),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            ' ' | '\t' | '\r' => (None, 1),
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let length = prefix(rest, |c| c.is_ascii_alphanumeric() || c == '_');
                (Some(TokenKind::Word(rest[..length].to_owned())), length)
            }
            _ if first.is_ascii_digit() => {
                let length = prefix(rest, |c| c.is_ascii_alphanumeric() || c == '_');
                (Some(number(&rest[..length], position)?), length)
            }
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Some(TokenKind::Symbol(symbol)), symbol.len()),
                None => {
                    return Err(SyntaxError::new(
                        position,
                        format!("unexpected character `{}`", first.escape_default()),
                        "only names, numbers, `+ - * / % < > = ! & |`, brackets, `,`, `.` and `;` are used; \
                         comments start with `#`",
                    ));
                }
            },
        };
        if let Some(kind) = kind {
            tokens.push(Token { kind, position, start: offset, end: offset + length });
        }
        if first == '\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += rest[..length].chars().count() as u32;
        }
        offset += length;
    }
    let position = Position { line, column };
    tokens.push(Token { kind: TokenKind::Eof, position, start: offset, end: offset });
    Ok(tokens)
}

/// Returns the length in bytes of the longest prefix of ASCII characters that all satisfy `belongs`.
fn prefix(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

fn number(text: &str, position: Position) -> Outcome<TokenKind> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    if let Some(bad) = digits.chars().find(|c| !c.is_ascii_digit()) {
        return Err(SyntaxError::new(
            position,
            format!("`{text}` is neither a number nor a name (`{bad}` follows a digit)"),
            "names start with a letter; numbers are decimal",
        ));
    }
    digits.parse().map(TokenKind::Number).map_err(|_| {
        SyntaxError::new(
            position,
            format!("the number `{text}` is too large"),
            format!("the largest is {}", i64::MAX),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<TokenKind> {
        tokenize(source).expect("a valid text").into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn longest_symbol_wins() {
        assert_eq!(
            kinds("a<=b++"),
            [
                TokenKind::Word("a".into()),
                TokenKind::Symbol("<="),
                TokenKind::Word("b".into()),
                TokenKind::Symbol("++"),
                TokenKind::Eof
            ]
        );
    }

    #[test]
    fn comments_keep_their_newline() {
        assert_eq!(kinds("# é;\n1_000"), [TokenKind::End, TokenKind::Number(1000), TokenKind::Eof]);
    }

    #[test]
    fn positions_count_characters() {
        let tokens = tokenize("x\n  yy = 3").expect("a valid text");
        assert_eq!(tokens[2].position, Position { line: 2, column: 3 });
        assert_eq!((tokens[2].start, tokens[2].end), (4, 6));
    }

    #[test]
    fn bad_characters_and_numbers_are_rejected() {
        for (source, part) in [
            ("x = $", "character `$`"),
            ("9223372036854775808", "too large"),
            ("12ab", "`a` follows a digit"),
        ] {
            let error = tokenize(source).expect_err(source);
            assert!(error.message.contains(part), "{error}");
        }
    }
}
