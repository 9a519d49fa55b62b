//! `raddle lab micro` and `raddle lab bound`.

use crate::common::raddle;

#[test]
fn micro_json_has_the_promised_fields() {
    let words =
        ["lab", "micro", "--program", "uniform-rw-0", "--program", "uniform-2", "--runs", "3000", "--json"];
    let with = |jobs: &str| raddle(&[&words[..], &["--jobs", jobs]].concat());
    let ran = with("2");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(with("1").out, ran.out, "the number of cores changes nothing");
    let json = ran.json();
    let programs = json["programs"].as_array().expect("a list");
    // In the order of the file.
    assert_eq!((&programs[0]["name"], &programs[1]["name"]), (&"uniform-2".into(), &"uniform-rw-0".into()));
    for program in programs {
        for field in ["partial_orders", "max_races", "max_preemptions"] {
            assert_eq!(program[field], program["published"][field], "{program}");
        }
        for spec in ["random-walk", "pct", "rapos", "basic-pos", "pos", "upo"] {
            let cell = &program["strategies"][spec];
            assert!(cell["covered"].as_u64() <= program["partial_orders"].as_u64(), "{spec}: {cell}");
            assert!(cell["min_hit_ratio"].is_f64() && cell["runs"].is_u64(), "{spec}: {cell}");
            assert_eq!(cell["published"].is_null(), spec == "upo", "{spec}: {cell}");
        }
        let walk = &program["strategies"]["random-walk"];
        let (found, published) = (&walk["min_hit_ratio"], &walk["published"]["min_hit_ratio"]);
        let ratio = found.as_f64().expect("a number") / published.as_f64().expect("a number");
        assert!((ratio - 1.0).abs() < 0.005, "three digits are published: {walk}");
    }
    let dependent = |index: usize| programs[index]["strategies"].get("pos:reads=dependent");
    assert!(dependent(0).is_none() && dependent(1).is_some(), "only where there are reads");
}

#[test]
fn learners_report_when_all_orders_were_seen() {
    let words =
        ["lab", "micro", "--program", "uniform-rw-0", "-s", "upo", "-s", "pos", "--runs", "1e5", "--json"];
    let json = raddle(&words).json();
    let cells = &json["programs"][0]["strategies"];
    assert_eq!(cells["upo"]["covered"], 896);
    let after = cells["upo"]["all_seen_after"].as_u64().expect("all were seen");
    assert!((896..100_000).contains(&after), "{after}");
    assert!(cells["pos"]["all_seen_after"].is_null(), "its runs are in no order");
}

#[test]
fn ordered_runs_report_when_all_orders_were_seen() {
    let words =
        ["lab", "micro", "--program", "uniform-rw-4", "-s", "pos", "--runs", "1e5", "--in-order", "--json"];
    let json = raddle(&words).json();
    let cell = &json["programs"][0]["strategies"]["pos"];
    assert_eq!(cell["covered"], 1041);
    let after = cell["all_seen_after"].as_u64().expect("all were seen");
    assert!((1041..100_000).contains(&after), "{after}");
}

#[test]
fn bound_json() {
    let words =
        ["--threads", "2", "--steps", "10", "--depth", "3", "--conflicts", "4", "--runs", "1000", "--json"];
    let json = raddle(&[&["lab", "bound"][..], &words].concat()).json();
    assert_eq!(json["pct"]["probability"].as_f64().map(|p| (p * 200.0).round()), Some(1.0));
    assert_eq!(json["pct"]["runs_95"], 598.0);
    assert!(json["pos"]["missed"].as_f64() < Some(1.0), "{json}");
}

#[test]
fn strategies_json_lists_all_by_family() {
    let ran = raddle(&["strategies", "--json"]);
    let entries: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    for family in ["randomized", "systematic", "wrapper"] {
        assert!(entries.iter().any(|entry| entry["family"] == family), "{family}");
    }
    assert!(entries.iter().all(|entry| !entry["guarantee"].as_str().unwrap_or("").is_empty()));
}
