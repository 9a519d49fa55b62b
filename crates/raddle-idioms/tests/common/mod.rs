//! iRoots as short texts: `2 R0 W10 W1` is idiom 2 of a read at location 0, a write at location 10 and a
//! write at location 1.

use raddle_model::{Action, IRoot};
use std::collections::BTreeSet;

pub(crate) fn shown(roots: &BTreeSet<IRoot>) -> BTreeSet<String> {
    let letter = |action| match action {
        Action::Read => 'R',
        Action::Write => 'W',
        Action::Lock => 'L',
        Action::Unlock => 'U',
    };
    let text = |root: &IRoot| {
        let sites = root.sites().iter().map(|site| format!(" {}{}", letter(site.action), site.location.0));
        format!("{}{}", root.idiom.number(), sites.collect::<String>())
    };
    roots.iter().map(text).collect()
}

pub(crate) fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
