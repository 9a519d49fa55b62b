//! The evidence of a search that found nothing, in one line.

use crate::text::{count, plural, share};
use raddle_model::{Claim, Claims, Exhaustion};

/// The maximum number of statements in the line.
const MOST_STATEMENTS: usize = 2;

/// Returns one line, the strongest claim first, without a full stop; `None` if there is no claim.
pub fn line(claims: &Claims) -> Option<String> {
    let statements: Vec<String> = claims.statements.iter().take(MOST_STATEMENTS).map(statement).collect();
    if statements.is_empty() {
        return None;
    }
    let mut out = statements.join("; ");
    if claims.statements.iter().take(MOST_STATEMENTS).any(Claim::is_guarantee) {
        if claims.idle_timeouts {
            out += "; timeouts that fire while other threads can run are not covered";
        }
        if claims.interrupts {
            out += "; other moments at which signals and cancellations take effect are not covered";
        }
        if claims.synchronisation_only {
            out += "; orders of memory accesses are not covered";
        }
    }
    if claims.rests > 0 {
        out += &format!(
            "; schedules with longer spin loops are left out (threads descheduled {})",
            plural(claims.rests, "time")
        );
    }
    if claims.forgot_writes > 0 {
        out += &format!(
            "; in {} some old values of atomics could not be read, because an atomic keeps 64",
            plural(claims.forgot_writes, "run")
        );
    }
    if claims.cut_short > 0 {
        out += &format!("; {} ended at the step limit", plural(claims.cut_short, "run"));
    }
    Some(out)
}

/// Returns what is said of a search that has no schedule left; nothing of another one.
pub fn exhaustion(claims: &Claims) -> Option<String> {
    let mut out = match claims.exhaustion? {
        Exhaustion::Predicted => return Some("no predicted interleaving is left".to_owned()),
        Exhaustion::Planned => return Some("no planned schedule is left; others may be".to_owned()),
        _ if claims.synchronisation_only => "no order of synchronisation is left",
        _ => "no schedule is left",
    }
    .to_owned();
    if claims.exhaustion == Some(Exhaustion::WithinBounds) {
        out += " within the bounds of the strategy";
    }
    if claims.idle_timeouts {
        out += " in which timeouts fire only when nothing else can run";
    }
    if claims.interrupts {
        out += ", except for the moments at which signals and cancellations take effect";
    }
    if claims.rests > 0 {
        out += ", except some with longer spin loops";
    }
    Some(out)
}

/// Returns the same, unless the search has no schedule left, which summaries state in their first line.
pub fn unless_exhausted(claims: &Claims) -> Option<String> {
    if claims.exhaustion.is_some() { None } else { line(claims) }
}

fn statement(claim: &Claim) -> String {
    let size = |runs: u64, of: &str, threads: u64, steps: u64| {
        let runs = if runs == 1 { format!("1 {of} run") } else { format!("{} {of} runs", count(runs)) };
        format!("{runs}, {}, up to {}", plural(threads, "thread"), plural(steps, "step"))
    };
    match *claim {
        Claim::Exhausted { partial_orders } => {
            format!("no schedule is left: all {} were run", plural(partial_orders, "partial order"))
        }
        Claim::WithinBounds { partial_orders } => format!(
            "no schedule is left within the bounds of the strategies: {}",
            plural(partial_orders, "partial order")
        ),
        Claim::AnyOrder { missed, runs, threads, steps } => format!(
            "a bug that shows in any one partial order was missed with probability at most {} ({})",
            share(missed),
            size(runs, "POS or random-walk", threads, steps)
        ),
        Claim::Depth { depth, missed, runs, threads, steps } => format!(
            "a bug of depth {depth}{} was missed with probability at most {} ({})",
            if depth > 1 { " or less" } else { "" },
            share(missed),
            size(runs, "PCT", threads, steps)
        ),
        Claim::Share { seen, estimate, low, high } => {
            let (estimate, low, high) = (estimate.round() as u64, low as u64, high as u64);
            let between = match low == high {
                true => String::new(),
                false => format!(" (probably {} to {})", count(low), count(high)),
            };
            format!("seen {} of about {} partial orders{between}", count(seen), count(estimate))
        }
        Claim::NextNew { chance, high, .. } => format!(
            "one more run of the same strategies is a new partial order with probability about {}, at most {} with \
             95 % confidence",
            share(chance),
            share(high)
        ),
        Claim::Saturation { new, runs } => format!(
            "{} of the last {} had a new partial order",
            if new == 0 { "none".to_owned() } else { count(new) },
            plural(runs, "run")
        ),
        _ => unreachable!("every statement has a text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(statements: &[Claim]) -> Claims {
        let mut claims = Claims::default();
        claims.statements.extend(statements);
        claims
    }

    #[test]
    fn the_strongest_statement_comes_first_and_two_are_enough() {
        let share = Claim::Share { seen: 4_401, estimate: 4_480.2, low: 4_420.0, high: 4_718.0 };
        let depth = Claim::Depth { depth: 2, missed: 0.0042, runs: 950, threads: 3, steps: 20 };
        let new = Claim::NextNew { chance: 0.02, high: 0.1, runs: 900 };
        assert_eq!(
            line(&claims(&[depth, share, new])).unwrap(),
            "a bug of depth 2 or less was missed with probability at most 0.004200 (950 PCT runs, 3 threads, up to 20 \
             steps); seen 4,401 of about 4,480 partial orders (probably 4,420 to 4,718)"
        );
        let all = Claim::Share { seen: 7, estimate: 7.0, low: 7.0, high: 7.0 };
        assert_eq!(line(&claims(&[all])).unwrap(), "seen 7 of about 7 partial orders");
        assert_eq!(line(&Claims::default()), None);
    }

    #[test]
    fn what_interfered_is_told() {
        let mut claims = claims(&[Claim::Exhausted { partial_orders: 3 }]);
        (claims.rests, claims.cut_short) = (5, 1);
        assert_eq!(
            line(&claims).unwrap(),
            "no schedule is left: all 3 partial orders were run; schedules with longer spin loops are left out (threads \
             descheduled 5 times); 1 run ended at the step limit"
        );
        claims.exhaustion = Some(Exhaustion::Everything);
        assert_eq!(unless_exhausted(&claims), None);
    }

    #[test]
    fn guarantees_name_the_schedules_that_they_leave_out() {
        let depth = Claim::Depth { depth: 1, missed: 0.01, runs: 9, threads: 2, steps: 4 };
        let mut bound = claims(&[depth]);
        (bound.idle_timeouts, bound.synchronisation_only) = (true, true);
        let text = line(&bound).unwrap();
        assert!(
            text.ends_with(
                "; timeouts that fire while other threads can run are not covered; orders of memory accesses are not covered"
            ),
            "{text}"
        );
        let mut count = claims(&[Claim::Saturation { new: 0, runs: 10 }]);
        count.idle_timeouts = true;
        assert_eq!(line(&count).unwrap(), "none of the last 10 runs had a new partial order");
    }

    #[test]
    fn exhaustion_is_limited_to_what_was_run() {
        let mut claims = Claims::default();
        assert_eq!(exhaustion(&claims), None);
        for (exhausted, text) in [
            (Exhaustion::Everything, "no schedule is left"),
            (Exhaustion::WithinBounds, "no schedule is left within the bounds of the strategy"),
            (Exhaustion::Planned, "no planned schedule is left; others may be"),
            (Exhaustion::Predicted, "no predicted interleaving is left"),
        ] {
            claims.exhaustion = Some(exhausted);
            assert_eq!(exhaustion(&claims).unwrap(), text);
        }
        claims.exhaustion = Some(Exhaustion::Everything);
        (claims.rests, claims.idle_timeouts, claims.synchronisation_only) = (1, true, true);
        assert_eq!(
            exhaustion(&claims).unwrap(),
            "no order of synchronisation is left in which timeouts fire only when nothing else can run, except some with \
             longer spin loops"
        );
    }
}
