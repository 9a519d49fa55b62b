//! One recorded run for a person: a column for each thread, time going down, and what came of it.

use crate::operations::answer;
use crate::race::{self, Words};
use crate::table::{length, padded};
use crate::values::{beside, told};
use raddle_model::{
    Access, BlockReason, Blocked, Failure, FreedBlock, Kind, LocationId, ObjectId, Panicked, ThreadId,
    TraceFile, TraceStep, Verdict,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The thread that a test's harness runs on.
const HARNESS: u32 = 0;

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

/// What happened in the end, who waits for whom and who holds what: a line each.
pub fn sentences(file: &TraceFile) -> Vec<String> {
    let names = Names(file);
    match &file.verdict {
        Verdict::Passed => vec!["passed: the program ended and nothing was wrong".to_owned()],
        Verdict::CutOff => {
            vec!["cut off: the run was given up and says nothing about the program".to_owned()]
        }
        Verdict::Failed { failure } => names.failure(failure),
    }
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
            let _ = write!(heading, "  {}", padded(&file.threads[thread], width));
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
            let _ = writeln!(out, "  {}  {text}", padded(&file.threads[*thread], names));
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
    if entry.operation.kind != Kind::Join && entry.operation.kind != Kind::ConditionReacquire {
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
        let _ = write!(text, " -> {}", answer(entry.operation.kind, arity, value));
    }
    (entry.thread as usize, text)
}

/// A panic in a line, and one more for each further line of what it says.
fn panicked(begin: &str, panic: &Panicked) -> Vec<String> {
    let mut said = panic.message.lines();
    let first = said.next().unwrap_or("it says nothing");
    let head = format!("{begin}{first}; thread {}, {}", panic.thread, panic.place);
    [head].into_iter().chain(said.map(|line| format!("  {line}"))).collect()
}

/// The names of a file. A number without a name is shown as a number, so that a damaged file can be shown too.
struct Names<'a>(&'a TraceFile);

impl Names<'_> {
    fn thread(&self, thread: ThreadId) -> String {
        self.0.threads.get(thread.index()).cloned().unwrap_or_else(|| format!("thread {}", thread.0))
    }

    /// What threads are called.
    fn noun(&self) -> &'static str {
        self.0.front_end.thread_noun()
    }

    fn threads(&self, threads: &[ThreadId]) -> String {
        let names: Vec<String> = threads.iter().map(|&thread| self.thread(thread)).collect();
        names.join(", ")
    }

    fn object(&self, object: ObjectId) -> String {
        self.0.objects.get(object.index()).cloned().unwrap_or_else(|| format!("object {}", object.0))
    }

    fn location(&self, location: LocationId) -> String {
        self.0.locations.get(location.index()).cloned().unwrap_or_else(|| format!("location {}", location.0))
    }

    fn failure(&self, failure: &Failure) -> Vec<String> {
        match failure {
            Failure::Assertion { thread, location, message } => {
                // The statement is often part of the message already.
                let place = self.location(*location);
                let place = match place.split_once(": ") {
                    Some((line, statement)) if message.contains(statement) => line,
                    _ => &place,
                };
                vec![format!("assertion: {message}; {} {}, {place}", self.noun(), self.thread(*thread))]
            }
            Failure::Deadlock { blocked, cycle } => {
                let blocked: Vec<&Blocked> = blocked.iter().filter(|entry| !self.is_harness(entry)).collect();
                let (count, noun) = (blocked.len(), self.noun());
                let plural = if noun == "process" { "processes" } else { "threads" };
                let mut lines = vec![format!("deadlock: {count} {plural} wait and none can go on")];
                if let [_] = blocked[..] {
                    lines[0] = format!("deadlock: one {noun} waits and nothing can wake it");
                }
                lines.extend(blocked.iter().map(|entry| format!("  {}", self.blocked(entry))));
                if let Some(first) = cycle.first() {
                    let ring: Vec<String> =
                        cycle.iter().chain([first]).map(|&thread| self.thread(thread)).collect();
                    lines.push(format!("  each waits for the next: {}", ring.join(" -> ")));
                }
                lines
            }
            Failure::StepLimit { limit, spinning } => {
                let mut lines = vec![format!("step limit: the run did not end within {limit} steps")];
                if !spinning.is_empty() {
                    lines.push(format!("  spinning at the end: {}", self.threads(spinning)));
                }
                lines
            }
            Failure::TimeLimit { limit } => {
                let limit = std::time::Duration::from_nanos(*limit);
                vec![format!("time limit: the run did not end within {limit:?} of virtual time")]
            }
            Failure::Misuse { thread, object, location, message } => vec![format!(
                "misuse of {}: {message}; thread {}, {}",
                self.object(*object),
                self.thread(*thread),
                self.location(*location)
            )],
            Failure::DataRace { object, first, second } => {
                let words = Words {
                    thread: &|thread| self.thread(thread),
                    object: &|object| self.object(object),
                    location: &|location| self.location(location),
                };
                race::sentences(self.0, &words, *object, first, second)
            }
            Failure::Output { file, line, byte, lengths: (found, expected) } => vec![
                format!("output: the standard output is not the content of {file}"),
                format!("  the first difference is in line {line}, after {byte} bytes that are the same"),
                format!("  it has {found} bytes, expected are {expected}"),
            ],
            Failure::Exit { status } => vec![format!("exit: the program ended with status {status}")],
            Failure::Panic { last, before } => {
                let mut lines = panicked("panic: ", last);
                before.iter().for_each(|panic| lines.extend(panicked("  before: ", panic)));
                lines
            }
            Failure::Signal { thread, location, signal, address } => {
                let what = match address {
                    Some(address) => format!(" for an access to address {address:#x}"),
                    None => String::new(),
                };
                let (thread, place) = (self.thread(*thread), self.location(*location));
                vec![format!("{}: thread {thread} got {signal}{what}; {place}", failure.kind())]
            }
            Failure::UseAfterFree { thread, location, access, offset, block } => {
                let does = if *access == Access::Write { "writes to" } else { "reads" };
                let mut lines = vec![format!(
                    "use after free: thread {} {does} byte {offset} of a freed block; {}",
                    self.thread(*thread),
                    self.location(*location)
                )];
                lines.extend(self.block(block));
                lines
            }
            Failure::DoubleFree { thread, location, block } => {
                let (thread, place) = (self.thread(*thread), self.location(*location));
                let mut lines = vec![format!("double free: thread {thread} frees a freed block; {place}")];
                lines.extend(self.block(block));
                lines
            }
            other => vec![format!("failed: {}", other.kind())],
        }
    }

    /// Whether it is the harness that waits for its test.
    fn is_harness(&self, entry: &Blocked) -> bool {
        self.0.surroundings.test.is_some() && entry.thread == ThreadId(HARNESS)
    }

    fn block(&self, block: &FreedBlock) -> [String; 3] {
        [
            format!("  the block has {} bytes and begins at {:#x}", block.size, block.address),
            format!(
                "  allocated by {}, {}",
                self.thread(block.allocated_by),
                self.location(block.allocated_at)
            ),
            format!("  freed by {}, {}", self.thread(block.freed_by), self.location(block.freed_at)),
        ]
    }

    fn blocked(&self, entry: &Blocked) -> String {
        let object = entry.object.map_or_else(|| "nothing known".to_owned(), |object| self.object(object));
        let holder = |what: &str| {
            let held = match &entry.held_by[..] {
                [] => String::new(),
                threads => format!(", held by {}", self.threads(threads)),
            };
            format!("{what} {object}{held}")
        };
        let what = match entry.reason {
            BlockReason::Mutex => holder("mutex"),
            BlockReason::ReadWriteLock => holder("read-write lock"),
            BlockReason::Condition => format!("a signal of condition {object}"),
            BlockReason::Semaphore => format!("semaphore {object}, which is zero"),
            BlockReason::Barrier => format!("others to arrive at barrier {object}"),
            BlockReason::Once => {
                format!("the initialisation {object}, run by {}", self.threads(&entry.held_by))
            }
            BlockReason::Join => format!("thread {} to end", self.threads(&entry.held_by)),
            BlockReason::Channel => format!("the other side of channel {object}"),
            BlockReason::Park => "being unparked".to_owned(),
            BlockReason::Mailbox => {
                let place = self.location(entry.location);
                // The place of a receive tells which messages it takes.
                let receive = place.strip_prefix("receive ").and_then(|rest| rest.rsplit_once(" at "));
                if let Some((patterns, place)) = receive {
                    return format!("{} waits for {patterns}; {place}", self.thread(entry.thread));
                }
                "a message that it is ready to take".to_owned()
            }
            BlockReason::Descriptor => format!("{object} to be ready"),
        };
        format!("{} waits for {what}; {}", self.thread(entry.thread), self.location(entry.location))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::{Access, Operation, Settings, Surroundings, Values};

    fn file(steps: u32) -> TraceFile {
        let step = |n: u32| TraceStep {
            thread: n % 2,
            operation: Operation::new(Kind::Lock, LocationId(n % 2)).on(ObjectId(n % 2), Access::Write),
        };
        TraceFile {
            id: String::new(),
            front_end: raddle_model::FrontEnd::Lab,
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

    #[test]
    fn a_deadlock_says_who_waits_for_whom() {
        let blocked = |thread, object, holder| Blocked {
            thread: ThreadId(thread),
            reason: BlockReason::Mutex,
            object: Some(ObjectId(object)),
            location: LocationId(object),
            held_by: vec![ThreadId(holder)],
        };
        let mut file = file(2);
        let failure = Failure::Deadlock {
            blocked: vec![blocked(0, 1, 1), blocked(1, 0, 0)],
            cycle: vec![ThreadId(0), ThreadId(1)],
        };
        file.verdict = Verdict::Failed { failure };
        let expected = [
            "deadlock: 2 threads wait and none can go on",
            "  A waits for mutex fork[1], held by B; line 7: lock fork[self]",
            "  B waits for mutex m, held by A; line 3: lock m",
            "  each waits for the next: A -> B -> A",
        ];
        assert_eq!(sentences(&file), expected);
    }

    #[test]
    fn a_data_race_shows_both_accesses_and_what_is_missing() {
        use raddle_model::{MemoryOrder, RacingAccess};
        let mut file = file(0);
        let mut step = |thread, object, access, order| {
            let kind = if access == Access::Read { Kind::Read } else { Kind::Write };
            let operation = Operation::new(kind, LocationId(thread)).on(ObjectId(object), access);
            file.steps.push(TraceStep { thread, operation: operation.ordered(order) });
        };
        step(0, 0, Access::Write, MemoryOrder::Plain);
        step(0, 1, Access::Write, MemoryOrder::Release);
        step(1, 1, Access::Read, MemoryOrder::Relaxed);
        step(1, 0, Access::Read, MemoryOrder::Plain);
        let racing = |thread, step, access| RacingAccess {
            thread: ThreadId(thread),
            step,
            location: LocationId(thread),
            access,
            order: MemoryOrder::Plain,
        };
        let failure = Failure::DataRace {
            object: ObjectId(0),
            first: racing(0, 0, Access::Write),
            second: racing(1, 3, Access::Read),
        };
        file.verdict = Verdict::Failed { failure };
        let mut expected = vec![
            "data race on m: neither of two accesses happens before the other".to_owned(),
            "  step 1: A writes it; line 3: lock m".to_owned(),
            "  step 4: B reads it; line 7: lock fork[self]".to_owned(),
            "  step 3 (relaxed; line 7: lock fork[self]) reads what step 2 (release; line 3: lock m) wrote, but that \
             orders nothing without a release there and an acquire here"
                .to_owned(),
        ];
        assert_eq!(sentences(&file), expected);
        file.steps[1].thread = 1;
        expected[3] =
            "  nothing that A did since and B did before orders them: no lock, join, channel, release and \
                       acquire, or the like"
                .to_owned();
        assert_eq!(sentences(&file), expected);
        let read = TraceFile::from_json(&file.to_json()).unwrap();
        file.id.clone_from(&read.id);
        assert_eq!(read, file, "a race is part of the file");
    }

    #[test]
    fn numbers_without_names_do_not_matter() {
        let mut file = file(0);
        let failure = Failure::Misuse {
            thread: ThreadId(9),
            object: ObjectId(9),
            location: LocationId(9),
            message: "destroyed".into(),
        };
        file.verdict = Verdict::Failed { failure };
        assert_eq!(sentences(&file), ["misuse of object 9: destroyed; thread thread 9, location 9"]);
    }
}
