//! Tree to code: the statements of one thread.

use std::collections::BTreeMap;

use super::ast::*;
use super::error::{Outcome, SyntaxError};
use super::event::{Action, Event, MemoryAction, Mode, ObjectRef, Place};
use super::expression::Expr;
use super::program::{Instruction, Operation, Source, Thread};
use super::scope::{Binding, Entry, Globals, Scope, Touches, counter_assigned, unknown};

/// Loops with a constant count are unrolled while a thread has at most this many statements.
pub(super) const UNROLL_LIMIT: u64 = 4_096;
/// Largest number of locals of a thread, hidden loop counters included.
const MAX_LOCALS: usize = 4_096;
/// Largest number of shared objects in one statement.
const MAX_TOUCHED: usize = 2;
/// Stands in a jump until its target is known.
pub(super) const UNPATCHED: u32 = u32::MAX;

/// A `spawn` statement, for the rules between threads.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) from: usize,
    pub(super) thread: usize,
    pub(super) position: Position,
    pub(super) in_loop: bool,
    pub(super) has_argument: bool,
}

/// A `join T` statement.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) thread: usize,
    pub(super) position: Position,
}

/// Translates one thread block.
pub(super) struct ThreadCompiler<'a> {
    pub(super) scope: Scope<'a>,
    /// Index of the block.
    index: usize,
    name: &'a str,
    sources: &'a mut Vec<Source>,
    /// Sources of this thread by position, so that the rounds of an unrolled loop share them.
    known_sources: BTreeMap<Position, u32>,
    /// The statement being translated, as an index into `sources`.
    pub(super) source: u32,
    /// Number of event statements labelled so far.
    labels: u32,
    local_names: Vec<String>,
    pub(super) code: Vec<Instruction>,
    /// Number of statements translated so far, each round of an unrolled loop counted.
    pub(super) work: u64,
    pub(super) loops: u32,
    onces: u32,
    spawns: Vec<Spawned>,
    joins: Vec<Joined>,
}

impl<'a> ThreadCompiler<'a> {
    /// Creates a compiler for the `index`-th block.
    pub(super) fn new(
        globals: &'a Globals,
        index: usize,
        block: &'a ThreadBlock,
        sources: &'a mut Vec<Source>,
    ) -> Outcome<Self> {
        let mut scope = Scope::new(globals);
        scope.is_copied = block.copies.is_some();
        let mut argument = String::new();
        if let Some(parameter) = &block.parameter {
            scope.bind(parameter, Binding::Slot(0))?;
            argument.clone_from(&parameter.text);
        }
        Ok(ThreadCompiler {
            scope,
            index,
            name: &block.name.text,
            sources,
            known_sources: BTreeMap::new(),
            source: 0,
            labels: 0,
            local_names: vec![argument],
            code: Vec::new(),
            work: 0,
            loops: 0,
            onces: 0,
            spawns: Vec::new(),
            joins: Vec::new(),
        })
    }

    /// Translates the block's statements.
    pub(super) fn finish(mut self, block: &ThreadBlock) -> Outcome<(Thread, Vec<Spawned>, Vec<Joined>)> {
        self.body(&block.body)?;
        let thread = Thread {
            name: block.name.text.clone(),
            parameter: block.parameter.as_ref().map(|parameter| parameter.text.clone()),
            locals: self.local_names.len() as u16,
            local_names: self.local_names,
            code: self.code,
        };
        Ok((thread, self.spawns, self.joins))
    }

    pub(super) fn body(&mut self, statements: &[Statement]) -> Outcome<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Outcome<()> {
        self.work += 1;
        self.enter(statement);
        let position = statement.position;
        match &statement.kind {
            StatementKind::Local(names) => {
                for (name, value) in names {
                    self.declare(name, value.as_ref(), position)?;
                }
                Ok(())
            }
            StatementKind::Assign(place, value) => self.assign(place, value, position),
            StatementKind::Add { place, amount, target } => {
                self.add(place, amount, target.as_ref(), position)
            }
            StatementKind::Assert(condition) => {
                let mut touches = Touches::default();
                let condition = self.scope.expression(condition, &mut touches)?;
                if touches.is_empty() {
                    self.emit(Operation::Check(condition));
                    return Ok(());
                }
                self.memory(MemoryAction::Assert(condition), touches, position)
            }
            StatementKind::Atomic(call) => self.atomic(call, position),
            StatementKind::Fence(order) => self.plain(Action::Fence(*order)),
            StatementKind::Step => self.plain(Action::Step),
            StatementKind::Yield => self.plain(Action::Yield),
            StatementKind::Exit => self.plain(Action::Exit),
            StatementKind::Return => {
                if self.onces > 0 {
                    return Err(SyntaxError::new(
                        position,
                        "`return` inside `once` would block other threads forever",
                        "end the `once` block first",
                    ));
                }
                self.emit(Operation::Return);
                Ok(())
            }
            StatementKind::Repeat { count, counter, body } => {
                let count = self.scope.local_expression(count, position, "the count of `repeat`")?;
                self.repeat(count, counter.as_ref(), body, position)
            }
            StatementKind::If { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise, position)
            }
            StatementKind::While { condition, body } => self.while_loop(condition, body, statement),
            StatementKind::Once(object, body) => {
                let once = self.scope.object(object, "a once object", |kind| kind == ObjectKind::Once)?;
                let begin = self.code.len();
                let source = self.source;
                self.sync(Action::OnceBegin { once: once.clone(), done: UNPATCHED }, &[&once]);
                self.onces += 1;
                self.body(body)?;
                self.onces -= 1;
                self.source = source;
                self.sync(Action::OnceEnd(once.clone()), &[&once]);
                self.patch(begin);
                Ok(())
            }
            _ => self.synchronisation(statement),
        }
    }

    /// Translates statements without blocks that are always events.
    fn synchronisation(&mut self, statement: &Statement) -> Outcome<()> {
        let position = statement.position;
        let mutex = |scope: &Scope<'_>, object| scope.object(object, "a mutex", ObjectKind::is_mutex);
        match &statement.kind {
            StatementKind::Simple(verb, object) => {
                let kind = match self.scope.globals.get(&object.name.text) {
                    Some(Entry::Object { kind, .. }) => Some(kind),
                    _ => None,
                };
                let (what, fits): (_, fn(ObjectKind) -> bool) = match verb {
                    Verb::Unlock => ("a mutex", ObjectKind::is_mutex),
                    Verb::ReadLock | Verb::WriteLock | Verb::RwUnlock => {
                        ("an rwlock", |kind| kind == ObjectKind::RwLock)
                    }
                    Verb::Signal => ("a semaphore or a condition", |kind| {
                        matches!(kind, ObjectKind::Semaphore | ObjectKind::Condition)
                    }),
                    Verb::Broadcast => ("a condition", |kind| kind == ObjectKind::Condition),
                    Verb::Destroy => ("a synchronisation object", |kind| kind != ObjectKind::Variable),
                };
                let object = self.scope.object(object, what, fits)?;
                let make = match verb {
                    Verb::Unlock => Action::Unlock,
                    Verb::ReadLock => Action::ReadLock,
                    Verb::WriteLock => Action::WriteLock,
                    Verb::RwUnlock => Action::RwUnlock,
                    Verb::Signal if kind == Some(ObjectKind::Semaphore) => Action::SemaphoreSignal,
                    Verb::Signal => Action::ConditionSignal,
                    Verb::Broadcast => Action::ConditionBroadcast,
                    Verb::Destroy => Action::Destroy,
                };
                self.sync(make(object.clone()), &[&object]);
            }
            StatementKind::Lock { object, timeout, target } => {
                let mutex = mutex(&self.scope, object)?;
                let (timeout, target) = self.limit(timeout.as_ref(), target.as_ref(), position)?;
                self.sync(Action::Lock { mutex: mutex.clone(), timeout, target }, &[&mutex]);
            }
            StatementKind::TryLock(target, object) => {
                let (mutex, target) = (mutex(&self.scope, object)?, self.scope.target(target)?);
                self.sync(Action::TryLock { mutex: mutex.clone(), target }, &[&mutex]);
            }
            StatementKind::Wait { object, mutex: None, timeout, target } => {
                let semaphore = self.scope.object(
                    object,
                    "a semaphore (a condition needs its mutex: `wait cv m`)",
                    |kind| kind == ObjectKind::Semaphore,
                )?;
                let (timeout, target) = self.limit(timeout.as_ref(), target.as_ref(), position)?;
                let action = Action::SemaphoreWait { semaphore: semaphore.clone(), timeout, target };
                self.sync(action, &[&semaphore]);
            }
            StatementKind::Wait { object, mutex: Some(held), timeout, target } => {
                let condition =
                    self.scope.object(object, "a condition", |kind| kind == ObjectKind::Condition)?;
                let mutex = mutex(&self.scope, held)?;
                let (timeout, target) = self.limit(timeout.as_ref(), target.as_ref(), position)?;
                let touched = [&condition, &mutex];
                let action = Action::ConditionWait {
                    condition: condition.clone(),
                    mutex: mutex.clone(),
                    timeout,
                    target,
                };
                self.sync(action, &touched);
            }
            StatementKind::Barrier(target, object) => {
                let barrier = self.scope.object(object, "a barrier", |kind| kind == ObjectKind::Barrier)?;
                let target = target.as_ref().map(|name| self.scope.target(name)).transpose()?;
                self.sync(Action::Barrier { barrier: barrier.clone(), target }, &[&barrier]);
            }
            StatementKind::Spawn { target, thread, argument } => {
                let block = self.thread(thread)?;
                let has_argument = argument.is_some();
                let argument = match argument {
                    Some(argument) => self.scope.local_expression(argument, position, "the argument")?,
                    None => Expr::Const(0),
                };
                let target = target.as_ref().map(|name| self.scope.target(name)).transpose()?;
                let in_loop = self.loops > 0;
                self.spawns.push(Spawned {
                    from: self.index,
                    thread: block,
                    position,
                    in_loop,
                    has_argument,
                });
                return self.plain(Action::Spawn { thread: block, argument, target });
            }
            StatementKind::Join(name) => match self.scope.local(&name.text) {
                Some(Binding::Slot(slot)) => return self.plain(Action::JoinHandle(slot)),
                Some(_) => {
                    return Err(SyntaxError::new(
                        name.position,
                        format!("the loop counter `{}` is not a thread handle", name.text),
                        "join a local that received `h = spawn T`",
                    ));
                }
                None => {
                    let thread = self.thread(name)?;
                    self.joins.push(Joined { thread, position });
                    return self.plain(Action::JoinThread(thread));
                }
            },
            StatementKind::Sleep(time) => {
                let time = self.scope.local_expression(time, position, "the time of `sleep`")?;
                return self.plain(Action::Sleep(time));
            }
            StatementKind::Choose(target, count) => {
                let count = self.scope.local_expression(count, position, "the bound of `choose`")?;
                let target = self.scope.target(target)?;
                return self.plain(Action::Choose { target, count });
            }
            _ => unreachable!("`statement` translates the other kinds itself"),
        }
        Ok(())
    }

    fn thread(&self, name: &Name) -> Outcome<usize> {
        match self.scope.globals.get(&name.text) {
            Some(Entry::Thread(index)) => Ok(index),
            _ => Err(SyntaxError::new(
                name.position,
                format!("no thread is named `{}`", name.text),
                format!("add `thread {} {{ .. }}`, or use the name of another one", name.text),
            )),
        }
    }

    /// Translates a time limit and the local that receives the result.
    fn limit(
        &self,
        timeout: Option<&Expression>,
        target: Option<&Name>,
        position: Position,
    ) -> Outcome<(Option<Expr>, Option<u16>)> {
        let limit = timeout.map(|time| self.scope.local_expression(time, position, "the time limit"));
        Ok((limit.transpose()?, target.map(|name| self.scope.target(name)).transpose()?))
    }

    fn declare(&mut self, name: &Name, value: Option<&Expression>, position: Position) -> Outcome<()> {
        // The value comes first: `local t = t` names a `t` that does not exist yet.
        let mut touches = Touches::default();
        let resolved = match value {
            Some(value) => self.scope.expression(value, &mut touches)?,
            None => Expr::Const(0),
        };
        let slot = match self.scope.declared_here(name) {
            Some(slot) => slot,
            None => {
                let slot = self.slot(name.position, &name.text)?;
                self.scope.bind(name, Binding::Slot(slot))?;
                slot
            }
        };
        if value.is_none() && self.loops == 0 {
            return Ok(()); // Locals start at 0.
        }
        self.set_local(slot, resolved, touches, position)
    }

    pub(super) fn slot(&mut self, position: Position, name: &str) -> Outcome<u16> {
        if self.local_names.len() >= MAX_LOCALS {
            return Err(SyntaxError::new(
                position,
                format!("the thread has more than {MAX_LOCALS} locals"),
                "use an array of shared variables, or fewer loops",
            ));
        }
        self.local_names.push(name.to_owned());
        Ok((self.local_names.len() - 1) as u16)
    }

    fn set_local(&mut self, target: u16, value: Expr, touches: Touches, position: Position) -> Outcome<()> {
        if touches.is_empty() {
            self.emit(Operation::Local { target, value });
            return Ok(());
        }
        self.memory(MemoryAction::Assign { place: Place::Local(target), value }, touches, position)
    }

    /// Returns the local that `place` names, if it is one.
    fn local_place(&self, place: &Reference) -> Outcome<Option<u16>> {
        match self.scope.local(&place.name.text) {
            None if self.scope.globals.get(&place.name.text).is_none() => Err(unknown(&place.name)),
            None => Ok(None),
            Some(_) if place.index.is_some() => Err(SyntaxError::new(
                place.name.position,
                format!("`{}` is a local and not an array", place.name.text),
                format!("remove the index, or declare `shared {}_[4] = 0`", place.name.text),
            )),
            Some(Binding::Slot(slot)) => Ok(Some(slot)),
            Some(_) => Err(counter_assigned(&place.name)),
        }
    }

    fn assign(&mut self, place: &Reference, value: &Expression, position: Position) -> Outcome<()> {
        let mut touches = Touches::default();
        if let Some(slot) = self.local_place(place)? {
            let value = self.scope.expression(value, &mut touches)?;
            return self.set_local(slot, value, touches, position);
        }
        let object = self.scope.object(place, "a variable", |kind| kind == ObjectKind::Variable)?;
        let value = self.scope.expression(value, &mut touches)?;
        touches.add(object.clone(), Mode::Write);
        self.memory(MemoryAction::Assign { place: Place::Shared(object), value }, touches, position)
    }

    fn add(
        &mut self,
        place: &Reference,
        amount: &Expression,
        target: Option<&Name>,
        position: Position,
    ) -> Outcome<()> {
        let mut touches = Touches::default();
        let amount = self.scope.expression(amount, &mut touches)?;
        let old = target.map(|name| self.scope.target(name)).transpose()?;
        if let Some(slot) = self.local_place(place)? {
            if let Some(old) = old {
                self.emit(Operation::Local { target: old, value: Expr::Local(slot) });
            }
            let sum = Expr::binary(BinaryOperator::Add, Expr::Local(slot), amount);
            return self.set_local(slot, sum, touches, position);
        }
        let object = self.scope.object(place, "a variable", |kind| kind == ObjectKind::Variable)?;
        touches.add(object.clone(), Mode::ReadWrite);
        self.memory(MemoryAction::Add { place: object, amount, old }, touches, position)
    }

    fn enter(&mut self, statement: &Statement) {
        let sources = &mut *self.sources;
        self.source = *self.known_sources.entry(statement.position).or_insert_with(|| {
            let (position, text) = (statement.position, statement.text.clone());
            sources.push(Source { position, text, label: String::new() });
            sources.len() as u32 - 1
        });
    }

    pub(super) fn emit(&mut self, operation: Operation) {
        self.code.push(Instruction { operation, source: self.source });
    }

    pub(super) fn event(&mut self, event: Event) {
        let label = &mut self.sources[self.source as usize].label;
        if label.is_empty() {
            self.labels += 1;
            let dot = if self.name.ends_with(|c: char| c.is_ascii_digit()) { "." } else { "" };
            *label = format!("{}{dot}{}", self.name, self.labels);
        }
        self.emit(Operation::Event(Box::new(event)));
    }

    /// Emits an event that touches no object.
    fn plain(&mut self, action: Action) -> Outcome<()> {
        self.event(Event::new(action, Vec::new()));
        Ok(())
    }

    fn sync(&mut self, action: Action, objects: &[&ObjectRef]) {
        let touches = objects.iter().map(|object| ((*object).clone(), Mode::Sync)).collect();
        self.event(Event::new(action, touches));
    }

    pub(super) fn memory(
        &mut self,
        action: MemoryAction,
        touches: Touches,
        position: Position,
    ) -> Outcome<()> {
        let count = touches.list.len();
        if count > MAX_TOUCHED {
            return Err(SyntaxError::new(
                position,
                format!(
                    "the statement touches {count} shared variables at once; at most {MAX_TOUCHED} are allowed"
                ),
                "split it: copy some of them into locals in statements before",
            ));
        }
        self.event(Event::new(Action::Memory(action), touches.list));
        Ok(())
    }
}
