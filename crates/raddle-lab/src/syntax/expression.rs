//! Compiled expressions: names are slots, constants are folded, evaluation allocates nothing.

use super::ast::{BinaryOperator, UnaryOperator};

/// A run-time failure of the program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Fault {
    /// The right side of `/` or `%` was zero.
    #[error("division by zero")]
    DivisionByZero,
    /// An array was accessed outside its bounds.
    #[error("index {index} is outside an array of {length}")]
    IndexOutOfRange {
        /// The index that was used.
        index: i64,
        /// The number of elements.
        length: u32,
    },
    /// The condition of an `assert` was zero.
    #[error("assertion failed")]
    Assertion,
    /// `choose e` with `e` below 1. Raised by the interpreter, which makes the choice.
    #[error("a choice among {0} values")]
    EmptyChoice(i64),
    /// `join` of a number that is not a thread. Raised by the interpreter, which knows the threads.
    #[error("join of {0}, which is not a thread")]
    NotAThread(i64),
    /// `spawn` beyond [`THREAD_LIMIT`](super::THREAD_LIMIT). Raised by the interpreter, which knows the threads.
    #[error("more than {} threads", super::THREAD_LIMIT)]
    TooManyThreads,
    /// Local computation ran [`LOCAL_STEP_LIMIT`](super::LOCAL_STEP_LIMIT) instructions without an event.
    #[error("more than {} instructions in a row without an event", super::LOCAL_STEP_LIMIT)]
    EndlessLocalLoop,
}

/// An expression with all names resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// A local of the running thread.
    Local(u16),
    /// A shared variable or an array element known at compile time.
    Shared(u32),
    /// An array element whose index is computed from locals.
    Element(Box<Element>),
    /// An operator with one operand.
    Unary(UnaryOperator, Box<Expr>),
    /// An operator with two operands.
    Binary(BinaryOperator, Box<(Expr, Expr)>),
}

/// One element of consecutively numbered objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Number of the first object.
    pub base: u32,
    /// Number of objects.
    pub length: u32,
    /// The index. Reads only locals.
    pub index: Expr,
}

impl Element {
    /// Returns the object's number, given the locals.
    pub fn resolve(&self, locals: &[i64]) -> Result<u32, Fault> {
        let index = self.index.eval(locals, &[])?;
        match u32::try_from(index) {
            Ok(small) if small < self.length => Ok(self.base + small),
            _ => Err(Fault::IndexOutOfRange { index, length: self.length }),
        }
    }
}

impl Expr {
    /// Returns the value, given the thread's locals and the shared variables.
    ///
    /// # Panics
    /// If `locals` or `shared` are shorter than the program of the expression requires.
    #[inline]
    pub fn eval(&self, locals: &[i64], shared: &[i64]) -> Result<i64, Fault> {
        match self {
            Expr::Const(value) => Ok(*value),
            Expr::Local(slot) => Ok(locals[usize::from(*slot)]),
            Expr::Shared(object) => Ok(shared[*object as usize]),
            _ => self.eval_compound(locals, shared),
        }
    }

    fn eval_compound(&self, locals: &[i64], shared: &[i64]) -> Result<i64, Fault> {
        match self {
            Expr::Element(element) => Ok(shared[element.resolve(locals)? as usize]),
            Expr::Unary(operator, operand) => Ok(apply_unary(*operator, operand.eval(locals, shared)?)),
            Expr::Binary(operator, operands) => {
                let left = operands.0.eval(locals, shared)?;
                match (operator, left) {
                    (BinaryOperator::And, 0) => Ok(0),
                    (BinaryOperator::Or, 1..) | (BinaryOperator::Or, ..=-1) => Ok(1),
                    _ => apply_binary(*operator, left, operands.1.eval(locals, shared)?),
                }
            }
            simple => simple.eval(locals, shared),
        }
    }

    /// Returns true if the value depends on nothing but constants and locals.
    pub fn is_local(&self) -> bool {
        match self {
            Expr::Const(_) | Expr::Local(_) => true,
            Expr::Shared(_) | Expr::Element(_) => false,
            Expr::Unary(_, operand) => operand.is_local(),
            Expr::Binary(_, operands) => operands.0.is_local() && operands.1.is_local(),
        }
    }

    /// Returns the value of a constant.
    pub fn as_const(&self) -> Option<i64> {
        if let Expr::Const(value) = self { Some(*value) } else { None }
    }

    /// Returns `operator operand`, folded if possible.
    pub(crate) fn unary(operator: UnaryOperator, operand: Expr) -> Expr {
        match operand {
            Expr::Const(value) => Expr::Const(apply_unary(operator, value)),
            operand => Expr::Unary(operator, Box::new(operand)),
        }
    }

    /// Returns `left operator right`, folded if possible; a constant division by zero is left to run time.
    pub(crate) fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
        if let (Expr::Const(left), Expr::Const(right)) = (&left, &right)
            && let Ok(value) = apply_binary(operator, *left, *right)
        {
            return Expr::Const(value);
        }
        Expr::Binary(operator, Box::new((left, right)))
    }
}

fn apply_unary(operator: UnaryOperator, value: i64) -> i64 {
    match operator {
        UnaryOperator::Negate => value.wrapping_neg(),
        UnaryOperator::Not => i64::from(value == 0),
    }
}

fn apply_binary(operator: BinaryOperator, left: i64, right: i64) -> Result<i64, Fault> {
    use BinaryOperator::*;
    Ok(match operator {
        Or => i64::from(left != 0 || right != 0),
        And => i64::from(left != 0 && right != 0),
        Equal => i64::from(left == right),
        NotEqual => i64::from(left != right),
        Less => i64::from(left < right),
        LessEqual => i64::from(left <= right),
        Greater => i64::from(left > right),
        GreaterEqual => i64::from(left >= right),
        Add => left.wrapping_add(right),
        Subtract => left.wrapping_sub(right),
        Multiply => left.wrapping_mul(right),
        Divide | Remainder if right == 0 => return Err(Fault::DivisionByZero),
        Divide => left.wrapping_div(right),
        Remainder => left.wrapping_rem(right),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_wraps_and_never_panics() {
        use BinaryOperator::*;
        assert_eq!(apply_binary(Add, i64::MAX, 1), Ok(i64::MIN));
        assert_eq!(apply_binary(Divide, i64::MIN, -1), Ok(i64::MIN));
        assert_eq!(apply_binary(Remainder, i64::MIN, -1), Ok(0));
        assert_eq!(apply_binary(Remainder, 1, 0), Err(Fault::DivisionByZero));
        assert_eq!(apply_unary(UnaryOperator::Negate, i64::MIN), i64::MIN);
    }

    #[test]
    fn the_right_side_is_skipped_when_the_left_decides() {
        let fails = || Expr::binary(BinaryOperator::Divide, Expr::Const(1), Expr::Const(0));
        let and = Expr::binary(BinaryOperator::And, Expr::Local(0), fails());
        assert_eq!(and.eval(&[0], &[]), Ok(0));
        assert_eq!(and.eval(&[5], &[]), Err(Fault::DivisionByZero));
        let or = Expr::binary(BinaryOperator::Or, Expr::Local(0), fails());
        assert_eq!(or.eval(&[-5], &[]), Ok(1));
        assert_eq!(or.eval(&[0], &[]), Err(Fault::DivisionByZero));
    }

    #[test]
    fn elements_check_their_bounds() {
        let element = Element { base: 3, length: 2, index: Expr::Local(0) };
        assert_eq!(element.resolve(&[1]), Ok(4));
        assert_eq!(element.resolve(&[2]), Err(Fault::IndexOutOfRange { index: 2, length: 2 }));
        assert_eq!(element.resolve(&[-1]), Err(Fault::IndexOutOfRange { index: -1, length: 2 }));
    }
}
