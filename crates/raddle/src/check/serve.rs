//! Executes runs of a test for another process: `raddle replay`, `minimize`, `explain` and `report` repeat
//! and vary a failing run this way.
//!
//! That process starts the test binary with `RADDLE_REPLAY` and with a socket in `RADDLE_SERVE`. The check
//! that recorded the run then answers the requests defined in [`raddle_model::native`], and exits when there
//! are no more.

use super::driver::Test;
use super::minimize::Runs;
use super::record::LEAKED;
use super::replay::{Mismatch, Repeated, repeat};
use raddle_engine::Resemble;
use raddle_explain::{Execute, Execution, Wanted};
use raddle_model::native::{Answer, Order, RunResult, framed, unframed};
use raddle_model::{Event, ThreadId, TraceFile, TraceStep};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Answers the requests received on `socket` with runs of `test` like that of the file `recorded`, then
/// exits.
pub(super) fn serve(socket: &Path, recorded: &Path, test: &Test) -> ! {
    let status = match answer_all(socket, recorded, test) {
        Ok(()) => 0,
        Err(_) => 2,
    };
    std::process::exit(status)
}

fn answer_all(socket: &Path, recorded: &Path, test: &Test) -> io::Result<()> {
    let file = TraceFile::from_json(&std::fs::read_to_string(recorded)?).map_err(io::Error::other)?;
    let mut stream = UnixStream::connect(socket)?;
    send(&mut stream, &Answer::Ready { fibers: true })?;
    while let Some(order) = receive(&mut stream)? {
        send(&mut stream, &answer(&order, &file, test))?;
    }
    Ok(())
}

fn send(stream: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    stream.write_all(&framed(answer).ok_or_else(|| io::Error::other("a response is too long"))?)
}

/// Returns the next request, or `None` if there are no more.
fn receive(stream: &mut UnixStream) -> io::Result<Option<Order>> {
    let mut length = [0; 4];
    if let Err(error) = stream.read_exact(&mut length) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    let mut text = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut text)?;
    unframed(&text).map(Some).ok_or_else(|| io::Error::other("invalid request"))
}

fn answer(order: &Order, file: &TraceFile, test: &Test) -> Answer {
    let leaked = file.parameters.iter().any(|(name, value)| name == LEAKED && *value != 0);
    let mut runs = Runs::new(file, leaked, test);
    let refused = |what: &str| Answer::Refused { message: format!("a Rust test {what}") };
    match order {
        Order::Follow { schedule, any, .. } => {
            let wanted = if *any { Wanted::Any } else { Wanted::Failing };
            let made = runs.execute(schedule, wanted);
            let (trace, preemptions) = made.map(|Execution { run, preemptions }| (run, preemptions)).unzip();
            ran(trace, preemptions.unwrap_or_default(), None)
        }
        Order::Replay { steps, picks, .. } => {
            if *steps != file.steps || *picks != file.picks {
                return refused("replays only the run of its failure file");
            }
            match repeat(file, test) {
                Ok(Repeated { trace, .. }) => ran(Some(trace), 0, None),
                Err(Mismatch { step, what }) => ran(Some(file.clone()), 0, Some((step, what))),
            }
        }
        Order::Resemble { steps, picks, .. } => {
            let event = |step: &TraceStep| Event { thread: ThreadId(step.thread), operation: step.operation };
            let resemble = Resemble::new(steps.iter().map(event).collect(), Order::picks(picks));
            ran(Some(runs.under(&resemble).0), 0, None)
        }
        Order::Run { .. } => refused("does not execute search runs for another process"),
        Order::Coverage { .. } => refused("has no iRoots"),
        Order::Estimate { .. } => refused("has no estimates"),
    }
}

fn ran(trace: Option<TraceFile>, preemptions: u64, divergence: Option<(usize, String)>) -> Answer {
    let made = trace.as_ref();
    Answer::RunResult(Box::new(RunResult {
        kind: made.and_then(|run| Some(run.verdict.failure()?.kind().to_owned())),
        fingerprint: made.map_or(0, |run| run.fingerprint),
        steps: made.map_or(0, |run| run.steps.len() as u64),
        threads: made.map_or(0, |run| run.threads.len() as u64),
        preemptions,
        divergence,
        trace: trace.map(Box::new),
        ..RunResult::default()
    }))
}
