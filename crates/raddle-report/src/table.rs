//! Text in columns, aligned, and wrapped where it is too wide.

use std::borrow::Cow;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text; the widest such column is wrapped if the table is too wide.
    Left,
    /// Numbers.
    Right,
}

/// The space between two columns.
const GAP: usize = 2;
/// The minimum width of a wrapped column.
const NARROWEST: usize = 16;

/// A table under construction.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    /// Invariant: every row has as many cells as there are columns.
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these headings.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Align)>) -> Table {
        Table {
            columns: columns.into_iter().map(|(name, align)| (name.into(), align)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Returns the table as lines of at most `width` characters, if wrapping the widest text column can
    /// achieve that.
    pub fn render(&self, width: usize) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        self.line(&mut out, &heading, &widths);
        for row in &self.rows {
            self.line(&mut out, row, &widths);
        }
        out
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let column = |index: usize| {
            let cells = self.rows.iter().map(|row| length(&row[index]));
            cells.max().unwrap_or(0).max(length(&self.columns[index].0))
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(column).collect();
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let words = (0..widths.len()).filter(|&index| self.columns[index].1 == Align::Left);
        if let Some(widest) = words.max_by_key(|&index| widths[index]) {
            let excess = total.saturating_sub(width);
            widths[widest] = widths[widest].saturating_sub(excess).max(NARROWEST.min(widths[widest]));
        }
        widths
    }

    fn line(&self, out: &mut String, cells: &[String], widths: &[usize]) {
        let wrapped: Vec<Vec<String>> =
            cells.iter().zip(widths).map(|(cell, &width)| wrap(cell, width)).collect();
        for part in 0..wrapped.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for (index, lines) in wrapped.iter().enumerate() {
                let text = lines.get(part).map_or("", String::as_str);
                let space = " ".repeat(widths[index].saturating_sub(length(text)));
                line += &" ".repeat(if index == 0 { 0 } else { GAP });
                match self.columns[index].1 {
                    Align::Left => line.extend([text, &space]),
                    Align::Right => line.extend([space.as_str(), text]),
                }
            }
            *out += line.trim_end();
            out.push('\n');
        }
    }
}

/// Returns the number of columns that a text takes in a terminal.
pub(crate) fn length(text: &str) -> usize {
    text.width()
}

/// Breaks a text between words, so that each line takes at most `width` columns if its words allow it.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .word_separator(WordSeparator::AsciiSpace)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new([("name", Align::Left), ("runs", Align::Right), ("what", Align::Left)]);
        table.row(vec!["pos".into(), "7".into(), "a random priority for every event".into()]);
        table.row(vec!["random-walk".into(), "12,000".into()]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        let expected = "\
name           runs  what
pos               7  a random priority for every event
random-walk  12,000
";
        assert_eq!(sample().render(100), expected);
    }

    #[test]
    fn the_widest_words_are_wrapped() {
        let expected = "\
name           runs  what
pos               7  a random priority
                     for every event
random-walk  12,000
";
        assert_eq!(sample().render(40), expected);
        assert!(sample().render(1).lines().all(|line| line.len() <= 21 + NARROWEST));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = Table::new([("thread", Align::Left), ("runs", Align::Right)]);
        table.row(vec!["読者".into(), "7".into()]);
        table.row(vec!["writer".into(), "12".into()]);
        assert_eq!(table.render(100), "thread  runs\n読者       7\nwriter    12\n");
        assert_eq!(wrap("読者 読者", 8), ["読者", "読者"]);
    }
}
