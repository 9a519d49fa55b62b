//! Tokens to tree: the token cursor, declarations, thread blocks and expressions.
//!
//! Statements are in `parse_statement`. The parser knows only the grammar; `compile` checks that names exist
//! and have the right kind. Nesting and expression size are limited, so that no text can exhaust the stack.

use super::ast::*;
use super::error::{Outcome, SyntaxError};
use super::lexer::{Token, TokenKind, tokenize};

/// Deepest nesting of blocks or of brackets in an expression.
const MAX_DEPTH: usize = 64;
/// Largest number of operators in one expression.
const MAX_OPERATORS: usize = 256;

/// Words that cannot be names.
const KEYWORDS: [&str; 41] = [
    "param",
    "shared",
    "mutex",
    "recursive",
    "checked",
    "rwlock",
    "condition",
    "semaphore",
    "barrier",
    "once",
    "main",
    "thread",
    "local",
    "assert",
    "step",
    "repeat",
    "as",
    "if",
    "else",
    "while",
    "lock",
    "unlock",
    "trylock",
    "for",
    "rdlock",
    "wrlock",
    "rwunlock",
    "wait",
    "signal",
    "broadcast",
    "spawn",
    "join",
    "yield",
    "sleep",
    "choose",
    "destroy",
    "exit",
    "return",
    "self",
    "true",
    "false",
];

/// Parses a whole text.
pub(super) fn parse(source: &str) -> Outcome<File> {
    let tokens = tokenize(source)?;
    Parser { source, tokens, next: 0, depth: 0, operators: 0 }.file()
}

/// A cursor over the tokens of one text.
pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    /// Invariant: ends with `Eof`, which is never passed.
    tokens: Vec<Token>,
    /// Invariant: a valid index into `tokens`.
    next: usize,
    /// Number of open blocks and brackets.
    depth: usize,
    /// Number of operators seen in the current expression.
    operators: usize,
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> &TokenKind {
        &self.tokens[self.next].kind
    }

    pub(super) fn position(&self) -> Position {
        self.tokens[self.next].position
    }

    /// Returns the first byte of the next token.
    pub(super) fn start(&self) -> usize {
        self.tokens[self.next].start
    }

    /// Returns one past the last byte of the token just read.
    pub(super) fn end(&self) -> usize {
        self.tokens[self.next.saturating_sub(1)].end
    }

    pub(super) fn advance(&mut self) {
        if *self.peek() != TokenKind::Eof {
            self.next += 1;
        }
    }

    pub(super) fn at_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if *found == symbol)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if found == word)
    }

    /// Tells whether this symbol comes after the next token.
    pub(super) fn next_is_symbol(&self, symbol: &str) -> bool {
        let next = self.tokens.get(self.next + 1).map(|token| &token.kind);
        matches!(next, Some(TokenKind::Symbol(found)) if *found == symbol)
    }

    pub(super) fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Skips newlines and semicolons.
    pub(super) fn skip_ends(&mut self) {
        self.operators = 0;
        while *self.peek() == TokenKind::End {
            self.advance();
        }
    }

    /// Returns the word after the newlines that come next, if there is one.
    pub(super) fn next_after_ends(&self) -> Option<&str> {
        let kind =
            self.tokens[self.next..].iter().map(|token| &token.kind).find(|kind| **kind != TokenKind::End);
        if let Some(TokenKind::Word(word)) = kind { Some(word) } else { None }
    }

    /// Describes the next token, for messages.
    pub(super) fn found(&self) -> String {
        match self.peek() {
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Number(number) => format!("`{number}`"),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::End => "the end of the statement".to_owned(),
            TokenKind::Eof => "the end of the text".to_owned(),
        }
    }

    pub(super) fn error<T>(&self, message: impl Into<String>, hint: impl Into<String>) -> Outcome<T> {
        Err(SyntaxError::new(self.position(), message, hint))
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str, hint: &str) -> Outcome<()> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        self.error(format!("expected `{symbol}`, found {}", self.found()), hint)
    }

    /// Parses a newline or `;`; accepts a closing brace or the end of the text as well.
    pub(super) fn expect_end(&mut self) -> Outcome<()> {
        match self.peek() {
            TokenKind::End | TokenKind::Eof | TokenKind::Symbol("}") => Ok(()),
            _ => self.error(
                format!("unexpected {} after the statement", self.found()),
                "end the statement with a newline or `;`",
            ),
        }
    }

    /// Runs `inner` one nesting level deeper.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth == MAX_DEPTH {
            return self
                .error(format!("nested more than {MAX_DEPTH} levels deep"), "split it into simpler parts");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Parses a name that is not a keyword; `what` describes the missing name.
    pub(super) fn name(&mut self, what: &str) -> Outcome<Name> {
        let position = self.position();
        let TokenKind::Word(text) = self.peek() else {
            return self.error(
                format!("expected {what}, found {}", self.found()),
                format!("write {what} here; names start with a letter"),
            );
        };
        if KEYWORDS.contains(&text.as_str()) {
            return self.error(
                format!("expected {what}, found the keyword `{text}`"),
                format!("choose another name, for instance `{text}_`"),
            );
        }
        let name = Name { text: text.clone(), position };
        self.advance();
        Ok(name)
    }

    /// Parses a name with an optional index.
    pub(super) fn reference(&mut self, what: &str) -> Outcome<Reference> {
        let name = self.name(what)?;
        let index = self.index()?.map(Box::new);
        Ok(Reference { name, index })
    }

    fn index(&mut self) -> Outcome<Option<Expression>> {
        if !self.take_symbol("[") {
            return Ok(None);
        }
        let index = self.nested(|parser| parser.binary(1))?;
        self.expect_symbol("]", "close the index with `]`")?;
        Ok(Some(index))
    }

    fn file(mut self) -> Outcome<File> {
        let mut file = File::default();
        loop {
            self.skip_ends();
            let word = match self.peek() {
                TokenKind::Eof => return Ok(file),
                TokenKind::Word(word) => word.clone(),
                _ => String::new(),
            };
            match word.as_str() {
                "main" | "thread" => {
                    let block = self.thread(word == "main")?;
                    file.threads.push(block);
                }
                "param" => {
                    self.advance();
                    self.list(|parser| {
                        let name = parser.name("the parameter's name")?;
                        parser.expect_symbol("=", "a parameter needs a value, such as `param n = 3`")?;
                        let value = parser.expression()?;
                        file.params.push(Param { name, value });
                        Ok(())
                    })?;
                }
                _ => {
                    let kind = self.object_kind(&word)?;
                    self.list(|parser| {
                        let declaration = parser.declaration(kind)?;
                        file.objects.push(declaration);
                        Ok(())
                    })?;
                }
            }
            self.expect_end()?;
            if self.at_symbol("}") {
                return self.error("`}` without a `{` before it", "remove it, or open a block");
            }
        }
    }

    fn object_kind(&mut self, word: &str) -> Outcome<ObjectKind> {
        let kind = match word {
            "shared" => ObjectKind::Variable,
            "mutex" => ObjectKind::Mutex,
            "recursive" | "checked" => {
                self.advance();
                if !self.at_word("mutex") {
                    return self.error(
                        format!("expected `mutex` after `{word}`, found {}", self.found()),
                        format!("write `{word} mutex m` on a line of its own"),
                    );
                }
                if word == "recursive" { ObjectKind::RecursiveMutex } else { ObjectKind::CheckedMutex }
            }
            "rwlock" => ObjectKind::RwLock,
            "condition" => ObjectKind::Condition,
            "semaphore" => ObjectKind::Semaphore,
            "barrier" => ObjectKind::Barrier,
            "once" => ObjectKind::Once,
            _ => {
                let hint = "here stand `param`, `shared`, `mutex`, `recursive mutex`, `checked mutex`, \
                     `rwlock`, `condition`, `semaphore`, `barrier`, `once`, `main` and `thread`; \
                     statements belong inside `main { }` or `thread NAME { }`";
                return self.error(format!("{} does not start a declaration", self.found()), hint);
            }
        };
        self.advance();
        Ok(kind)
    }

    fn declaration(&mut self, kind: ObjectKind) -> Outcome<Declaration> {
        let name = self.name("the name to declare")?;
        let size = self.index()?;
        let initial = if self.at_symbol("=") {
            if !matches!(kind, ObjectKind::Variable | ObjectKind::Semaphore | ObjectKind::Barrier) {
                return self.error(
                    format!("a {} has no initial value", kind.keyword()),
                    format!("remove the `=` and what follows: `{} {}`", kind.keyword(), name.text),
                );
            }
            self.advance();
            Some(self.expression()?)
        } else {
            None
        };
        if kind == ObjectKind::Barrier && initial.is_none() {
            return self.error(
                format!("barrier `{}` needs the number of threads it waits for", name.text),
                format!("write `barrier {} = 2`", name.text),
            );
        }
        Ok(Declaration { kind, name, size, initial })
    }

    /// Parses one or more items between commas; a line may end after a comma.
    pub(super) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Outcome<()>) -> Outcome<()> {
        loop {
            item(self)?;
            if !self.take_symbol(",") {
                return Ok(());
            }
            self.skip_ends();
        }
    }

    fn thread(&mut self, is_main: bool) -> Outcome<ThreadBlock> {
        let position = self.position();
        self.advance();
        let (mut parameter, mut copies) = (None, None);
        let name = if is_main {
            Name { text: "main".to_owned(), position }
        } else {
            let name = self.name("the thread's name")?;
            if self.take_symbol("(") {
                parameter = Some(self.name("the thread's parameter")?);
                self.expect_symbol(")", "a thread has one parameter: `thread worker(i) { }`")?;
            }
            if self.take_symbol("*") {
                copies = Some(self.expression()?);
            }
            name
        };
        let body = self.block()?;
        Ok(ThreadBlock { name, is_main, parameter, copies, body })
    }

    /// Parses a full expression.
    pub(super) fn expression(&mut self) -> Outcome<Expression> {
        self.operators = 0;
        self.binary(1)
    }

    /// Parses operators that bind at least as tightly as `floor`, by precedence climbing.
    fn binary(&mut self, floor: u8) -> Outcome<Expression> {
        let mut left = self.unary()?;
        loop {
            let TokenKind::Symbol(symbol) = *self.peek() else { return Ok(left) };
            let Some(operator) = BinaryOperator::from_symbol(symbol) else { return Ok(left) };
            let precedence = operator.precedence();
            if precedence < floor {
                return Ok(left);
            }
            let comparison = BinaryOperator::Equal.precedence();
            if precedence == comparison
                && let Expression::Binary(inner, ..) = &left
                && inner.precedence() == comparison
                && !self.follows_bracket()
            {
                return self.error(
                    "comparisons cannot be chained",
                    "join them with `&&`, as in `a < b && b < c`, or use brackets",
                );
            }
            self.count_operator()?;
            self.advance();
            let right = self.nested(|parser| parser.binary(precedence + 1))?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn follows_bracket(&self) -> bool {
        matches!(self.tokens[self.next.saturating_sub(1)].kind, TokenKind::Symbol(")"))
    }

    fn count_operator(&mut self) -> Outcome<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return self.error(
                format!("more than {MAX_OPERATORS} operators in one expression"),
                "compute parts of it into locals first",
            );
        }
        Ok(())
    }

    fn unary(&mut self) -> Outcome<Expression> {
        let operator = if self.at_symbol("-") {
            UnaryOperator::Negate
        } else if self.at_symbol("!") {
            UnaryOperator::Not
        } else {
            return self.primary();
        };
        self.count_operator()?;
        self.advance();
        let operand = self.nested(Self::unary)?;
        Ok(Expression::Unary(operator, Box::new(operand)))
    }

    fn primary(&mut self) -> Outcome<Expression> {
        let position = self.position();
        match self.peek() {
            TokenKind::Number(number) => {
                let number = *number;
                self.advance();
                Ok(Expression::Number(number))
            }
            TokenKind::Word(word) => match word.as_str() {
                "self" => {
                    self.advance();
                    Ok(Expression::Copy(position))
                }
                "true" | "false" => {
                    let value = i64::from(word == "true");
                    self.advance();
                    Ok(Expression::Number(value))
                }
                _ => self.reference("a value").map(Expression::Read),
            },
            TokenKind::Symbol("(") => {
                self.advance();
                let inner = self.nested(|parser| parser.binary(1))?;
                self.expect_symbol(")", "close the bracket with `)` on the same line")?;
                Ok(inner)
            }
            _ => self.error(
                format!("expected a value, found {}", self.found()),
                "write a number, a variable, `a[i]`, or an expression in brackets",
            ),
        }
    }
}
