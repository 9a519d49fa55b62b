//! The events as JSON for scripts. Steps count from 0. Fields are added, never changed or removed.

use crate::events::{Place, Span, Timeline};
use crate::failure_report::FailureReport;
use crate::operations::verb;
use crate::values::ShownValue;
use raddle_model::Access;
use serde_json::{Value, json};

/// The version of the shape; it changes if a field is ever removed.
const VERSION: u32 = 1;

/// Returns one object: the failure and its explanation, the failing run, and the closest passing one or null.
pub fn json(report: &FailureReport) -> String {
    let pair =
        |first: u32, second: u32, role: &str| json!({ "first": first, "second": second, "role": role });
    let value = json!({
        "raddle_report": VERSION,
        "id": report.id,
        "front_end": report.front_end.name(),
        "program": report.program,
        "found": report.found,
        "verdict": report.kind(),
        "message": report.failing.message,
        "why": report.why,
        "notes": report.notes,
        "pairs": report.pairs.iter().map(|p| pair(p.first, p.second, p.role.name())).collect::<Vec<_>>(),
        "idiom": report.idiom.as_ref().map(|idiom| json!({
            "number": idiom.number,
            "words": idiom.words,
            "events": idiom.events.iter().map(|(letter, step)| json!({ "letter": letter, "step": step })).collect::<Vec<_>>(),
        })),
        "run": run(&report.failing),
        "passing": report.passing.as_ref().map(run),
    });
    let mut text = value.to_string();
    text.push('\n');
    text
}

fn run(timeline: &Timeline) -> Value {
    let held = timeline.held();
    let events = timeline.events.iter().zip(&held).enumerate().map(|(step, (event, held))| {
        let objects = timeline.objects_of(event).map(|(name, access)| {
            json!({ "name": name, "access": if access == Access::Write { "write" } else { "read" } })
        });
        json!({
            "step": step,
            "thread": timeline.thread(event.thread),
            "operation": verb(event.operation.kind),
            "statement": timeline.statement(event),
            "objects": objects.collect::<Vec<_>>(),
            "values": event.values.iter().map(value).collect::<Vec<_>>(),
            "place": timeline.place(event).map(place),
            "held": held.iter().map(|&object| timeline.object(object)).collect::<Vec<_>>(),
            "switch": event.is_switch,
            "executed": event.executed,
        })
    });
    let edges = timeline.edges.iter();
    let edges = edges.map(|edge| json!({ "kind": edge.kind.name(), "from": edge.from, "to": edge.to }));
    json!({
        "events": events.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "holds": spans(timeline, &timeline.holds),
        "waits": spans(timeline, &timeline.waits),
    })
}

/// Returns the values as text; null if unknown.
fn value(value: &ShownValue) -> Value {
    json!({ "name": value.name, "read": value.read, "written": value.written })
}

fn place(place: &Place) -> Value {
    json!({
        "text": place.text,
        "function": place.function,
        "file": place.file,
        "line": place.line,
        "column": place.column,
    })
}

/// Returns spans from the step after which they hold to the step after which they no longer hold.
fn spans(timeline: &Timeline, spans: &[Span]) -> Vec<Value> {
    let span = |span: &Span| {
        json!({
            "thread": timeline.thread(span.thread),
            "object": span.object.map(|object| timeline.object(object)),
            "from": span.from,
            "to": span.to,
        })
    };
    spans.iter().map(span).collect()
}
