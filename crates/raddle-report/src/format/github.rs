//! GitHub annotations, which the service shows next to the source.

use crate::failure_report::FailureReport;

/// Returns the annotation of a failure, a line.
pub fn github(report: &FailureReport) -> String {
    let mut properties = Vec::new();
    if let Some((file, line)) = report.place() {
        properties.push(format!("file={},line={line}", property(&file)));
    }
    properties.push(format!("title={}", property(&format!("raddle: {}", report.kind()))));
    let mut message = report.failing.message.join("\n");
    if !report.why.is_empty() {
        message = format!("{message}\n\n{}", report.why.join("\n"));
    }
    format!("::error {}::{}\n", properties.join(","), data(&message))
}

/// Escapes what ends a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes what ends a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_command_or_property_is_escaped() {
        assert_eq!(data("a\nb 5% ::c"), "a%0Ab 5%25 ::c");
        assert_eq!(property("a,b:c\r\n"), "a%2Cb%3Ac%0D%0A");
    }
}
