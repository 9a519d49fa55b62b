//! Interleavings worth a test of their own, by the places in the code that they are made of.
//!
//! The idioms are those of Maple (Yu and Narayanasamy, "Maple: A Coverage-Driven Testing Tool for Multithreaded Programs",
//! OOPSLA 2012, section 2). `X => Y` is an immediate dependency between two threads; see raddle-idioms for what is one.

use crate::Name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What a place in the code does with an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Reads memory.
    Read,
    /// Writes memory, or reads and writes it in one step.
    Write,
    /// Takes a lock.
    Lock,
    /// Gives a lock back.
    Unlock,
}

impl Action {
    /// As a verb.
    pub fn word(self) -> &'static str {
        match self {
            Action::Read => "read",
            Action::Write => "write",
            Action::Lock => "lock",
            Action::Unlock => "unlock",
        }
    }

    /// Whether it is about a lock, not about memory.
    pub fn is_of_lock(self) -> bool {
        matches!(self, Action::Lock | Action::Unlock)
    }
}

/// A static access: where in the code, and what it does there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Site {
    /// The place, by a name that is the same in all runs.
    pub place: Name,
    /// What is done there.
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
    /// One thread: `A(x) .. D(y)`, the other: `C(y) .. B(x)`; `A => B`, `C => D`. Two locks in a circle are one.
    Five,
    /// One thread: `A(x) .. C(y)`, the other: `B(x) .. D(y)`; `A => B`, `C => D`.
    Six,
}

impl Idiom {
    /// All of them in order.
    pub const ALL: [Idiom; 6] = [Idiom::One, Idiom::Two, Idiom::Three, Idiom::Four, Idiom::Five, Idiom::Six];

    /// Its number, from 1.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// How many accesses it has.
    pub fn accesses(self) -> usize {
        match self {
            Idiom::One => 2,
            Idiom::Two => 3,
            _ => 4,
        }
    }

    /// Which of its accesses one thread makes, the one of `A`; the other thread makes the rest.
    pub fn of_first_thread(self) -> &'static [usize] {
        match self {
            Idiom::One => &[0],
            Idiom::Two | Idiom::Six => &[0, 2],
            Idiom::Three | Idiom::Four | Idiom::Five => &[0, 3],
        }
    }
}

/// An instance of an idiom: which places in the code its accesses are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct IRoot {
    /// The idiom.
    pub idiom: Idiom,
    /// Invariant: those beyond the idiom's accesses are [`UNUSED`].
    sites: [Site; 4],
}

/// Stands where an idiom has no access.
const UNUSED: Site = Site { place: Name(0), action: Action::Read };

impl IRoot {
    /// The iRoot with the accesses `A`, `B` and so on. In idiom 5 the two threads are alike, so that of its two readings
    /// the one with the smaller `A` is taken.
    ///
    /// # Panics
    /// If there are not as many sites as the idiom has accesses.
    pub fn new(idiom: Idiom, given: &[Site]) -> IRoot {
        assert_eq!(given.len(), idiom.accesses(), "an idiom has a fixed number of accesses");
        let mut sites = [UNUSED; 4];
        sites[..given.len()].copy_from_slice(given);
        if let (Idiom::Five, [a, b, c, d]) = (idiom, sites) {
            sites = sites.min([c, d, a, b]);
        }
        IRoot { idiom, sites }
    }

    /// Its accesses: `A`, `B` and so on.
    pub fn sites(&self) -> &[Site] {
        &self.sites[..self.idiom.accesses()]
    }

    /// The iRoot in words, with `place` for the words of a place.
    pub fn told(&self, place: impl Fn(Name) -> String) -> String {
        IRoot::in_words(self.sites().iter().map(|site| (site.action, place(site.place))))
    }

    /// The accesses of an iRoot in words: `write at a.c:3 => read at b.c:7`.
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
        write!(f, "idiom {}: {}", self.idiom.number(), self.told(|place| format!("{:#x}", place.0)))
    }
}

/// What is known of one iRoot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// A run was seen that has it: it is tested.
    pub exposed: bool,
    /// A run was seen from which it was thought to be possible.
    pub predicted: bool,
    /// How many runs were made for it and did not have it.
    pub failed: u32,
    /// In how many of these its accesses were made by two threads, in another order or too far apart.
    #[serde(default)]
    pub met: u32,
}

impl Standing {
    /// The same without the runs in vain of `before`, which are among its own.
    pub fn since(self, before: Standing) -> Standing {
        let failed = self.failed.saturating_sub(before.failed);
        Standing { failed, met: self.met.saturating_sub(before.met), ..self }
    }
}

/// What is known of the iRoots of a program: which were tested, which may be possible, and what was tried in vain. Names of
/// places outlast a run, so that it can be kept and given to the next search.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(IRoot, Standing)>", into = "Vec<(IRoot, Standing)>")]
pub struct Ledger {
    roots: BTreeMap<IRoot, Standing>,
    /// Invariant: as many as are exposed.
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

/// How many iRoots of an idiom there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Count {
    /// Those seen in a run.
    pub exposed: u64,
    /// Those predicted.
    pub predicted: u64,
    /// Those predicted and seen in a run.
    pub confirmed: u64,
}

impl Ledger {
    /// Takes note that a run has `root`. Tells whether that is new.
    pub fn expose(&mut self, root: IRoot) -> bool {
        let new = !std::mem::replace(&mut self.roots.entry(root).or_default().exposed, true);
        self.exposed += u64::from(new);
        new
    }

    /// Takes note that `root` may be possible. Tells whether that is new.
    pub fn predict(&mut self, root: IRoot) -> bool {
        !std::mem::replace(&mut self.roots.entry(root).or_default().predicted, true)
    }

    /// Takes note that a run was made for `root` and does not have it, and whether two threads made its accesses.
    pub fn fail(&mut self, root: IRoot, met: bool) {
        self.add(root, Standing { failed: 1, met: u32::from(met), ..Standing::default() });
    }

    /// Adds what is known from elsewhere. Runs made in vain are added up.
    pub fn add(&mut self, root: IRoot, standing: Standing) {
        let known = self.roots.entry(root).or_default();
        self.exposed += u64::from(standing.exposed && !known.exposed);
        known.exposed |= standing.exposed;
        known.predicted |= standing.predicted;
        known.failed = known.failed.saturating_add(standing.failed);
        known.met = known.met.saturating_add(standing.met);
    }

    /// Adds what another search has come to know that began with `base` in its ledger. This one is empty, or has begun so too:
    /// the runs in vain of `base` count once.
    pub fn join(&mut self, other: &Ledger, base: &Ledger) {
        for (&root, &standing) in &other.roots {
            let before =
                if self.roots.contains_key(&root) { base.standing(&root) } else { Standing::default() };
            self.add(root, standing.since(before));
        }
    }

    /// What is known of `root`.
    pub fn standing(&self, root: &IRoot) -> Standing {
        self.roots.get(root).copied().unwrap_or_default()
    }

    /// All iRoots in order.
    pub fn iter(&self) -> impl Iterator<Item = (&IRoot, Standing)> {
        self.roots.iter().map(|(root, &standing)| (root, standing))
    }

    /// How many iRoots were seen in runs.
    pub fn exposed(&self) -> u64 {
        self.exposed
    }

    /// How many there are of each idiom, in order.
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

    fn sites(places: &[u64]) -> Vec<Site> {
        places.iter().map(|&place| Site { place: Name(place), action: Action::Write }).collect()
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
    fn runs_in_vain_before_several_searches_count_once() {
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
    fn a_ledger_is_kept_whole() {
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
