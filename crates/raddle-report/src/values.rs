//! The values of a step as text.

use raddle_model::{Cell, Kind, Operation, TraceFile, Value, is_address};

/// The values that a step read from a variable and wrote to it, for display.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownValue {
    /// The object of the variable, or that contains it: an index into the names of objects.
    pub object: u32,
    /// The name of the variable.
    pub name: String,
    /// The value that was read.
    pub read: Option<String>,
    /// The value that was written.
    pub written: Option<String>,
    /// The step could have written it and did not.
    pub is_unchanged: bool,
}

impl ShownValue {
    fn of(file: &TraceFile, operation: &Operation, cell: &Cell, value: &Value) -> ShownValue {
        let object = file.objects.get(cell.object.index()).map_or("?", |name| name);
        // Object names of Rust tests include their creation location.
        let object = object.split(" made at ").next().unwrap_or(object);
        let writes = operation.kind == Kind::ReadModifyWrite
            && operation.objects().any(|(object, writes)| object == cell.object && writes);
        ShownValue {
            object: cell.object.0,
            name: if cell.name.is_empty() { object } else { &cell.name }.to_owned(),
            read: value.read.map(|read| cell.text(read)),
            written: value.written.map(|written| cell.text(written)),
            is_unchanged: writes && value.read.is_some() && value.written.is_none(),
        }
    }

    /// Returns the variable and its value: `balance = 100`, and `balance 100 -> 110` if it was read and
    /// written.
    pub fn text(&self) -> String {
        [&self.name[..], &self.value()].join(" ").trim_end().to_owned()
    }

    /// Returns it without addresses: which one a pointer has says nothing.
    pub(crate) fn without_addresses(&self) -> ShownValue {
        let known = |text: &Option<String>| text.clone().filter(|text| !is_address(text));
        ShownValue { read: known(&self.read), written: known(&self.written), ..self.clone() }
    }

    /// Returns the text after the name; empty if no value is known.
    pub(crate) fn value(&self) -> String {
        match (&self.read, &self.written) {
            (Some(read), Some(written)) => format!("{read} -> {written}"),
            (Some(read), None) if self.is_unchanged => format!("= {read}, unchanged"),
            (Some(value), None) | (None, Some(value)) => format!("= {value}"),
            (None, None) => String::new(),
        }
    }
}

/// Returns the values that a step of `file` read and wrote, as far as known.
pub(crate) fn shown_values(file: &TraceFile, step: usize) -> Vec<ShownValue> {
    let Some(entry) = file.steps.get(step) else { return Vec::new() };
    let own = file.values.of(step);
    own.map(|(cell, value)| ShownValue::of(file, &entry.operation, cell, value)).collect()
}

/// Adds values to a source statement, except those that it contains: `x = 1` needs no value.
pub(crate) fn beside(statement: &str, values: &[ShownValue]) -> String {
    let texts: Vec<String> = values.iter().map(ShownValue::text).filter(|text| text != statement).collect();
    if texts.is_empty() { statement.to_owned() } else { format!("{statement} ({})", texts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_with_its_variable() {
        let shown = |read: Option<&str>, written: Option<&str>, is_unchanged| {
            let (read, written) = (read.map(str::to_owned), written.map(str::to_owned));
            ShownValue { object: 0, name: "x".to_owned(), read, written, is_unchanged }
        };
        assert_eq!(shown(Some("1"), None, false).text(), "x = 1");
        assert_eq!(shown(None, Some("2"), false).text(), "x = 2");
        assert_eq!(shown(Some("1"), Some("2"), false).text(), "x 1 -> 2");
        assert_eq!(shown(Some("1"), None, true).text(), "x = 1, unchanged");
        assert_eq!(shown(None, None, false).text(), "x");
        assert_eq!(beside("assert x == 2", &[shown(Some("1"), None, false)]), "assert x == 2 (x = 1)");
        assert_eq!(beside("x = 2", &[shown(None, Some("2"), false)]), "x = 2");
    }
}
