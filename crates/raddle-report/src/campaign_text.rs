//! The state of a campaign as text.

use crate::shape::{CampaignFailure, CampaignReport, CampaignTarget, CauseState, TargetState};
use crate::table::{Align, Table};
use crate::text::{count, plural};
use std::fmt::Write;

/// Returns a time in seconds since 1970 as `2026-11-19 21:05`, in UTC.
pub fn time(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March, so that the day of a leap year is the last one. 400 years have 146,097 days.
    let day = days + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02} {:02}:{:02}", rest / 3_600, rest % 3_600 / 60)
}

/// Returns the targets as a table.
pub fn targets(report: &CampaignReport, width: usize) -> String {
    let mut table = Table::new([
        ("target", Align::Left),
        ("turns", Align::Right),
        ("runs", Align::Right),
        ("failing", Align::Right),
        ("partial orders", Align::Right),
        ("new", Align::Right),
        ("state", Align::Left),
    ]);
    for target in &report.targets {
        table.row(vec![
            target.name.clone(),
            count(target.turns),
            count(target.runs),
            count(target.failures),
            count(target.partial_orders),
            count(target.fresh),
            state(target),
        ]);
    }
    table.render(width)
}

fn state(target: &CampaignTarget) -> String {
    match target.state {
        TargetState::Lost => format!("{}: {}", target.state.word(), target.reason),
        TargetState::Searched => {
            format!("{:.0} % of the runs of the last turn were new", target.novelty * 100.0)
        }
        state => state.word().to_owned(),
    }
}

/// Returns a failure in a few lines.
pub fn failure(failure: &CampaignFailure) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>12} {} {}: {}",
        failure.state.word().to_uppercase(),
        failure.id,
        failure.kind,
        failure.target
    );
    for line in failure.message.lines().take(2) {
        let _ = writeln!(out, "{:12} {line}", "");
    }
    let _ = writeln!(out, "{:12} at {}", "", failure.pair);
    let _ = writeln!(
        out,
        "{:12} found {}, first {}, last {}; raddle replay {}",
        "",
        plural(failure.times, "time"),
        time(failure.first_seen),
        time(failure.last_seen),
        failure.file
    );
    out
}

/// Returns the summary in a line or two.
pub fn summary(report: &CampaignReport) -> String {
    let mut out = String::new();
    let states = [CauseState::New, CauseState::Regressed, CauseState::Known, CauseState::Fixed];
    let counts = states.map(|state| {
        let number = report.failures.iter().filter(|failure| failure.state == state).count();
        (number > 0).then(|| format!("{number} {}", state.word()))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let _ = writeln!(
        out,
        "{}, {}, {} in {}.",
        plural(report.targets.len() as u64, "target"),
        plural(report.runs, "run"),
        plural(report.partial_orders, "partial order"),
        plural(report.nights.len() as u64, "night")
    );
    let _ = match &counts[..] {
        [] => writeln!(out, "No failures."),
        counts => writeln!(out, "Failures: {}.", counts.join(", ")),
    };
    out
}

/// Returns the whole report.
pub fn text(report: &CampaignReport, width: usize) -> String {
    let mut out = targets(report, width);
    if !report.failures.is_empty() {
        out.push('\n');
        report.failures.iter().for_each(|one| out.push_str(&failure(one)));
    }
    out.push('\n');
    out.push_str(&summary(report));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (951_868_800, "2000-03-01 00:00"),
            (1_767_225_599, "2025-12-31 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
