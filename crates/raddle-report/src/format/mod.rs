//! The formats of a report: one module each, all based on the same [`FailureReport`](crate::FailureReport).

mod campaign;
mod github;
mod html;
mod json;
#[cfg(feature = "junit")]
mod junit;
mod perfetto;
mod sarif;
mod text;

pub use campaign::campaign;
pub use github::github;
pub use html::html;
pub use json::json;
#[cfg(feature = "junit")]
pub use junit::{junit, junit_tests};
pub use perfetto::perfetto;
pub use sarif::{sarif, sarif_all};
pub use text::text;

pub use crate::run_text::Terminal;

/// Escapes text for tags and attributes of XML and HTML. Characters that XML cannot contain are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(character),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if control < ' ' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
