//! Records a run as a failure file, with addresses as module and offset.

use crate::child::heap::MemoryNote;
use crate::child::interpose::access;
use crate::child::network::wire;
use crate::child::objects::{Class, ObjectRecord};
use crate::child::results::RunData;
use crate::child::{outside, shared_memory};
use crate::platform::modules::Modules;
use raddle_model::native::{ObjectMemory, Setup};
use raddle_model::{
    Cell, Format, FrontEnd, Gathered, NO_LOCATION, ObjectId, SEQUENTIAL_ORDER, TraceFile, TraceStep, Values,
};

/// Returns the latest run. The command line adds the program, because it knows the arguments.
pub(crate) fn record(
    data: &RunData,
    modules: &Modules,
    setup: &Setup,
    strategy: String,
    run: u64,
) -> TraceFile {
    let places = data.places_with_callers().map(|place| match place {
        None => NO_LOCATION.to_owned(),
        Some((address, callers)) => modules.calls(address, callers),
    });
    let threads = (0..data.ended.len()).map(|thread| match thread {
        0 => "main".to_owned(),
        number => {
            let birth = data.births.iter().position(|birth| birth.thread.index() == number);
            // They are born in pairs, one for each direction of a connection.
            let way = |birth: usize| if birth.is_multiple_of(2) { "to server" } else { "to client" };
            birth.map_or(format!("T{number}"), |birth| format!("net {} {}", birth / 2 + 1, way(birth)))
        }
    });
    TraceFile {
        settings: setup.settings,
        strategy,
        seed: setup.seed,
        run,
        verdict: data.verdict.clone(),
        fingerprint: data.fingerprint,
        threads: threads.collect(),
        objects: data.made.iter().map(|made| object(made, modules)).collect(),
        locations: places.collect(),
        steps: data
            .events
            .iter()
            .map(|event| TraceStep { thread: event.thread.0, operation: event.operation })
            .collect(),
        picks: data.picks.iter().map(|pick| (pick.step, pick.arity, pick.value)).collect(),
        values: values(data, modules),
        ..TraceFile::new(FrontEnd::Native)
    }
}

/// Returns the values that the steps read and wrote. The command line looks up their types.
fn values(data: &RunData, modules: &Modules) -> Values {
    let mut gathered = Gathered::default();
    for noted in &data.values {
        let event = data.events.get(noted.step as usize);
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
    Values { from: data.values_from, ..gathered.into_values() }
}

/// Returns the origins of the memory of objects, if they were recorded.
pub(crate) fn memory(whole: &RunData, modules: &Modules) -> Vec<ObjectMemory> {
    let places: Vec<_> = whole.places_with_callers().collect();
    let of = |note: &MemoryNote| {
        let place = if note.is_heap == 1 {
            let (address, callers) = (*places.get(note.place as usize)?)?;
            modules.calls(address, callers)
        } else {
            modules.calls(note.place, &[])
        };
        let block = (note.is_heap == 1).then_some(note.size);
        Some(ObjectMemory { object: note.object, place, offset: note.offset, block })
    };
    whole.memory.iter().filter_map(of).collect()
}

fn object(made: &ObjectRecord, modules: &Modules) -> String {
    match made.class {
        Class::Thread => format!("T{}", made.value),
        Class::Descriptor => outside::text(made.value),
        Class::Wire => wire::text(made.value),
        Class::Token => format!("futex of T{}", made.value),
        Class::Order => SEQUENTIAL_ORDER.to_owned(),
        _ => modules.text(made.address),
    }
}

/// Returns the reason why a run that has not ended after `patience` milliseconds cannot continue, as far as
/// the kernel and the runtime show. Calls `ask` if it computes, for [`shared_memory::late`].
pub(crate) fn stuck(process: i32, patience: i32, modules: &Modules, ask: impl FnOnce()) -> String {
    let carrier = match shared_memory::carrier() {
        0 => process as u64,
        other => other,
    };
    let call = std::fs::read_to_string(format!("/proc/{process}/task/{carrier}/syscall")).unwrap_or_default();
    let doing = match call.split_whitespace().next() {
        _ if shared_memory::outside() != 0 => {
            let until = outside::awaited_text(shared_memory::outside());
            format!(
                "no thread can continue until {until}, which is an external event\nhelp: provide the event, or raise \
                 --run-time"
            )
        }
        Some("running") => {
            ask();
            let at = match shared_memory::late() {
                0 => String::new(),
                instruction => format!("at {} ", modules.text(instruction)),
            };
            let remedy = if access::is_instrumented() {
                "raise --run-time if it is a long computation; otherwise the loop does not end in this schedule"
            } else {
                "build with `raddle cc` if it spins on memory, or raise --run-time if it is a long computation"
            };
            format!("it computes {at}without reaching an operation that raddle controls\nhelp: {remedy}")
        }
        Some(number) => {
            format!(
                "it waits in the system call {}, which raddle does not control\nhelp: replace that call in the test, or use \
                 the function of the C library if the program calls the kernel by itself",
                call_name(number)
            )
        }
        None => "its state is unknown".to_owned(),
    };
    let (thread, place) = shared_memory::running();
    let thread = if thread == 0 { "main".to_owned() } else { format!("T{thread}") };
    let place = match (place, shared_memory::outside()) {
        (0, _) => "since its start".to_owned(),
        (_, 0) => format!("after {}", modules.text(place - 1)),
        _ => format!("at {}", modules.text(place - 1)),
    };
    format!("a run did not end within {patience} ms: thread {thread}, {place}: {doing}")
}

/// Returns the name of a system call that programs often wait in, or its number.
fn call_name(number: &str) -> String {
    let name = match number {
        "0" => "read",
        "1" => "write",
        "2" | "257" => "open",
        "7" | "271" => "poll",
        "23" | "270" => "select",
        "34" => "pause",
        "35" => "nanosleep",
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
        other => return format!("number {other}"),
    };
    name.to_owned()
}
