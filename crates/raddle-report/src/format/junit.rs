//! JUnit's XML, as continuous integration reads it: the failure is one test case that failed.

use super::escaped;
use super::text::{Terminal, text};
use crate::story::Story;

/// A test suite with one case.
pub fn junit(story: &Story) -> String {
    let failures = u32::from(story.failing.failure.is_some());
    let (suite, name) = (escaped(&format!("raddle.{}", story.front_end)), escaped(&story.program));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites tests=\"1\" failures=\"{failures}\" errors=\"0\">\n  \
         <testsuite name=\"{suite}\" tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n    \
         <testcase classname=\"{suite}\" name=\"{name}\"{}>\n",
        place(story)
    );
    let told = escaped(&text(story, Terminal { width: 120, ..Terminal::default() }));
    if story.failing.failure.is_some() {
        let (kind, headline) = (escaped(story.kind()), escaped(story.headline()));
        out.push_str(&format!("      <failure type=\"{kind}\" message=\"{headline}\">{told}</failure>\n"));
    } else {
        out.push_str(&format!("      <system-out>{told}</system-out>\n"));
    }
    out.push_str("    </testcase>\n  </testsuite>\n</testsuites>\n");
    out
}

/// Where the run ended, for those who show it.
fn place(story: &Story) -> String {
    let event = story.last().and_then(|step| story.failing.events.get(step as usize));
    let place = event.and_then(|event| story.failing.place(event));
    match place.map(|place| (&place.file, place.line)) {
        Some((Some(file), Some(line))) => format!(" file=\"{}\" line=\"{line}\"", escaped(file)),
        _ => String::new(),
    }
}
