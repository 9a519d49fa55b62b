//! Tree to code: loops and branches.
//!
//! A `repeat` whose count is known is unrolled while the thread stays small, so that programs like the
//! papers' become straight lines with fixed accesses. A branch on a constant keeps only the side that runs;
//! the other side is still checked for errors.

use super::ast::*;
use super::compile_thread::{ThreadCompiler, UNPATCHED, UNROLL_LIMIT};
use super::error::Outcome;
use super::event::{Action, MemoryAction};
use super::expression::Expr;
use super::program::Operation;
use super::scope::{Binding, Touches};

impl ThreadCompiler<'_> {
    /// Directs the jump at `at` to the next instruction.
    pub(super) fn patch(&mut self, at: usize) {
        let here = self.code.len() as u32;
        match &mut self.code[at].operation {
            Operation::Jump(to) | Operation::JumpUnless { to, .. } => *to = here,
            Operation::Event(event) => match &mut event.action {
                Action::OnceBegin { done: to, .. }
                | Action::Memory(MemoryAction::Branch { otherwise: to, .. }) => *to = here,
                _ => unreachable!("only jumps are patched"),
            },
            _ => unreachable!("only jumps are patched"),
        }
    }

    /// Emits a jump that is taken if the condition is zero. Returns the index of the jump, to be patched, or
    /// the value of a constant condition.
    fn branch(&mut self, condition: &Expression, position: Position) -> Outcome<Result<usize, i64>> {
        let mut touches = Touches::default();
        let condition = self.scope.expression(condition, &mut touches)?;
        if let Some(value) = condition.as_const() {
            return Ok(Err(value));
        }
        let at = self.code.len();
        if touches.is_empty() {
            self.emit(Operation::JumpUnless { condition, to: UNPATCHED });
        } else {
            self.memory(MemoryAction::Branch { condition, otherwise: UNPATCHED }, touches, position)?;
        }
        Ok(Ok(at))
    }

    pub(super) fn conditional(
        &mut self,
        condition: &Expression,
        then: &[Statement],
        otherwise: &[Statement],
        position: Position,
    ) -> Outcome<()> {
        let source = self.source;
        let start = self.code.len();
        match self.branch(condition, position)? {
            Err(value) => {
                self.body(then)?;
                if value == 0 {
                    self.code.truncate(start);
                }
                let middle = self.code.len();
                self.body(otherwise)?;
                if value != 0 {
                    self.code.truncate(middle);
                }
            }
            Ok(test) => {
                self.body(then)?;
                if otherwise.is_empty() {
                    self.patch(test);
                    return Ok(());
                }
                self.source = source;
                let skip = self.code.len();
                self.emit(Operation::Jump(UNPATCHED));
                self.patch(test);
                self.body(otherwise)?;
                self.patch(skip);
            }
        }
        Ok(())
    }

    pub(super) fn while_loop(
        &mut self,
        condition: &Expression,
        body: &[Statement],
        statement: &Statement,
    ) -> Outcome<()> {
        let source = self.source;
        let start = self.code.len();
        let test = self.branch(condition, statement.position)?;
        self.loops += 1;
        self.body(body)?;
        self.loops -= 1;
        self.source = source;
        match test {
            Err(0) => self.code.truncate(start),
            Err(_) => self.emit(Operation::Jump(start as u32)),
            Ok(test) => {
                self.emit(Operation::Jump(start as u32));
                self.patch(test);
            }
        }
        Ok(())
    }

    pub(super) fn repeat(
        &mut self,
        count: Expr,
        counter: Option<&Name>,
        body: &[Statement],
        position: Position,
    ) -> Outcome<()> {
        self.loops += 1;
        let result = match count.as_const() {
            Some(rounds) if self.may_unroll(rounds, body) => self.unrolled(rounds, counter, body),
            _ => self.counted(count, counter, body, position),
        };
        self.loops -= 1;
        result
    }

    fn may_unroll(&self, rounds: i64, body: &[Statement]) -> bool {
        // A loop that never runs is compiled once, so that its errors are found.
        let rounds = u64::try_from(rounds).unwrap_or(0);
        rounds > 0 && self.work.saturating_add(rounds.saturating_mul(self.cost(body))) <= UNROLL_LIMIT
    }

    /// Returns the number of statements that `body` would become.
    fn cost(&self, body: &[Statement]) -> u64 {
        let mut total: u64 = 0;
        for statement in body {
            let inner = match &statement.kind {
                StatementKind::Repeat { count, body, .. } => {
                    let mut touches = Touches::default();
                    let count =
                        self.scope.expression(count, &mut touches).ok().and_then(|count| count.as_const());
                    let rounds = count.and_then(|count| u64::try_from(count).ok()).unwrap_or(1);
                    rounds.saturating_mul(self.cost(body))
                }
                StatementKind::If { then, otherwise, .. } => {
                    self.cost(then).saturating_add(self.cost(otherwise))
                }
                StatementKind::While { body, .. } | StatementKind::Once(_, body) => self.cost(body),
                _ => 0,
            };
            total = total.saturating_add(1).saturating_add(inner);
        }
        total
    }

    fn unrolled(&mut self, rounds: i64, counter: Option<&Name>, body: &[Statement]) -> Outcome<()> {
        for round in 0..rounds {
            if let Some(name) = counter {
                self.scope.bind(name, Binding::Const(round))?;
            }
            self.body(body)?;
            if let Some(name) = counter {
                self.scope.unbind(name);
            }
        }
        Ok(())
    }

    fn counted(
        &mut self,
        count: Expr,
        counter: Option<&Name>,
        body: &[Statement],
        position: Position,
    ) -> Outcome<()> {
        let source = self.source;
        // The count is evaluated once, before the first round.
        let start = self.code.len();
        let never = count.as_const().is_some_and(|count| count <= 0);
        let limit = if count.as_const().is_some() {
            count
        } else {
            let slot = self.slot(position, "")?;
            self.emit(Operation::Local { target: slot, value: count });
            Expr::Local(slot)
        };
        let slot = self.slot(position, counter.map_or("", |name| &name.text))?;
        self.emit(Operation::Local { target: slot, value: Expr::Const(0) });
        let test = self.code.len();
        let condition = Expr::binary(BinaryOperator::Less, Expr::Local(slot), limit);
        self.emit(Operation::JumpUnless { condition, to: UNPATCHED });
        if let Some(name) = counter {
            self.scope.bind(name, Binding::Counter(slot))?;
        }
        self.body(body)?;
        if let Some(name) = counter {
            self.scope.unbind(name);
        }
        self.source = source;
        let next = Expr::binary(BinaryOperator::Add, Expr::Local(slot), Expr::Const(1));
        self.emit(Operation::Local { target: slot, value: next });
        self.emit(Operation::Jump(test as u32));
        self.patch(test);
        if never {
            self.code.truncate(start);
        }
        Ok(())
    }
}
