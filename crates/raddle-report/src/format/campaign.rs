//! The page of a campaign: one file, without scripts.

use super::escaped;
use crate::campaign_text::time;
use crate::shape::{CampaignFailure, CampaignReport, CampaignTarget, CauseState, TargetState};
use crate::text::{count, plural};
use std::fmt::Write;

const STYLE: &str = include_str!("../../../../viewer/campaign.css");

/// The size of a chart.
const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 84.0;

/// Returns the page.
pub fn campaign(report: &CampaignReport) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Campaign</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>Campaign</h1>\n"
    );
    tiles(&mut out, report);
    failures(&mut out, &report.failures);
    targets(&mut out, &report.targets);
    nights(&mut out, report);
    out.push_str("</body>\n</html>\n");
    out
}

fn tiles(out: &mut String, report: &CampaignReport) {
    let number = |state: CauseState| report.failures.iter().filter(|one| one.state == state).count() as u64;
    let tiles = [
        ("targets", count(report.targets.len() as u64), ""),
        ("runs", count(report.runs), ""),
        ("partial orders", count(report.partial_orders), ""),
        ("nights", count(report.nights.len() as u64), ""),
        ("new failures", count(number(CauseState::New) + number(CauseState::Regressed)), "new"),
        ("known failures", count(number(CauseState::Known)), "known"),
        ("fixed", count(number(CauseState::Fixed)), "fixed"),
    ];
    out.push_str("<div class=\"tiles\">\n");
    for (label, value, class) in tiles {
        let class = if value == "0" { "" } else { class };
        let _ = writeln!(out, "<div class=\"tile {class}\"><b>{value}</b> {label}</div>");
    }
    out.push_str("</div>\n");
}

fn failures(out: &mut String, failures: &[CampaignFailure]) {
    out.push_str("<h2>Failures</h2>\n");
    if failures.is_empty() {
        out.push_str("<p>None.</p>\n");
        return;
    }
    out.push_str(
        "<table>\n<tr><th>state<th>target<th>kind<th>failure<th>locations<th>found<th>first seen<th>last seen<th>replay</tr>\n",
    );
    for failure in failures {
        let state = failure.state.word();
        let message = failure.message.lines().next().unwrap_or_default();
        let _ = writeln!(
            out,
            "<tr><td><span class=\"state {state}\">{state}</span><td>{}<td class=\"whole\">{}<td>{}<td>{}<td class=\"number\">{}\
             <td class=\"whole\">{}<td class=\"whole\">{}<td><code>raddle replay {}</code></tr>",
            escaped(&failure.target),
            escaped(&failure.kind),
            escaped(message),
            escaped(&failure.pair),
            escaped(&plural(failure.times, "time")),
            time(failure.first_seen),
            time(failure.last_seen),
            escaped(&failure.file)
        );
    }
    out.push_str("</table>\n");
}

fn targets(out: &mut String, targets: &[CampaignTarget]) {
    let (charted, others): (Vec<_>, Vec<_>) = targets
        .iter()
        .partition(|target| matches!(target.state, TargetState::Searched | TargetState::Exhausted));
    out.push_str(
        "<h2>Partial orders per target</h2>\n<p class=\"note\">The number of different partial orders over the number of runs. A dashed \
         line is the begin of a night.</p>\n<div class=\"charts\">\n",
    );
    let mut charted: Vec<&&CampaignTarget> = charted.iter().collect();
    // Those that still grow come first.
    charted.sort_by(|a, b| b.novelty.total_cmp(&a.novelty).then_with(|| a.name.cmp(&b.name)));
    charted.iter().for_each(|target| chart(out, target));
    out.push_str("</div>\n");
    if others.is_empty() {
        return;
    }
    out.push_str("<h2>Other targets</h2>\n<table>\n<tr><th>target<th>state<th>reason</tr>\n");
    for target in others {
        let state = target.state.word();
        let _ =
            writeln!(out, "<tr><td>{}<td>{state}<td>{}</tr>", escaped(&target.name), escaped(&target.reason));
    }
    out.push_str("</table>\n");
}

fn chart(out: &mut String, target: &CampaignTarget) {
    let state = match target.state {
        TargetState::Exhausted => "no schedule is left".to_owned(),
        _ => format!("{:.0} % new in the last turn", target.novelty * 100.0),
    };
    let failing = if target.failures > 0 { " failing" } else { "" };
    let _ = writeln!(
        out,
        "<figure class=\"chart{failing}\"><figcaption>{}</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"growth of partial orders\">",
        escaped(&target.name)
    );
    let (most_runs, most) = target.growth.last().copied().unwrap_or((1, 1));
    let x = |runs: u64| runs as f64 / most_runs.max(1) as f64 * (WIDTH - 2.0) + 1.0;
    let y = |orders: u64| HEIGHT - 2.0 - orders as f64 / most.max(1) as f64 * (HEIGHT - 6.0);
    for &runs in &target.nights {
        let x = x(runs);
        let _ = writeln!(out, "<line class=\"night\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{HEIGHT}\"/>");
    }
    let line: String = [(0, 0)]
        .iter()
        .chain(&target.growth)
        .map(|&(runs, orders)| format!("{:.1},{:.1} ", x(runs), y(orders)))
        .collect();
    let line = line.trim_end();
    let _ = writeln!(out, "<polygon class=\"area\" points=\"{line} {:.1},{:.1}\"/>", x(most_runs), y(0));
    let _ = writeln!(out, "<polyline class=\"line\" points=\"{line}\"/>\n</svg>");
    let failures = match target.failures {
        0 => String::new(),
        failures => format!(" <b>{} failing.</b>", count(failures)),
    };
    let _ = writeln!(
        out,
        "<p>{} in {}, {state}.{failures}</p></figure>",
        plural(target.partial_orders, "partial order"),
        plural(target.runs, "run")
    );
}

fn nights(out: &mut String, report: &CampaignReport) {
    out.push_str(
        "<h2>Nights</h2>\n<table>\n<tr><th>begin (UTC)<th>machine<th class=\"number\">night<th>limits<th class=\"number\">turns<th class=\"number\">runs\
         <th class=\"number\">new partial orders<th></tr>\n",
    );
    for night in &report.nights {
        let _ = writeln!(
            out,
            "<tr><td>{}<td>{}<td class=\"number\">{}<td>{}<td class=\"number\">{}<td class=\"number\">{}<td class=\"number\">{}<td>{}</tr>",
            time(night.began),
            escaped(&night.worker),
            night.number,
            escaped(&night.budget),
            count(night.turns),
            count(night.runs),
            count(night.fresh),
            if night.completed { "" } else { "not completed" }
        );
    }
    out.push_str("</table>\n");
}
