//! The tree of a program text, names still unresolved.

use super::atomic::AtomicCall;
use raddle_model::MemoryOrder;

/// A location in the source, counted from 1 in lines and characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A name where it is used or declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// The name itself.
    pub(super) text: String,
    /// Its location.
    pub(super) position: Position,
}

/// A whole text.
#[derive(Debug, Clone, Default)]
pub(super) struct File {
    /// `param` lines in order.
    pub(super) params: Vec<Param>,
    /// Declarations of shared variables and synchronisation objects in order.
    pub(super) objects: Vec<Declaration>,
    /// `main` and `thread` blocks in order; the main block is named `main`.
    pub(super) threads: Vec<ThreadBlock>,
}

/// `param n = 3`.
#[derive(Debug, Clone)]
pub(super) struct Param {
    /// Its name.
    pub(super) name: Name,
    /// Its value unless the caller overrides it; may use earlier parameters.
    pub(super) value: Expression,
}

/// The kind of a declared shared object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A shared integer.
    Variable,
    /// A mutex that blocks its own holder.
    Mutex,
    /// A mutex that its holder may lock again.
    RecursiveMutex,
    /// A mutex that reports relocking and foreign unlocking.
    CheckedMutex,
    /// A readers-writer lock.
    RwLock,
    /// A condition variable.
    Condition,
    /// A counting semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// A run-once guard.
    Once,
}

impl ObjectKind {
    /// Returns the words that declare it.
    pub fn keyword(self) -> &'static str {
        match self {
            ObjectKind::Variable => "shared",
            ObjectKind::Mutex => "mutex",
            ObjectKind::RecursiveMutex => "recursive mutex",
            ObjectKind::CheckedMutex => "checked mutex",
            ObjectKind::RwLock => "rwlock",
            ObjectKind::Condition => "condition",
            ObjectKind::Semaphore => "semaphore",
            ObjectKind::Barrier => "barrier",
            ObjectKind::Once => "once",
        }
    }

    /// True for the three kinds of mutex.
    pub fn is_mutex(self) -> bool {
        matches!(self, ObjectKind::Mutex | ObjectKind::RecursiveMutex | ObjectKind::CheckedMutex)
    }
}

/// One declared name, such as `a[4] = 0` after `shared`.
#[derive(Debug, Clone)]
pub(super) struct Declaration {
    /// The kind of object.
    pub(super) kind: ObjectKind,
    /// Its name.
    pub(super) name: Name,
    /// Number of elements, for an array.
    pub(super) size: Option<Expression>,
    /// Initial value, permits or party count.
    pub(super) initial: Option<Expression>,
}

/// `main { .. }`, `thread A { .. }`, `thread A(i) { .. }` or `thread A * n { .. }`.
#[derive(Debug, Clone)]
pub(super) struct ThreadBlock {
    /// Its name; `main` for the main block.
    pub(super) name: Name,
    /// True for `main { .. }`.
    pub(super) is_main: bool,
    /// The parameter of a thread that is spawned with an argument.
    pub(super) parameter: Option<Name>,
    /// The number of copies that start at once.
    pub(super) copies: Option<Expression>,
    /// Its statements.
    pub(super) body: Vec<Statement>,
}

/// A statement with its location and its text (for a block, only the head).
#[derive(Debug, Clone)]
pub(super) struct Statement {
    /// Its kind.
    pub(super) kind: StatementKind,
    /// Its start.
    pub(super) position: Position,
    /// Its text, without blocks and comments.
    pub(super) text: String,
}

/// A variable or an array element; also names an object in an array of objects.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    /// The variable, local, or object.
    pub(super) name: Name,
    /// The index, for an element of an array.
    pub(super) index: Option<Box<Expression>>,
}

/// The kind of a statement. `target` is the local that receives a result.
#[derive(Debug, Clone)]
pub(super) enum StatementKind {
    /// `local t = 0, u`.
    Local(Vec<(Name, Option<Expression>)>),
    /// `x = e`.
    Assign(Reference, Expression),
    /// `x += e`, `x -= e`, `x++`, `x--`, and `v = x++`, `v = x--`, which also yield the old value.
    Add {
        /// The variable that changes.
        place: Reference,
        /// The added value; negated beforehand for `-=` and `--`.
        amount: Expression,
        /// Receives the value before the change.
        target: Option<Name>,
    },
    /// `assert e`.
    Assert(Expression),
    /// `step`.
    Step,
    /// `yield`.
    Yield,
    /// `return`.
    Return,
    /// `exit`.
    Exit,
    /// `repeat e as i { .. }`.
    Repeat {
        /// Number of rounds.
        count: Expression,
        /// The counter's name, if it has one.
        counter: Option<Name>,
        /// The block.
        body: Vec<Statement>,
    },
    /// `if e { .. } else { .. }`.
    If {
        /// The condition.
        condition: Expression,
        /// Runs if the condition is not zero.
        then: Vec<Statement>,
        /// Runs if it is zero.
        otherwise: Vec<Statement>,
    },
    /// `while e { .. }`.
    While {
        /// Checked before each round.
        condition: Expression,
        /// The block.
        body: Vec<Statement>,
    },
    /// A statement of one keyword and one object, such as `unlock m`; see [`Verb`].
    Simple(Verb, Reference),
    /// `lock m`, `v = lock m for e`.
    Lock {
        /// The mutex.
        object: Reference,
        /// The time limit.
        timeout: Option<Expression>,
        /// Receives 1 if locked, 0 if timed out.
        target: Option<Name>,
    },
    /// `v = trylock m`.
    TryLock(Name, Reference),
    /// `wait s`, `wait cv m`, each with an optional time limit.
    Wait {
        /// The semaphore or condition.
        object: Reference,
        /// The mutex that a condition releases.
        mutex: Option<Reference>,
        /// The time limit.
        timeout: Option<Expression>,
        /// Receives 1 if woken, 0 if timed out.
        target: Option<Name>,
    },
    /// `barrier b`, `v = barrier b`.
    Barrier(Option<Name>, Reference),
    /// `once o { .. }`.
    Once(Reference, Vec<Statement>),
    /// `spawn T(e)`, `h = spawn T`.
    Spawn {
        /// Receives the handle.
        target: Option<Name>,
        /// The thread block.
        thread: Name,
        /// Its argument.
        argument: Option<Expression>,
    },
    /// `join h` or `join T`.
    Join(Name),
    /// `sleep e`.
    Sleep(Expression),
    /// `v = choose e`.
    Choose(Name, Expression),
    /// `x.store(1, release)` and so on.
    Atomic(AtomicCall),
    /// `fence(seq_cst)`.
    Fence(MemoryOrder),
}

/// Keywords that take exactly one object and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// `unlock m`.
    Unlock,
    /// `rdlock l`.
    ReadLock,
    /// `wrlock l`.
    WriteLock,
    /// `rwunlock l`.
    RwUnlock,
    /// `signal s` or `signal cv`.
    Signal,
    /// `broadcast cv`.
    Broadcast,
    /// `destroy m`.
    Destroy,
}

/// An expression over 64-bit integers; comparisons give 0 or 1.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    /// A literal.
    Number(i64),
    /// `self`, the index of a copied thread.
    Copy(Position),
    /// A name or an array element.
    Read(Reference),
    /// `-e` or `!e`.
    Unary(UnaryOperator, Box<Expression>),
    /// `a + b` and so on.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-`, wrapping.
    Negate,
    /// `!`: 1 for zero, else 0.
    Not,
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `||`, which skips its right side if the left one decides.
    Or,
    /// `&&`, which skips its right side if the left one decides.
    And,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `+`, wrapping.
    Add,
    /// `-`, wrapping.
    Subtract,
    /// `*`, wrapping.
    Multiply,
    /// `/`, towards zero.
    Divide,
    /// `%`, with the sign of the left side.
    Remainder,
}

impl BinaryOperator {
    /// Returns the precedence; operators that bind more tightly have a larger number.
    pub(crate) fn precedence(self) -> u8 {
        use BinaryOperator::*;
        match self {
            Or => 1,
            And => 2,
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => 3,
            Add | Subtract => 4,
            Multiply | Divide | Remainder => 5,
        }
    }

    /// Returns the operator written `symbol`.
    pub(crate) fn from_symbol(symbol: &str) -> Option<Self> {
        use BinaryOperator::*;
        Some(match symbol {
            "||" => Or,
            "&&" => And,
            "==" => Equal,
            "!=" => NotEqual,
            "<" => Less,
            "<=" => LessEqual,
            ">" => Greater,
            ">=" => GreaterEqual,
            "+" => Add,
            "-" => Subtract,
            "*" => Multiply,
            "/" => Divide,
            "%" => Remainder,
            _ => return None,
        })
    }
}
