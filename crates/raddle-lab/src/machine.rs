//! Runs a compiled lab program on the engine.

use crate::syntax::{
    self, Action, AtomicAction, AtomicChange, Fault, Flow, Mode, ObjectKind, ObjectRef,
    Operation as Instruction, Pause, THREAD_LIMIT,
};
use raddle_engine::{Engine, MutexKind, Program, Reply, Resource};
use raddle_model::{
    Access, Cell, Failure, Format, Gathered, Kind, LocationId, Name, ObjectId, Operation, ThreadId, Value,
    Values, mix,
};
use std::sync::Arc;

/// One thread of a run.
#[derive(Clone, Copy, Debug)]
struct Instance {
    /// The index of its block in the program.
    block: u32,
    pc: u32,
    /// The index of its first local.
    locals: u32,
    /// True if the instruction at `pc` is an announced event.
    announced: bool,
}

/// The front end of the lab. Cloning it is cheap: the program is shared.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Arc<syntax::Program>,
    /// Per block and instruction: the operation, if it does not depend on locals.
    fixed: Arc<Vec<Vec<Option<Operation>>>>,
    names: Arc<Vec<Name>>,
    shared: Vec<i64>,
    locals: Vec<i64>,
    instances: Vec<Instance>,
    /// Per block: the last thread created from it.
    latest: Vec<Option<ThreadId>>,
    /// The values that steps read and wrote, if requested; the cell is the object.
    values: Option<Vec<Value>>,
}

impl Machine {
    /// Creates a machine for `program`.
    pub fn new(program: syntax::Program) -> Machine {
        let fixed = program.threads.iter().map(|thread| thread.code.iter().map(fixed_operation).collect());
        let names = program.objects.iter().map(|object| Name::of_text(&object.name)).collect();
        Machine {
            fixed: Arc::new(fixed.collect()),
            names: Arc::new(names),
            shared: Vec::new(),
            locals: Vec::new(),
            instances: Vec::new(),
            latest: Vec::new(),
            values: None,
            program: Arc::new(program),
        }
    }

    /// Returns the program.
    pub fn program(&self) -> &syntax::Program {
        &self.program
    }

    /// Records the values that steps read and write from now on; see [`Machine::take_values`].
    pub fn note_values(&mut self) {
        self.values = Some(Vec::new());
    }

    /// Returns the values that the steps of the latest run read and wrote, if recorded.
    pub fn take_values(&mut self) -> Values {
        let mut gathered = Gathered::default();
        for Value { step, cell, read, written } in self.values.take().unwrap_or_default() {
            let object = ObjectId(cell);
            gathered.add((step, read, written), (object, 0, WIDTH), || Cell {
                object,
                name: String::new(),
                width: WIDTH,
                format: Format::Signed,
                names: Vec::new(),
            });
        }
        gathered.into_values()
    }

    /// Returns a name for every thread of the latest run: that of its block, with a number if there are
    /// several.
    pub fn thread_names(&self) -> Vec<String> {
        let mut total = vec![0_u32; self.program.threads.len()];
        self.instances.iter().for_each(|instance| total[instance.block as usize] += 1);
        let mut so_far = vec![0_u32; total.len()];
        let name = |(index, instance): (usize, &Instance)| {
            let block = instance.block as usize;
            so_far[block] += 1;
            let name = &self.program.threads[block].name;
            match self.program.initial_threads.get(index) {
                Some(start) => start.name.clone(),
                None if total[block] == 1 => name.clone(),
                None => format!("{name}{}", so_far[block]),
            }
        };
        self.instances.iter().enumerate().map(name).collect()
    }

    /// Returns the value of a local of a thread of the latest run.
    pub fn local(&self, thread: usize, slot: u16) -> i64 {
        self.locals[self.instances[thread].locals as usize + usize::from(slot)]
    }

    /// Returns the values of the shared variables at the end of the latest run.
    pub fn shared(&self) -> &[i64] {
        &self.shared
    }

    /// Returns a name for each of `count` objects; "thread object NUMBER" for those that represent threads.
    pub fn object_names(&self, count: usize) -> Vec<String> {
        let known = self.program.objects.iter().map(|object| object.name.clone());
        let others = (self.program.objects.len()..count).map(|index| format!("thread object {index}"));
        known.chain(others).take(count).collect()
    }

    /// Returns the text of every location: line and statement.
    pub fn location_names(&self) -> Vec<String> {
        let text = |source: &syntax::Source| format!("line {}: {}", source.position.line, source.text);
        self.program.sources.iter().map(text).collect()
    }

    fn add_instance(&mut self, block: usize, argument: i64) {
        let locals = self.locals.len();
        self.locals.resize(locals + usize::from(self.program.threads[block].locals), 0);
        if let Some(first) = self.locals.get_mut(locals) {
            *first = argument;
        }
        self.instances.push(Instance { block: block as u32, pc: 0, locals: locals as u32, announced: false });
    }

    fn fail(&self, engine: &mut Engine, thread: ThreadId, fault: Fault) {
        let instance = &self.instances[thread.index()];
        let code = &self.program.threads[instance.block as usize].code;
        let source = code.get(instance.pc as usize).map_or(0, |instruction| instruction.source);
        let text = self.program.sources.get(source as usize).map_or("", |source| &source.text);
        let message = match fault {
            Fault::Assertion => format!("`{text}` does not hold"),
            other => format!("{other} in `{text}`"),
        };
        engine.fail(Failure::Assertion { thread, location: LocationId(source), message });
    }

    /// Completes the announced event of `thread`.
    fn complete(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply) -> Result<(), Fault> {
        let instance = &mut self.instances[thread.index()];
        instance.announced = false;
        let block = &self.program.threads[instance.block as usize];
        let Instruction::Event(event) = &block.code[instance.pc as usize].operation else {
            unreachable!("only events are announced");
        };
        let range = instance.locals as usize..instance.locals as usize + usize::from(block.locals);
        let locals = &mut self.locals[range];
        let mut flow = Flow::Next;
        let got = i64::from(!matches!(reply, Reply::Busy | Reply::TimedOut));
        let (target, value) = match &event.action {
            Action::Memory(action) => {
                if let Some(values) = &mut self.values {
                    let step = engine.step_count() as u32 - 1;
                    flow = noted(values, step, event, locals, &mut self.shared, |locals, shared| {
                        action.run(locals, shared)
                    })?;
                } else {
                    flow = action.run(locals, &mut self.shared)?;
                }
                if engine.wants_state() {
                    for &(object, mode) in event.accesses(locals).as_slice() {
                        if mode != Mode::Read {
                            engine.set_value(ObjectId(object), self.shared[object as usize] as u64);
                        }
                    }
                }
                (None, 0)
            }
            Action::Atomic(action) => {
                let object = action.object.resolve(locals)?;
                let step = engine.step_count() as u32 - 1;
                let memory = &mut self.shared[object as usize];
                let read = access(engine, thread, action, locals, memory)?;
                if engine.wants_state() {
                    engine.set_value(ObjectId(object), *memory as u64);
                }
                if let Some(values) = &mut self.values {
                    let written = action.written(locals, read)?.map(|value| value as u64);
                    let read = (!matches!(action.change, AtomicChange::Store(_))).then_some(read as u64);
                    values.push(Value { step, cell: object, read, written });
                }
                (action.target, read)
            }
            Action::Choose { target, .. } => match reply {
                Reply::Number(number) => (Some(*target), i64::from(number)),
                _ => (None, 0),
            },
            Action::TryLock { target, .. } => (Some(*target), got),
            Action::Lock { target, .. }
            | Action::SemaphoreWait { target, .. }
            | Action::ConditionWait { target, .. } => (*target, got),
            Action::Barrier { target, .. } => (*target, i64::from(reply == Reply::Number(1))),
            Action::OnceBegin { done, .. } => {
                if reply != Reply::RunOnce {
                    flow = Flow::Jump(*done);
                }
                (None, 0)
            }
            Action::Spawn { thread: child, argument, target } => {
                let argument = argument.eval(locals, &self.shared)?;
                let (child, target) = (*child, *target);
                let Reply::Spawned(id) = reply else { unreachable!("a spawn returns a thread") };
                if self.instances.len() >= THREAD_LIMIT {
                    return Err(Fault::TooManyThreads);
                }
                let instance = &mut self.instances[thread.index()];
                instance.pc += 1;
                if let Some(target) = target {
                    self.locals[instance.locals as usize + usize::from(target)] = i64::from(id.0);
                }
                self.latest[child] = Some(id);
                debug_assert_eq!(
                    id.index(),
                    self.instances.len(),
                    "threads are numbered in order of creation"
                );
                self.add_instance(child, argument);
                return Ok(());
            }
            _ => (None, 0),
        };
        if let Some(target) = target {
            locals[usize::from(target)] = value;
        }
        instance.pc = match flow {
            Flow::Next => instance.pc + 1,
            Flow::Jump(to) => to,
        };
        Ok(())
    }

    /// Returns the operation of an event that differs between threads or runs.
    fn operation(
        &self,
        engine: &mut Engine,
        (thread, instance): (ThreadId, Instance),
        event: &syntax::Event,
    ) -> Result<Operation, Fault> {
        let block = &self.program.threads[instance.block as usize];
        let locals = &self.locals[instance.locals as usize..][..usize::from(block.locals)];
        let location = LocationId(block.code[instance.pc as usize].source);
        let span = |expr: &syntax::Expr| expr.eval(locals, &[]).map(|span| span.max(0) as u64);
        let limit = |expr: &Option<syntax::Expr>| expr.as_ref().map_or(Ok(Operation::UNTIMED), span);
        let on = |kind: Kind, object: &ObjectRef| {
            let access =
                if kind == Kind::ReadLock || kind == Kind::Barrier { Access::Read } else { Access::Write };
            Ok(Operation::new(kind, location).on(ObjectId(object.resolve(locals)?), access))
        };
        match &event.action {
            Action::Memory(_) => Ok(memory_operation(event.accesses(locals).as_slice(), location)),
            Action::Atomic(action) => {
                // An element outside its array has no operation; completing it reports the fault.
                let Ok(object) = action.object.resolve(locals) else {
                    return Ok(Operation::new(Kind::Local, location));
                };
                let operation = action.operation(object, location);
                if !engine.is_weak() {
                    return Ok(operation);
                }
                let expected = action.expected(locals)?.map(bits);
                let held = bits(self.shared[object as usize]);
                Ok(engine.prepare_access(thread, operation, held, expected))
            }
            Action::Fence(order) => {
                let fence = Operation::new(Kind::Fence, location).ordered(*order);
                Ok(if engine.is_weak() { engine.prepare_fence(fence) } else { fence })
            }
            Action::Step => Ok(Operation::new(Kind::Local, location)),
            Action::Yield => Ok(Operation::new(Kind::Yield, location)),
            Action::Sleep(time) => Ok(Operation::new(Kind::Sleep, location).with_argument(span(time)?)),
            Action::Choose { count, .. } => {
                let count = count.eval(locals, &[])?;
                let arity =
                    u32::try_from(count).ok().filter(|&arity| arity > 0).ok_or(Fault::EmptyChoice(count))?;
                Ok(Operation::new(Kind::Choose, location).with_argument(u64::from(arity)))
            }
            Action::Lock { mutex, timeout, .. } => Ok(on(Kind::Lock, mutex)?.with_argument(limit(timeout)?)),
            Action::TryLock { mutex, .. } => on(Kind::TryLock, mutex),
            Action::Unlock(mutex) => on(Kind::Unlock, mutex),
            Action::ReadLock(lock) => on(Kind::ReadLock, lock),
            Action::WriteLock(lock) => on(Kind::WriteLock, lock),
            Action::RwUnlock(lock) => on(Kind::ReadWriteUnlock, lock),
            Action::SemaphoreWait { semaphore, timeout, .. } => {
                Ok(on(Kind::SemaphoreWait, semaphore)?.with_argument(limit(timeout)?))
            }
            Action::SemaphoreSignal(semaphore) => on(Kind::SemaphorePost, semaphore),
            Action::ConditionWait { condition, mutex, timeout, .. } => {
                let mutex = ObjectId(mutex.resolve(locals)?);
                Ok(on(Kind::ConditionWait, condition)?
                    .on(mutex, Access::Write)
                    .with_argument(limit(timeout)?))
            }
            Action::ConditionSignal(condition) => on(Kind::Signal, condition),
            Action::ConditionBroadcast(condition) => on(Kind::Broadcast, condition),
            Action::Barrier { barrier, target } => {
                Ok(on(Kind::Barrier, barrier)?.with_argument(u64::from(target.is_some())))
            }
            Action::OnceBegin { once, .. } => on(Kind::OnceBegin, once),
            Action::OnceEnd(once) => on(Kind::OnceEnd, once),
            Action::Spawn { .. } => Ok(Operation::new(Kind::Spawn, location)),
            Action::JoinHandle(local) => {
                let handle = locals[usize::from(*local)];
                let id = u32::try_from(handle).ok().filter(|&id| (id as usize) < self.instances.len());
                self.join(engine, location, id.map(ThreadId).ok_or(Fault::NotAThread(handle))?)
            }
            Action::JoinThread(block) => {
                self.join(engine, location, self.latest[*block].ok_or(Fault::NotAThread(*block as i64))?)
            }
            Action::Destroy(object) => on(Kind::Destroy, object),
            Action::Exit => Ok(Operation::new(Kind::Exit, location)),
        }
    }

    fn join(&self, engine: &mut Engine, location: LocationId, target: ThreadId) -> Result<Operation, Fault> {
        Ok(Operation::new(Kind::Join, location).on(engine.thread_object(target), Access::Read))
    }

    /// Runs local computation of `thread` and announces its next event.
    fn advance(&mut self, engine: &mut Engine, thread: ThreadId) -> Result<(), Fault> {
        let program = Arc::clone(&self.program);
        let instance = &mut self.instances[thread.index()];
        let block = &program.threads[instance.block as usize];
        let locals = &mut self.locals[instance.locals as usize..][..usize::from(block.locals)];
        let pause = block.run_local(&mut instance.pc, locals)?;
        if engine.wants_state() {
            let place = mix(u64::from(instance.block) << 32 | u64::from(instance.pc));
            engine.set_local(thread, locals.iter().fold(place, |hash, &local| mix(hash ^ local as u64)));
        }
        let Pause::Event(event) = pause else {
            engine.finish(thread);
            return Ok(());
        };
        instance.announced = true;
        let instance = *instance;
        let operation = match self.fixed[instance.block as usize][instance.pc as usize] {
            Some(operation) => operation,
            None => self.operation(engine, (thread, instance), event)?,
        };
        engine.announce(thread, operation);
        Ok(())
    }
}

impl Program for Machine {
    fn start(&mut self, engine: &mut Engine) {
        let program = Arc::clone(&self.program);
        self.shared.clear();
        self.locals.clear();
        self.instances.clear();
        self.latest.clear();
        self.latest.resize(program.threads.len(), None);
        for (object, &name) in program.objects.iter().zip(self.names.iter()) {
            let id = engine.add_object(name, resource(object));
            if object.kind == ObjectKind::Variable {
                self.shared.push(object.initial);
                engine.set_value(id, object.initial as u64);
            }
        }
        for start in &program.initial_threads {
            engine.add_thread();
            self.add_instance(start.thread, start.argument);
        }
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply) {
        let done = if self.instances[thread.index()].announced {
            self.complete(engine, thread, reply)
        } else {
            Ok(())
        };
        if let Err(fault) = done.and_then(|()| self.advance(engine, thread)) {
            self.fail(engine, thread, fault);
        }
    }
}

/// The value of a variable as the engine keeps it.
fn bits(value: i64) -> u128 {
    u128::from(value as u64)
}

/// Completes an atomic access, whose variable is kept in `memory`. Returns the value read.
fn access(
    engine: &mut Engine,
    thread: ThreadId,
    action: &AtomicAction,
    locals: &[i64],
    memory: &mut i64,
) -> Result<i64, Fault> {
    let before = if engine.is_weak() { engine.read_value() as i64 } else { *memory };
    match action.written(locals, before)? {
        Some(value) if engine.is_weak() => *memory = engine.note_written(bits(value)) as i64,
        Some(value) => *memory = value,
        None => {}
    }
    if let AtomicChange::Exchange { .. } = action.change
        && action.written(locals, before)?.is_none()
    {
        engine.note_failed_exchange(thread);
        engine.note_no_write(thread);
    }
    Ok(before)
}

/// Size of a variable in bytes.
const WIDTH: u8 = 8;

/// Records the values that `run` reads and writes, also if it ends in a fault.
#[cold]
fn noted(
    values: &mut Vec<Value>,
    step: u32,
    event: &syntax::Event,
    locals: &mut [i64],
    shared: &mut [i64],
    run: impl FnOnce(&mut [i64], &mut [i64]) -> Result<Flow, Fault>,
) -> Result<Flow, Fault> {
    // It may change the locals that determine which elements of arrays it touches.
    let accesses = event.accesses(locals);
    let at = |shared: &[i64], object: u32| shared.get(object as usize).map(|&value| value as u64);
    let begin = values.len();
    for &(cell, mode) in accesses.as_slice() {
        let read = at(shared, cell).filter(|_| mode != Mode::Write);
        values.push(Value { step, cell, read, written: None });
    }
    let flow = run(locals, shared)?;
    for (value, &(_, mode)) in values[begin..].iter_mut().zip(accesses.as_slice()) {
        value.written = at(shared, value.cell).filter(|_| mode != Mode::Read);
    }
    Ok(flow)
}

fn resource(object: &syntax::Object) -> Resource {
    match object.kind {
        ObjectKind::Variable => Resource::Memory,
        ObjectKind::Mutex => Resource::mutex(MutexKind::Normal),
        ObjectKind::RecursiveMutex => Resource::mutex(MutexKind::Recursive),
        ObjectKind::CheckedMutex => Resource::mutex(MutexKind::ErrorChecking),
        ObjectKind::RwLock => Resource::read_write_lock(),
        ObjectKind::Condition => Resource::condition(),
        ObjectKind::Semaphore => Resource::semaphore(object.initial.max(0) as u64),
        ObjectKind::Barrier => Resource::barrier(u32::try_from(object.initial).unwrap_or(u32::MAX)),
        ObjectKind::Once => Resource::once(),
    }
}

/// Returns the operation of an event on memory.
fn memory_operation(accesses: &[(u32, Mode)], location: LocationId) -> Operation {
    let all = |wanted: Mode| accesses.iter().all(|&(_, mode)| mode == wanted);
    let kind = match accesses {
        [] => Kind::Local,
        _ if all(Mode::Read) => Kind::Read,
        _ if all(Mode::Write) => Kind::Write,
        _ => Kind::ReadModifyWrite,
    };
    accesses.iter().fold(Operation::new(kind, location), |operation, &(object, mode)| {
        let access = if mode == Mode::Read { Access::Read } else { Access::Write };
        operation.on(ObjectId(object), access)
    })
}

/// Returns the operation of an event on memory or on nothing, if it does not depend on locals.
fn fixed_operation(instruction: &syntax::Instruction) -> Option<Operation> {
    let Instruction::Event(event) = &instruction.operation else { return None };
    let location = LocationId(instruction.source);
    match event.action {
        Action::Memory(_) => Some(memory_operation(event.fixed_accesses()?.as_slice(), location)),
        Action::Step => Some(Operation::new(Kind::Local, location)),
        _ => None,
    }
}
