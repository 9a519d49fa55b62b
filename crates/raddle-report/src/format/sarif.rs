//! SARIF 2.1.0: one result whose code flow has a thread flow for each thread, in the order of execution.

use crate::events::{DisplayEvent, Place};
use crate::failure_report::FailureReport;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The maximum number of steps before the failure; viewers of this format cannot display more.
const MOST: usize = 2_000;

/// The base of relative paths, by its conventional name. Its value is unknown to the reader of a failure
/// file.
const ROOT: &str = "%SRCROOT%";

/// Returns the log of one failure.
pub fn sarif(report: &FailureReport) -> String {
    sarif_all(&[report])
}

/// Returns the log of several failures. Each kind of failure is a rule.
pub fn sarif_all(reports: &[&FailureReport]) -> String {
    let kinds: BTreeSet<&str> = reports.iter().map(|report| report.kind()).collect();
    let rules = kinds.iter().map(|kind| {
        json!({
            "id": rule(kind),
            "shortDescription": { "text": rule_text(kind) },
            "defaultConfiguration": { "level": "error" },
        })
    });
    let failing = reports.iter().filter(|report| report.failing.failure.is_some());
    let results = failing.map(|report| {
        let mut result = result(report);
        result["ruleIndex"] = json!(kinds.iter().position(|kind| *kind == report.kind()));
        result
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Raddle",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { ROOT: { "description": { "text": "The folder that the program was compiled in." } } },
            "results": results.collect::<Vec<_>>(),
        }],
    });
    let mut text = log.to_string();
    text.push('\n');
    text
}

fn rule(kind: &str) -> String {
    format!("raddle/{kind}")
}

/// Returns the result of a failure.
fn result(report: &FailureReport) -> Value {
    let run = &report.failing;
    let last = report.last().map(|step| step as usize).filter(|&step| step < run.events.len());
    let mut message = run.message.join("\n");
    let reason = report.details.reason.as_ref().map_or(&[][..], |reason| &reason.why);
    let why = if report.why.is_empty() { reason } else { &report.why };
    if !why.is_empty() {
        message = format!("{message}\n\n{}", why.join("\n"));
    }
    let mut result = json!({
        "ruleId": rule(report.kind()),
        "level": "error",
        "kind": "fail",
        "message": { "text": message },
        "locations": last.map(|step| location(report, step, &run.events[step])).into_iter().collect::<Vec<_>>(),
        "relatedLocations": related(report),
        "partialFingerprints": { "raddleFailure/v1": report.id, "raddlePlace/v2": fingerprint(report) },
    });
    // A code flow has at least one thread flow.
    let flows = flows(report);
    if !flows.is_empty() {
        result["codeFlows"] = json!([{ "message": { "text": report.found }, "threadFlows": flows }]);
    }
    result
}

/// The steps of the pairs and the waits of a deadlock, each once. Two of them may be the same place in a loop; their numbers tell them apart, since the standard
/// wants no two equal ones.
fn related(report: &FailureReport) -> Vec<Value> {
    let pairs = report.pairs.iter().flat_map(|pair| [pair.first, pair.second]);
    let steps: BTreeSet<u32> = pairs.chain(report.waits()).collect();
    let events = steps.into_iter().filter_map(|step| Some((step, report.failing.events.get(step as usize)?)));
    let numbered = events.map(|(step, event)| {
        let mut location = location(report, step as usize, event);
        location["id"] = json!(step + 1);
        location
    });
    numbered.collect()
}

/// Returns a fingerprint that stays the same when another run finds the bug: the kind and location of its end.
fn fingerprint(report: &FailureReport) -> String {
    format!("{} at {}", report.kind(), report.end())
}

fn rule_text(kind: &str) -> &'static str {
    match kind {
        "assertion" => "An assertion does not hold under some schedule",
        "deadlock" => "Threads wait for each other and none can go on",
        "data-race" => "Two accesses to memory are not ordered, and one of them writes",
        "misuse" => "A synchronisation object is used against its rules",
        "step-limit" | "time-limit" => "A run does not end",
        "use-after-free" => "Memory is used that was freed",
        "double-free" => "Memory is freed twice",
        _ => "The program ends in an error under some schedule",
    }
}

/// Returns every thread with its steps. The order over all threads is in `executionOrder`, which counts from
/// 1.
fn flows(report: &FailureReport) -> Vec<Value> {
    let run = &report.failing;
    let from = run.events.len().saturating_sub(MOST);
    let held = run.held();
    let shown = |thread: u32| {
        let own = run.events.iter().enumerate().skip(from).filter(move |(_, event)| event.thread == thread);
        let steps = own.map(|(step, event)| {
            let mut state = serde_json::Map::new();
            for value in &event.values {
                let known = value.written.as_ref().or(value.read.as_ref());
                known.map(|text| state.insert(value.name.clone(), json!({ "text": text })));
            }
            for &object in &held[step] {
                state.insert(run.object(object), json!({ "text": "held" }));
            }
            json!({
                "location": location(report, step, event),
                "executionOrder": step + 1,
                // Steps in a critical section belong together.
                "nestingLevel": held[step].len(),
                "importance": if event.is_switch || !event.executed { "essential" } else { "important" },
                "state": state,
            })
        });
        steps.collect::<Vec<_>>()
    };
    let threads = (0..run.threads.len() as u32).filter_map(|thread| {
        let steps = shown(thread);
        // A thread flow has at least one location.
        (!steps.is_empty()).then(|| {
            let name = run.thread(thread);
            json!({ "id": format!("{thread}: {name}"), "message": { "text": name }, "locations": steps })
        })
    });
    threads.collect()
}

fn location(report: &FailureReport, step: usize, event: &DisplayEvent) -> Value {
    let run = &report.failing;
    let waits = if event.executed { "" } else { "waits: " };
    let text = format!("{}: {waits}{}", run.thread(event.thread), run.statement(event));
    let mut location = json!({ "message": { "text": text } });
    if let Some(place) = report.place_of(step) {
        if let Some(physical) = physical(&place) {
            location["physicalLocation"] = physical;
        }
        location["logicalLocations"] =
            json!([{ "fullyQualifiedName": place.function.as_ref().unwrap_or(&place.text) }]);
    }
    location
}

/// Returns `None` for a location without a file: one of a lab program, or of a library, whose file is known by
/// its name only.
fn physical(place: &Place) -> Option<Value> {
    let (file, line) = (place.file.as_ref()?, place.line?);
    if file.starts_with('<') {
        return None;
    }
    // Lines count from 1, also in SARIF.
    let mut region = json!({ "startLine": line.max(1) });
    if let Some(column) = place.column {
        region["startColumn"] = json!(column.max(1));
    }
    let mut artifact = json!({ "uri": uri(file) });
    if !file.starts_with('/') {
        artifact["uriBaseId"] = json!(ROOT);
    }
    Some(json!({ "artifactLocation": artifact, "region": region }))
}

/// Returns a path as a reference, percent-encoded.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(byte as char)
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
