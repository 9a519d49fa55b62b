//! Tokens to tree: blocks and statements.

use super::ast::*;
use super::error::Outcome;
use super::lexer::TokenKind;
use super::parser::Parser;

impl Parser<'_> {
    /// Parses `{ statements }`.
    pub(super) fn block(&mut self) -> Outcome<Vec<Statement>> {
        self.expect_symbol("{", "open the block with `{` on the same line")?;
        self.nested(|parser| {
            let mut body = Vec::new();
            loop {
                parser.skip_ends();
                if parser.take_symbol("}") {
                    return Ok(body);
                }
                if *parser.peek() == TokenKind::Eof {
                    return parser.error("the text ends inside a block", "close the block with `}`");
                }
                body.push(parser.statement()?);
                parser.expect_end()?;
            }
        })
    }

    fn statement(&mut self) -> Outcome<Statement> {
        let (position, start) = (self.position(), self.start());
        let mut head_end = None;
        let kind = self.statement_kind(&mut head_end)?;
        let text = self.source[start..head_end.unwrap_or(self.end())].to_owned();
        Ok(Statement { kind, position, text })
    }

    /// Parses a statement; sets `head_end` to the end of its head if a block follows.
    fn statement_kind(&mut self, head_end: &mut Option<usize>) -> Outcome<StatementKind> {
        let TokenKind::Word(word) = self.peek() else {
            return self.error(
                format!("expected a statement, found {}", self.found()),
                "a statement starts with a name or a keyword, such as `x = 1` or `lock m`",
            );
        };
        let word = word.clone();
        let verb = match word.as_str() {
            "unlock" => Some(Verb::Unlock),
            "rdlock" => Some(Verb::ReadLock),
            "wrlock" => Some(Verb::WriteLock),
            "rwunlock" => Some(Verb::RwUnlock),
            "signal" => Some(Verb::Signal),
            "broadcast" => Some(Verb::Broadcast),
            "destroy" => Some(Verb::Destroy),
            _ => None,
        };
        if let Some(verb) = verb {
            self.advance();
            return Ok(StatementKind::Simple(verb, self.reference("an object's name")?));
        }
        match word.as_str() {
            "local" => {
                self.advance();
                let mut names = Vec::new();
                self.list(|parser| {
                    let name = parser.name("the local's name")?;
                    let value = if parser.take_symbol("=") { Some(parser.expression()?) } else { None };
                    names.push((name, value));
                    Ok(())
                })?;
                Ok(StatementKind::Local(names))
            }
            "assert" => {
                self.advance();
                Ok(StatementKind::Assert(self.expression()?))
            }
            "step" => {
                self.advance();
                if !matches!(self.peek(), TokenKind::End | TokenKind::Eof | TokenKind::Symbol("}")) {
                    return self.error(
                        format!("unexpected {} after `step`", self.found()),
                        "for several steps write `repeat 3 { step }`",
                    );
                }
                Ok(StatementKind::Step)
            }
            "yield" => {
                self.advance();
                Ok(StatementKind::Yield)
            }
            "return" => {
                self.advance();
                Ok(StatementKind::Return)
            }
            "exit" => {
                self.advance();
                Ok(StatementKind::Exit)
            }
            "sleep" => {
                self.advance();
                Ok(StatementKind::Sleep(self.expression()?))
            }
            "repeat" => {
                self.advance();
                let count = self.expression()?;
                let counter =
                    if self.take_word("as") { Some(self.name("the counter's name")?) } else { None };
                *head_end = Some(self.end());
                let body = self.block()?;
                Ok(StatementKind::Repeat { count, counter, body })
            }
            "while" => {
                self.advance();
                let condition = self.expression()?;
                *head_end = Some(self.end());
                let body = self.block()?;
                Ok(StatementKind::While { condition, body })
            }
            "if" => self.conditional(head_end),
            "once" => {
                self.advance();
                let object = self.reference("the name of a `once` object")?;
                *head_end = Some(self.end());
                let body = self.block()?;
                Ok(StatementKind::Once(object, body))
            }
            "join" => {
                self.advance();
                Ok(StatementKind::Join(self.name("a handle or a thread's name")?))
            }
            "lock" | "wait" | "barrier" | "spawn" => self.call(&word, None),
            "trylock" | "choose" => self.error(
                format!("the result of `{word}` is not stored"),
                format!("declare `local v` and write `v = {word} ..`"),
            ),
            "fence" if self.next_is_symbol("(") => self.fence(),
            "else" => self.error("`else` without an `if` before it", "put it after the block of an `if`"),
            "thread" | "main" | "param" | "shared" | "mutex" | "recursive" | "checked" | "rwlock"
            | "condition" | "semaphore" => self.error(
                format!("`{word}` inside a thread"),
                "close the thread with `}` first: declarations and threads stand outside",
            ),
            _ => self.assignment(),
        }
    }

    fn conditional(&mut self, head_end: &mut Option<usize>) -> Outcome<StatementKind> {
        self.advance();
        let condition = self.expression()?;
        *head_end = Some(self.end());
        let then = self.block()?;
        if !self.else_follows() {
            return Ok(StatementKind::If { condition, then, otherwise: Vec::new() });
        }
        self.skip_ends();
        self.advance();
        let otherwise = if self.at_word("if") {
            self.nested(|parser| Ok(vec![parser.statement()?]))?
        } else {
            self.block()?
        };
        Ok(StatementKind::If { condition, then, otherwise })
    }

    /// Returns true if `else` follows after newlines, without moving.
    fn else_follows(&self) -> bool {
        self.next_after_ends() == Some("else")
    }

    /// Parses statements that may store a result: `lock`, `trylock`, `wait`, `barrier`, `spawn`, `choose`.
    fn call(&mut self, word: &str, target: Option<Name>) -> Outcome<StatementKind> {
        self.advance();
        match (word, target) {
            ("lock", target) => {
                let object = self.reference("a mutex")?;
                let timeout = self.timeout()?;
                if timeout.is_none() && target.is_some() {
                    return self.error(
                        "`lock` without a time limit has no result",
                        "write `lock m`, `v = lock m for 10` or `v = trylock m`",
                    );
                }
                Ok(StatementKind::Lock { object, timeout, target })
            }
            ("wait", target) => {
                let object = self.reference("a semaphore or a condition")?;
                let has_mutex = matches!(self.peek(), TokenKind::Word(word) if word != "for");
                let mutex = if has_mutex { Some(self.reference("a mutex")?) } else { None };
                let timeout = self.timeout()?;
                if timeout.is_none() && target.is_some() {
                    return self.error(
                        "`wait` without a time limit has no result",
                        "remove `v =`, or add a limit: `v = wait s for 10`",
                    );
                }
                Ok(StatementKind::Wait { object, mutex, timeout, target })
            }
            ("barrier", target) => Ok(StatementKind::Barrier(target, self.reference("a barrier")?)),
            ("spawn", target) => {
                let thread = self.name("the name of a thread")?;
                let argument = if self.take_symbol("(") {
                    let argument = self.expression()?;
                    self.expect_symbol(")", "a thread takes one argument: `spawn worker(3)`")?;
                    Some(argument)
                } else {
                    None
                };
                Ok(StatementKind::Spawn { target, thread, argument })
            }
            ("trylock", Some(target)) => Ok(StatementKind::TryLock(target, self.reference("a mutex")?)),
            ("choose", Some(target)) => Ok(StatementKind::Choose(target, self.expression()?)),
            _ => self.error(format!("`{word}` cannot stand here"), "write it as a statement of its own"),
        }
    }

    fn timeout(&mut self) -> Outcome<Option<Expression>> {
        if self.take_word("for") { Ok(Some(self.expression()?)) } else { Ok(None) }
    }

    fn assignment(&mut self) -> Outcome<StatementKind> {
        let place = self.reference("a statement")?;
        if self.at_symbol(".") {
            return self.atomic(place, None);
        }
        if let Some(amount) = self.bump() {
            return Ok(StatementKind::Add { place, amount, target: None });
        }
        if self.take_symbol("+=") {
            let amount = self.expression()?;
            return Ok(StatementKind::Add { place, amount, target: None });
        }
        if self.take_symbol("-=") {
            let amount = Expression::Unary(UnaryOperator::Negate, Box::new(self.expression()?));
            return Ok(StatementKind::Add { place, amount, target: None });
        }
        if !self.at_symbol("=") {
            let hint = if self.at_symbol("==") {
                "`==` compares; to assign write `=`".to_owned()
            } else {
                format!("write `{0} = ..`, `{0} += ..`, `{0}++`, or a keyword statement", place.name.text)
            };
            return self.error(format!("expected `=`, found {}", self.found()), hint);
        }
        self.advance();
        if let TokenKind::Word(word) = self.peek()
            && ["lock", "trylock", "wait", "barrier", "spawn", "choose"].contains(&word.as_str())
        {
            let word = word.clone();
            if place.index.is_some() {
                return self.error(
                    format!("the result of `{word}` must go into a local"),
                    "store it in a local first, then copy it in a second statement",
                );
            }
            return self.call(&word, Some(place.name));
        }
        let value = self.expression()?;
        if self.at_symbol(".") {
            return self.atomic_result(place, value);
        }
        let Some(amount) = self.bump() else { return Ok(StatementKind::Assign(place, value)) };
        match value {
            Expression::Read(changed) if place.index.is_none() => {
                Ok(StatementKind::Add { place: changed, amount, target: Some(place.name) })
            }
            _ => self.error(
                "`++` and `--` apply to one variable and their result goes into a local",
                "write `v = x++` with `local v`, or use two statements",
            ),
        }
    }

    /// `place = value.method(..)`, up to the `.`.
    fn atomic_result(&mut self, place: Reference, value: Expression) -> Outcome<StatementKind> {
        match value {
            Expression::Read(object) if place.index.is_none() => self.atomic(object, Some(place.name)),
            _ => self.error(
                "an atomic access applies to one variable and its result goes into a local",
                "write `v = x.load(acquire)` with `local v`",
            ),
        }
    }

    /// Parses `++` or `--`. Returns the value that it adds.
    fn bump(&mut self) -> Option<Expression> {
        if self.take_symbol("++") {
            Some(Expression::Number(1))
        } else if self.take_symbol("--") {
            Some(Expression::Number(-1))
        } else {
            None
        }
    }
}
