//! The one error type of the language: where, what, and what to do about it.

use super::ast::Position;

/// A mistake in a program text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}{}", .hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default())]
pub struct SyntaxError {
    /// Line of the mistake, counted from 1.
    pub line: u32,
    /// Column of the mistake in characters, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// How to put it right.
    pub hint: Option<String>,
}

impl SyntaxError {
    /// An error at `position`.
    pub(crate) fn new(position: Position, message: impl Into<String>, hint: impl Into<String>) -> Self {
        SyntaxError {
            line: position.line,
            column: position.column,
            message: message.into(),
            hint: Some(hint.into()),
        }
    }
}

/// What every step of the translation returns.
pub(crate) type Outcome<T> = Result<T, SyntaxError>;
