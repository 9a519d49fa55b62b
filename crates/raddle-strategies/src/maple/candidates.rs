//! The predicted iRoots, and the next one to aim at.

use super::base::Recorded;
use raddle_model::{Action, IRoot, Idiom, Ledger};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The predicted iRoots.
#[derive(Clone, Default)]
pub(super) struct Candidates {
    /// All candidates, each with the run that predicted it.
    origins: BTreeMap<IRoot, Arc<Recorded>>,
    /// Those that no run has exposed and that may be attempted, each with its number of failed runs.
    open: BTreeSet<(u32, IRoot)>,
    /// Those that wait for one of their parts, by that part.
    waiting: BTreeMap<IRoot, Vec<(u32, IRoot)>>,
}

impl Candidates {
    pub(super) fn contains(&self, root: &IRoot) -> bool {
        self.origins.contains_key(root)
    }

    /// Adds a candidate with `failed` failed runs; it may be attempted if it is `open`.
    pub(super) fn insert(&mut self, root: IRoot, origin: Arc<Recorded>, failed: u32, open: bool) {
        self.origins.insert(root, origin);
        if open {
            self.open.insert((failed, root));
        }
    }

    /// Returns the run that predicted it.
    pub(super) fn origin(&self, root: &IRoot) -> Option<&Arc<Recorded>> {
        self.origins.get(root)
    }

    /// Records that a run has exposed `root`, after `failed` failed runs.
    pub(super) fn exposed(&mut self, failed: u32, root: IRoot) {
        self.open.remove(&(failed, root));
        self.open.extend(self.waiting.remove(&root).into_iter().flatten());
    }

    /// Records that another run failed to expose `root`, after `failed` before it; it is attempted again if
    /// it is `open`.
    pub(super) fn failed(&mut self, failed: u32, root: IRoot, open: bool) {
        self.open.remove(&(failed, root));
        if open {
            self.open.insert((failed + 1, root));
        }
    }

    /// Sets candidates aside that seem impossible: one of their parts was attempted `attempts` times without
    /// success.
    pub(super) fn sift(&mut self, ledger: &Ledger, attempts: u32) {
        while let Some(&(failed, root)) = self.open.first() {
            let given_up = |part: &IRoot| {
                let standing = ledger.standing(part);
                !standing.exposed && standing.failed >= attempts
            };
            let Some(part) = parts(&root).into_iter().flatten().find(given_up) else { return };
            self.open.remove(&(failed, root));
            self.waiting.entry(part).or_default().push((failed, root));
        }
    }

    /// Returns the candidate attempted least often, and of these the simplest, with its number of failed
    /// runs.
    pub(super) fn first(&self) -> Option<(u32, IRoot)> {
        self.open.first().copied()
    }
}

/// Returns the iRoots of idiom 1 that every run exposes which exposes this one. A deadlock has no second
/// access, and so no parts.
fn parts(root: &IRoot) -> [Option<IRoot>; 2] {
    let sites = root.sites();
    let part = |first: usize, second: usize| Some(IRoot::new(Idiom::One, &[sites[first], sites[second]]));
    match root.idiom {
        Idiom::One => [None, None],
        Idiom::Two => [part(0, 1), part(1, 2)],
        Idiom::Five if sites.iter().any(|site| site.action == Action::Lock) => [None, None],
        Idiom::Three | Idiom::Four | Idiom::Five | Idiom::Six => [part(0, 1), part(2, 3)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::Rng;
    use raddle_idioms::{WINDOW, observe};
    use raddle_testkit::{affordable_searches, every_schedule, is_thorough, locked, spawning, straight};

    #[test]
    fn a_run_that_exposes_a_compound_iroot_exposes_its_parts() {
        let mut seen = BTreeSet::new();
        for number in 0..affordable_searches(30) {
            let mut rng = Rng::for_run(5, number);
            let program = match number % 3 {
                0 => straight(&mut rng, 3, 4),
                1 => locked(&mut rng, 3),
                _ => spawning(&mut rng),
            };
            every_schedule(Default::default(), &mut program.apart(10), |_, engine| {
                let had: BTreeSet<IRoot> = observe(&engine.summary(), WINDOW).into_iter().collect();
                for root in &had {
                    seen.insert(root.idiom);
                    for part in parts(root).into_iter().flatten() {
                        assert!(had.contains(&part), "{root:?} without {part:?}");
                    }
                }
            });
        }
        assert!(!is_thorough() || seen.len() == 6, "{seen:?}");
    }
}
