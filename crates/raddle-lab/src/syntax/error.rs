//! The error type of the language: location, message and remedy.

use super::ast::Position;

/// An error in a program text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}{}", .hint.as_ref().map(|hint| format!("\nhelp: {hint}")).unwrap_or_default())]
pub struct SyntaxError {
    /// Line of the error, from 1.
    pub line: u32,
    /// Column of the error in characters, from 1.
    pub column: u32,
    /// The message.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl SyntaxError {
    /// Creates an error at `position`.
    pub(crate) fn new(position: Position, message: impl Into<String>, hint: impl Into<String>) -> Self {
        SyntaxError {
            line: position.line,
            column: position.column,
            message: message.into(),
            hint: Some(hint.into()),
        }
    }
}

/// The result of every step of the translation.
pub(crate) type Outcome<T> = Result<T, SyntaxError>;
