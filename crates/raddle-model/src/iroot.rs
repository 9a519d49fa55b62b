//! Interleavings worth a test of their own, as sets of code locations.
//!
//! The idioms are those of Maple (Yu and Narayanasamy, "Maple: A Coverage-Driven Testing Tool for
//! Multithreaded Programs", OOPSLA 2012, section 2). `X => Y` is an immediate dependency between two threads;
//! raddle-idioms defines it.

use crate::Name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// An access to an object at a code location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Reads memory.
    Read,
    /// Writes memory, or reads and writes it in one step.
    Write,
    /// Takes a lock.
    Lock,
    /// Releases a lock.
    Unlock,
}

impl Action {
    /// Returns the verb.
    pub fn word(self) -> &'static str {
        match self {
            Action::Read => "read",
            Action::Write => "write",
            Action::Lock => "lock",
            Action::Unlock => "unlock",
        }
    }

    /// Returns true if it concerns a lock rather than memory.
    pub fn is_of_lock(self) -> bool {
        matches!(self, Action::Lock | Action::Unlock)
    }
}

/// A static access: a code location and its action.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Site {
    /// The name of the location, which is the same in all runs.
    pub location: Name,
    /// The action at the location.
    pub action: Action,
}

/// A pattern of dependencies between two threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idiom {
    /// `A(x) => B(x)`.
    One,
    /// One thread: `A(x) .. C(x)`, the other: `B(x)`; `A => B => C`.
    Two,
    /// One thread: `A(x) .. D(x)`, the other: `B(x) .. C(x)`; `A => B`, `C => D`.
    Three,
    /// One thread: `A(x) .. D(y)`, the other: `B(x) .. C(y)`; `A => B`, `C => D`.
    Four,
    /// One thread: `A(x) .. D(y)`, the other: `C(y) .. B(x)`; `A => B`, `C => D`. A lock-order cycle of two
    /// locks is one.
    Five,
    /// One thread: `A(x) .. C(y)`, the other: `B(x) .. D(y)`; `A => B`, `C => D`.
    Six,
}

impl Idiom {
    /// All idioms, in order.
    pub const ALL: [Idiom; 6] = [Idiom::One, Idiom::Two, Idiom::Three, Idiom::Four, Idiom::Five, Idiom::Six];

    /// Returns its number, from 1.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// Returns the number of its accesses.
    pub fn accesses(self) -> usize {
        match self {
            Idiom::One => 2,
            Idiom::Two => 3,
            _ => 4,
        }
    }

    /// Returns the indices of the accesses of one thread, that of `A`; the other thread has the rest.
    pub fn of_first_thread(self) -> &'static [usize] {
        match self {
            Idiom::One => &[0],
            Idiom::Two | Idiom::Six => &[0, 2],
            Idiom::Three | Idiom::Four | Idiom::Five => &[0, 3],
        }
    }
}

/// An instance of an idiom: the code locations of its accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct IRoot {
    /// The idiom.
    pub idiom: Idiom,
    /// Invariant: those beyond the idiom's accesses are [`UNUSED`].
    sites: [Site; 4],
}

/// Fills the unused entries of [`IRoot::sites`].
const UNUSED: Site = Site { location: Name(0), action: Action::Read };

impl IRoot {
    /// Creates the iRoot with the accesses `A`, `B` and so on. In idiom 5 the two threads are symmetric: of
    /// its two readings, the one with the smaller `A` is used.
    ///
    /// # Panics
    /// If the number of sites differs from the number of accesses of the idiom.
    pub fn new(idiom: Idiom, given: &[Site]) -> IRoot {
        assert_eq!(given.len(), idiom.accesses(), "an idiom has a fixed number of accesses");
        let mut sites = [UNUSED; 4];
        sites[..given.len()].copy_from_slice(given);
        if let (Idiom::Five, [a, b, c, d]) = (idiom, sites) {
            sites = sites.min([c, d, a, b]);
        }
        IRoot { idiom, sites }
    }

    /// Returns its accesses: `A`, `B` and so on.
    pub fn sites(&self) -> &[Site] {
        &self.sites[..self.idiom.accesses()]
    }

    /// Formats the iRoot; `location` formats a code location.
    pub fn describe(&self, location: impl Fn(Name) -> String) -> String {
        IRoot::in_words(self.sites().iter().map(|site| (site.action, location(site.location))))
    }

    /// Formats the accesses of an iRoot: `write at a.c:3 => read at b.c:7`.
    pub fn in_words(accesses: impl IntoIterator<Item = (Action, String)>) -> String {
        let word = |(action, place): (Action, String)| format!("{} at {place}", action.word());
        let words: Vec<String> = accesses.into_iter().map(word).collect();
        match &words[..] {
            [a, b, c, d] => format!("{a} => {b}; {c} => {d}"),
            few => few.join(" => "),
        }
    }
}

impl fmt::Display for IRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "idiom {}: {}", self.idiom.number(), self.describe(|location| format!("{:#x}", location.0)))
    }
}

/// The state of knowledge about one iRoot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// A run has exposed it: it is tested.
    pub exposed: bool,
    /// It was predicted from a run.
    pub predicted: bool,
    /// Number of runs that aimed at it and did not expose it.
    pub failed: u32,
    /// Number of these runs in which two threads executed its accesses, in another order or too far apart.
    #[serde(default)]
    pub met: u32,
}

impl Standing {
    /// Returns this standing without the failed runs of `before`, which it includes.
    pub fn since(self, before: Standing) -> Standing {
        let failed = self.failed.saturating_sub(before.failed);
        Standing { failed, met: self.met.saturating_sub(before.met), ..self }
    }
}

/// The known iRoots of a program: those tested, those predicted, and failed attempts. Names of locations are
/// the same in every run, so a ledger can be stored and passed to the next search.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(IRoot, Standing)>", into = "Vec<(IRoot, Standing)>")]
pub struct Ledger {
    roots: BTreeMap<IRoot, Standing>,
    /// Invariant: the number of exposed iRoots.
    exposed: u64,
}

impl From<Vec<(IRoot, Standing)>> for Ledger {
    fn from(roots: Vec<(IRoot, Standing)>) -> Ledger {
        let mut ledger = Ledger::default();
        roots.into_iter().for_each(|(root, standing)| ledger.add(root, standing));
        ledger
    }
}

impl From<Ledger> for Vec<(IRoot, Standing)> {
    fn from(ledger: Ledger) -> Vec<(IRoot, Standing)> {
        ledger.roots.into_iter().collect()
    }
}

/// The number of iRoots of an idiom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Count {
    /// Number of iRoots exposed by a run.
    pub exposed: u64,
    /// Number of iRoots predicted.
    pub predicted: u64,
    /// Number of iRoots predicted and exposed.
    pub confirmed: u64,
}

impl Ledger {
    /// Records that a run exposed `root`. Returns true if that is new.
    pub fn expose(&mut self, root: IRoot) -> bool {
        let new = !std::mem::replace(&mut self.roots.entry(root).or_default().exposed, true);
        self.exposed += u64::from(new);
        new
    }

    /// Records that `root` was predicted. Returns true if that is new.
    pub fn predict(&mut self, root: IRoot) -> bool {
        !std::mem::replace(&mut self.roots.entry(root).or_default().predicted, true)
    }

    /// Records that a run aimed at `root` and did not expose it; `met` if two threads executed its accesses.
    pub fn fail(&mut self, root: IRoot, met: bool) {
        self.add(root, Standing { failed: 1, met: u32::from(met), ..Standing::default() });
    }

    /// Adds knowledge from elsewhere. Failed runs add up.
    pub fn add(&mut self, root: IRoot, standing: Standing) {
        let known = self.roots.entry(root).or_default();
        self.exposed += u64::from(standing.exposed && !known.exposed);
        known.exposed |= standing.exposed;
        known.predicted |= standing.predicted;
        known.failed = known.failed.saturating_add(standing.failed);
        known.met = known.met.saturating_add(standing.met);
    }

    /// Merges the ledger of another search that started from `base`. This ledger is empty or started from
    /// `base` too: the failed runs of `base` count once.
    pub fn join(&mut self, other: &Ledger, base: &Ledger) {
        for (&root, &standing) in &other.roots {
            let before =
                if self.roots.contains_key(&root) { base.standing(&root) } else { Standing::default() };
            self.add(root, standing.since(before));
        }
    }

    /// Returns the knowledge about `root`.
    pub fn standing(&self, root: &IRoot) -> Standing {
        self.roots.get(root).copied().unwrap_or_default()
    }

    /// Iterates over all iRoots in order.
    pub fn iter(&self) -> impl Iterator<Item = (&IRoot, Standing)> {
        self.roots.iter().map(|(root, &standing)| (root, standing))
    }

    /// Returns the number of iRoots exposed by runs.
    pub fn exposed(&self) -> u64 {
        self.exposed
    }

    /// Returns the counts of each idiom, in order.
    pub fn counts(&self) -> [Count; 6] {
        let mut counts = [Count::default(); 6];
        for (root, standing) in &self.roots {
            let count = &mut counts[root.idiom as usize];
            count.exposed += u64::from(standing.exposed);
            count.predicted += u64::from(standing.predicted);
            count.confirmed += u64::from(standing.exposed && standing.predicted);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(locations: &[u64]) -> Vec<Site> {
        locations.iter().map(|&location| Site { location: Name(location), action: Action::Write }).collect()
    }

    #[test]
    fn idiom_5_has_one_reading() {
        let one = IRoot::new(Idiom::Five, &sites(&[3, 4, 1, 2]));
        let other = IRoot::new(Idiom::Five, &sites(&[1, 2, 3, 4]));
        assert_eq!(one, other);
        assert_ne!(
            IRoot::new(Idiom::Four, &sites(&[3, 4, 1, 2])),
            IRoot::new(Idiom::Four, &sites(&[1, 2, 3, 4]))
        );
    }

    #[test]
    fn earlier_failed_runs_count_once_when_searches_merge() {
        let (old, new) = (IRoot::new(Idiom::One, &sites(&[1, 2])), IRoot::new(Idiom::One, &sites(&[2, 1])));
        let mut base = Ledger::default();
        [true, false, true].into_iter().for_each(|met| base.fail(old, met));
        let (mut one, mut other) = (base.clone(), base.clone());
        [old, new].into_iter().for_each(|root| one.fail(root, true));
        [new, new].into_iter().for_each(|root| other.fail(root, false));
        assert!(other.expose(old));
        let mut all = Ledger::default();
        [&one, &other, &base].into_iter().for_each(|ledger| all.join(ledger, &base));
        assert_eq!(all.standing(&old), Standing { exposed: true, predicted: false, failed: 4, met: 3 });
        assert_eq!(all.standing(&new).failed, 3);
        assert_eq!(all.exposed(), 1);
    }

    #[test]
    fn a_ledger_survives_a_round_trip() {
        let mut ledger = Ledger::default();
        let (one, two) =
            (IRoot::new(Idiom::One, &sites(&[1, 2])), IRoot::new(Idiom::Two, &sites(&[1, 2, 1])));
        assert!(ledger.expose(one) && !ledger.expose(one));
        assert!(ledger.predict(two) && !ledger.predict(two));
        ledger.fail(two, true);
        let text = serde_json::to_string(&ledger).unwrap();
        let read: Ledger = serde_json::from_str(&text).unwrap();
        assert_eq!(read, ledger);
        assert_eq!(read.standing(&two), Standing { predicted: true, failed: 1, exposed: false, met: 1 });
        assert_eq!(read.counts()[0], Count { exposed: 1, predicted: 0, confirmed: 0 });
        assert_eq!(read.exposed(), 1);
    }
}
