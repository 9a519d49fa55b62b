//! A run as a failure file, with addresses told as module and offset.

use crate::objects::{Class, Made};
use crate::outside;
use crate::results::{self, Whole};
use raddle_model::native::{CALLED_BY, Setup, called_by, module_name, place_name};
use raddle_model::{Cell, Format, Gathered, Name, ObjectId, Surroundings, TraceFile, TraceStep, Values};
use std::ops::Range;

/// The front end's name in failure files.
const FRONT_END: &str = "native";
/// The text of place 0.
const NOWHERE: &str = "no place in the code";

/// A part of a file in memory.
struct Part {
    begin: u64,
    end: u64,
    /// The address that offsets are counted from.
    base: u64,
    path: String,
    /// Of the file.
    name: Name,
}

/// The files that the program is made of and where they are.
pub(crate) struct Modules {
    /// Invariant: sorted by address.
    parts: Vec<Part>,
    /// Invariant: sorted; what nobody can write to.
    constant: Vec<(u64, u64)>,
}

impl Modules {
    /// Reads the memory map of this process.
    pub(crate) fn read() -> Modules {
        let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut parts: Vec<Part> = Vec::new();
        let mut constant = Vec::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
            let Some(path) = path_of(line) else { continue };
            let Some((begin, end)) = range.split_once('-') else { continue };
            let (Ok(begin), Ok(end)) = (u64::from_str_radix(begin, 16), u64::from_str_radix(end, 16)) else {
                continue;
            };
            if path.starts_with('/') && !rights.contains('w') {
                constant.push((begin, end));
            }
            if path.starts_with('/') {
                let base = parts.iter().find(|part| part.path == path).map_or(begin, |part| part.base);
                let name = Name::of_text(module_name(path));
                parts.push(Part { begin, end, base, path: path.to_owned(), name });
            }
        }
        for index in 1..parts.len() {
            // The zeroed part of a module's data follows it without a name.
            let unnamed = text.lines().find(|line| line.starts_with(&format!("{:x}-", parts[index - 1].end)));
            let unnamed = unnamed.filter(|line| line.split_whitespace().count() == 5);
            let end = unnamed.and_then(|line| line.split(['-', ' ']).nth(1));
            if let Some(end) = end.and_then(|end| u64::from_str_radix(end, 16).ok()) {
                parts[index - 1].end = end.min(parts[index].begin);
            }
        }
        Modules { parts, constant }
    }

    /// Whether an address is in a part of a file that nobody can write to.
    pub(crate) fn is_constant(&self, address: u64) -> bool {
        let after = self.constant.partition_point(|&(begin, _)| begin <= address);
        after > 0 && address < self.constant[after - 1].1
    }

    /// Whether an address is in one of the files, and so means the same in every run.
    pub(crate) fn contain(&self, address: u64) -> bool {
        self.part(address).is_some()
    }

    /// Where the runtime's own code is.
    pub(crate) fn own(&self) -> Range<u64> {
        let here = self.part(Modules::read as *const () as u64);
        let own = |part: &&Part| here.is_some_and(|here| here.path == part.path);
        let begin = self.parts.iter().find(own).map_or(0, |part| part.begin);
        begin..self.parts.iter().rfind(own).map_or(0, |part| part.end)
    }

    /// The part that holds an address.
    fn part(&self, address: u64) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.begin <= address);
        self.parts[..after].last().filter(|part| address < part.end)
    }

    /// The name of a place that a call returns to, or that an instruction is before, with its callers from the inside out.
    pub(crate) fn name(&self, place: u64, callers: &[u64]) -> Name {
        callers.iter().fold(place_name(&self.text(place - 1)), |name, caller| {
            let address = caller - 1;
            match self.part(address) {
                Some(part) => called_by(name, part.name, address - part.base),
                None => called_by(name, Name::of_text(""), address),
            }
        })
    }

    /// An address as a text that means the same in another process.
    pub(crate) fn text(&self, address: u64) -> String {
        match self.part(address) {
            Some(part) => format!("{}+{:#x}", part.path, address - part.base),
            None => format!("{address:#x}"),
        }
    }

    /// A place with its callers from the inside out, each by the address that it returns to. A module is named once in a row.
    pub(crate) fn calls(&self, place: u64, callers: &[u64]) -> String {
        let mut text = String::new();
        let mut module = String::new();
        for address in [place].iter().chain(callers) {
            // A call returns to the instruction after it; the place is the call.
            let told = self.text(address - 1);
            let (of, offset) = told.split_at(told.rfind('+').unwrap_or(0));
            if !text.is_empty() {
                text.push_str(CALLED_BY);
            }
            text.push_str(if !text.is_empty() && of == module && !of.is_empty() { offset } else { &told });
            module = of.to_owned();
        }
        text
    }
}

/// The run that was just made. Its program is filled in by the command line, which knows its arguments.
pub(crate) fn record(
    whole: &Whole,
    modules: &Modules,
    setup: &Setup,
    strategy: String,
    run: u64,
) -> TraceFile {
    let places = whole.places_with_callers().map(|place| match place {
        None => NOWHERE.to_owned(),
        Some((address, callers)) => modules.calls(address, callers),
    });
    let threads = (0..whole.ended.len()).map(|thread| match thread {
        0 => "main".to_owned(),
        number => format!("T{number}"),
    });
    TraceFile {
        id: String::new(),
        front_end: FRONT_END.to_owned(),
        program: String::new(),
        arguments: Vec::new(),
        build: None,
        surroundings: Surroundings::default(),
        parameters: Vec::new(),
        settings: setup.settings,
        strategy,
        seed: setup.seed,
        run,
        minimized: None,
        verdict: whole.verdict.clone(),
        fingerprint: whole.fingerprint,
        threads: threads.collect(),
        objects: whole.made.iter().map(|made| object(made, modules)).collect(),
        locations: places.collect(),
        steps: whole
            .events
            .iter()
            .map(|event| TraceStep { thread: event.thread.0, operation: event.operation })
            .collect(),
        picks: whole.picks.iter().map(|pick| (pick.step, pick.arity, pick.value)).collect(),
        values: values(whole, modules),
    }
}

/// What the steps read and wrote. What type it has the command line looks up.
fn values(whole: &Whole, modules: &Modules) -> Values {
    let mut gathered = Gathered::default();
    for noted in &whole.values {
        let event = whole.events.get(noted.step as usize);
        let object: Option<ObjectId> = event.and_then(|event| event.operation.object());
        if let Some(object) = object {
            let (address, width) = (noted.address, noted.width);
            gathered.add((noted.step, noted.read(), noted.written()), (object, address, width), || Cell {
                object,
                name: modules.text(address),
                width,
                format: Format::Unknown,
                names: Vec::new(),
            });
        }
    }
    Values { from: whole.values_from, ..gathered.into_values() }
}

fn object(made: &Made, modules: &Modules) -> String {
    match made.class {
        Class::Thread => format!("T{}", made.value),
        Class::Descriptor => outside::text(made.value),
        Class::Token => format!("futex of T{}", made.value),
        _ => modules.text(made.address),
    }
}

/// Why a run that has not ended after `patience` milliseconds cannot go on, as far as the kernel and the runtime tell.
pub(crate) fn stuck(process: i32, patience: i32, modules: &Modules) -> String {
    let carrier = match results::carrier() {
        0 => process as u64,
        other => other,
    };
    let call = std::fs::read_to_string(format!("/proc/{process}/task/{carrier}/syscall")).unwrap_or_default();
    let doing = match call.split_whitespace().next() {
        _ if results::is_outside() => "no thread can go on before something comes from outside".to_owned(),
        Some("running") => "it computes without coming to an operation that raddle sees".to_owned(),
        Some(number) => format!("it waits in {}, which raddle does not control", call_name(number)),
        None => "nothing is known of what it does".to_owned(),
    };
    let (thread, place) = results::running();
    let thread = if thread == 0 { "main".to_owned() } else { format!("T{thread}") };
    let place = if place == 0 {
        "from its start on".to_owned()
    } else {
        format!("after {}", modules.text(place - 1))
    };
    format!("a run did not end within {patience} ms: thread {thread}, {place}: {doing}")
}

/// The path at the end of a line of a memory map, which may have spaces in it.
fn path_of(line: &str) -> Option<&str> {
    let rest = (0..5).try_fold(line, |rest, _| rest.split_once(' ').map(|(_, rest)| rest.trim_start()))?;
    let path = rest.strip_suffix(" (deleted)").unwrap_or(rest);
    (!path.is_empty()).then_some(path)
}

/// The name of a system call that programs often wait in, or its number.
fn call_name(number: &str) -> String {
    let name = match number {
        "0" => "read",
        "1" => "write",
        "2" | "257" => "open",
        "7" | "271" => "poll",
        "23" | "270" => "select",
        "34" => "pause",
        "43" | "288" => "accept",
        "45" | "47" => "recv",
        "42" => "connect",
        "61" | "247" => "wait",
        "64" | "65" | "220" => "semop",
        "69" => "msgsnd",
        "70" => "msgrcv",
        "72" => "fcntl",
        "73" => "flock",
        "128" => "sigwait",
        "130" => "sigsuspend",
        "202" => "a futex",
        "208" => "io_getevents",
        "242" => "mq_send",
        "243" => "mq_receive",
        "426" => "io_uring_enter",
        "230" => "clock_nanosleep",
        "232" | "281" => "epoll_wait",
        other => return format!("system call {other}"),
    };
    name.to_owned()
}
