//! Runs: each is executed in a child, which leaves its results in shared memory.
#![expect(unsafe_code, reason = "forks processes and waits for them")]

use super::begun::{Begun, End, Wanted};
use super::orphans;
use super::record;
use super::signals;
use super::state::Server;
use crate::child::halt::{Halt, UnseenEnd};
use crate::child::known::Known;
use crate::child::results::{self, Results, RunData};
use crate::child::runtime::{self, Runtime};
use crate::child::stack::Callers;
use crate::child::transactions::Progress;
use crate::child::values::Values;
use crate::child::{batch, callers, control, crash, pool, shared_memory};
use crate::platform::{memory, raw};
use raddle_engine::{Engine, Strategy};
use raddle_model::MemoryModel;
use raddle_model::native::{Answer, Points};

impl Server {
    /// Executes one run, under the strategy that `strategy` returns in the child, with this shared memory; if
    /// it is `None`, with the learned one. Returns `None` in the child that must execute the run, or if there
    /// is no strategy.
    ///
    /// A process may end in a way that the runtime does not see, and then leaves only its number of steps.
    /// The run is then repeated, to end by itself at that point. A run that was killed from outside has no
    /// meaning for the program; it is repeated once.
    pub(super) fn make_run(
        &mut self,
        strategy: &dyn Fn(&mut Server) -> Option<Box<dyn Strategy>>,
        random: u64,
        points: Points,
        known: Option<&Known>,
        wanted: Wanted,
    ) -> Option<Result<Box<RunData>, Answer>> {
        let begin = |server: &mut Server, halt| {
            memory::begin_run();
            let strategy = strategy(server)?;
            server.install(strategy, wanted);
            server.set_up(random, points, known, halt);
            Some(())
        };
        self.make(None, &begin)
    }

    /// Executes a run of a strategy, in the child that executes many runs if there is one. Also returns whether it was
    /// forked.
    pub(super) fn make_run_of(&mut self, begun: &Begun) -> Option<(Result<Box<RunData>, Answer>, bool)> {
        let forks = self.forks;
        let end = match self.result_of(begun) {
            Some(Ok(data)) => return Some((Ok(data), false)),
            Some(Err(end)) => Some(end),
            None => None,
        };
        let is_first = end.is_none() && self.residents.is_due();
        let begin = |server: &mut Server, halt: Option<Halt>| {
            let strategy = server.strategies[begun.number].take()?;
            if is_first && halt.is_none() {
                // It continues to use the memory of the server.
                memory::settle();
                server.stay(Some(begun));
            } else {
                memory::begin_run();
            }
            server.install(strategy, begun.wanted);
            server.set_up(begun.random, server.setup.points, None, halt);
            Some(())
        };
        self.is_first = is_first;
        let made = self.make(end, &begin)?;
        Some((made, self.forks != forks))
    }

    /// Executes a run in new children, which `begin` sets up, unless it was executed in a child that ended like `end`.
    pub(super) fn make(
        &mut self,
        mut end: Option<End>,
        begin: &dyn Fn(&mut Server, Option<Halt>) -> Option<()>,
    ) -> Option<Result<Box<RunData>, Answer>> {
        let (mut halt, mut was_killed) = (None, false);
        loop {
            let end = match end.take() {
                Some(end) => end,
                None => {
                    shared_memory::clear();
                    self.fork()
                }
            };
            let status = match (end, results::read()) {
                (End::Child(server), _) => {
                    // Here and not earlier: a page that the server writes before a fork is copied in the
                    // child and faults in the server.
                    begin(self, halt)?;
                    self.become_run(server);
                    return None;
                }
                (_, Results::Complete(data)) => return Some(Ok(data)),
                (_, Results::Lost(message)) | (End::Late(message), Results::None) => {
                    return Some(Err(Answer::Lost { message }));
                }
                (_, Results::Refused(message)) | (End::Refused(message), Results::None) => {
                    return Some(Err(Answer::Refused { message }));
                }
                (End::Ended(status), Results::None) => status,
                (End::Stays, Results::None) => 0,
            };
            if crash::is_from_outside(status) {
                // A single run may have been killed on purpose, by a debugger for instance.
                let is_single = self.setup.strategies.is_empty();
                if !is_single && !std::mem::replace(&mut was_killed, true) {
                    continue;
                }
                if libc::WTERMSIG(status) == libc::SIGKILL {
                    return Some(Err(Answer::Refused { message: crash::KILLED.to_owned() }));
                }
            }
            if halt.is_some() {
                return Some(Err(Answer::Lost { message: crash::unseen(status) }));
            }
            let (thread, place) = shared_memory::running();
            let end = if libc::WIFSIGNALED(status) {
                UnseenEnd::Signal(libc::WTERMSIG(status))
            } else {
                UnseenEnd::Exit(libc::WEXITSTATUS(status))
            };
            halt = Some(Halt { steps: shared_memory::steps(), thread, place, end });
        }
    }

    /// Sets up this process for a run. A separate function because of the stack: only the part that a child
    /// writes to is copied.
    #[inline(never)]
    pub(super) fn install(&self, strategy: Box<dyn Strategy>, wanted: Wanted) {
        let mut settings = self.setup.settings;
        if strategy.needs().weak_memory {
            settings.memory = MemoryModel::Weak;
        }
        let tracks_races = settings.races || settings.memory == MemoryModel::Weak;
        if self.learns {
            // Which memory is shared is not known yet, so that accesses to atomics are missed.
            settings.memory = MemoryModel::Sc;
        }
        let engine = Engine::new(settings.into());
        callers::set_modules(self.modules);
        runtime::install(Runtime::new(engine, strategy, self.modules, self.main));
        runtime::with(|runtime| {
            runtime.accesses.races = tracks_races;
            runtime.network.settings = settings.network;
            runtime.wants_steps = wanted != Wanted::IfFailing;
            runtime.values =
                matches!(wanted, Wanted::Values | Wanted::Details).then(|| Box::new(Values::wanted()));
            let (own, code) = (self.modules.own(), self.modules.code());
            runtime.callers = match wanted {
                Wanted::Details => Some(Callers::shown(own, code)),
                _ => self.setup.callers.then(|| Callers::new(own)),
            };
        });
    }

    /// Sets up the run of this process further.
    pub(super) fn set_up(&self, random: u64, points: Points, known: Option<&Known>, halt: Option<Halt>) {
        runtime::with(|runtime| {
            runtime.points = points;
            if let Some(division) = self.division.filter(|_| !self.learns && points == Points::Shared) {
                runtime.points = Points::Transactional;
                runtime.transactions = Some(Box::new(Progress::new(division)));
            }
            runtime.accesses.recall(known.unwrap_or(&self.known));
            runtime.accesses.learns = self.learns;
            runtime.random = (self.setup.seed, random);
            runtime.halt = halt;
        });
    }

    /// Forgets the output of the previous run.
    pub(super) fn truncate_files(&self) {
        for file in self.files() {
            // SAFETY: the file is ours.
            unsafe { libc::ftruncate(file, 0) };
        }
    }

    fn fork(&mut self) -> End {
        self.truncate_files();
        self.forks += 1;
        // SAFETY: the system call touches no memory.
        let server = unsafe { libc::getpid() };
        let child = self.processors.stay(pool::fork);
        if child < 0 {
            let error = std::io::Error::last_os_error();
            return End::Refused(format!(
                "cannot create a process for the run: {error}; this is a system limit, not a \
                 failure of the program\nhelp: raise `ulimit -u` or the memory limit, or use fewer --jobs"
            ));
        }
        if child == 0 {
            return End::Child(server);
        }
        if std::mem::take(&mut self.is_first) {
            batch::forget();
            self.residents.note_start(child);
        }
        self.wait(child)
    }

    /// Sets up the files of the child: its output goes to the file, and its input is empty.
    fn become_run(&self, server: i32) {
        control::begin_run();
        self.signals.give_back();
        // Without libc, whose functions for these are on pages that nothing else in a short run touches.
        // SAFETY: these numbers are open files of ours, and 0 to 2 are the standard ones.
        let call = |number, [a, b]: [i32; 2]| unsafe {
            raw::syscall(number, [a as usize, b as usize, libc::SEEK_SET as usize, 0, 0, 0])
        };
        // Signals to the group are meant for the run, and for the processes that it starts. A debugger, which has
        // unlimited time, knows only its own group.
        if self.setup.patience_ms != u64::MAX {
            call(libc::SYS_setpgid, [0, 0]);
        }
        // A child that outlives a killed server is useless.
        call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG, libc::SIGKILL]);
        if call(libc::SYS_getppid, [0, 0]) != server as isize {
            // The server was killed before this process could be tied to it.
            raw::exit(0);
        }
        for file in self.files() {
            call(libc::SYS_lseek, [file, 0]);
        }
        call(libc::SYS_dup2, [self.expected.as_ref().map_or(self.output, |(_, file)| *file), 1]);
        call(libc::SYS_dup2, [self.output, 2]);
        for file in self.files().chain([self.wire.socket]) {
            call(libc::SYS_close, [file, 0]);
        }
    }

    /// Waits for the end of a run in a child.
    pub(super) fn wait(&mut self, child: i32) -> End {
        let patience = i32::try_from(self.setup.patience_ms).unwrap_or(i32::MAX);
        let mut late = None;
        let mut taken = batch::taken();
        let status = loop {
            let mut in_time = self.signals.wait(patience);
            if shared_memory::is_done() {
                return End::Stays;
            }
            if let Some(status) = signals::status(child) {
                break status;
            }
            // The limit is that of one run, not of a batch.
            in_time |= std::mem::replace(&mut taken, batch::taken()) != batch::taken();
            if !in_time {
                late.get_or_insert_with(|| record::stuck(child, patience, self.modules, || self.ask(child)));
                // SAFETY: the child was not waited for, so the number is still its own.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
        };
        if self.residents.process == Some(child) {
            self.note_end_of_resident();
        }
        if shared_memory::has_processes() || !shared_memory::are_there() {
            orphans::end(child);
        }
        match late {
            Some(message) if !shared_memory::are_there() => End::Late(message),
            _ => End::Ended(status),
        }
    }

    /// Asks a computing child for its current instruction, and waits a moment for the answer. The child does
    /// not continue afterwards.
    fn ask(&self, child: i32) {
        const TURNS: usize = 20;
        const TURN_MS: i32 = 10;
        // SAFETY: the child was not waited for, so the number is still its own.
        unsafe { libc::kill(child, crash::late_signal()) };
        for _ in 0..TURNS {
            if shared_memory::late() != 0 || self.signals.wait(TURN_MS) {
                return;
            }
        }
    }
}
