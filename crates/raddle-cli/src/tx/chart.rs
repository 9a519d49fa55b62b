//! The picture of the numbers of interleavings.

use super::number::{Row, number};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const BOTTOM: f64 = 50.0;
const TOP: f64 = 40.0;

/// Draws the numbers, logarithmically, against the sizes. The line at `limit` divides exact numbers from estimates.
pub(super) fn svg(name: &str, rows: &[Row], limit: u64) -> String {
    let most = rows.iter().map(|row| row.schedules).fold(limit as f64, f64::max).max(10.0).log10().ceil();
    let x = |index: usize| {
        let step = (WIDTH - LEFT - 40.0) / rows.len().saturating_sub(1).max(1) as f64;
        LEFT + 20.0 + step * index as f64
    };
    let y = |value: f64| {
        let height = HEIGHT - TOP - BOTTOM;
        HEIGHT - BOTTOM - height * value.max(1.0).log10() / most
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">Interleavings of {} against the size of transactions</text>\n",
        escaped(name)
    );
    let step = (most / 8.0).ceil().max(1.0) as usize;
    for power in (0..=most as usize).step_by(step) {
        let at = y(10_f64.powi(power as i32));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">1e{power}</text>",
            WIDTH - 20.0,
            LEFT - 8.0,
            at + 4.0
        );
    }
    let line = y(limit as f64);
    let _ = writeln!(
        out,
        "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{line:.1}\" y2=\"{line:.1}\" stroke=\"#a00\" stroke-dasharray=\"4\"/>",
        WIDTH - 20.0
    );
    let points: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| format!("{:.1},{:.1}", x(index), y(row.schedules)))
        .collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#246\" stroke-width=\"2\"/>",
        points.join(" ")
    );
    for (index, row) in rows.iter().enumerate() {
        let fill = if row.exact { "#246" } else { "white" };
        let size = row.size.map_or_else(|| "\u{221e}".to_owned(), |size| size.to_string());
        let _ = writeln!(
            out,
            "<circle cx=\"{0:.1}\" cy=\"{1:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"#246\"><title>{2}</title></circle>\
             <text x=\"{0:.1}\" y=\"{3:.1}\" text-anchor=\"middle\">{size}</text>",
            x(index),
            y(row.schedules),
            number(row.schedules, row.exact),
            HEIGHT - BOTTOM + 20.0
        );
    }
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
