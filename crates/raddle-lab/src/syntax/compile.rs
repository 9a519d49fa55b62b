//! Tree to program: parameters, objects, the list of threads, and the rules between threads.
//!
//! `compile_thread` generates the code of each thread, `scope` resolves names inside expressions.

use std::collections::{BTreeMap, BTreeSet};

use super::ast::*;
use super::compile_thread::{Joined, Spawned, ThreadCompiler};
use super::error::{Outcome, SyntaxError};
use super::event::{Action, MemoryAction};
use super::expression::Expr;
use super::parser::parse;
use super::program::{Object, Operation, Program, Start, THREAD_LIMIT, Thread};
use super::scope::{Entry, Globals, Scope, Touches};

/// Largest number of objects, counting array elements.
const MAX_OBJECTS: i64 = 65_536;
/// Largest number of copies of one thread block.
const MAX_COPIES: i64 = 4_096;

/// Compiles a text into a program.
///
/// Each of `overrides` replaces the value of the `param` with that name.
///
/// # Errors
/// The first error in the text, or an override without a parameter of that name.
pub fn compile(source: &str, overrides: &[(&str, i64)]) -> Result<Program, SyntaxError> {
    let file = parse(source)?;
    let mut globals = Globals::default();
    let params = declare_params(&file, overrides, &mut globals)?;
    let objects = declare_objects(&file, &mut globals)?;
    for (index, block) in file.threads.iter().enumerate() {
        globals.declare(&block.name, Entry::Thread(index))?;
    }
    let has_main = file.threads.iter().any(|block| block.is_main);
    let initial_threads = initial_threads(&file, has_main, &globals)?;

    let (mut sources, mut threads) = (Vec::new(), Vec::new());
    let (mut spawned, mut joined) = (Vec::new(), Vec::new());
    for (index, block) in file.threads.iter().enumerate() {
        let compiler = ThreadCompiler::new(&globals, index, block, &mut sources)?;
        let (thread, spawns, joins) = compiler.finish(block)?;
        check_arguments(&file, &spawns)?;
        spawned.extend(spawns);
        joined.extend(joins);
        threads.push(thread);
    }
    check_spawns(&file, has_main, &spawned)?;
    check_joins(&file, &spawned, &joined)?;
    let is_straight_line = threads.iter().all(is_straight_line);
    let variables = objects.iter().filter(|object| object.kind == ObjectKind::Variable).count() as u32;
    Ok(Program { objects, variables, threads, initial_threads, is_straight_line, params, sources })
}

/// Evaluates an expression over numbers and parameters.
fn constant(globals: &Globals, expression: &Expression, what: &Name) -> Outcome<i64> {
    let mut touches = Touches::default();
    match Scope::new(globals).expression(expression, &mut touches)? {
        Expr::Const(value) => Ok(value),
        other => {
            let cause = if other.is_local() { "divides by zero" } else { "reads a shared variable" };
            Err(SyntaxError::new(
                what.position,
                format!("the value given for `{}` {cause}", what.text),
                "use only numbers and parameters, and divide by something else than zero",
            ))
        }
    }
}

fn declare_params(
    file: &File,
    overrides: &[(&str, i64)],
    globals: &mut Globals,
) -> Outcome<Vec<(String, i64)>> {
    if let Some((name, _)) =
        overrides.iter().find(|(name, _)| file.params.iter().all(|param| param.name.text != *name))
    {
        let known: Vec<_> = file.params.iter().map(|param| format!("`{}`", param.name.text)).collect();
        let hint = if known.is_empty() {
            format!("the program has no parameters; add `param {name} = 1`")
        } else {
            format!("known parameters: {}", known.join(", "))
        };
        let start = Position { line: 1, column: 1 };
        return Err(SyntaxError::new(start, format!("no parameter is named `{name}`"), hint));
    }
    let mut params = Vec::new();
    for param in &file.params {
        let default = constant(globals, &param.value, &param.name)?;
        let given = overrides.iter().rev().find(|(name, _)| *name == param.name.text);
        let value = given.map_or(default, |(_, value)| *value);
        globals.declare(&param.name, Entry::Param(value))?;
        params.push((param.name.text.clone(), value));
    }
    Ok(params)
}

/// Numbers the objects, variables first.
fn declare_objects(file: &File, globals: &mut Globals) -> Outcome<Vec<Object>> {
    let mut objects: Vec<Object> = Vec::new();
    let (variables, others): (Vec<_>, Vec<_>) =
        file.objects.iter().partition(|declaration| declaration.kind == ObjectKind::Variable);
    for declaration in variables.into_iter().chain(others) {
        let Declaration { kind, name, size, initial } = declaration;
        let initial = match initial {
            Some(initial) => constant(globals, initial, name)?,
            None => 0,
        };
        let least = match kind {
            ObjectKind::Semaphore => 0,
            ObjectKind::Barrier => 1,
            _ => i64::MIN,
        };
        if initial < least {
            return Err(SyntaxError::new(
                name.position,
                format!("{} `{}` starts with {initial}", kind.keyword(), name.text),
                format!("the smallest value is {least}"),
            ));
        }
        let length = match size {
            Some(size) => Some(constant(globals, size, name)?),
            None => None,
        };
        let room = MAX_OBJECTS - objects.len() as i64;
        let count = length.unwrap_or(1);
        if count < 1 || count > room {
            return Err(SyntaxError::new(
                name.position,
                format!("array `{}` has {count} elements", name.text),
                format!("an array has at least 1, and all objects together are at most {MAX_OBJECTS}"),
            ));
        }
        let base = objects.len() as u32;
        let length = length.map(|length| length as u32);
        globals.declare(name, Entry::Object { kind: *kind, base, length })?;
        for index in 0..count {
            let name = if length.is_some() { format!("{}[{index}]", name.text) } else { name.text.clone() };
            objects.push(Object { name, kind: *kind, initial });
        }
    }
    Ok(objects)
}

fn initial_threads(file: &File, has_main: bool, globals: &Globals) -> Outcome<Vec<Start>> {
    let mut starts = Vec::new();
    for (thread, block) in file.threads.iter().enumerate() {
        let name = &block.name;
        if let Some(copies) = &block.copies {
            if has_main || block.parameter.is_some() {
                return Err(SyntaxError::new(
                    name.position,
                    format!("thread `{}` has copies, which start by themselves", name.text),
                    "copies need a program without `main` and a thread without a parameter; \
                     else use `repeat n as i { spawn T(i) }` in `main`",
                ));
            }
            let count = constant(globals, copies, name)?;
            if !(1..=MAX_COPIES).contains(&count) {
                return Err(SyntaxError::new(
                    name.position,
                    format!("thread `{}` has {count} copies", name.text),
                    format!("the number of copies is 1 to {MAX_COPIES}"),
                ));
            }
            starts.extend((0..count).map(|copy| Start {
                thread,
                name: format!("{}{}", name.text, copy + 1),
                argument: copy,
            }));
        } else if block.is_main || !has_main {
            if let Some(parameter) = &block.parameter {
                return Err(SyntaxError::new(
                    parameter.position,
                    format!(
                        "thread `{}` starts at once and gets no value for `{}`",
                        name.text, parameter.text
                    ),
                    "spawn it from a `main { }`, or write `thread T * n` and use `self`",
                ));
            }
            starts.push(Start { thread, name: name.text.clone(), argument: 0 });
        }
    }
    if starts.is_empty() {
        return Err(SyntaxError::new(
            Position { line: 1, column: 1 },
            "the program has no thread",
            "add `thread A { .. }` or `main { .. }`",
        ));
    }
    if starts.len() > THREAD_LIMIT {
        return Err(SyntaxError::new(
            file.threads[starts[THREAD_LIMIT].thread].name.position,
            format!("the program starts with {} threads", starts.len()),
            format!("there can be at most {THREAD_LIMIT}"),
        ));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = starts.iter().find(|start| !seen.insert(start.name.as_str())) {
        let position = file.threads[twice.thread].name.position;
        return Err(SyntaxError::new(
            position,
            format!("two threads would be named `{}`", twice.name),
            "copies are numbered from 1; rename one of the threads",
        ));
    }
    Ok(starts)
}

fn check_arguments(file: &File, spawns: &[Spawned]) -> Outcome<()> {
    for spawn in spawns {
        let block = &file.threads[spawn.thread];
        let name = &block.name.text;
        let (message, hint) = match (&block.parameter, spawn.has_argument) {
            (Some(parameter), false) => (
                format!("thread `{name}` needs a value for `{}`", parameter.text),
                format!("write `spawn {name}(0)`"),
            ),
            (None, true) => (
                format!("thread `{name}` takes no argument"),
                format!("write `spawn {name}`, or declare `thread {name}(i)`"),
            ),
            _ if block.is_main => {
                ("`main` cannot be spawned".to_owned(), "move the statements into a `thread`".to_owned())
            }
            _ => continue,
        };
        return Err(SyntaxError::new(spawn.position, message, hint));
    }
    Ok(())
}

fn check_spawns(file: &File, has_main: bool, spawned: &[Spawned]) -> Outcome<()> {
    if !has_main {
        return match spawned.first() {
            None => Ok(()),
            Some(spawn) => Err(SyntaxError::new(
                spawn.position,
                "`spawn` in a program without `main`, where every thread starts by itself",
                "put the first thread's statements into `main { .. }`",
            )),
        };
    }
    for (index, block) in file.threads.iter().enumerate() {
        if !block.is_main && spawned.iter().all(|spawn| spawn.thread != index) {
            let name = &block.name.text;
            return Err(SyntaxError::new(
                block.name.position,
                format!("thread `{name}` is never started"),
                format!("write `spawn {name}` in `main`, or remove `main` so that every thread starts"),
            ));
        }
    }
    Ok(())
}

/// Checks that each `join T` refers to exactly one thread created from T: one `spawn`, outside loops, in a
/// thread that itself exists once.
fn check_joins(file: &File, spawned: &[Spawned], joined: &[Joined]) -> Outcome<()> {
    let mut sites: BTreeMap<usize, BTreeSet<(Position, usize, bool)>> = BTreeMap::new();
    for spawn in spawned {
        sites.entry(spawn.thread).or_default().insert((spawn.position, spawn.from, spawn.in_loop));
    }
    // The threads known to exist at most once grow from `main` outwards.
    let mut single: BTreeSet<usize> =
        file.threads.iter().enumerate().filter(|(_, block)| block.is_main).map(|(index, _)| index).collect();
    loop {
        let more: Vec<usize> = sites
            .iter()
            .filter(|(thread, sites)| {
                let mut sites = sites.iter();
                !single.contains(thread)
                    && matches!((sites.next(), sites.next()), (Some((_, from, false)), None) if single.contains(from))
            })
            .map(|(thread, _)| *thread)
            .collect();
        if more.is_empty() {
            break;
        }
        single.extend(more);
    }
    for join in joined {
        if !single.contains(&join.thread) || file.threads[join.thread].is_main {
            let name = &file.threads[join.thread].name.text;
            return Err(SyntaxError::new(
                join.position,
                format!("`join {name}` needs a thread that is spawned at exactly one place, outside loops"),
                format!("keep the handle: `h = spawn {name}`, then `join h`"),
            ));
        }
    }
    Ok(())
}

fn is_straight_line(thread: &Thread) -> bool {
    thread.code.iter().all(|instruction| match &instruction.operation {
        Operation::Local { .. } | Operation::Check(_) | Operation::Return => true,
        Operation::Jump(_) | Operation::JumpUnless { .. } => false,
        Operation::Event(event) => {
            !matches!(event.action, Action::OnceBegin { .. } | Action::Memory(MemoryAction::Branch { .. }))
        }
    })
}
