//! All results on one self-contained page.

use super::picture::escaped;
use super::{Bench, pictures};
use crate::text;
use std::fmt::Write;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n\
:root { color-scheme: light dark; --paper: #fff; --ink: #222; --grid: #ddd; --best: #d9f2e3; }\n\
@media (prefers-color-scheme: dark) { :root { --paper: #1b1d20; --ink: #ddd; --grid: #3a3d41; --best: #1d4030; } }\n\
body { background: var(--paper); color: var(--ink); font: 14px/1.4 sans-serif; margin: 2em; }\n\
table { border-collapse: collapse; } td, th { padding: 2px 10px; border-bottom: 1px solid var(--grid); text-align: right; }\n\
td:first-child, th:first-child { text-align: left; } td.best { background: var(--best); font-weight: bold; }\n\
thead th { position: sticky; top: 0; background: var(--paper); } svg { max-width: 100%; height: auto; }\n\
td span { opacity: 0.6; font-size: 85%; }\n</style>\n";

/// Returns the page.
pub fn page(bench: &Bench) -> String {
    let mut out = HEAD.to_owned();
    let suite = escaped(&bench.suite);
    let _ = writeln!(out, "<title>raddle bench: {suite}</title>\n</head>\n<body>\n<h1>Suite {suite}</h1>");
    let _ = writeln!(out, "<p><code>{}</code>, seed {}</p>", escaped(&bench.command), bench.seed);
    for picture in pictures(bench) {
        out.push_str(&picture.svg);
    }
    table(&mut out, bench);
    out.push_str("</body>\n</html>\n");
    out
}

fn table(out: &mut String, bench: &Bench) {
    out.push_str("<table>\n<thead><tr><th>program</th>");
    for strategy in &bench.strategies {
        let _ = write!(out, "<th>{}</th>", escaped(strategy));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for case in &bench.cases {
        let _ = write!(out, "<tr><td title=\"{}\">{}</td>", escaped(&case.about), escaped(&case.name));
        let found = bench.strategies.iter().filter_map(|strategy| bench.cell(&case.name, strategy));
        let best = found.filter(|cell| cell.hits > 0).map(|cell| bench.score(cell)).fold(0.0, f64::max);
        for strategy in &bench.strategies {
            let Some(cell) = bench.cell(&case.name, strategy) else {
                out.push_str("<td></td>");
                continue;
            };
            let own = match cell.schedules(bench.runs) {
                Some((mean, missed)) => format!("{}{mean:.1}", if missed { "&gt;" } else { "" }),
                None => text::share(cell.hit_ratio()),
            };
            let published = bench.published_ratio(case, strategy).filter(|_| bench.trials == 0);
            let published = published.map(|ratio| format!(" <span>({})</span>", text::share(ratio)));
            let class = if cell.hits > 0 && bench.score(cell) >= best { " class=\"best\"" } else { "" };
            let _ = write!(out, "<td{class}>{own}{}</td>", published.unwrap_or_default());
        }
        out.push_str("</tr>\n");
    }
    out.push_str("<tr><td><b>geometric mean</b></td>");
    for strategy in &bench.strategies {
        let _ = write!(out, "<td>{}</td>", bench.mean(strategy).map_or_else(String::new, text::share));
    }
    out.push_str("</tr>\n<tr><td><b>best or equal</b></td>");
    for strategy in &bench.strategies {
        let _ = write!(out, "<td>{}</td>", bench.wins(strategy));
    }
    out.push_str("</tr>\n</tbody>\n</table>\n<p>In brackets: published. A program that was never hit counts in a mean as hit once.</p>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_best_of_a_row_is_marked() {
        let page = page(&sample());
        assert!(page.contains("<td>0.2500 <span>(0.2500)</span></td><td class=\"best\">0.6400"), "{page}");
        assert!(page.contains("It &lt;breaks&gt;."), "what a manifest says is text, not tags");
        assert_eq!(
            page.matches("class=\"best\"").count(),
            1,
            "no strategy is best where none found anything"
        );
    }
}
