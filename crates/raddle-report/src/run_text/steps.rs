//! The steps of a run as a table: a column for each thread, with time going down.

use super::Terminal;
use super::cell::cell;
use crate::events::Timeline;
use crate::failure_report::{ConflictPair, PairRole};
use crate::table::length;
use crate::text::plural;
use raddle_model::Details;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A line of the table: a step, or the number of omitted ones.
#[derive(Clone, Copy)]
enum Line {
    Step(usize),
    LeftOut(usize),
}

/// The columns of the steps of each thread.
enum Columns {
    /// Next to each other: the column of each thread.
    Beside(BTreeMap<u32, usize>),
    /// All in one column, after the name of the thread, with this width.
    Shared(usize),
}

/// Returns the steps of `run`, or those of `only`. Those of `pairs` are marked.
pub(crate) fn table(
    run: &Timeline,
    details: &Details,
    pairs: &[ConflictPair],
    only: Option<&[usize]>,
    terminal: Terminal,
) -> String {
    let (lines, held) = (lines(run, pairs, only, terminal), run.held());
    let shown = lines.iter().filter_map(|line| if let Line::Step(step) = line { Some(*step) } else { None });
    let cells =
        shown.map(|step| (step, cell(run, &run.events[step], details.caller(step), &held[step], terminal)));
    let cells: BTreeMap<usize, String> = cells.collect();
    let number = run.executed.to_string().len().max(4);
    let columns = columns(run, &cells, terminal.width.saturating_sub(number));
    let mut out = String::new();
    heading(&mut out, run, &columns, number, terminal);
    for line in lines {
        let step = match line {
            Line::Step(step) => step,
            Line::LeftOut(steps) => {
                let _ = writeln!(out, "{:>number$}  ... {}", "", plural(steps as u64, "step"));
                continue;
            }
        };
        let event = &run.events[step];
        let at = if event.executed { (step + 1).to_string() } else { String::new() };
        let _ = write!(out, "{at:>number$}{} ", mark(pairs, step));
        let text = &cells[&step];
        let _ = match &columns {
            Columns::Beside(columns) => {
                let indent = " ".repeat(columns[&event.thread]);
                writeln!(out, "{indent}{}", colour(text, event.thread, terminal))
            }
            Columns::Shared(names) => {
                let name = format!("{:names$}", plain(&run.thread(event.thread)));
                writeln!(out, "{}  {text}", colour(&name, event.thread, terminal))
            }
        };
    }
    out
}

fn heading(out: &mut String, run: &Timeline, columns: &Columns, number: usize, terminal: Terminal) {
    let mut line = format!("{:>number$}", "step");
    match columns {
        Columns::Beside(columns) => {
            // Colors take no room, so the gaps are counted and not padded.
            let mut at = 0;
            for (&thread, &column) in columns {
                let name = plain(&run.thread(thread));
                let _ = write!(line, "{}{}", " ".repeat(column + 2 - at), colour(&name, thread, terminal));
                at = column + 2 + length(&name);
            }
        }
        Columns::Shared(names) => {
            let _ = write!(line, "  {:names$}  statement", run.noun);
        }
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// Puts the displayed threads next to each other if they fit into `room`.
fn columns(run: &Timeline, cells: &BTreeMap<usize, String>, room: usize) -> Columns {
    let mut widths: BTreeMap<u32, usize> = BTreeMap::new();
    for (&step, text) in cells {
        let thread = run.events[step].thread;
        let width = widths.entry(thread).or_insert_with(|| length(&run.thread(thread)));
        *width = (*width).max(length(text));
    }
    if widths.values().map(|width| width + 2).sum::<usize>() > room {
        let names = widths.keys().map(|&thread| length(&run.thread(thread)));
        return Columns::Shared(names.max().unwrap_or(0).max(length(run.noun)));
    }
    let mut next = 0;
    let column = |(thread, width): (u32, usize)| {
        let column = next;
        next += width + 2;
        (thread, column)
    };
    Columns::Beside(widths.into_iter().map(column).collect())
}

/// Selects all steps of the program if they are few enough; otherwise those around switches, at both ends,
/// and those of pairs.
fn lines(run: &Timeline, pairs: &[ConflictPair], only: Option<&[usize]>, terminal: Terminal) -> Vec<Line> {
    let is_marked = |step: usize| mark(pairs, step) != ' ';
    let is_harness = |step: &usize| Some(run.events[*step].thread) == run.harness;
    let steps: Vec<usize> = match only {
        Some(only) => only.to_vec(),
        None => (0..run.events.len()).filter(|step| !is_harness(step) || is_marked(*step)).collect(),
    };
    let is_shown = if terminal.full || steps.len() <= terminal.most {
        vec![true; steps.len()]
    } else {
        around_switches(run, &steps, &is_marked, terminal.around)
    };
    let many = is_shown.iter().filter(|&&shown| shown).count();
    let most = if terminal.full { usize::MAX } else { terminal.most };
    let (mut seen, omitted) = (0, many.saturating_sub(most));
    let mut lines: Vec<Line> = Vec::new();
    for (&step, shown) in steps.iter().zip(is_shown) {
        seen += usize::from(shown);
        let in_the_middle =
            omitted > 0 && (terminal.most / 2..terminal.most / 2 + omitted).contains(&(seen - 1));
        match lines.last_mut() {
            _ if shown && !in_the_middle => lines.push(Line::Step(step)),
            Some(Line::LeftOut(steps)) => *steps += 1,
            _ => lines.push(Line::LeftOut(1)),
        }
    }
    lines
}

/// Returns the steps of the program without those of libraries, unless there are no others. What a runtime does after the last
/// step of the user is left out with them.
fn plain_steps(run: &Timeline) -> Vec<usize> {
    let of_the_test = |step: &usize| Some(run.events[*step].thread) != run.harness;
    let is_users = |step: &usize| {
        let event = &run.events[*step];
        !event.executed || run.place(event).is_none_or(|place| !place.is_library())
    };
    let all: Vec<usize> = (0..run.events.len()).filter(of_the_test).collect();
    let users: Vec<usize> = all.iter().copied().filter(is_users).collect();
    if users.is_empty() { all } else { users }
}

/// Returns the steps to show when it is not known which matter: those of the user, and of many only some.
pub(crate) fn some_steps(run: &Timeline, pairs: &[ConflictPair], terminal: Terminal) -> Vec<usize> {
    let lines = lines(run, pairs, Some(&plain_steps(run)), terminal).into_iter();
    lines.filter_map(|line| if let Line::Step(step) = line { Some(step) } else { None }).collect()
}

fn around_switches(
    run: &Timeline,
    steps: &[usize],
    is_marked: &dyn Fn(usize) -> bool,
    around: usize,
) -> Vec<bool> {
    let mut is_shown = vec![false; steps.len()];
    let mut show = |row: usize, before: usize, after: usize| {
        let to = row.saturating_add(after + 1).min(steps.len());
        is_shown[row.saturating_sub(before).min(to)..to].fill(true);
    };
    let event = |row: usize| &run.events[steps[row]];
    for (row, &step) in steps.iter().enumerate() {
        if row > 0 && event(row).executed && event(row).thread != event(row - 1).thread {
            // The step before a switch is the last of the other thread.
            show(row, around, around.saturating_sub(1));
        }
        if !event(row).executed || is_marked(step) {
            show(row, 0, 0);
        }
    }
    show(0, 0, around.saturating_sub(1));
    let executed = steps.partition_point(|&step| step < run.executed);
    show(executed.saturating_sub(1), around, 0);
    // A single step takes no more room than the note that it was omitted.
    for row in 1..is_shown.len().saturating_sub(1) {
        is_shown[row] |= is_shown[row - 1] && is_shown[row + 1];
    }
    is_shown
}

/// Returns the mark of a relevant step.
pub(super) fn mark(pairs: &[ConflictPair], step: usize) -> char {
    let roles = pairs.iter().filter(|pair| [pair.first, pair.second].contains(&(step as u32)));
    match roles.map(|pair| pair.role).min() {
        Some(PairRole::Swap) => '*',
        Some(PairRole::Enough) => '+',
        Some(PairRole::Race) => '!',
        None => ' ',
    }
}

/// Returns a text in the color of a thread.
pub(super) fn colour(text: &str, thread: u32, terminal: Terminal) -> String {
    const COLOURS: [u8; 6] = [36, 33, 35, 32, 34, 31];
    if !terminal.colours {
        return text.to_owned();
    }
    format!("\x1b[{}m{text}\x1b[0m", COLOURS[thread as usize % COLOURS.len()])
}

/// Returns a text without characters that would move the cursor, since names come from files.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
