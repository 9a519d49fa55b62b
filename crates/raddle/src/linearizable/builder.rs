//! The description of a structure and of its check.

use super::arguments::Arguments;
use super::operation::Operation;
use super::outcome::{Refuted, Summary};
use super::reference::{Itself, Model, Reference, Subject};
use super::scenario::{Scenario, Shape};
use super::search::{Scenarios, Search, Wanted};
use crate::check::{Config, test_name};
use raddle_history::Condition;
use std::fmt::Debug;
use std::panic::Location;
use std::sync::Arc;

/// A structure, its operations, and what to check. See [`linearizable`].
#[must_use = "nothing is checked before `check` or `try_check`"]
pub struct Linearizability<S, K = Itself> {
    create: Arc<dyn Fn() -> S + Send + Sync>,
    operations: Vec<Operation<S>>,
    reference: K,
    config: Config,
    shape: Shape,
    scenarios: Scenarios,
    condition: Condition,
    wanted: Wanted,
}

/// Begins to describe the structure that `create` makes.
pub fn linearizable<S: Sync + 'static>(create: impl Fn() -> S + Send + Sync + 'static) -> Linearizability<S> {
    Linearizability {
        create: Arc::new(create),
        operations: Vec::new(),
        reference: Itself,
        config: Config::default().with_runs(RUNS),
        shape: Shape { threads: 2, calls: 3, first: 2, last: 2 },
        scenarios: Scenarios::Drawn(SCENARIOS),
        condition: Condition::Linearizable,
        wanted: Wanted::Any,
    }
}

/// The default number of scenarios, and of the runs of each.
const SCENARIOS: u64 = 100;
const RUNS: u64 = 500;

impl<S: Sync + 'static> Linearizability<S> {
    /// Compares results with those of a sequential model, which begins as the value of `initial`. Operations are then given
    /// twice. Without a model, one thread that uses the structure is the reference, so that a mistake in its sequential
    /// behavior is not found.
    ///
    /// # Panics
    ///
    /// If there are operations already.
    pub fn model<M>(self, initial: impl Fn() -> M + Send + Sync + 'static) -> Linearizability<S, Model<M>> {
        assert!(self.operations.is_empty(), "the model is given before the operations");
        let reference = Model { initial: Box::new(initial), operations: Arc::default() };
        let Linearizability { create, operations, config, shape, scenarios, condition, wanted, .. } = self;
        Linearizability { create, operations, reference, config, shape, scenarios, condition, wanted }
    }

    /// Adds an operation without arguments.
    #[track_caller]
    pub fn operation<R>(self, name: &str, run: impl Fn(&S) -> R + Send + Sync + 'static) -> Self
    where
        R: PartialEq + Debug + Send + 'static,
    {
        self.operation_with(name, (), move |structure, ()| run(structure))
    }

    /// Adds an operation that is called with one of `arguments`.
    #[track_caller]
    pub fn operation_with<X, R>(
        mut self,
        name: &str,
        arguments: impl Arguments<X>,
        run: impl Fn(&S, X) -> R + Send + Sync + 'static,
    ) -> Self
    where
        X: Debug + 'static,
        R: PartialEq + Debug + Send + 'static,
    {
        self.operations.push(Operation::new(name, &Arc::new(arguments), run));
        self
    }
}

impl<S: Sync + 'static, M: 'static> Linearizability<S, Model<M>> {
    /// Adds an operation without arguments, of the structure and of the model.
    #[track_caller]
    pub fn operation<R>(
        self,
        name: &str,
        run: impl Fn(&S) -> R + Send + Sync + 'static,
        model: impl Fn(&mut M) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: PartialEq + Debug + Send + 'static,
    {
        self.operation_with(name, (), move |structure, ()| run(structure), move |state, ()| model(state))
    }

    /// Adds an operation that is called with one of `arguments`.
    #[track_caller]
    pub fn operation_with<X, R>(
        self,
        name: &str,
        arguments: impl Arguments<X>,
        run: impl Fn(&S, X) -> R + Send + Sync + 'static,
        model: impl Fn(&mut M, X) -> R + Send + Sync + 'static,
    ) -> Self
    where
        X: Debug + 'static,
        R: PartialEq + Debug + Send + 'static,
    {
        self.add(name, arguments, run, move |state, argument| Some(model(state, argument)), false)
    }

    /// Adds an operation that may wait: its model returns [`None`], and changes nothing, where the operation waits. A run in
    /// which such calls wait forever passes if the results of the others explain that.
    #[track_caller]
    pub fn waiting_operation<R>(
        self,
        name: &str,
        run: impl Fn(&S) -> R + Send + Sync + 'static,
        model: impl Fn(&mut M) -> Option<R> + Send + Sync + 'static,
    ) -> Self
    where
        R: PartialEq + Debug + Send + 'static,
    {
        self.add(name, (), move |structure, ()| run(structure), move |state, ()| model(state), true)
    }

    /// Adds an operation that may wait and is called with one of `arguments`.
    #[track_caller]
    pub fn waiting_operation_with<X, R>(
        self,
        name: &str,
        arguments: impl Arguments<X>,
        run: impl Fn(&S, X) -> R + Send + Sync + 'static,
        model: impl Fn(&mut M, X) -> Option<R> + Send + Sync + 'static,
    ) -> Self
    where
        X: Debug + 'static,
        R: PartialEq + Debug + Send + 'static,
    {
        self.add(name, arguments, run, model, true)
    }

    #[track_caller]
    fn add<X, R>(
        mut self,
        name: &str,
        arguments: impl Arguments<X>,
        run: impl Fn(&S, X) -> R + Send + Sync + 'static,
        model: impl Fn(&mut M, X) -> Option<R> + Send + Sync + 'static,
        waits: bool,
    ) -> Self
    where
        X: Debug + 'static,
        R: PartialEq + Debug + Send + 'static,
    {
        let arguments = Arc::new(arguments);
        self.operations.push(Operation { waits, ..Operation::new(name, &arguments, run) });
        let operations = Arc::get_mut(&mut self.reference.operations).expect("no check has begun");
        operations.push(Box::new(move |state, index| {
            model(state, arguments.get(index)).map(|value| Box::new(value) as _)
        }));
        self
    }
}

#[expect(private_bounds, reason = "`Itself` and `Model` are the only references")]
impl<S: Sync + 'static, K> Linearizability<S, K>
where
    K: Reference<S>,
{
    /// Puts the latest operation into a group. The operations of a group are never called by two threads at once: those of a
    /// producer, or of the owner of a deque.
    ///
    /// # Panics
    ///
    /// If there is no operation yet.
    pub fn group(mut self, name: &str) -> Self {
        self.operations.last_mut().expect("a group has an operation").group = Some(name.to_owned());
        self
    }

    /// Sets the configuration of the runs; [`Config::runs`] is the number of runs of each scenario. The default has 500, after
    /// up to 400 runs in which all schedules of the scenario are tried. With a strategy other than the portfolio, all runs are
    /// that strategy's.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the number of threads, and the maximum number of calls of each. The default is 2 threads with 3 calls.
    pub fn threads(mut self, threads: usize, calls: usize) -> Self {
        (self.shape.threads, self.shape.calls) = (threads, calls);
        self
    }

    /// Sets the maximum numbers of calls of the main thread before and after the threads. The default is 2 and 2.
    pub fn around(mut self, first: usize, last: usize) -> Self {
        (self.shape.first, self.shape.last) = (first, last);
        self
    }

    /// Sets the number of scenarios, which are drawn. The default is 100.
    pub fn scenarios(mut self, count: u64) -> Self {
        self.scenarios = Scenarios::Drawn(count);
        self
    }

    /// Examines all scenarios up to the size, instead of a sample.
    pub fn all_scenarios(mut self) -> Self {
        self.scenarios = Scenarios::All;
        self
    }

    /// Examines this scenario, and others given in the same way, instead of a sample. Calls are written as reports show them:
    /// `push(1)`.
    ///
    /// # Panics
    ///
    /// If no operation has such a call.
    #[track_caller]
    pub fn scenario(mut self, first: &[&str], threads: &[&[&str]], last: &[&str]) -> Self {
        let scenario = match Scenario::parse(first, threads, last, &self.operations) {
            Ok(scenario) => scenario,
            Err(error) => panic!("{error}"),
        };
        match &mut self.scenarios {
            Scenarios::Given(given) => given.push(scenario),
            other => *other = Scenarios::Given(vec![scenario]),
        }
        self
    }

    /// Requires only that the order of calls keeps that of each thread.
    pub fn sequentially_consistent(mut self) -> Self {
        self.condition = Condition::SequentiallyConsistent;
        self
    }

    /// Requires only that the order of calls keeps that of calls with a moment without any call between them.
    pub fn quiescently_consistent(mut self) -> Self {
        self.condition = Condition::QuiescentlyConsistent;
        self
    }

    /// Requires that a thread that halts before any step of a call does not keep the calls of others from returning. Scenarios
    /// with operations that may wait are left out.
    pub fn lock_free(mut self) -> Self {
        self.wanted = Wanted::LockFree;
        self
    }

    /// Requires [`lock_free`](Self::lock_free), and that no call takes more than this number of steps.
    pub fn wait_free(mut self, steps: u32) -> Self {
        self.wanted = Wanted::WaitFree(steps);
        self
    }

    /// Checks the structure, and panics with the report of the smallest failing scenario. If none fails, prints a summary to
    /// standard error.
    ///
    /// # Panics
    ///
    /// Also if there is no operation.
    #[track_caller]
    pub fn check(self) {
        let (name, location) = (test_name(), Location::caller());
        match self.run(&name, location) {
            // A harness shows it with `--nocapture`, or if the test fails later.
            Ok(summary) => eprintln!("raddle: `{name}`: {summary}"),
            Err(refuted) => panic!("{refuted}"),
        }
    }

    /// Like [`check`](Self::check), but returns the outcome.
    #[track_caller]
    pub fn try_check(self) -> Result<Summary, Box<Refuted>> {
        self.run(&test_name(), Location::caller())
    }

    fn run(self, name: &str, location: &'static Location<'static>) -> Result<Summary, Box<Refuted>> {
        assert!(!self.operations.is_empty(), "a structure has at least one operation");
        self.shape.check();
        let subject = Subject { create: self.create, operations: Arc::new(self.operations) };
        let (reference, config) = (&self.reference, &self.config);
        let (shape, scenarios) = (self.shape, &self.scenarios);
        let (condition, wanted) = (self.condition, self.wanted);
        Search { subject, reference, config, shape, scenarios, condition, wanted, location }.run(name)
    }
}
