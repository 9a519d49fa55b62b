//! Histories for people.

use crate::{Event, Part};
use std::fmt::Write;

/// The text of one call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The caller.
    pub part: Part,
    /// The operation with its arguments.
    pub call: String,
    /// The end of the call: `= Some(1)`, `panicked`, or empty for a call without a result.
    pub end: String,
}

impl Row {
    fn text(&self) -> String {
        let gap = if self.end.is_empty() { "" } else { " " };
        format!("{}{gap}{}", self.call, self.end)
    }
}

fn title(part: Part) -> String {
    match part {
        Part::First => "first".to_owned(),
        Part::Thread(thread) => format!("T{}", thread + 1),
        Part::Last => "last".to_owned(),
    }
}

/// Returns the calls, a line for each caller.
pub fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    let mut parts: Vec<Part> = rows.iter().map(|row| row.part).collect();
    parts.sort();
    parts.dedup();
    for part in parts {
        let calls: Vec<String> = rows.iter().filter(|row| row.part == part).map(Row::text).collect();
        let _ = writeln!(out, "{:<5}  {}", title(part), calls.join("; "));
    }
    out
}

/// Returns the calls of the threads as intervals, time going right: a lane for each thread, and one for what comes before and
/// after them. Calls that overlap in the picture overlapped in the run.
pub fn picture(rows: &[Row], events: &[Event]) -> String {
    let mut lanes: Vec<(Part, String)> = Vec::new();
    for row in rows {
        if !lanes.iter().any(|(part, _)| *part == row.part) {
            lanes.push((row.part, String::new()));
        }
    }
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    let (mut begun, mut column) = (vec![0; rows.len()], 0);
    // A column for a group of events of one kind: their order among each other says nothing.
    while at < events.len() {
        let is_call = matches!(events[at], Event::Call(_));
        let group: Vec<usize> = events[at..]
            .iter()
            .take_while(|event| matches!(event, Event::Call(_)) == is_call)
            .map(|event| match event {
                Event::Call(call) | Event::Return(call, _) => *call,
            })
            .collect();
        at += group.len();
        if is_call {
            for &call in &group {
                let lane = lane(&mut lanes, rows[call].part);
                pad(lane, column, ' ');
                begun[call] = column;
                let _ = write!(lane, "|{}", rows[call].text());
                open.push(call);
            }
            column += 2;
        } else {
            // The texts of the calls that end must fit, so that no other call seems to begin before they end.
            let end = group.iter().map(|&call| begun[call] + 1 + rows[call].text().chars().count()).max();
            column = column.max(end.unwrap_or(0));
            for &call in &group {
                let lane = lane(&mut lanes, rows[call].part);
                pad(lane, column, '-');
                lane.push('|');
                open.retain(|&other| other != call);
            }
            column += 2;
        }
    }
    let longest = open.iter().map(|&call| begun[call] + 1 + rows[call].text().chars().count()).max();
    let column = column.max(longest.unwrap_or(0));
    for call in open {
        let lane = lane(&mut lanes, rows[call].part);
        pad(lane, column, '-');
        lane.push_str("..");
    }
    lanes.into_iter().fold(String::new(), |mut out, (part, lane)| {
        let _ = writeln!(out, "{}", format!("{:<5}  {lane}", title(part)).trim_end());
        out
    })
}

fn lane(lanes: &mut [(Part, String)], part: Part) -> &mut String {
    &mut lanes.iter_mut().find(|(other, _)| *other == part).expect("each caller has a lane").1
}

fn pad(lane: &mut String, column: usize, with: char) {
    let length = lane.chars().count();
    lane.extend(std::iter::repeat_n(with, column.saturating_sub(length)));
}
