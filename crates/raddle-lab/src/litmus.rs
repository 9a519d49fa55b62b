//! Litmus programs: the outcomes of all runs beside those that the memory model allows.

use crate::axioms::{self, Litmus, Outcome, Step, Update};
use crate::machine::Machine;
use crate::syntax::{self, Action, AtomicAction, AtomicChange, Expr, Instruction, ObjectRef, Operation};
use raddle_engine::{Config, Engine, Plan, Rng, run};
use raddle_model::{MemoryModel, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// The greatest number of runs that are made of a program.
pub const MOST_RUNS: u64 = 5_000_000;

/// Why a program has no axiomatic outcomes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LitmusError {
    /// A statement is not one of those that the axioms know.
    #[error(
        "line {line}: `{text}` has no axiomatic meaning\nhelp: a litmus program consists of threads without branches, atomic accesses to shared variables with constant arguments, and fences"
    )]
    Statement {
        /// Its line, from 1.
        line: u32,
        /// Its text.
        text: String,
    },
    /// It has an object that is not a shared variable.
    #[error("`{0}` has no axiomatic meaning\nhelp: a litmus program has shared variables only")]
    Object(String),
    /// It has too many events.
    #[error("the program has more than {} events, counting one for each variable", axioms::MOST_EVENTS)]
    TooLarge,
    /// A run failed or did not end.
    #[error("a run of the program ended with {0}")]
    Failed(&'static str),
    /// The strategy is not in the catalogue.
    #[error("{0}")]
    Strategy(String),
    /// It has too many schedules.
    #[error("the program has more than {MOST_RUNS} schedules")]
    TooManyRuns,
}

/// The comparison of the outcomes of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The names of the registers and then of the variables, in the order of the values of an outcome.
    pub names: Vec<String>,
    /// Every outcome that is allowed or was seen.
    pub outcomes: BTreeMap<Vec<i64>, Standing>,
    /// The number of runs.
    pub runs: u64,
}

/// The status of an outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// The model allows it, and a run has it.
    Seen,
    /// The model allows it, and no run has it.
    Unreached,
    /// The model forbids it, and a run has it.
    Forbidden,
}

impl Standing {
    /// Returns its words for people.
    pub fn text(self) -> &'static str {
        match self {
            Standing::Seen => "allowed, seen",
            Standing::Unreached => "allowed, not reached",
            Standing::Forbidden => "FORBIDDEN, seen",
        }
    }
}

impl Comparison {
    /// Counts the outcomes with this standing.
    pub fn count(&self, standing: Standing) -> usize {
        self.outcomes.values().filter(|&&found| found == standing).count()
    }
}

/// Runs `machine` under every schedule and with every choice of weak memory, and compares the outcomes with the axioms.
/// With `memory` `sc`, only sequentially consistent runs are made.
pub fn compare(machine: &Machine, memory: MemoryModel) -> Result<Comparison, LitmusError> {
    let program = machine.program();
    let registers = registers(program);
    let litmus = translate(program, &registers)?;
    let allowed = axioms::outcomes(&litmus).ok_or(LitmusError::TooLarge)?;
    let found = explore(machine, memory, "dpor", MOST_RUNS, &registers)?;
    if found.runs == MOST_RUNS {
        return Err(LitmusError::TooManyRuns);
    }
    let (seen, runs) = (found.outcomes.into_keys().collect::<BTreeSet<_>>(), found.runs);
    let mut outcomes = BTreeMap::new();
    for outcome in allowed.union(&seen) {
        let standing = match (allowed.contains(outcome), seen.contains(outcome)) {
            (true, true) => Standing::Seen,
            (true, false) => Standing::Unreached,
            _ => Standing::Forbidden,
        };
        outcomes.insert([&outcome.registers[..], &outcome.locations[..]].concat(), standing);
    }
    Ok(Comparison { names: names(program, &registers), outcomes, runs })
}

/// Runs `machine` up to `runs` times under a strategy, and returns how often each outcome occurs: the values of the registers
/// and then of the variables.
pub fn sample(
    machine: &Machine,
    memory: MemoryModel,
    strategy: &str,
    runs: u64,
) -> Result<BTreeMap<Vec<i64>, u64>, LitmusError> {
    let registers = registers(machine.program());
    let found = explore(machine, memory, strategy, runs, &registers)?;
    let values = |outcome: Outcome| [outcome.registers, outcome.locations].concat();
    Ok(found.outcomes.into_iter().map(|(outcome, runs)| (values(outcome), runs)).collect())
}

/// A local of a thread that runs from the start.
type Register = (usize, u16);

/// Returns the named locals that a step of their thread sets.
fn registers(program: &syntax::Program) -> Vec<Register> {
    let mut all = BTreeSet::new();
    for (index, start) in program.initial_threads.iter().enumerate() {
        for instruction in &program.threads[start.thread].code {
            if let Operation::Event(event) = &instruction.operation
                && let Action::Atomic(AtomicAction { target: Some(target), .. }) = event.action
            {
                all.insert((index, target));
            }
        }
    }
    all.into_iter().collect()
}

fn names(program: &syntax::Program, registers: &[Register]) -> Vec<String> {
    let local = |&(thread, slot): &Register| {
        let block = program.initial_threads[thread].thread;
        program.threads[block].local_names[usize::from(slot)].as_str()
    };
    let is_unique = |name: &str| registers.iter().filter(|register| local(register) == name).count() == 1;
    let of_register = |register: &Register| match local(register) {
        name if is_unique(name) => name.to_owned(),
        name => format!("{}.{name}", program.initial_threads[register.0].name),
    };
    let variables = program.objects.iter().map(|object| object.name.clone());
    registers.iter().map(of_register).chain(variables).collect()
}

/// Returns the program as the axioms know it.
fn translate(program: &syntax::Program, registers: &[Register]) -> Result<Litmus, LitmusError> {
    if let Some(other) = program.objects.iter().find(|object| object.kind != syntax::ObjectKind::Variable) {
        return Err(LitmusError::Object(format!("{} {}", other.kind.keyword(), other.name)));
    }
    let mut threads = Vec::new();
    for (index, start) in program.initial_threads.iter().enumerate() {
        let register = |slot| registers.iter().position(|&register| register == (index, slot));
        let code = &program.threads[start.thread].code;
        let steps = code.iter().map(|instruction| {
            step(instruction, &register).ok_or_else(|| {
                let source = program.source(instruction);
                LitmusError::Statement { line: source.position.line, text: source.text.clone() }
            })
        });
        threads.push(steps.collect::<Result<_, _>>()?);
    }
    Ok(Litmus { initial: program.initial_values(), registers: registers.len(), threads })
}

fn step(instruction: &Instruction, register: &dyn Fn(u16) -> Option<usize>) -> Option<Step> {
    let Operation::Event(event) = &instruction.operation else { return None };
    let AtomicAction { object, change, order, target } = match &event.action {
        Action::Atomic(action) => action,
        Action::Fence(order) => return Some(Step::Fence(*order)),
        _ => return None,
    };
    let ObjectRef::Fixed(location) = *object else { return None };
    let (location, order) = (location as usize, *order);
    let target = target.and_then(register);
    let update = |update| Step::Update { register: target, location, update, order };
    Some(match change {
        AtomicChange::Load => Step::Load { register: target?, location, order },
        AtomicChange::Store(value) => Step::Store { location, value: value.as_const()?, order },
        AtomicChange::Swap(value) => update(Update::Set(value.as_const()?)),
        AtomicChange::Add(amount) => update(Update::Add(amount.as_const()?)),
        AtomicChange::Exchange { expected, new, failure } => {
            let constant = |expr: &Expr| expr.as_const();
            let (expected, new) = (constant(expected)?, constant(new)?);
            Step::Exchange { register: target, location, expected, new, success: order, failure: *failure }
        }
    })
}

/// Runs of a program: how often each outcome occurred, and how many there were.
#[derive(Default)]
struct Explored {
    outcomes: BTreeMap<Outcome, u64>,
    runs: u64,
}

/// Runs a program until the strategy has no schedule left, but no more than `most` times.
fn explore(
    machine: &Machine,
    memory: MemoryModel,
    strategy: &str,
    most: u64,
    registers: &[Register],
) -> Result<Explored, LitmusError> {
    let mut config = Config::default();
    config.memory = memory;
    let (mut engine, mut machine) = (Engine::new(config), machine.clone());
    let mut strategy =
        raddle_strategies::build(strategy).map_err(|error| LitmusError::Strategy(error.to_string()))?;
    let mut seen = Explored::default();
    while seen.runs < most && strategy.begin(Rng::for_run(0, seen.runs)) == Plan::Run {
        run(&mut engine, &mut machine, &mut *strategy);
        let summary = engine.summary();
        match summary.verdict {
            Verdict::Passed => {
                let read = |&(thread, slot): &Register| machine.local(thread, slot);
                let registers = registers.iter().map(read).collect();
                let outcome = Outcome { registers, locations: machine.shared().to_vec() };
                *seen.outcomes.entry(outcome).or_insert(0) += 1;
            }
            Verdict::CutOff => {}
            Verdict::Failed { failure } => return Err(LitmusError::Failed(failure.kind())),
            Verdict::Inconclusive { .. } => return Err(LitmusError::Failed("too many steps")),
        }
        strategy.learn(&summary);
        seen.runs += 1;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests;
