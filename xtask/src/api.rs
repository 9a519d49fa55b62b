//! Links between pages of documentation.

use anyhow::{Context, Result};
use std::path::Path;

/// Returns the number of pages in `folder`, and each of their links to pages of `crates`.
pub(crate) fn links(folder: &Path, crates: &[String]) -> Result<(usize, Vec<String>)> {
    let (mut count, mut found) = (0, Vec::new());
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            let (more, links) = links(&path, crates)?;
            count += more;
            found.extend(links);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            count += 1;
            let text = std::fs::read_to_string(&path)?;
            found.extend(targets(&text, crates).map(|link| format!("{}: {link}", path.display())));
        }
    }
    Ok((count, found))
}

/// Returns the links of a page to pages of `crates`, such as `../raddle_model/struct.ThreadId.html`.
fn targets<'a>(page: &'a str, crates: &'a [String]) -> impl Iterator<Item = &'a str> {
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.filter(|link| {
        let mut parts = link.split('/').skip_while(|&part| part == "..");
        parts.next().is_some_and(|first| crates.iter().any(|name| name == first))
    })
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn links_to_pages_of_the_crates_are_found() {
        let page = r#"<a href="../raddle_model/struct.ThreadId.html">x</a> <a href="../src/raddle_model/a.rs.html">
            <a href="struct.Failed.html"> <a href="../../raddle_engine/index.html">"#;
        let crates = ["raddle_model", "raddle_engine"].map(str::to_owned);
        let found: Vec<&str> = targets(page, &crates).collect();
        assert_eq!(found, ["../raddle_model/struct.ThreadId.html", "../../raddle_engine/index.html"]);
    }
}
