//! The trace format of Chrome, which Perfetto reads: a track for each thread, and flows for enabling steps.
//!
//! A run has no times. A step is displayed as 10 microseconds long, so that the order is visible.

use crate::events::Timeline;
use crate::failure_report::FailureReport;
use crate::operations::verb;
use crate::values::ShownValue;
use serde_json::{Value, json};

/// The displayed duration of a step, in microseconds.
const STEP: usize = 10;

/// Returns the failing run as process 1, the passing one as process 2.
pub fn perfetto(report: &FailureReport) -> String {
    let mut events = Vec::new();
    run(&mut events, 1, &format!("fails: {}", report.kind()), &report.failing);
    if let Some(passing) = &report.passing {
        run(&mut events, 2, "passes: the closest run", passing);
    }
    for (index, pair) in report.pairs.iter().enumerate() {
        let name = format!("conflict: {}", pair.role.name());
        flow(&mut events, 1, (1 << 40) + index, &name, &report.failing, [pair.first, pair.second]);
    }
    let value = json!({
        "displayTimeUnit": "ms",
        "otherData": { "program": report.program, "found": report.found, "verdict": report.headline() },
        "traceEvents": events,
    });
    let mut text = value.to_string();
    text.push('\n');
    text
}

fn run(events: &mut Vec<Value>, process: u32, title: &str, timeline: &Timeline) {
    let meta = |name: &str, thread: u32, value: Value| json!({ "ph": "M", "ts": 0, "pid": process, "tid": thread, "name": name, "args": value });
    events.push(meta("process_name", 0, json!({ "name": title })));
    for (thread, name) in timeline.threads.iter().enumerate() {
        // Some viewers treat track 0 as the process.
        let track = thread as u32 + 1;
        events.push(meta("thread_name", track, json!({ "name": name })));
        events.push(meta("thread_sort_index", track, json!({ "sort_index": track })));
    }
    let held = timeline.held();
    for (step, (event, held)) in timeline.events.iter().zip(&held).enumerate() {
        let held: Vec<String> = held.iter().map(|&object| timeline.object(object)).collect();
        events.push(json!({
            "ph": "X",
            "ts": step * STEP,
            "dur": if event.executed { STEP } else { STEP / 2 },
            "pid": process,
            "tid": event.thread + 1,
            "cat": if event.executed { verb(event.operation.kind) } else { "waits" },
            "name": timeline.statement(event),
            "args": {
                "step": step + 1,
                "place": timeline.place(event).map(|place| &place.text),
                "held": held.join(", "),
                "values": event.values.iter().map(ShownValue::text).collect::<Vec<_>>().join(", "),
                "switch": event.is_switch,
            },
        }));
    }
    for (index, edge) in timeline.edges.iter().enumerate() {
        let id = ((process as usize) << 32) + index;
        flow(events, process, id, edge.kind.name(), timeline, [edge.from, edge.to]);
    }
}

/// Adds an arrow from one step to another.
fn flow(events: &mut Vec<Value>, process: u32, id: usize, name: &str, timeline: &Timeline, steps: [u32; 2]) {
    for (phase, step) in ["s", "f"].into_iter().zip(steps) {
        let Some(event) = timeline.events.get(step as usize) else { return };
        let mut value = json!({
            "ph": phase,
            "ts": step as usize * STEP + STEP / 4,
            "pid": process,
            "tid": event.thread + 1,
            "cat": "order",
            "name": name,
            "id": id,
        });
        if phase == "f" {
            // The slice around the end, not the next one.
            value["bp"] = json!("e");
        }
        events.push(value);
    }
}
