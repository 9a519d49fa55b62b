//! Children that execute many runs ([`resident`]), as the server sees them.
//!
//! Such a child has a copy of the server's strategies. Both call `begin` and `learn` in the same way for every run, so
//! that the copies stay the same, and the child knows the run when it gets its number. Whatever happens to the child,
//! the state of the server is that of a server whose runs are all forked.
#![expect(unsafe_code, reason = "the hooks of a child find the server's data by a static")]

use super::begun::{Begun, End, Wanted};
use super::state::Server;
use super::{orphans, signals};
use crate::child::batch::{self, Batch, Taken};
use crate::child::interpose::unwind;
use crate::child::resident::{self, Hooks};
use crate::child::results::{self, Results, RunData};
use crate::child::{pending, runtime, shared_memory};
use crate::platform::raw;
use raddle_engine::{Plan, Rng};
use raddle_model::MemoryModel;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering};

/// In a child, the server's data and the current run.
static SERVER: AtomicPtr<Server> = AtomicPtr::new(std::ptr::null_mut());

impl Server {
    /// Lets a strategy begin a run. `None` if it has no schedule left, or does not exist.
    pub(super) fn begin(&mut self, number: usize, run: u64) -> Option<Begun> {
        let strategy = self.strategies.get_mut(number)?.as_mut()?;
        if strategy.begin(Rng::for_run(self.setup.seed, run)) == Plan::Exhausted {
            return None;
        }
        let (learns, mut needs) = (strategy.learns(), strategy.needs());
        // The server repeats runs, whose choices of weak memory are recorded.
        let asks_for_weak_memory = std::mem::take(&mut needs.weak_memory);
        let is_weak = asks_for_weak_memory || self.setup.settings.memory == MemoryModel::Weak;
        let random = if self.lanes[number].learns { 0 } else { run };
        let wants_steps = learns || self.expected.is_some() || self.judges_ends();
        let wanted = if wants_steps { Wanted::Steps } else { Wanted::IfFailing };
        Some(Begun { number, run, learns, needs, is_weak, random, wanted })
    }

    /// Returns the results of a run that has begun, or the end of its process, if the current child executes it;
    /// `None` if there is no such child.
    pub(super) fn result_of(&mut self, begun: &Begun) -> Option<Result<Box<RunData>, End>> {
        if let Some(data) = self.batch.next() {
            return Some(Ok(data));
        }
        if self.end_of_batch.is_none() {
            self.execute_batch(begun)?;
            if let Some(data) = self.batch.next() {
                return Some(Ok(data));
            }
        }
        self.end_of_batch.take().map(Err)
    }

    /// Returns the current child, with cleared output and results.
    pub(super) fn free_resident(&mut self) -> Option<i32> {
        let process = self.residents.process?;
        if signals::status(process).is_some() {
            self.note_end_of_resident();
            return None;
        }
        self.truncate_files();
        for file in self.files() {
            // A forked child has the same position. SAFETY: the file is ours.
            unsafe { libc::lseek(file, 0, libc::SEEK_SET) };
        }
        shared_memory::clear();
        Some(process)
    }

    /// Sets up this process for the run of an order to follow a schedule.
    fn begin_follower(&mut self, text: &[u8]) {
        self.begun = None;
        let order = serde_json::from_slice(text).ok();
        if order.and_then(|order| self.install_follower(&order, None)).is_none() {
            raw::exit(0);
        }
    }

    /// Lets the current child execute a run that has begun, and those that are ordered after it, until one is not
    /// simply a run that passed. Returns `None` if there is no such child.
    fn execute_batch(&mut self, begun: &Begun) -> Option<()> {
        let process = self.free_resident()?;
        let mut runs = [(begun.number, begun.run); batch::MOST];
        let mut count = 1;
        // The server compares the output of every run with the expected one.
        let most = if self.expected.is_some() { 1 } else { self.residents.until_check().min(batch::MOST) };
        self.orders.look_ahead(&mut self.wire, most - 1);
        for (run, next) in runs[1..most].iter_mut().zip(self.orders.runs()) {
            (*run, count) = (next, count + 1);
        }
        batch::order(&runs[..count]);
        let end = self.wait(process);
        self.batch = Batch::end();
        self.end_of_batch = self.batch.has_last.then_some(end);
        Some(())
    }

    /// Forks all further runs if the program or the system requires it. Returns true if this is new, and the reason is
    /// the system.
    pub(super) fn note_no_reset(&mut self) -> bool {
        let reason = shared_memory::no_reset().filter(|_| self.residents.are_wanted);
        self.residents.are_wanted &= reason.is_none();
        reason == Some(true)
    }

    /// Ends what is left of a child that executes many runs, if the one that has ended is one.
    pub(super) fn note_end_of_resident(&mut self) {
        let twin = shared_memory::twin();
        if twin > 0 {
            shared_memory::note_twin(0);
            orphans::end_child(twin);
        }
        if self.residents.process.is_some() {
            self.residents.note_end(batch::kept());
        }
    }

    /// Ends the current child that executes many runs.
    pub(super) fn end_resident(&mut self) {
        if let Some(process) = self.residents.process {
            orphans::end_child(process);
            self.note_end_of_resident();
        }
    }

    /// Records a run that was not forked, with its results. Now and then, executes it in a forked child as well:
    /// if the results differ, those are returned, with a description, and all further runs are forked. Returns `None`
    /// in that child.
    pub(super) fn check_resident(
        &mut self,
        begun: &Begun,
        data: Box<RunData>,
    ) -> Option<(Box<RunData>, Option<String>)> {
        if !self.residents.note_run() {
            return Some((data, None));
        }
        let printed = self.printed();
        let take = |server: &mut Server| server.strategies[begun.number].take();
        let forked = match self.make_run(&take, begun.random, self.setup.points, None, begun.wanted)? {
            Ok(forked) => forked,
            // The system may refuse a process, and the run is fine.
            Err(_) => return Some((data, None)),
        };
        let differs = |what: &str, is_same: bool| (!is_same).then(|| what.to_owned());
        let difference = differs("verdict", forked.verdict == data.verdict)
            .or_else(|| differs("number of steps", forked.steps == data.steps))
            .or_else(|| differs("partial order", forked.fingerprint == data.fingerprint))
            .or_else(|| differs("exit status", forked.status == data.status))
            .or_else(|| differs("output", self.printed() == printed));
        if difference.is_none() || forked.outside_waits + data.outside_waits > 0 {
            return Some((data, None));
        }
        self.residents.are_wanted = false;
        self.end_resident();
        Some((forked, difference))
    }

    /// Makes this process, a new child, execute many runs, of which this is the first.
    pub(super) fn stay(&mut self, begun: Option<&Begun>) {
        self.begun = begun.copied();
        SERVER.store(std::ptr::from_mut(self), Ordering::Relaxed);
        resident::prepare(Hooks { own, over, next });
    }
}

/// Returns the server's data, in a child.
fn server() -> &'static mut Server {
    // SAFETY: `stay` has stored the server, which is never freed. Only hooks come here, one at a time.
    unsafe { &mut *SERVER.load(Ordering::Relaxed) }
}

fn own() -> Range<usize> {
    let own = server().modules.own();
    own.start as usize..own.end as usize
}

/// Keeps the results of the run, which is over, or reports them to the server, and learns from it as the server does.
fn over() -> bool {
    let server = server();
    let strategy = runtime::take();
    let Some(begun) = server.begun else {
        batch::keep();
        wake_server();
        return false;
    };
    server.strategies[begun.number] = strategy;
    let data = if begun.learns { results::read() } else { Results::None };
    let is_kept = batch::keep();
    if !is_kept {
        wake_server();
    }
    if let Results::Complete(data) = data {
        server.learn(&begun, &data);
    }
    is_kept
}

/// Tells the server that the batch is over.
fn wake_server() {
    shared_memory::note_done();
    // SAFETY: the server waits for this signal; the system calls touch no memory.
    unsafe {
        let parent = raw::syscall(libc::SYS_getppid, [0; 6]);
        raw::syscall(libc::SYS_kill, [parent as usize, libc::SIGCHLD as usize, 0, 0, 0, 0]);
    }
}

/// Waits for the next run and sets it up.
fn next() {
    let server = server();
    unwind::forget();
    pending::forget();
    let begun = loop {
        let (number, run) = match batch::take() {
            Taken::Run(number, run) => (number, run),
            Taken::Text(text) => return server.begin_follower(text),
        };
        match server.begin(number, run) {
            Some(begun) => break begun,
            None if batch::keep_exhausted() => {}
            None => wake_server(),
        }
    };
    server.begun = Some(begun);
    let Some(strategy) = server.strategies[begun.number].take() else { raw::exit(0) };
    server.install(strategy, begun.wanted);
    server.set_up(begun.random, server.setup.points, None, None);
}
