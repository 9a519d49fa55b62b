//! The events as JSON for scripts. Steps count from 0. Fields are added, never changed or taken away.

use crate::events::{Place, Span, Stream};
use crate::operations::verb;
use crate::story::Story;
use crate::values::Told;
use raddle_model::Access;
use serde_json::{Value, json};

/// The version of the shape; it changes if a field is ever taken away.
const VERSION: u32 = 1;

/// One object: what happened and why, the failing run, and the closest passing one or null.
pub fn json(story: &Story) -> String {
    let pair =
        |first: u32, second: u32, role: &str| json!({ "first": first, "second": second, "role": role });
    let value = json!({
        "raddle_report": VERSION,
        "id": story.id,
        "front_end": story.front_end.name(),
        "program": story.program,
        "found": story.found,
        "verdict": story.kind(),
        "message": story.failing.message,
        "why": story.why,
        "notes": story.notes,
        "pairs": story.pairs.iter().map(|p| pair(p.first, p.second, p.role.name())).collect::<Vec<_>>(),
        "idiom": story.idiom.as_ref().map(|idiom| json!({
            "number": idiom.number,
            "words": idiom.words,
            "events": idiom.events.iter().map(|(letter, step)| json!({ "letter": letter, "step": step })).collect::<Vec<_>>(),
        })),
        "run": run(&story.failing),
        "passing": story.passing.as_ref().map(run),
    });
    let mut text = value.to_string();
    text.push('\n');
    text
}

fn run(stream: &Stream) -> Value {
    let held = stream.held();
    let events = stream.events.iter().zip(&held).enumerate().map(|(step, (event, held))| {
        let objects = stream.objects_of(event).map(|(name, access)| {
            json!({ "name": name, "access": if access == Access::Write { "write" } else { "read" } })
        });
        json!({
            "step": step,
            "thread": stream.thread(event.thread),
            "operation": verb(event.operation.kind),
            "statement": stream.statement(event),
            "objects": objects.collect::<Vec<_>>(),
            "values": event.values.iter().map(value).collect::<Vec<_>>(),
            "place": stream.place(event).map(place),
            "held": held.iter().map(|&object| stream.object(object)).collect::<Vec<_>>(),
            "switch": event.is_switch,
            "executed": event.executed,
        })
    });
    let edges = stream.edges.iter();
    let edges = edges.map(|edge| json!({ "kind": edge.kind.name(), "from": edge.from, "to": edge.to }));
    json!({
        "events": events.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "holds": spans(stream, &stream.holds),
        "waits": spans(stream, &stream.waits),
    })
}

/// Texts, as a person would write them; null where nothing is known.
fn value(value: &Told) -> Value {
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

/// From the step after which it is so to the step after which it is no longer so.
fn spans(stream: &Stream, spans: &[Span]) -> Vec<Value> {
    let span = |span: &Span| {
        json!({
            "thread": stream.thread(span.thread),
            "object": span.object.map(|object| stream.object(object)),
            "from": span.from,
            "to": span.to,
        })
    };
    spans.iter().map(span).collect()
}
