//! The report for a terminal: a column for each thread, time going down, only the steps around switches.

use crate::events::{DisplayEvent, Stream};
use crate::story::{PairRole, Story};
use crate::table::{length, padded, wrap};
use crate::text::plural;
use std::collections::BTreeMap;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// What the text is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terminal {
    /// How many columns a line may have.
    pub width: usize,
    /// Whether threads are told apart by colours too.
    pub colours: bool,
    /// How many steps before and after each switch are shown; the others are counted.
    pub around: usize,
    /// The most steps that are shown; of more, those in the middle are counted.
    pub most: usize,
}

impl Default for Terminal {
    fn default() -> Terminal {
        Terminal { width: 100, colours: false, around: 2, most: 200 }
    }
}

/// The run that fails, how it ended, and why.
pub fn text(story: &Story, terminal: Terminal) -> String {
    let mut out = String::new();
    paragraph(&mut out, &format!("{}: {}", story.program, story.found), terminal.width);
    out.push('\n');
    steps(&mut out, story, &story.failing, terminal);
    if !story.pairs.is_empty() {
        let legend = |role: PairRole| match role {
            PairRole::Swap => "* if these two steps change places, the run passes",
            PairRole::Enough => "+ the order of these steps is enough for the failure",
            PairRole::Race => "! nothing orders these two steps",
        };
        out.push('\n');
        for role in PairRole::ALL {
            if story.pairs.iter().any(|pair| pair.role == role) {
                paragraph(&mut out, legend(role), terminal.width);
            }
        }
    }
    for lines in [&story.failing.message, &story.why, &story.notes] {
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines.iter().flat_map(|line| line.split('\n')) {
            paragraph(&mut out, line, terminal.width);
        }
    }
    out
}

/// A line of text, wrapped; what follows is indented by two more.
fn paragraph(out: &mut String, line: &str, width: usize) {
    let line = plain(line);
    let text = line.trim_start();
    let mut indent = line.len() - text.len();
    for part in wrap(text, width.saturating_sub(indent + 2).max(24)) {
        let _ = writeln!(out, "{}{part}", " ".repeat(indent));
        indent = line.len() - text.len() + 2;
    }
}

/// A line of the table: a step, or how many were left out.
enum Line {
    Step(usize),
    LeftOut(usize),
}

/// How the threads stand.
enum Columns {
    /// Beside each other: for each thread its column and how wide that is.
    Beside(BTreeMap<u32, (usize, usize)>),
    /// All in one column, after the name of the thread.
    Shared { names: usize },
}

fn steps(out: &mut String, story: &Story, run: &Stream, terminal: Terminal) {
    let lines = lines(story, run, terminal);
    let held = run.held();
    let shown =
        || lines.iter().filter_map(|line| if let Line::Step(step) = line { Some(*step) } else { None });
    let number = run.executed.to_string().len().max(4);
    let cells = |with_place: bool| -> BTreeMap<usize, String> {
        shown().map(|step| (step, cell(run, &run.events[step], &held[step], with_place))).collect()
    };
    // First without places, then without columns.
    let room = terminal.width.saturating_sub(number + 2);
    let fitting = [true, false].into_iter().find_map(|with_place| {
        let cells = cells(with_place);
        let columns = beside(run, &cells);
        let width: usize = columns.values().map(|(_, width)| width + 2).sum();
        (width <= room).then_some((cells, Columns::Beside(columns)))
    });
    let (cells, columns) = fitting.unwrap_or_else(|| {
        let names = shown().map(|step| length(&run.thread(run.events[step].thread)));
        (cells(true), Columns::Shared { names: names.max().unwrap_or(0).clamp(6, 24) })
    });
    heading(out, run, &columns, number, terminal);
    for line in &lines {
        match *line {
            Line::LeftOut(steps) => {
                let _ = writeln!(out, "{:>number$}  ... {}", "", plural(steps as u64, "step"));
            }
            Line::Step(step) => {
                let event = &run.events[step];
                let at = if event.executed { (step + 1).to_string() } else { String::new() };
                let text = &cells[&step];
                let (indent, room) = match &columns {
                    Columns::Beside(columns) => (columns[&event.thread].0, usize::MAX),
                    Columns::Shared { names } => {
                        let name = clip(&plain(&run.thread(event.thread)), *names);
                        let coloured = colour(&padded(&name, *names), event.thread, terminal);
                        let _ = write!(out, "{at:>number$}{} {coloured}  ", mark(story, step));
                        let _ = writeln!(out, "{}", clip(text, room.saturating_sub(names + 2)));
                        continue;
                    }
                };
                let coloured = colour(&clip(text, room), event.thread, terminal);
                let _ = writeln!(out, "{at:>number$}{} {}{coloured}", mark(story, step), " ".repeat(indent));
            }
        }
    }
}

fn heading(out: &mut String, run: &Stream, columns: &Columns, number: usize, terminal: Terminal) {
    let mut line = format!("{:>number$}", "step");
    match columns {
        Columns::Beside(columns) => {
            // Colours take no room, so the gaps are counted and not padded.
            let mut at = 0;
            for (&thread, &(column, _)) in columns {
                let name = plain(&run.thread(thread));
                let _ = write!(line, "{}{}", " ".repeat(column + 2 - at), colour(&name, thread, terminal));
                at = column + 2 + length(&name);
            }
        }
        Columns::Shared { names } => {
            let _ = write!(line, "  {:names$}  statement", "thread");
        }
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// The columns of the threads that are shown, in their order: where each begins and how wide it is.
fn beside(run: &Stream, cells: &BTreeMap<usize, String>) -> BTreeMap<u32, (usize, usize)> {
    let mut widths: BTreeMap<u32, usize> = BTreeMap::new();
    for (&step, text) in cells {
        let thread = run.events[step].thread;
        let width = widths.entry(thread).or_insert_with(|| length(&run.thread(thread)));
        *width = (*width).max(length(text));
    }
    let mut next = 0;
    let place = |(thread, width): (u32, usize)| {
        let column = next;
        next += width + 2;
        (thread, (column, width))
    };
    widths.into_iter().map(place).collect()
}

/// A step with what its thread holds after it.
fn cell(run: &Stream, event: &DisplayEvent, held: &[u32], with_place: bool) -> String {
    let mut text = run.statement(event);
    if let Some(place) = run.place(event).filter(|_| with_place) {
        text = match place.statement {
            Some(_) => format!("{}: {text}", place.short()),
            None => format!("{text} at {}", place.short()),
        };
    }
    if !event.executed {
        text = format!("waits: {text}");
    }
    if !held.is_empty() && event.executed {
        let names: Vec<String> = held.iter().map(|&object| run.short_object(object)).collect();
        let _ = write!(text, " [{}]", names.join(", "));
    }
    plain(&text)
}

/// The steps around switches, at both ends, and those of pairs; how many are between them.
fn lines(story: &Story, run: &Stream, terminal: Terminal) -> Vec<Line> {
    let mut is_shown = vec![false; run.events.len()];
    let mut show = |step: usize, before: usize, after: usize| {
        let to = (step + after + 1).min(run.events.len());
        is_shown[step.saturating_sub(before).min(to)..to].fill(true);
    };
    for (step, event) in run.events.iter().enumerate() {
        if event.is_switch {
            // The step before a switch is the last of the other thread.
            show(step, terminal.around, terminal.around.saturating_sub(1));
        }
        if !event.executed {
            show(step, 0, 0);
        }
    }
    show(0, 0, terminal.around.saturating_sub(1));
    show(run.executed.saturating_sub(1), terminal.around, 0);
    let marked = story.pairs.iter().flat_map(|pair| [pair.first, pair.second]);
    marked.for_each(|step| show(step as usize, 0, 0));
    // A single step takes no more room than the words that it was left out.
    for step in 1..is_shown.len().saturating_sub(1) {
        is_shown[step] |= is_shown[step - 1] && is_shown[step + 1];
    }
    let many = is_shown.iter().filter(|&&shown| shown).count();
    let (mut seen, omitted) = (0, many.saturating_sub(terminal.most));
    let mut lines: Vec<Line> = Vec::new();
    for (step, &shown) in is_shown.iter().enumerate() {
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

/// The sign of a step that matters.
fn mark(story: &Story, step: usize) -> char {
    let roles = story.pairs.iter().filter(|pair| [pair.first, pair.second].contains(&(step as u32)));
    match roles.map(|pair| pair.role).min() {
        Some(PairRole::Swap) => '*',
        Some(PairRole::Enough) => '+',
        Some(PairRole::Race) => '!',
        None => ' ',
    }
}

/// A text in the colour of a thread.
fn colour(text: &str, thread: u32, terminal: Terminal) -> String {
    const COLOURS: [u8; 6] = [36, 33, 35, 32, 34, 31];
    if !terminal.colours {
        return text.to_owned();
    }
    format!("\x1b[{}m{text}\x1b[0m", COLOURS[thread as usize % COLOURS.len()])
}

/// A text without what would move the cursor, since names come from files.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// At most so many columns of a text.
fn clip(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    // The sign for what is missing takes one.
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    let short: String = text.chars().take_while(fits).collect();
    short + "…"
}
