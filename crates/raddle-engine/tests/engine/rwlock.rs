//! Read-write locks: many readers or one writer.

use raddle_engine::{Config, Reply, Resource};
use raddle_model::{Failure, Kind, Verdict};
use raddle_testkit::Act::On;
use raddle_testkit::{Act, Follow, Script, every_schedule, once_under};

const READ: Act = On(Kind::ReadLock, 0);
const WRITE: Act = On(Kind::WriteLock, 0);
const UNLOCK: Act = On(Kind::ReadWriteUnlock, 0);

fn lock() -> Script {
    Script::new().object(Resource::read_write_lock())
}

#[test]
fn readers_share_and_a_writer_excludes() {
    let mut program = lock()
        .thread(&[READ, Act::Step, UNLOCK])
        .thread(&[READ, Act::Step, UNLOCK])
        .thread(&[WRITE, Act::Step, UNLOCK])
        .thread(&[WRITE, UNLOCK]);
    let mut most_readers = 0;
    let mut writer_first = 0;
    every_schedule(Config::default(), &mut program, |program, engine| {
        let run = engine.summary();
        assert_eq!(*run.verdict, Verdict::Passed);
        assert!(program.replies.iter().all(|&(_, reply)| matches!(reply, Reply::Acquired | Reply::Go)));
        let (mut readers, mut writers) = (0, 0);
        for event in &run.trace.events {
            let reader = event.thread.0 < 2;
            match event.operation.kind {
                Kind::ReadLock => readers += 1,
                Kind::WriteLock => writers += 1,
                Kind::ReadWriteUnlock if reader => readers -= 1,
                Kind::ReadWriteUnlock => writers -= 1,
                _ => {}
            }
            assert!(writers == 0 || (writers == 1 && readers == 0), "{:?}", run.trace.events);
            most_readers = most_readers.max(readers);
        }
        writer_first += usize::from(run.trace.events[0].operation.kind == Kind::WriteLock);
    });
    assert_eq!(most_readers, 2);
    assert!(writer_first > 0);
}

#[test]
fn a_writer_waits_for_every_reader() {
    let mut program = lock().thread(&[READ, READ, UNLOCK, UNLOCK]).thread(&[WRITE, UNLOCK]);
    let runs = every_schedule(Config::default(), &mut program, |_, engine| {
        let events = &engine.summary().trace.events;
        let at = events.iter().position(|event| event.operation.kind == Kind::WriteLock);
        assert!(at == Some(0) || at == Some(4), "{events:?}");
    });
    assert_eq!(runs, 2, "a thread that reads twice has to unlock twice");
}

#[test]
fn a_reader_that_wants_to_write_waits_for_itself() {
    for first in [READ, WRITE] {
        let mut program = lock().thread(&[first, WRITE]);
        let engine = once_under(Config::default(), &mut program, &mut Follow::default(), 0);
        let Some(Failure::Deadlock { cycle, .. }) = engine.summary().verdict.failure() else {
            panic!("{:?}", engine.summary().verdict)
        };
        assert_eq!(cycle.len(), 1);
    }
}

#[test]
fn unlocking_without_having_it_is_misuse() {
    let mut free = lock().thread(&[UNLOCK]);
    let mut stranger = lock().thread(&[WRITE, UNLOCK]).thread(&[UNLOCK]);
    let mut reader = lock().thread(&[READ, UNLOCK]).thread(&[UNLOCK]);
    for (program, order) in [(&mut free, &[0][..]), (&mut stranger, &[0, 1]), (&mut reader, &[0, 1])] {
        let engine = once_under(Config::default(), program, &mut Follow::new(order), 0);
        let Some(Failure::Misuse { thread, message, .. }) = engine.summary().verdict.failure() else {
            panic!("{:?}", engine.summary().verdict)
        };
        assert_eq!(thread.0, order.len() as u32 - 1);
        assert_eq!(message, "unlocked by a thread that does not hold it");
    }
}
