//! The output of a command, and its exit status.

use crate::terminal::printable;
use std::io::{ErrorKind, Write};

/// The text and exit status of a command.
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) status: u8,
}

/// The width of text that is not wrapped to a terminal.
const PLAIN_WIDTH: usize = 100;

/// Prints a text. A reader that does not read it to the end is not an error.
pub(crate) fn emit(text: &str) -> anyhow::Result<()> {
    let text = printable(text);
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// Returns the causes of an error in one paragraph, then the remedies of all of them.
pub(crate) fn described(error: &anyhow::Error) -> String {
    let (causes, remedies) = parts(error);
    format!("{causes}{}", remedies.iter().map(|remedy| format!("\nhelp: {remedy}")).collect::<String>())
}

/// Returns the causes of an error without the remedies.
pub(crate) fn causes(error: &anyhow::Error) -> String {
    parts(error).0
}

fn parts(error: &anyhow::Error) -> (String, Vec<String>) {
    let (mut causes, mut remedies) = (Vec::new(), Vec::new());
    for cause in error.chain() {
        let text = cause.to_string();
        let (cause, remedy) = text.split_once("\nhelp: ").unwrap_or((&text, ""));
        causes.push(cause.to_owned());
        // A remedy that several causes have is named once.
        if !remedy.is_empty() && !remedies.iter().any(|known| known == remedy) {
            remedies.push(remedy.to_owned());
        }
    }
    (causes.join(": "), remedies)
}

/// Returns the width of the terminal, or [`PLAIN_WIDTH`] if there is none.
pub(crate) fn width() -> usize {
    let terminal = console::Term::stdout();
    let size = if terminal.is_term() { terminal.size_checked() } else { None };
    size.map_or(PLAIN_WIDTH, |(_, columns)| usize::from(columns).max(40))
}
