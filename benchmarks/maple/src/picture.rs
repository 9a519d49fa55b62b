//! The curves as SVG.

use std::fmt::Write;

/// Colours that colour-blind readers can distinguish; from Okabe and Ito.
const COLOURS: [&str; 7] = ["#d55e00", "#e69f00", "#56b4e9", "#0072b2", "#009e73", "#cc79a7", "#666666"];
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 320.0;

/// Draws one line for each strategy, over a logarithmic number of runs.
pub(crate) fn draw(names: &[&str], curves: &[Vec<u64>]) -> String {
    let most = curves.iter().flatten().copied().max().unwrap_or(1).max(1) as f64;
    let runs = curves.iter().map(Vec::len).max().unwrap_or(2).max(2) as f64;
    let at = |run: usize, count: u64| {
        let x = LEFT + ((run + 1) as f64).ln() / runs.ln() * (WIDTH - LEFT - RIGHT);
        (x, BOTTOM - count as f64 / most * (BOTTOM - TOP))
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"18\" font-weight=\"bold\">iRoots exposed, against runs of each program</text>\n"
    );
    for quarter in 0..=4 {
        let count = most * f64::from(quarter) / 4.0;
        let y = BOTTOM - f64::from(quarter) / 4.0 * (BOTTOM - TOP);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y:.1}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{count:.0}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0
        );
    }
    for run in [1, 2, 5, 10, 20, 50, 100, 200, 400] {
        let (x, _) = at(run - 1, 0);
        let _ =
            writeln!(out, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{run}</text>", BOTTOM + 18.0);
    }
    for (index, (name, curve)) in names.iter().zip(curves).enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let points: Vec<String> = curve
            .iter()
            .enumerate()
            .map(|(run, &count)| at(run, count))
            .map(|(x, y)| format!("{x:.1} {y:.1}"))
            .collect();
        let _ = writeln!(
            out,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <path d=\"M{x} {y}h18\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"{}\" y=\"{}\">{name}</text>",
            points.join("L"),
            WIDTH - RIGHT + 38.0,
            TOP + 20.0 * index as f64 + 4.0,
            x = WIDTH - RIGHT + 14.0,
            y = TOP + 20.0 * index as f64,
        );
    }
    out.push_str("</svg>\n");
    out
}
