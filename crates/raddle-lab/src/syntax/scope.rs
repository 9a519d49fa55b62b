//! Names and their meanings, and expressions with their names resolved.

use std::collections::BTreeMap;

use super::ast::*;
use super::error::{Outcome, SyntaxError};
use super::event::{Mode, ObjectRef};
use super::expression::{Element, Expr};

/// The meaning of a global name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    /// A parameter and its value.
    Param(i64),
    /// An object, or an array of `length` objects.
    Object { kind: ObjectKind, base: u32, length: Option<u32> },
    /// A thread block, by index.
    Thread(usize),
}

/// The names declared outside threads.
#[derive(Debug, Default)]
pub(super) struct Globals {
    names: BTreeMap<String, (Entry, Position)>,
}

impl Globals {
    pub(super) fn get(&self, name: &str) -> Option<Entry> {
        self.names.get(name).map(|(entry, _)| *entry)
    }

    pub(super) fn declare(&mut self, name: &Name, entry: Entry) -> Outcome<()> {
        match self.names.insert(name.text.clone(), (entry, name.position)) {
            None => Ok(()),
            Some((_, first)) => Err(duplicate(name, first)),
        }
    }
}

fn duplicate(name: &Name, first: Position) -> SyntaxError {
    SyntaxError::new(
        name.position,
        format!("`{}` is already declared in line {}", name.text, first.line),
        "names never hide each other: choose another one",
    )
}

/// The meaning of a name inside one thread.
#[derive(Debug, Clone, Copy)]
pub(super) enum Binding {
    /// A local.
    Slot(u16),
    /// A loop counter, which cannot be assigned.
    Counter(u16),
    /// A loop counter of an unrolled loop.
    Const(i64),
}

/// The names visible at one point.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) globals: &'a Globals,
    locals: BTreeMap<String, (Binding, Position)>,
    /// True if `self` has a meaning.
    pub(super) is_copied: bool,
}

/// The shared objects that one statement touches.
#[derive(Debug, Default)]
pub(super) struct Touches {
    pub(super) list: Vec<(ObjectRef, Mode)>,
}

impl Touches {
    pub(super) fn add(&mut self, object: ObjectRef, mode: Mode) {
        match self.list.iter_mut().find(|(known, _)| *known == object) {
            Some((_, known)) if *known != mode => *known = Mode::ReadWrite,
            Some(_) => {}
            None => self.list.push((object, mode)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<'a> Scope<'a> {
    /// Creates a scope with global names only.
    pub(super) fn new(globals: &'a Globals) -> Self {
        Scope { globals, locals: BTreeMap::new(), is_copied: false }
    }

    pub(super) fn local(&self, name: &str) -> Option<Binding> {
        self.locals.get(name).map(|(binding, _)| *binding)
    }

    /// Returns the slot declared by this very declaration before, in an earlier round of an unrolled loop.
    pub(super) fn declared_here(&self, name: &Name) -> Option<u16> {
        match self.locals.get(&name.text) {
            Some((Binding::Slot(slot), position)) if *position == name.position => Some(*slot),
            _ => None,
        }
    }

    pub(super) fn bind(&mut self, name: &Name, binding: Binding) -> Outcome<()> {
        let known = self.locals.get(&name.text).map(|(_, position)| *position);
        let known = known.or(self.globals.names.get(&name.text).map(|(_, position)| *position));
        if let Some(first) = known {
            return Err(duplicate(name, first));
        }
        self.locals.insert(name.text.clone(), (binding, name.position));
        Ok(())
    }

    pub(super) fn unbind(&mut self, name: &Name) {
        self.locals.remove(&name.text);
    }

    /// Returns the local that receives a result.
    pub(super) fn target(&self, name: &Name) -> Outcome<u16> {
        match (self.local(&name.text), self.globals.get(&name.text)) {
            (Some(Binding::Slot(slot)), _) => Ok(slot),
            (Some(_), _) => Err(counter_assigned(name)),
            (None, Some(_)) => Err(SyntaxError::new(
                name.position,
                format!("the result must go into a local, and `{}` is none", name.text),
                "declare `local v`, store the result there, and copy it in a second statement",
            )),
            (None, None) => Err(unknown(name)),
        }
    }

    /// Resolves an expression and adds what it reads to `touches`.
    pub(super) fn expression(&self, expression: &Expression, touches: &mut Touches) -> Outcome<Expr> {
        Ok(match expression {
            Expression::Number(value) => Expr::Const(*value),
            Expression::Copy(_) if self.is_copied => Expr::Local(0),
            Expression::Copy(position) => {
                return Err(SyntaxError::new(
                    *position,
                    "`self` is the index of a copy, and this thread has no copies",
                    "write `thread T * n { }`, or give the thread a parameter",
                ));
            }
            Expression::Read(reference) => self.read(reference, touches)?,
            Expression::Unary(operator, operand) => {
                Expr::unary(*operator, self.expression(operand, touches)?)
            }
            Expression::Binary(operator, left, right) => {
                let left = self.expression(left, touches)?;
                let right = self.expression(right, touches)?;
                Expr::binary(*operator, left, right)
            }
        })
    }

    /// Resolves an expression that must not read shared variables.
    pub(super) fn local_expression(
        &self,
        expression: &Expression,
        at: Position,
        what: &str,
    ) -> Outcome<Expr> {
        let mut touches = Touches::default();
        let resolved = self.expression(expression, &mut touches)?;
        if touches.is_empty() {
            return Ok(resolved);
        }
        Err(SyntaxError::new(
            at,
            format!("{what} reads a shared variable"),
            "copy the variable into a local in a statement before, and use the local here",
        ))
    }

    fn read(&self, reference: &Reference, touches: &mut Touches) -> Outcome<Expr> {
        let name = &reference.name;
        let simple = match (self.local(&name.text), self.globals.get(&name.text)) {
            (Some(Binding::Slot(slot) | Binding::Counter(slot)), _) => Some(Expr::Local(slot)),
            (Some(Binding::Const(value)), _) | (None, Some(Entry::Param(value))) => Some(Expr::Const(value)),
            _ => None,
        };
        if let Some(simple) = simple {
            return if reference.index.is_some() { Err(not_an_array(name)) } else { Ok(simple) };
        }
        let object = self.object(reference, "a variable", |kind| kind == ObjectKind::Variable)?;
        touches.add(object.clone(), Mode::Read);
        Ok(match object {
            ObjectRef::Fixed(object) => Expr::Shared(object),
            ObjectRef::Element(element) => Expr::Element(element),
        })
    }

    /// Resolves a reference to a shared object whose kind satisfies `fits`; `what` names those kinds.
    pub(super) fn object(
        &self,
        reference: &Reference,
        what: &str,
        fits: impl Fn(ObjectKind) -> bool,
    ) -> Outcome<ObjectRef> {
        let name = &reference.name;
        let wrong = |is: &str| {
            let hint = format!("use the name of {what} here, or declare one");
            SyntaxError::new(name.position, format!("`{}` is {is}, not {what}", name.text), hint)
        };
        if self.local(&name.text).is_some() {
            return Err(wrong("a local"));
        }
        let (kind, base, length) = match self.globals.get(&name.text) {
            None => return Err(unknown(name)),
            Some(Entry::Param(_)) => return Err(wrong("a parameter")),
            Some(Entry::Thread(_)) => return Err(wrong("a thread")),
            Some(Entry::Object { kind, base, length }) => (kind, base, length),
        };
        if !fits(kind) {
            return Err(wrong(match kind {
                ObjectKind::Variable => "a shared variable",
                ObjectKind::RwLock => "an rwlock",
                ObjectKind::Once => "a once object",
                ObjectKind::Condition => "a condition",
                ObjectKind::Semaphore => "a semaphore",
                ObjectKind::Barrier => "a barrier",
                ObjectKind::Mutex | ObjectKind::RecursiveMutex | ObjectKind::CheckedMutex => "a mutex",
            }));
        }
        match (&reference.index, length) {
            (None, None) => Ok(ObjectRef::Fixed(base)),
            (Some(_), None) => Err(not_an_array(name)),
            (None, Some(_)) => Err(SyntaxError::new(
                name.position,
                format!("`{}` is an array and needs an index", name.text),
                format!("write `{}[0]`", name.text),
            )),
            (Some(index), Some(length)) => {
                let what = format!("the index of `{}`", name.text);
                let index = self.local_expression(index, name.position, &what)?;
                Ok(match index.as_const().map(u32::try_from) {
                    Some(Ok(index)) if index < length => ObjectRef::Fixed(base + index),
                    // A constant outside the array fails when it is reached, like any other index.
                    _ => ObjectRef::Element(Box::new(Element { base, length, index })),
                })
            }
        }
    }
}

pub(super) fn unknown(name: &Name) -> SyntaxError {
    SyntaxError::new(
        name.position,
        format!("unknown variable `{}`", name.text),
        format!("declare it with `shared {0} = 0` or `local {0}`", name.text),
    )
}

pub(super) fn counter_assigned(name: &Name) -> SyntaxError {
    SyntaxError::new(
        name.position,
        format!("the loop counter `{}` cannot be assigned", name.text),
        "copy it into a local, or use `while`",
    )
}

fn not_an_array(name: &Name) -> SyntaxError {
    SyntaxError::new(
        name.position,
        format!("`{}` is not an array", name.text),
        format!("remove the index, or declare `shared {}[4] = 0`", name.text),
    )
}
