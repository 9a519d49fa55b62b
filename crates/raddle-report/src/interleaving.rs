//! One recorded run for a person: a column for each thread, time going down, and what came of it.

use crate::run_text::names::{HARNESS, Names};
use crate::run_text::sentences;
use crate::table::length;
use crate::values::{beside, told};
use raddle_model::{Kind, ObjectId, TraceFile, TraceStep};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How much room there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Columns of the terminal. If the threads do not fit beside each other, they share one column.
    pub width: usize,
    /// The most steps shown; of a longer run the middle is left out.
    pub steps: usize,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { width: 100, steps: 120 }
    }
}

/// The steps of a run, thread by thread, then the verdict.
pub fn interleaving(file: &TraceFile, layout: Layout) -> String {
    let mut out = steps(file, layout, &|step| {
        let location = Names(file).location(file.steps[step].operation.location);
        match location.split_once(": ") {
            Some((line, statement)) => format!("{line}: {}", beside(statement, &told(file, step))),
            None => beside(&location, &told(file, step)),
        }
    });
    out.push('\n');
    for sentence in sentences(file) {
        out.push_str(&sentence);
        out.push('\n');
    }
    out
}

/// The steps of a run, thread by thread, each in the words that `statement` has for its number. Those of the harness of a test are left out.
pub fn steps(file: &TraceFile, layout: Layout, statement: &dyn Fn(usize) -> String) -> String {
    let mut out = String::new();
    let hidden = |step: &TraceStep| file.surroundings.test.is_some() && step.thread == HARNESS;
    let of_program = (0..file.steps.len()).filter(|&step| !hidden(&file.steps[step]));
    let cells: Vec<(usize, (usize, String))> =
        of_program.map(|step| (step, cell(file, step, statement))).collect();
    let head = layout.steps.div_ceil(2);
    let omitted = cells.len().saturating_sub(layout.steps);
    let shown = |row: usize| omitted == 0 || row < head || row >= head + omitted;
    // Only threads that took a step have a column, as wide as its name and what is shown of it.
    let mut width_of: BTreeMap<usize, usize> = BTreeMap::new();
    for (row, (_, (thread, text))) in cells.iter().enumerate() {
        let width = width_of.entry(*thread).or_insert_with(|| length(&file.threads[*thread]));
        if shown(row) {
            *width = (*width).max(length(text));
        }
    }
    let (columns, widths): (Vec<usize>, Vec<usize>) = width_of.into_iter().unzip();
    let (noun, number) = (Names(file).noun(), file.steps.len().to_string().len().max(4));
    let beside = number + widths.iter().map(|width| width + 2).sum::<usize>() <= layout.width;
    let names =
        columns.iter().map(|&thread| length(&file.threads[thread])).max().unwrap_or(0).max(noun.len());

    let mut heading = format!("{:>number$}", "step");
    if beside {
        for (&thread, &width) in columns.iter().zip(&widths) {
            let _ = write!(heading, "  {:width$}", file.threads[thread]);
        }
    } else {
        let _ = write!(heading, "  {:names$}  statement", noun);
    }
    let _ = writeln!(out, "{}", heading.trim_end());
    for (row, (step, (thread, text))) in cells.iter().enumerate() {
        if !shown(row) {
            if row == head {
                let _ = writeln!(out, "{:>number$}  ({omitted} steps are left out here)", "...");
            }
            continue;
        }
        let _ = write!(out, "{:>number$}", step + 1);
        if beside {
            let before = columns.iter().zip(&widths).take_while(|(column, _)| *column != thread);
            let indent: usize = before.map(|(_, width)| width + 2).sum();
            let _ = writeln!(out, "  {}{text}", " ".repeat(indent));
        } else {
            let _ = writeln!(out, "  {:names$}  {text}", file.threads[*thread]);
        }
    }
    out
}

/// Who took a step, and its statement with what the text alone does not tell.
fn cell(file: &TraceFile, step: usize, statement: &dyn Fn(usize) -> String) -> (usize, String) {
    let entry = &file.steps[step];
    let names = Names(file);
    let mut text = statement(step);
    if entry.operation.kind == Kind::ConditionReacquire {
        text += " (woken)";
    }
    if !matches!(entry.operation.kind, Kind::Join | Kind::ConditionReacquire) {
        let is_told = |object: ObjectId| file.values.of(step).any(|(cell, _)| cell.object == object);
        for (object, _) in entry.operation.objects().filter(|(object, _)| !is_told(*object)) {
            let object = names.object(object);
            if object.ends_with(']') && !text.contains(&object) {
                let _ = write!(text, " ({object})");
            }
        }
    }
    // Decisions are in the order of the steps.
    let from = file.picks.partition_point(|&(at, ..)| (at as usize) < step);
    for &(_, arity, value) in file.picks[from..].iter().take_while(|&&(at, ..)| at as usize == step) {
        let _ = match entry.operation.kind {
            Kind::Choose => write!(text, " -> {value}"),
            Kind::Signal => write!(text, " -> waiter {} of {arity}", value + 1),
            _ => write!(text, " -> choice {} of {arity}", value + 1),
        };
    }
    (entry.thread as usize, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::{Access, LocationId, Operation, Settings, Surroundings, Values, Verdict};

    fn file(steps: u32) -> TraceFile {
        let step = |n: u32| TraceStep {
            thread: n % 2,
            operation: Operation::new(Kind::Lock, LocationId(n % 2)).on(ObjectId(n % 2), Access::Write),
        };
        TraceFile {
            id: String::new(),
            front_end: "lab".into(),
            program: String::new(),
            arguments: Vec::new(),
            build: None,
            surroundings: Surroundings::default(),
            parameters: Vec::new(),
            settings: Settings {
                step_limit: 9,
                timeouts_anytime: false,
                patience: 2,
                races: false,
                exit_last: false,
            },
            strategy: "pos".into(),
            seed: 1,
            run: 0,
            minimized: None,
            verdict: Verdict::Passed,
            fingerprint: 0,
            threads: vec!["A".into(), "B".into()],
            objects: vec!["m".into(), "fork[1]".into()],
            locations: vec!["line 3: lock m".into(), "line 7: lock fork[self]".into()],
            steps: (0..steps).map(step).collect(),
            picks: vec![],
            values: Values::default(),
        }
    }

    #[test]
    fn threads_stand_beside_each_other_if_there_is_room() {
        let wide = "\
step  A               B
   1  line 3: lock m
   2                  line 7: lock fork[self] (fork[1])
   3  line 3: lock m

passed: the program ended and nothing was wrong
";
        assert_eq!(interleaving(&file(3), Layout { width: 80, steps: 10 }), wide);
        let narrow = interleaving(&file(3), Layout { width: 40, steps: 10 });
        assert!(narrow.starts_with("step  thread  statement\n   1  A       line 3: lock m\n"), "{narrow}");
    }

    #[test]
    fn the_middle_of_a_long_run_is_left_out() {
        let text = interleaving(&file(100), Layout { width: 80, steps: 4 });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 4 + 1 + 2, "{text}");
        assert_eq!(lines[3], " ...  (96 steps are left out here)");
        assert!(lines[4].starts_with("  99  line 3"), "{text}");
    }
}
