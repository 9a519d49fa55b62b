//! Waits for resources of the operating system: files, signals and processes.
//!
//! A call that would block is tried without blocking instead. If that fails, the thread parks and others run.
//! The awaited resource is *inside* if only this program can provide it: a pipe, a pair of sockets or an
//! event counter that it created itself and that no other process has. It is then polled after every call
//! that may have changed it, and only the schedule decides whether the thread can continue. Everything else
//! is *outside*, and is polled only when no thread can continue: so its arrival is as little of a choice as
//! possible, and the runs of a seed repeat as far as the outside does. Then, and only then, the process
//! really waits, and time passes as outside.
//!
//! Limitations: calls that libc makes internally are invisible, except those of stdio. One that blocks in the
//! kernel blocks all threads; one that changes a file is noticed when no thread can continue. Time-outs of
//! sockets and polls, and timer files, are virtual.
#![expect(unsafe_code, reason = "queries the operating system")]

use crate::platform::{raw, signals};
use libc::{c_int, pollfd};
use raddle_model::native::ALL_FILES;
use raddle_model::{Kind, ObjectId, Operation, ThreadId};

/// The condition that a thread waits for.
pub(crate) enum Awaited {
    /// One of these files is ready for the requested events.
    Files(Vec<pollfd>),
    /// One of these signals is pending, as bits.
    Signals(u64),
    /// A child has changed its state: the first two arguments and the flags of `waitid`.
    Child(usize, usize, c_int),
    /// Any signal has been handled.
    Handler,
    /// A condition without kernel notification. It was tried after this many steps, and is tried again when
    /// no thread can continue: after steps of others, or, if no time-out is due either, after a moment.
    Chance(u64),
    /// No thread is inside a function on this stdio stream.
    Stream(usize),
}

impl Awaited {
    /// Returns a nonzero number for [`awaited_text`]: the kind, and in higher bits the file or signal.
    pub(super) fn code(&self) -> u64 {
        match self {
            Awaited::Files(files) => 1 | files.first().map_or(0, |file| u64::from(file.fd as u32) << 8),
            Awaited::Signals(set) => 2 | u64::from(set.trailing_zeros() + 1) << 8,
            Awaited::Child(..) => 3,
            Awaited::Handler => 4,
            Awaited::Chance(_) => 5,
            Awaited::Stream(_) => 6,
        }
    }

    /// Returns the files that it concerns.
    pub(crate) fn files(&self) -> Vec<c_int> {
        match self {
            Awaited::Files(files) => files.iter().map(|file| file.fd).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns true if the condition holds; `held` are the streams that threads are inside of. Changes
    /// nothing.
    pub(crate) fn is_there(&self, held: &[(usize, ThreadId)]) -> bool {
        match self {
            Awaited::Files(files) => {
                let mut copy = files.clone();
                poll(&mut copy, 0) > 0
            }
            Awaited::Signals(set) => pending_signals() & set != 0,
            &Awaited::Child(kind, id, flags) => {
                // SAFETY: an all-zero `siginfo_t` is valid.
                let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
                let flags = (flags | libc::WNOHANG | libc::WNOWAIT) as usize;
                let arguments = [kind, id, &raw mut info as usize, flags, 0, 0];
                // SAFETY: the buffer has room for a `siginfo_t`; WNOWAIT leaves the child waitable.
                let error = unsafe { raw::syscall(libc::SYS_waitid, arguments) };
                // SAFETY: the call has filled it, or left the zeroes.
                error < 0 || unsafe { info.si_pid() } != 0
            }
            Awaited::Handler | Awaited::Chance(_) => false,
            Awaited::Stream(stream) => held.iter().all(|(held, _)| held != stream),
        }
    }
}

/// Describes the condition that a thread waits for, by its [code](Awaited::code).
pub(crate) fn awaited_text(code: u64) -> String {
    let number = (code >> 8) as c_int;
    match code & 0xff {
        1 => format!("file descriptor {number} is ready"),
        2 => format!("{} arrives", signals::name(number)),
        3 => "a child process changes its state".to_owned(),
        4 => "a signal arrives".to_owned(),
        6 => "a stream is unlocked".to_owned(),
        _ => "another process lets the call return".to_owned(),
    }
}

/// A waiting thread.
pub(crate) struct Waiter {
    pub(crate) thread: ThreadId,
    pub(crate) token: ObjectId,
    pub(crate) awaited: Awaited,
    /// True if only this program could provide it, when it began to wait.
    pub(crate) inside: bool,
    pub(crate) woken: bool,
}

/// A token that was set without a step. Plain data.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Wake {
    /// The number of steps of the run before it.
    pub(crate) step: u32,
    pub(crate) token: ObjectId,
    /// True if no thread could continue.
    pub(crate) idle: bool,
}

/// The identity of a file in the run.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Its inode in the file system of pipes or sockets; 0 for one that is identified by its descriptor.
    inode: u64,
    pub(super) descriptor: c_int,
    /// Files whose readiness depends on each other have the same number.
    pub(crate) number: u64,
    pub(super) what: What,
    /// True if this program created it.
    made: bool,
}

/// Kinds of files that calls wait for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum What {
    All,
    Sockets,
    Others,
    Pipe,
    Pair,
    Counter,
    Signals,
    Children,
    /// A set of files, as in `epoll`.
    Set,
    /// The lock of a stdio stream.
    Stream,
    Timer,
    /// A simulated socket.
    Socket,
    /// The addresses of simulated sockets.
    Network,
}

/// Returns the report's name of a file whose object has this value.
pub(crate) fn text(value: u64) -> String {
    let number = value >> 8;
    let named = |kind: What| value as u8 == kind as u8;
    if named(What::Pipe) {
        format!("pipe {number}")
    } else if named(What::Pair) {
        format!("socket pair {number}")
    } else if named(What::Counter) {
        format!("event counter {number}")
    } else if named(What::Set) {
        format!("epoll {number}")
    } else if named(What::Timer) {
        format!("timer {number}")
    } else if named(What::Socket) {
        format!("socket {number}")
    } else if named(What::Network) {
        "network".to_owned()
    } else if named(What::Stream) {
        format!("lock of stream {number}")
    } else if named(What::Sockets) {
        "sockets".to_owned()
    } else if named(What::Others) {
        "other files".to_owned()
    } else if named(What::Signals) {
        "signals".to_owned()
    } else if named(What::Children) {
        "child processes".to_owned()
    } else {
        ALL_FILES.to_owned()
    }
}

/// Returns true if an operation waits for a resource of the operating system.
pub(crate) fn is_wait(operation: &Operation) -> bool {
    operation.kind == Kind::Park && operation.touches[1].object().is_some()
}

/// The run's knowledge about operating system resources.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) waiters: Vec<Waiter>,
    /// Stdio streams that glibc has locked for threads that wait inside it.
    pub(crate) held: Vec<(usize, ThreadId)>,
    known: Vec<Known>,
    /// The `epoll` sets by the numbers of their files, which duplicates share; each with its members.
    sets: Vec<(u64, Vec<c_int>)>,
    /// True if other processes may have files of this one, so that nothing is inside any more.
    pub(crate) shared_files: bool,
    /// The number of files that signals can be read from.
    pub(crate) signal_files: u32,
    /// The number of file numbers allocated.
    numbers: u64,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) waits: u64,
    pub(crate) processes: u64,
}

/// The first object numbers stand for resources without their own file.
pub(super) const FIRST: u64 = 16;

impl Outside {
    /// Records files that the program has created, and whose readiness depends on each other.
    pub(crate) fn note_created(&mut self, what: What, descriptors: &[c_int]) {
        let number = self.next_number();
        for &descriptor in descriptors {
            let by_descriptor = matches!(what, What::Counter | What::Set | What::Timer);
            if by_descriptor {
                self.note_closed(descriptor);
            }
            let inode = if by_descriptor { 0 } else { status(descriptor).map_or(0, |status| inode(&status)) };
            self.known.push(Known { inode, descriptor, number, what, made: true });
            if what == What::Set {
                self.sets.push((number, Vec::new()));
            }
        }
    }

    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        FIRST + self.numbers
    }

    /// Records that a descriptor was closed.
    pub(crate) fn note_closed(&mut self, descriptor: c_int) {
        self.known.retain(|known| known.inode != 0 || known.descriptor != descriptor);
        let known = &self.known;
        self.sets.retain(|(set, _)| known.iter().any(|known| known.number == *set));
    }

    /// Records that a descriptor was duplicated.
    pub(crate) fn note_copied(&mut self, from: c_int, to: c_int) {
        self.note_closed(to);
        let copied = self.known.iter().find(|known| known.inode == 0 && known.descriptor == from).copied();
        self.known.extend(copied.map(|known| Known { descriptor: to, ..known }));
    }

    /// Records that a file was added to a set.
    pub(crate) fn note_member(&mut self, set: c_int, file: c_int) {
        let Some(Known { number, .. }) = self.find(set) else { return };
        if let Some((_, files)) = self.sets.iter_mut().find(|(known, _)| *known == number) {
            files.push(file);
        }
    }

    /// Returns the identity of a descriptor; `None` if calls on it never wait for long, or there is no such
    /// file.
    pub(super) fn find(&mut self, descriptor: c_int) -> Option<Known> {
        let status = status(descriptor)?;
        let common = |number, what| Known { inode: 0, descriptor: -1, number, what, made: false };
        match status.st_mode & libc::S_IFMT {
            libc::S_IFCHR if is_terminal(&status) => Some(common(What::Others as u64, What::Others)),
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK | libc::S_IFCHR | libc::S_IFLNK => None,
            libc::S_IFIFO | libc::S_IFSOCK => {
                if let Some(known) = self.known.iter().find(|known| known.inode == inode(&status)) {
                    return Some(*known);
                }
                if status.st_mode & libc::S_IFMT == libc::S_IFSOCK {
                    return Some(common(What::Sockets as u64, What::Sockets));
                }
                let (inode, number) = (inode(&status), self.next_number());
                self.known.push(Known { inode, descriptor, number, what: What::Pipe, made: false });
                self.known.last().copied()
            }
            _ => {
                let by_descriptor = |known: &&Known| known.inode == 0 && known.descriptor == descriptor;
                let known = self.known.iter().find(by_descriptor).copied();
                Some(known.unwrap_or(common(What::Others as u64, What::Others)))
            }
        }
    }

    /// Returns true if only this program can make a file ready.
    pub(crate) fn is_inside(&mut self, descriptor: c_int) -> bool {
        if self.shared_files {
            return false;
        }
        match self.find(descriptor) {
            Some(Known { what: What::Set, number, .. }) => {
                let set = self.sets.iter().find(|(set, _)| *set == number);
                let files = set.map_or_else(Vec::new, |(_, files)| files.clone());
                files.into_iter().all(|file| file != descriptor && self.is_inside(file))
            }
            Some(known) => known.made,
            // It is always ready.
            None => true,
        }
    }

    /// Returns true if a file was added to a set.
    pub(crate) fn has_member(&mut self, set: c_int, file: c_int) -> bool {
        let Some(Known { number, .. }) = self.find(set) else { return false };
        self.sets.iter().any(|(known, files)| *known == number && files.contains(&file))
    }

    /// Returns the number of a timer file.
    pub(crate) fn number_of_timer(&mut self, file: c_int) -> Option<u64> {
        self.find(file).filter(|known| known.what == What::Timer).map(|known| known.number)
    }

    /// Returns true if a file is a timer, or a set that may contain one.
    pub(crate) fn may_have_timer(&mut self, file: c_int) -> bool {
        self.find(file).is_some_and(|known| matches!(known.what, What::Timer | What::Set))
    }

    /// Returns a file with this number, if one is left.
    pub(crate) fn with_number(&self, number: u64) -> Option<c_int> {
        self.known.iter().find(|known| known.number == number).map(|known| known.descriptor)
    }

    pub(super) fn is_outside(&self, waiter: &Waiter) -> bool {
        !waiter.inside || self.shared_files
    }
}

/// Waits until a file is ready that is about to be.
pub(crate) fn poll_now(file: c_int) {
    const LONG: u64 = 1_000_000_000;
    poll(&mut [pollfd { fd: file, events: libc::POLLIN, revents: 0 }], LONG);
}

/// Lets a moment of real time pass: the program polls an external condition without waiting for it.
pub(crate) fn nap() {
    const MOMENT: u64 = 100_000;
    poll(&mut [], MOMENT);
}

pub(super) fn poll(files: &mut [pollfd], span: u64) -> isize {
    let time =
        libc::timespec { tv_sec: (span / 1_000_000_000) as i64, tv_nsec: (span % 1_000_000_000) as i64 };
    let limit = if span == u64::MAX { 0 } else { &raw const time as usize };
    // SAFETY: the pointer and the length are those of `files`, and the time lives long enough.
    unsafe { raw::syscall(libc::SYS_ppoll, [files.as_mut_ptr() as usize, files.len(), limit, 0, 8, 0]) }
}

pub(crate) fn pending_signals() -> u64 {
    let mut set = 0_u64;
    // SAFETY: the set has eight bytes.
    unsafe { raw::syscall(libc::SYS_rt_sigpending, [&raw mut set as usize, 8, 0, 0, 0, 0]) };
    set
}

/// Returns true if reading a file returns random numbers.
pub(crate) fn is_random(descriptor: c_int) -> bool {
    // The device numbers of /dev/random and /dev/urandom, which are fixed in Linux.
    let (random, urandom) = (libc::makedev(1, 8), libc::makedev(1, 9));
    status(descriptor).is_some_and(|status| {
        status.st_mode & libc::S_IFMT == libc::S_IFCHR && [random, urandom].contains(&status.st_rdev)
    })
}

/// Returns true for a terminal, or the other side of one: the timing of human input is arbitrary.
fn is_terminal(status: &libc::stat) -> bool {
    // Consoles, /dev/tty and /dev/ptmx, and pseudo-terminals, by Linux's device numbers.
    matches!(libc::major(status.st_rdev), 4 | 5 | 136..=143)
}

/// Returns the number that identifies a pipe or socket.
fn inode(status: &libc::stat) -> u64 {
    status.st_ino ^ status.st_dev << 40
}

fn status(descriptor: c_int) -> Option<libc::stat> {
    // SAFETY: an all-zero status is valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the buffer has room for a status.
    let error =
        unsafe { raw::syscall(libc::SYS_fstat, [descriptor as usize, &raw mut status as usize, 0, 0, 0, 0]) };
    (error == 0).then_some(status)
}
