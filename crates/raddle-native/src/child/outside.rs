//! What threads wait for that the operating system keeps: files, signals and processes.
//!
//! A call that would block is tried without blocking instead. If that brings nothing, the thread parks and others run. What
//! it waits for is *inside* if only this program can bring it: a pipe, a pair of sockets or an event counter that it
//! made itself and that no other process has. Then it is looked at after every call that may have changed it, and whether the
//! thread can go on depends on the schedule alone. Everything else is *outside*, and is looked at only where no
//! thread can go on: when it comes is then as little of a choice as possible, and the runs of a seed repeat as far as the
//! outside does. There, and only there, the process really waits, and time goes by as outside.
//!
//! Limits: calls that libc makes by itself are not seen, but for those of stdio. One that the kernel blocks stops all
//! threads; one that changes a file is noticed where no thread can go on. Time-outs of sockets and polls, and timers that
//! are files, are virtual.
#![expect(unsafe_code, reason = "the operating system is asked")]

use crate::platform::{raw, signals};
use libc::{c_int, pollfd};
use raddle_model::{Kind, ObjectId, Operation, ThreadId};

/// What a thread waits for.
pub(crate) enum Awaited {
    /// One of these files is ready, for what is asked of it.
    Files(Vec<pollfd>),
    /// One of these signals is pending, as bits.
    Signals(u64),
    /// A child has changed its state: the first two arguments and the flags of `waitid`.
    Child(usize, usize, c_int),
    /// Any signal has been handled.
    Handler,
    /// Something that the kernel has no way to tell of. It was tried after so many steps, and is tried again where no thread can
    /// go on: after steps of others, or, if no time-out is due either, after a moment.
    Chance(u64),
    /// No thread is inside a function on this stream of stdio.
    Stream(usize),
}

impl Awaited {
    /// Returns a number, not 0, that [`awaited_text`] puts into words: the kind, and in higher bits the file or signal.
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

    /// Whether it is there, if `held` are the streams that threads are inside of. Changes nothing.
    pub(crate) fn is_there(&self, held: &[(usize, ThreadId)]) -> bool {
        match self {
            Awaited::Files(files) => {
                let mut copy = files.clone();
                poll(&mut copy, 0) > 0
            }
            Awaited::Signals(set) => pending_signals() & set != 0,
            &Awaited::Child(kind, id, flags) => {
                // SAFETY: room for what is told of a child, which may be all zeroes.
                let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
                let flags = (flags | libc::WNOHANG | libc::WNOWAIT) as usize;
                let arguments = [kind, id, &raw mut told as usize, flags, 0, 0];
                // SAFETY: as above; no child is forgotten by this.
                let error = unsafe { raw::syscall(libc::SYS_waitid, arguments) };
                // SAFETY: the call has filled it, or left the zeroes.
                error < 0 || unsafe { told.si_pid() } != 0
            }
            Awaited::Handler | Awaited::Chance(_) => false,
            Awaited::Stream(stream) => held.iter().all(|(held, _)| held != stream),
        }
    }
}

/// Says until when a thread waits, by the number of what it waits for.
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

/// One thread that waits.
pub(crate) struct Waiter {
    pub(crate) thread: ThreadId,
    pub(crate) token: ObjectId,
    pub(crate) awaited: Awaited,
    /// Whether only this program could bring it, when it began to wait.
    pub(crate) inside: bool,
    pub(crate) woken: bool,
}

/// A token that was given without a step. Plain data.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Wake {
    /// After how many steps of the run.
    pub(crate) step: u32,
    pub(crate) token: ObjectId,
    /// Whether no thread could go on.
    pub(crate) idle: bool,
}

/// What a file is to the run.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Its number in the file system of pipes or sockets; 0 for one that is known by its descriptor.
    inode: u64,
    pub(super) descriptor: c_int,
    /// Files whose readiness depends on each other have the same one.
    pub(crate) number: u64,
    pub(super) what: What,
    /// Whether this program has made it.
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
    /// A set of files, as `epoll` has them.
    Set,
    /// The lock of a stream of stdio.
    Stream,
    Timer,
}

/// How the reports call a file whose object has this value.
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
    } else if named(What::Stream) {
        format!("the lock of stream {number}")
    } else if named(What::Sockets) {
        "sockets".to_owned()
    } else if named(What::Others) {
        "other files".to_owned()
    } else if named(What::Signals) {
        "signals".to_owned()
    } else if named(What::Children) {
        "child processes".to_owned()
    } else {
        "all files".to_owned()
    }
}

/// Whether an operation waits for something that the operating system keeps.
pub(crate) fn is_wait(operation: &Operation) -> bool {
    operation.kind == Kind::Park && operation.touches[1].object().is_some()
}

/// What the run knows of the outside.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) waiters: Vec<Waiter>,
    /// Streams of stdio that glibc has locked for threads which wait inside of it.
    pub(crate) held: Vec<(usize, ThreadId)>,
    known: Vec<Known>,
    /// The sets of `epoll` by the numbers of their files, which copies have in common; each with its members.
    sets: Vec<(u64, Vec<c_int>)>,
    /// Other processes may have files of this one, so that nothing is inside any more.
    pub(crate) handed_out: bool,
    /// The signals that timers of the program may send it, as bits.
    pub(crate) timers: u64,
    /// How many numbers were given to files.
    numbers: u64,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) waits: u64,
    pub(crate) processes: u64,
}

/// The first numbers of objects stand for what has no file of its own.
pub(super) const FIRST: u64 = 16;

impl Outside {
    /// Takes note of files that the program has made, and whose readiness depends on each other.
    pub(crate) fn note_made(&mut self, what: What, descriptors: &[c_int]) {
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

    /// Takes note that a descriptor means nothing any more.
    pub(crate) fn note_closed(&mut self, descriptor: c_int) {
        self.known.retain(|known| known.inode != 0 || known.descriptor != descriptor);
        let known = &self.known;
        self.sets.retain(|(set, _)| known.iter().any(|known| known.number == *set));
    }

    /// Takes note that a descriptor was copied.
    pub(crate) fn note_copied(&mut self, from: c_int, to: c_int) {
        self.note_closed(to);
        let copied = self.known.iter().find(|known| known.inode == 0 && known.descriptor == from).copied();
        self.known.extend(copied.map(|known| Known { descriptor: to, ..known }));
    }

    /// Takes note that a file was put into a set.
    pub(crate) fn note_member(&mut self, set: c_int, file: c_int) {
        let Some(Known { number, .. }) = self.find(set) else { return };
        if let Some((_, files)) = self.sets.iter_mut().find(|(known, _)| *known == number) {
            files.push(file);
        }
    }

    /// What a descriptor is to the run; nothing if calls with it never wait for long, or there is no such file.
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

    /// Whether only this program can make a file ready.
    pub(crate) fn is_inside(&mut self, descriptor: c_int) -> bool {
        if self.handed_out {
            return false;
        }
        match self.find(descriptor) {
            Some(Known { what: What::Set, number, .. }) => {
                let set = self.sets.iter().find(|(set, _)| *set == number);
                let files = set.map_or_else(Vec::new, |(_, files)| files.clone());
                files.into_iter().all(|file| file != descriptor && self.is_inside(file))
            }
            Some(known) => known.made,
            // It is ready at all times.
            None => true,
        }
    }

    /// The number of a file that is a timer.
    pub(crate) fn number_of_timer(&mut self, file: c_int) -> Option<u64> {
        self.find(file).filter(|known| known.what == What::Timer).map(|known| known.number)
    }

    /// Whether a file is a timer, or a set that may have one in it.
    pub(crate) fn may_have_timer(&mut self, file: c_int) -> bool {
        self.find(file).is_some_and(|known| matches!(known.what, What::Timer | What::Set))
    }

    /// A file with this number, if one is left.
    pub(crate) fn with_number(&self, number: u64) -> Option<c_int> {
        self.known.iter().find(|known| known.number == number).map(|known| known.descriptor)
    }

    pub(super) fn is_outside(&self, waiter: &Waiter) -> bool {
        !waiter.inside || self.handed_out
    }
}

/// Waits until a file is ready that is about to be.
pub(crate) fn poll_now(file: c_int) {
    const LONG: u64 = 1_000_000_000;
    poll(&mut [pollfd { fd: file, events: libc::POLLIN, revents: 0 }], LONG);
}

/// Lets a moment really pass: the program looks again and again for something from outside, without waiting for it.
pub(crate) fn nap() {
    const MOMENT: u64 = 100_000;
    poll(&mut [], MOMENT);
}

pub(super) fn poll(files: &mut [pollfd], span: u64) -> isize {
    let time =
        libc::timespec { tv_sec: (span / 1_000_000_000) as i64, tv_nsec: (span % 1_000_000_000) as i64 };
    let limit = if span == u64::MAX { 0 } else { &raw const time as usize };
    // SAFETY: the files are as many as it says, and the time lives long enough.
    unsafe { raw::syscall(libc::SYS_ppoll, [files.as_mut_ptr() as usize, files.len(), limit, 0, 8, 0]) }
}

fn pending_signals() -> u64 {
    let mut set = 0_u64;
    // SAFETY: the set has eight bytes.
    unsafe { raw::syscall(libc::SYS_rt_sigpending, [&raw mut set as usize, 8, 0, 0, 0, 0]) };
    set
}

/// Whether reading a file gives random numbers.
pub(crate) fn is_random(descriptor: c_int) -> bool {
    // The numbers of /dev/random and /dev/urandom, as Linux has them for ever.
    let (random, urandom) = (libc::makedev(1, 8), libc::makedev(1, 9));
    status(descriptor).is_some_and(|status| {
        status.st_mode & libc::S_IFMT == libc::S_IFCHR && [random, urandom].contains(&status.st_rdev)
    })
}

/// Whether it is a terminal, or the other side of one: what a person types comes when it comes.
fn is_terminal(status: &libc::stat) -> bool {
    // Consoles, /dev/tty and /dev/ptmx, and pseudo-terminals, as Linux numbers them.
    matches!(libc::major(status.st_rdev), 4 | 5 | 136..=143)
}

/// What tells a pipe or socket from others.
fn inode(status: &libc::stat) -> u64 {
    status.st_ino ^ status.st_dev << 40
}

fn status(descriptor: c_int) -> Option<libc::stat> {
    // SAFETY: zeroes are a valid status.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for a status.
    let error =
        unsafe { raw::syscall(libc::SYS_fstat, [descriptor as usize, &raw mut status as usize, 0, 0, 0, 0]) };
    (error == 0).then_some(status)
}
