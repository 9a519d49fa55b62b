//! A plain interpreter with exhaustive search, to check the figures without the engine.
//!
//! It supports what the figures use: no time, no data choices, no readers-writer locks.

use std::collections::BTreeMap;

use crate::syntax::*;

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Passed,
    Failed(Fault),
    Deadlock,
    Misuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Ready,
    InCondition(u32, u32),
    Relocking(u32),
    InBarrier(u32),
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    thread: usize,
    pc: u32,
    locals: Vec<i64>,
    status: Status,
}

/// A state of a program between two events.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) shared: Vec<i64>,
    threads: Vec<Running>,
    /// Per object: holder + 1 of a mutex, permits, arrivals, progress of a once.
    sync: Vec<i64>,
    destroyed: Vec<bool>,
    pub(super) end: Option<End>,
}

impl State {
    pub(super) fn new(program: &Program) -> Self {
        let sync = program.objects.iter().map(|object| match object.kind {
            ObjectKind::Semaphore => object.initial,
            _ => 0,
        });
        let mut state = State {
            shared: program.initial_values(),
            threads: Vec::new(),
            sync: sync.collect(),
            destroyed: vec![false; program.objects.len()],
            end: None,
        };
        for start in &program.initial_threads {
            state.start(program, start.thread, start.argument);
        }
        state.settle(program);
        state
    }

    fn start(&mut self, program: &Program, thread: usize, argument: i64) {
        let mut locals = vec![0; usize::from(program.threads[thread].locals)];
        locals[0] = argument;
        self.threads.push(Running { thread, pc: 0, locals, status: Status::Ready });
        self.advance(program, self.threads.len() - 1);
    }

    /// Runs local computation up to the next event.
    fn advance(&mut self, program: &Program, id: usize) {
        let running = &mut self.threads[id];
        match program.threads[running.thread].run_local(&mut running.pc, &mut running.locals) {
            Ok(Pause::Event(_)) => {}
            Ok(Pause::Ended) => running.status = Status::Ended,
            Err(fault) => self.end = Some(End::Failed(fault)),
        }
    }

    fn event<'a>(&self, program: &'a Program, id: usize) -> &'a Event {
        let running = &self.threads[id];
        match &program.threads[running.thread].code[running.pc as usize].operation {
            Operation::Event(event) => event,
            other => panic!("a thread stops only at events, not at {other:?}"),
        }
    }

    pub(super) fn enabled(&self, program: &Program) -> Vec<usize> {
        if self.end.is_some() {
            return Vec::new();
        }
        (0..self.threads.len()).filter(|id| self.is_enabled(program, *id)).collect()
    }

    fn is_enabled(&self, program: &Program, id: usize) -> bool {
        let running = &self.threads[id];
        match running.status {
            Status::Ended | Status::InCondition(..) | Status::InBarrier(_) => return false,
            Status::Relocking(mutex) => return self.sync[mutex as usize] == 0,
            Status::Ready => {}
        }
        let value =
            |object: &ObjectRef| object.resolve(&running.locals).map(|object| self.sync[object as usize]);
        let over = |id: usize| self.threads[id].status == Status::Ended;
        match &self.event(program, id).action {
            Action::Lock { mutex, .. } => value(mutex) == Ok(0),
            Action::SemaphoreWait { semaphore, .. } => value(semaphore).is_ok_and(|permits| permits > 0),
            Action::OnceBegin { once, .. } => value(once) != Ok(1),
            Action::JoinHandle(slot) => over(running.locals[usize::from(*slot)] as usize),
            Action::JoinThread(block) => {
                self.threads.iter().any(|child| child.thread == *block && child.status == Status::Ended)
            }
            _ => true,
        }
    }

    /// Returns the objects that the next event of a thread touches.
    pub(super) fn accesses(&self, program: &Program, id: usize) -> Accesses {
        self.event(program, id).accesses(&self.threads[id].locals)
    }

    pub(super) fn step(&mut self, program: &Program, id: usize) {
        let mut flow = Flow::Next;
        if let Status::Relocking(mutex) = self.threads[id].status {
            self.sync[mutex as usize] = id as i64 + 1;
            self.threads[id].status = Status::Ready;
        } else {
            let event = self.event(program, id);
            let used = self.accesses(program, id);
            if used.as_slice().iter().any(|(object, _)| self.destroyed[*object as usize]) {
                self.end = Some(End::Misuse);
                return;
            }
            match self.perform(program, id, &event.action) {
                Ok(next) => flow = next,
                Err(fault) => self.end = Some(End::Failed(fault)),
            }
        }
        if self.end.is_none() && self.threads[id].status == Status::Ready {
            let running = &mut self.threads[id];
            running.pc = if let Flow::Jump(to) = flow { to } else { running.pc + 1 };
            self.advance(program, id);
        }
        self.settle(program);
    }

    fn perform(&mut self, program: &Program, id: usize, action: &Action) -> Result<Flow, Fault> {
        let count = self.threads.len() as i64;
        let running = &mut self.threads[id];
        let locals = &mut running.locals;
        match action {
            Action::Memory(memory) => return memory.run(locals, &mut self.shared),
            Action::Step | Action::Yield | Action::JoinHandle(_) | Action::JoinThread(_) => {}
            Action::Lock { mutex, .. } => self.sync[mutex.resolve(locals)? as usize] = id as i64 + 1,
            Action::Unlock(mutex) => {
                let mutex = mutex.resolve(locals)? as usize;
                if self.sync[mutex] != id as i64 + 1 {
                    self.end = Some(End::Misuse);
                }
                self.sync[mutex] = 0;
            }
            Action::SemaphoreWait { semaphore, .. } => self.sync[semaphore.resolve(locals)? as usize] -= 1,
            Action::SemaphoreSignal(semaphore) => self.sync[semaphore.resolve(locals)? as usize] += 1,
            Action::ConditionWait { condition, mutex, .. } => {
                let (condition, mutex) = (condition.resolve(locals)?, mutex.resolve(locals)?);
                self.sync[mutex as usize] = 0;
                running.status = Status::InCondition(condition, mutex);
            }
            Action::ConditionSignal(condition) => {
                let condition = condition.resolve(locals)?;
                for other in &mut self.threads {
                    if let Status::InCondition(waits, mutex) = other.status
                        && waits == condition
                    {
                        other.status = Status::Relocking(mutex);
                        break;
                    }
                }
            }
            Action::Barrier { barrier, .. } => {
                let barrier = barrier.resolve(locals)?;
                running.status = Status::InBarrier(barrier);
                self.sync[barrier as usize] += 1;
                if self.sync[barrier as usize] == program.objects[barrier as usize].initial {
                    self.sync[barrier as usize] = 0;
                    for other in 0..self.threads.len() {
                        if self.threads[other].status == Status::InBarrier(barrier) {
                            self.threads[other].status = Status::Ready;
                            if other != id {
                                self.threads[other].pc += 1;
                                self.advance(program, other);
                            }
                        }
                    }
                }
            }
            Action::OnceBegin { once, done } => {
                let once = once.resolve(locals)? as usize;
                if self.sync[once] == 2 {
                    return Ok(Flow::Jump(*done));
                }
                self.sync[once] = 1;
            }
            Action::OnceEnd(once) => self.sync[once.resolve(locals)? as usize] = 2,
            Action::Spawn { thread, argument, target } => {
                let argument = argument.eval(locals, &[])?;
                if let Some(slot) = target {
                    locals[usize::from(*slot)] = count;
                }
                self.start(program, *thread, argument);
            }
            Action::Destroy(object) => self.destroyed[object.resolve(locals)? as usize] = true,
            Action::Exit => self.end = Some(End::Passed),
            other => panic!("the figures do not use {}", other.name()),
        }
        Ok(Flow::Next)
    }

    fn settle(&mut self, program: &Program) {
        if self.end.is_none() && self.enabled(program).is_empty() {
            let all_over = self.threads.iter().all(|running| running.status == Status::Ended);
            self.end = Some(if all_over { End::Passed } else { End::Deadlock });
        }
    }
}

/// Returns the exact probability of each end under random walk.
///
/// # Panics
/// Does not return on programs that can run forever.
pub(super) fn random_walk(program: &Program) -> BTreeMap<End, f64> {
    fn below(
        program: &Program,
        state: &State,
        known: &mut BTreeMap<State, BTreeMap<End, f64>>,
    ) -> BTreeMap<End, f64> {
        if let Some(end) = &state.end {
            return BTreeMap::from([(end.clone(), 1.0)]);
        }
        if let Some(result) = known.get(state) {
            return result.clone();
        }
        let enabled = state.enabled(program);
        let mut sum = BTreeMap::new();
        for id in &enabled {
            let mut next = state.clone();
            next.step(program, *id);
            for (end, share) in below(program, &next, known) {
                *sum.entry(end).or_insert(0.0) += share / enabled.len() as f64;
            }
        }
        known.insert(state.clone(), sum.clone());
        sum
    }
    below(program, &State::new(program), &mut BTreeMap::new())
}

/// Returns every reachable end, also for programs that can run forever.
pub(super) fn reachable_ends(program: &Program) -> Vec<End> {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![State::new(program)];
    let mut ends = std::collections::BTreeSet::new();
    while let Some(state) = open.pop() {
        if let Some(end) = &state.end {
            ends.insert(end.clone());
        }
        for id in state.enabled(program) {
            let mut next = state.clone();
            next.step(program, id);
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    ends.into_iter().collect()
}

/// Returns every complete schedule, as names of the threads that started at once, with its end.
pub(super) fn schedules(program: &Program) -> Vec<(String, State)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), State::new(program))];
    while let Some((path, state)) = open.pop() {
        if state.end.is_some() {
            found.push((path, state));
            continue;
        }
        for id in state.enabled(program) {
            let mut next = state.clone();
            next.step(program, id);
            open.push((format!("{path}{}", program.initial_threads[id].name), next));
        }
    }
    found.sort();
    found
}

/// The priority to which a change point of PCT lowers a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demotion {
    /// The value of the change point's index, as in the paper.
    ByIndex,
    /// Below everything.
    ToTheBottom,
}

/// Runs PCT for all priorities and all change points in 1..=k; returns failures and draws.
/// A thread's priority is drawn by its number, which is the order of creation.
pub(super) fn pct(program: &Program, depth: usize, k: usize, demotion: Demotion) -> (u64, u64) {
    let (mut failures, mut draws) = (0, 0);
    for order in permutations(thread_count(program)) {
        for mut code in 0..k.pow(depth as u32 - 1) {
            let change_points: Vec<usize> = (1..depth)
                .map(|_| {
                    let point = code % k + 1;
                    code /= k;
                    point
                })
                .collect();
            let mut priority: Vec<i64> = order.iter().map(|rank| (depth + rank) as i64).collect();
            let mut state = State::new(program);
            let (mut step, mut bottom) = (0, 0);
            while state.end.is_none() {
                let enabled = state.enabled(program);
                let chosen = *enabled.iter().max_by_key(|id| priority[**id]).expect("a thread is enabled");
                state.step(program, chosen);
                step += 1;
                for (index, point) in change_points.iter().enumerate() {
                    if *point == step {
                        bottom -= 1;
                        let value = (depth - 1 - index) as i64;
                        priority[chosen] = if demotion == Demotion::ByIndex { value } else { bottom };
                    }
                }
            }
            draws += 1;
            failures += u64::from(state.end != Some(End::Passed));
        }
    }
    (failures, draws)
}

/// Returns the number of threads of a run; the figures have the same number in every run.
pub(super) fn thread_count(program: &Program) -> usize {
    let mut state = State::new(program);
    while let Some(id) = state.enabled(program).first() {
        state.step(program, *id);
    }
    state.threads.len()
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for place in 0..n {
            let mut longer = shorter.clone();
            longer.insert(place, n - 1);
            all.push(longer);
        }
    }
    all
}
