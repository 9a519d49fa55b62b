//! The output of a program.

/// The maximum length of the output that is kept.
const MOST_PRINTED: usize = 64 << 10;

/// Returns the end of a text that is too long, from the beginning of a line if there is one.
fn end(text: &str) -> &str {
    if text.len() <= MOST_PRINTED {
        return text;
    }
    let mut from = text.len() - MOST_PRINTED;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = &text[from..];
    end.split_once('\n').map_or(end, |(_, lines)| if lines.is_empty() { end } else { lines })
}

/// The end of the output of the program in a run, or somewhat more.
#[derive(Default)]
pub(crate) struct Printed(String);

impl Printed {
    /// Adds a text.
    pub(crate) fn push(&mut self, text: &str) {
        self.0.push_str(text);
        // Not each time, so that long texts are not moved repeatedly.
        if self.0.len() > 2 * MOST_PRINTED {
            self.0 = end(&self.0).to_owned();
        }
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the output, truncated to its end.
    pub(crate) fn text(&self) -> &str {
        end(&self.0)
    }
}
