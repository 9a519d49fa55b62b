//! One self-contained page that shows the run: no server, no other file, no network.
//!
//! The page itself is in `viewer/`, at the root of the repository. Columns of numbers and lists of names are
//! embedded, as JSON that cannot end its element.

use super::escaped;
use crate::events::{DisplayEvent, EdgeKind, Place, Span, Timeline};
use crate::failure_report::{FailureReport, PairRole};
use crate::operations::verb;
use crate::run_text::names::folded;
use raddle_model::{Details, Kind, Touch};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../viewer/page.html");
const STYLE: &str = include_str!("../../../../viewer/style.css");
const SCRIPTS: [&str; 3] = [
    include_str!("../../../../viewer/model.js"),
    include_str!("../../../../viewer/lanes.js"),
    include_str!("../../../../viewer/page.js"),
];

/// Returns the page.
pub fn html(report: &FailureReport) -> String {
    // Without this character neither `</script>` nor `<!--` can occur.
    let data = data(report).to_string().replace('<', "\\u003c");
    let title = escaped(&format!("{}: {}", report.program, report.kind()));
    let script = SCRIPTS.concat();
    let parts = [("@TITLE@", &title[..]), ("@STYLE@", STYLE), ("@DATA@", &data), ("@SCRIPT@", &script)];
    // Each marker is searched for after the previous one, so that inserted text is never searched.
    let (mut out, mut rest) = (String::with_capacity(data.len() + 64 * 1024), PAGE);
    for (marker, part) in parts {
        let Some((before, after)) = rest.split_once(marker) else { continue };
        out.push_str(before);
        out.push_str(part);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn data(report: &FailureReport) -> Value {
    let mut runs = vec![run(report, &report.failing, &report.details)];
    let mut labels = vec![match report.failing.failure {
        Some(kind) => format!("the run that fails: {kind}"),
        None => "the run".to_owned(),
    }];
    if let Some(passing) = &report.passing {
        runs.push(run(report, passing, &Details::default()));
        labels.push("the closest run that passes".to_owned());
    }
    // The kind is next to the title.
    let kind = format!("{}: ", report.kind());
    let headline = report.headline().strip_prefix(&kind).unwrap_or(report.headline());
    let gap = [String::new()];
    let history = &report.details.history[..];
    let before = if history.is_empty() { &[][..] } else { &gap };
    let found = [format!("Found in {}.", report.found)];
    let happened = [&report.summary[..], before, history, &gap, &found].concat();
    let short = report.details.reason.as_ref().map_or(&[][..], |reason| &reason.why);
    let why = if report.why.is_empty() { short } else { &report.why };
    let reason = [why, &report.notes].concat();
    let number = |role: PairRole| PairRole::ALL.iter().position(|known| *known == role).unwrap_or(0) as u32;
    let pairs = report.pairs.iter().flat_map(|pair| [pair.first, pair.second, number(pair.role)]);
    json!({
        "kind": report.kind(),
        "title": format!("{}: {headline}", report.program),
        "happened": happened.join("\n"),
        "reason": reason.join("\n"),
        "labels": labels,
        "runs": runs,
        "pairs": pairs.collect::<Vec<u32>>(),
        "idiom": report.idiom.as_ref().map(|idiom| json!({
            "text": format!("Maple's idiom {}: {}.", idiom.number, idiom.words),
            "events": idiom.events,
        })),
        "roles": PairRole::ALL.map(PairRole::name),
        "edgeKinds": EdgeKind::ALL.map(EdgeKind::name),
        "sources": report.sources.iter().map(|source| [source.title(), &source.text]).collect::<Vec<_>>(),
        "start": report.failing_step().unwrap_or(0),
        "relevant": report.relevant.iter().flatten().collect::<Vec<_>>(),
    })
}

/// Returns a run as columns. Steps of libraries have the lines of the user that `details` names.
fn run(report: &FailureReport, timeline: &Timeline, details: &Details) -> Value {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut numbers: Vec<usize> = Vec::with_capacity(timeline.events.len());
    for event in &timeline.events {
        let known = kinds.iter().position(|kind| *kind == event.operation.kind);
        numbers.push(known.unwrap_or_else(|| {
            kinds.push(event.operation.kind);
            kinds.len() - 1
        }));
    }
    let touch = |touch: Touch| {
        touch.object().map_or(-1, |object| i64::from(object.0) << 1 | i64::from(touch.writes()))
    };
    let touches = |which: usize| -> Vec<i64> {
        timeline.events.iter().map(|event| touch(event.operation.touches[which])).collect()
    };
    let source = |file: Option<&str>, line: Option<u32>| {
        let name = file.unwrap_or("");
        let known = report.sources.iter().position(|source| source.name == name);
        known.filter(|_| line.is_some()).map_or(-1, |index| index as i64)
    };
    // One more location for a step of a damaged file that has none.
    // The first text identifies a place in both runs.
    let entry = |text: &str, place: &Place| {
        let statement = place.statement.as_deref().unwrap_or("");
        let index = source(place.file.as_deref(), place.line);
        json!([folded(text), place.short(), index, place.line.unwrap_or(0), statement])
    };
    let mut places: Vec<Value> = timeline.places.iter().map(|place| entry(&place.text, place)).collect();
    // One more location for a step of a damaged file that has none.
    places.push(json!(["?", "?", -1, 0, ""]));
    let mut called: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let place = |(step, event): (usize, &DisplayEvent)| {
        let (own, caller) = (event.operation.location.index(), details.caller(step));
        match timeline.places.get(own) {
            None => timeline.places.len(),
            Some(place) if !caller.is_empty() => *called.entry((own, caller)).or_insert_with(|| {
                places.push(entry(&place.text, &Place::parse(caller)));
                places.len() - 1
            }),
            Some(_) => own,
        }
    };
    let place: Vec<usize> = timeline.events.iter().enumerate().map(place).collect();
    let answers = timeline.events.iter().enumerate();
    let answers: Vec<Value> = answers
        .filter_map(|(step, event)| Some(json!([step, event.answer.as_ref().or(event.note.as_ref())?])))
        .collect();
    let values = timeline.events.iter().enumerate().filter(|(_, event)| !event.values.is_empty());
    let texts = |event: &DisplayEvent| {
        event
            .values
            .iter()
            .map(|value| (value.name.clone(), value.without_addresses().value()))
            .collect::<Vec<_>>()
    };
    let values: Vec<Value> = values.map(|(step, event)| json!([step, texts(event)])).collect();
    let kind_of = |kind: EdgeKind| EdgeKind::ALL.iter().position(|known| *known == kind).unwrap_or(0) as u32;
    let edges = timeline.edges.iter().flat_map(|edge| [edge.from, edge.to, kind_of(edge.kind)]);
    json!({
        "failure": timeline.failure,
        "threads": timeline.threads,
        "objects": timeline.objects,
        "places": places,
        "verbs": kinds.iter().map(|&kind| verb(kind)).collect::<Vec<_>>(),
        "thread": timeline.events.iter().map(|event| event.thread).collect::<Vec<_>>(),
        "verb": numbers,
        "place": place,
        "first": touches(0),
        "second": touches(1),
        "executed": timeline.executed,
        "answers": answers,
        "values": values,
        "edges": edges.collect::<Vec<u32>>(),
        "holds": flat(&timeline.holds),
        "waits": flat(&timeline.waits),
    })
}

fn flat(spans: &[Span]) -> Vec<i64> {
    let numbers = |span: &Span| {
        let object = span.object.map_or(-1, i64::from);
        [i64::from(span.thread), object, i64::from(span.from), i64::from(span.to)]
    };
    spans.iter().flat_map(numbers).collect()
}
