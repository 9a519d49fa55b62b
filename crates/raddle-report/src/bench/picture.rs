//! The pictures, as self-contained SVG. Colors come from variables with a default, so that a page can set
//! them.

use super::{Bench, Cell};
use std::fmt::Write;

/// A picture with a name that can be a file name.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// Such as `hit-ratios`.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// The picture.
    pub svg: String,
}

/// Distinguishable with color blindness; from Okabe and Ito.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c8c00", "#666666"];
const SHAPES: usize = 3;
const ROW: f64 = 16.0;
const LEFT: f64 = 290.0;
const WIDTH: f64 = 900.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 60.0;

/// Returns the pictures of a suite's results.
pub fn pictures(bench: &Bench) -> Vec<Picture> {
    let mut all = Vec::new();
    if bench.trials > 0 {
        let title = "Mean runs to the bug (left is better)".to_owned();
        let value = |cell: &Cell| cell.schedules(bench.runs).map(|(mean, _)| mean);
        let svg = dots(bench, &title, (1.0, bench.runs.max(10) as f64), &value);
        all.push(Picture { name: "schedules-to-bug", title, svg });
    } else {
        let title = "Share of runs that show the bug (right is better; at the left edge: never)".to_owned();
        let least = 0.5 / bench.runs.max(1) as f64;
        let value = |cell: &Cell| Some(if cell.hits == 0 { least } else { cell.hit_ratio() });
        let svg = dots(bench, &title, (least, 1.0), &value);
        all.push(Picture { name: "hit-ratios", title, svg });
    }
    let title = "Partial orders seen, as a share of the most that any strategy has seen (mean over programs)";
    all.push(Picture { name: "coverage", title: title.to_owned(), svg: coverage(bench, title) });
    all
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"var(--paper, #fff)\"/>\n\
         <g fill=\"var(--ink, #222)\" stroke=\"none\">\n<text x=\"10\" y=\"18\" font-weight=\"bold\">{}</text>\n",
        escaped(title),
        escaped(title)
    )
}

/// Returns text that is safe between tags.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn legend(out: &mut String, bench: &Bench) {
    let mut x = 16.0;
    for (index, strategy) in bench.strategies.iter().enumerate() {
        out.push_str(&mark(index, x, 36.0));
        let _ = writeln!(out, "<text x=\"{}\" y=\"40\">{}</text>", x + 9.0, escaped(strategy));
        x += 28.0 + 7.0 * strategy.chars().count() as f64;
    }
}

/// Returns a mark of the strategy with this number.
fn mark(index: usize, x: f64, y: f64) -> String {
    let colour = COLOURS[index % COLOURS.len()];
    let rest = format!("fill=\"{colour}\" fill-opacity=\"0.85\"");
    match index % SHAPES {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" {rest}/>\n"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" {rest}/>\n", x - 4.0, y - 4.0),
        _ => format!(
            "<path d=\"M{x:.1} {:.1}l5 9h-10z\" {rest}/>\n",
            y - 5.0 // The tip.
        ),
    }
}

/// Draws a row for each program, a mark for each strategy, on a logarithmic scale.
fn dots(
    bench: &Bench,
    title: &str,
    (least, most): (f64, f64),
    value: &dyn Fn(&Cell) -> Option<f64>,
) -> String {
    let height = TOP + ROW * bench.cases.len() as f64 + 40.0;
    let mut out = open(height, title);
    legend(&mut out, bench);
    let (low, high) = (least.log10(), most.log10());
    let at = |value: f64| {
        let share = (value.max(least).min(most).log10() - low) / (high - low);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    };
    let bottom = TOP + ROW * bench.cases.len() as f64;
    let mut power = low.ceil() as i32;
    while f64::from(power) <= high + 1e-9 {
        let x = at(10_f64.powi(power));
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {}V{bottom}\" stroke=\"var(--grid, #ddd)\"/><text x=\"{x:.1}\" y=\"{}\" \
             text-anchor=\"middle\">{}</text>",
            TOP - 8.0,
            bottom + 18.0,
            if power >= 0 { format!("{}", 10_i64.pow(power.unsigned_abs())) } else { format!("1e{power}") }
        );
        power += 1;
    }
    for (row, case) in bench.cases.iter().enumerate() {
        let y = TOP + ROW * row as f64 + ROW / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><path d=\"M{LEFT} {y}H{}\" \
             stroke=\"var(--grid, #eee)\"/>",
            LEFT - 10.0,
            y + 4.0,
            escaped(&case.name),
            WIDTH - RIGHT
        );
        for (index, strategy) in bench.strategies.iter().enumerate() {
            if let Some(found) = bench.cell(&case.name, strategy).and_then(value) {
                out.push_str(&mark(index, at(found), y));
            }
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Draws the number of partial orders of a strategy after 1, 2, 4, ... runs, averaged over programs.
fn coverage(bench: &Bench, title: &str) -> String {
    const HEIGHT: f64 = 320.0;
    const BOTTOM: f64 = HEIGHT - 30.0;
    const BEGIN: f64 = 60.0;
    let mut out = open(HEIGHT, title);
    legend(&mut out, bench);
    let points = bench.cells.iter().map(|cell| cell.growth.len()).max().unwrap_or(0);
    let at = |index: usize, share: f64| {
        let x = BEGIN + (WIDTH - BEGIN - RIGHT) * index as f64 / points.saturating_sub(1).max(1) as f64;
        (x, BOTTOM - share * (BOTTOM - TOP))
    };
    for tenth in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (x, y) = at(0, tenth);
        let _ = writeln!(
            out,
            "<path d=\"M{x} {y:.1}H{}\" stroke=\"var(--grid, #ddd)\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{:.0} %</text>",
            WIDTH - RIGHT,
            x - 8.0,
            y + 4.0,
            tenth * 100.0
        );
    }
    for index in 0..points {
        let (x, y) = at(index, 0.0);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y + 18.0,
            1_u64 << index.min(63)
        );
    }
    for (number, strategy) in bench.strategies.iter().enumerate() {
        let line: Vec<(f64, f64)> =
            (0..points).filter_map(|index| Some(at(index, seen(bench, strategy, index)?))).collect();
        let path: Vec<String> = line.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let colour = COLOURS[number % COLOURS.len()];
        let _ = writeln!(
            out,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join("L")
        );
        line.iter().for_each(|&(x, y)| out.push_str(&mark(number, x, y)));
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Returns the mean share of partial orders after `2^index` runs.
fn seen(bench: &Bench, strategy: &str, index: usize) -> Option<f64> {
    let mut sum = 0.0;
    let mut count = 0_u32;
    for cell in bench.cells.iter().filter(|cell| cell.strategy == strategy) {
        let same = bench.cells.iter().filter(|other| other.case == cell.case);
        let most = same.map(|other| other.partial_orders).max().unwrap_or(0);
        if let (Some(&seen), true) = (cell.growth.get(index), most > 0) {
            sum += seen as f64 / most as f64;
            count += 1;
        }
    }
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn every_cell_has_a_mark() {
        let bench = sample();
        let all = pictures(&bench);
        assert_eq!(all.iter().map(|picture| picture.name).collect::<Vec<_>>(), ["hit-ratios", "coverage"]);
        let marks = |svg: &str| svg.matches("fill-opacity").count();
        assert_eq!(marks(&all[0].svg), 2 + 4, "two in the legend and one for each cell");
        assert_eq!(marks(&all[1].svg), 2 + 6, "two in the legend and three points for each strategy");
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a<b & \"c\">"), "a&lt;b &amp; &quot;c&quot;&gt;");
    }
}
