//! Runs in which two threads reached the accesses of an iRoot, in whatever order.

use crate::access::site;
use raddle_engine::RunSummary;
use raddle_model::IRoot;

/// Returns true if in a run one thread reached the accesses of the first thread of `root`, even if an attempt
/// at a lock failed, and another one those of the second. If such a run does not expose `root`, the accesses
/// were in another order, had others in between, were too far apart, or were to different objects.
pub fn meets(run: &RunSummary<'_>, root: &IRoot) -> bool {
    let sites = root.sites();
    let mut made = vec![0_u8; run.thread_count()];
    for event in &run.trace.events {
        for (_, here, _) in site(&event.operation, run.location_name(event.operation.location)) {
            let of_root = sites.iter().enumerate().filter(|(_, site)| **site == here);
            made[event.thread.index()] |= of_root.fold(0, |bits, (index, _)| bits | 1 << index);
        }
    }
    let all = (1_u8 << sites.len()) - 1;
    let first = root.idiom.of_first_thread().iter().fold(0, |bits, index| bits | 1 << index);
    let has = |bits: u8, wanted: u8| bits & wanted == wanted;
    let mut pairs = made.iter().enumerate().filter(|(_, bits)| has(**bits, first));
    pairs
        .any(|(one, _)| made.iter().enumerate().any(|(other, bits)| other != one && has(*bits, all & !first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WINDOW, observe, predict};
    use raddle_engine::Rng;
    use raddle_testkit::{every_schedule, locked, straight};
    use std::collections::BTreeSet;

    #[test]
    fn a_run_that_exposes_an_iroot_meets_it() {
        let (mut had_all, mut met_only, mut missed) = (BTreeSet::new(), 0, 0);
        for number in 0..20 {
            let mut rng = Rng::for_run(3, number);
            let program = if number % 2 == 0 { straight(&mut rng, 2, 4) } else { locked(&mut rng, 3) };
            let mut predicted = BTreeSet::new();
            every_schedule(Default::default(), &mut program.clone().apart(10), |_, engine| {
                predicted.extend(predict(&engine.summary(), WINDOW));
            });
            every_schedule(Default::default(), &mut program.apart(10), |_, engine| {
                let run = engine.summary();
                let had = observe(&run, WINDOW);
                for root in &had {
                    // A thread that waits for a lock forever has not taken it.
                    assert!(meets(&run, root) || run.verdict.failure().is_some(), "{root:?}");
                    had_all.insert(root.idiom);
                }
                for root in predicted.difference(&had) {
                    let met = meets(&run, root);
                    met_only += u32::from(met);
                    missed += u32::from(!met);
                }
            });
        }
        assert_eq!(had_all.len(), 6, "{had_all:?}");
        assert!(met_only > 0, "accesses in another order meet too");
        assert_eq!(missed, 0, "these programs have no branches");
    }
}
