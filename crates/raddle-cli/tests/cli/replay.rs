//! Recorded runs replay exactly; damaged files are rejected with location and cause.

use crate::common::{figure, raddle, root, scratch};
use raddle_model::TraceFile;

/// The figures without a bug.
const CORRECT: [&str; 5] = ["branches", "spinlock", "store_buffering", "thesis_fig1_1", "thesis_fig3_2"];

#[test]
fn every_failing_figure_repeats() {
    let folder = root().join("crates/raddle-lab/figures");
    let mut failing = 0;
    for entry in std::fs::read_dir(folder).expect("there are figures") {
        let path = entry.expect("the folder can be read").path();
        let name =
            path.file_stem().and_then(|name| name.to_str()).expect("figures have plain names").to_owned();
        let trace = scratch(&format!("figure_{name}.json"));
        // With fewer threads these two fail sooner.
        let smaller = ["--set", "n=3"];
        let set: &[&str] = if ["reorder", "twostage"].contains(&name.as_str()) { &smaller } else { &[] };
        let words = ["lab", "run", &figure(&name), "--until-bug", "--record", &trace, "--json"];
        let ran = raddle(&[&words[..], set].concat());
        assert_eq!(
            ran.status,
            i32::from(!CORRECT.contains(&name.as_str())),
            "{name}: {}{}",
            ran.out,
            ran.err
        );
        if ran.status == 0 {
            continue;
        }
        failing += 1;
        let (found, replayed) = (ran.json(), raddle(&["replay", &trace, "--json"]));
        assert_eq!(replayed.status, 1, "{name}: {}", replayed.err);
        let again = replayed.json();
        assert_eq!(again["verdict"], found["first_failure"]["kind"], "{name}");
        assert_eq!(again["message"], found["first_failure"]["message"], "{name}");
        assert_eq!(again["steps"], found["first_failure"]["steps"], "{name}");
        let text = raddle(&["replay", &trace]);
        assert_eq!(text.status, 1, "{name}");
        assert!(text.out.contains("it repeats exactly"), "{name}: {}", text.out);
    }
    assert!(failing >= 20, "only {failing} figures failed");
}

/// The values that a step read and wrote are recorded, kept by minimization, and displayed; an older file is
/// displayed with them, too.
#[test]
fn values_are_recorded_and_shown() {
    let (program, trace) = (scratch("values.rdl"), scratch("values.json"));
    let text = "shared x = 5\nshared a[2] = -1\nmain { spawn first\n spawn second\n join first\n join second\n assert x == 7 }\n\
                thread first { local t\n t = x\n x = t + 1\n a[1] = t }\nthread second { local t\n t = x\n x = t + 1\n x += a[1] }\n";
    std::fs::write(&program, text).expect("the folder can be written to");
    let words = ["lab", "run", &program, "-s", "pos", "--until-bug", "--full", "--record", &trace];
    let found = raddle(&words);
    assert_eq!(found.status, 1, "{}{}", found.out, found.err);
    for printed in [": t = x (x = 5)", "x = t + 1 (x = 6)", "x += a[1] (a[1] = -1, x ", "assert x == 7 (x = "]
    {
        assert!(found.out.contains(printed), "{printed}: {}", found.out);
    }
    let mut file = TraceFile::from_json(&std::fs::read_to_string(&trace).unwrap()).unwrap();
    assert!(file.minimized.is_some() && !file.values.is_empty());
    let shown = raddle(&["replay", "--full", &trace]).out;
    assert!(shown.contains(": t = x (x = 5)"), "{shown}");
    file.values = raddle_model::Values::default();
    std::fs::write(&trace, file.to_json()).expect("the folder can be written to");
    assert_eq!(raddle(&["replay", "--full", &trace]).out, shown);
}

#[test]
fn settings_are_part_of_the_record() {
    let trace = scratch("limit.json");
    let words = ["lab", "run", &figure("spinlock"), "-s", "pct", "--patience", "0", "--step-limit", "300"];
    let words = [&words[..], &["--fail-on-step-limit", "--runs", "50", "--record", &trace]].concat();
    assert_eq!(raddle(&words).status, 1);
    let again = raddle(&["replay", &trace, "--json"]).json();
    assert_eq!((&again["verdict"], &again["steps"]), (&"step-limit".into(), &300.into()));
}

/// The strategy requested it, so the settings of the command line do not show it.
#[test]
fn that_the_end_waits_is_part_of_the_record() {
    let (program, trace) = (scratch("waits.rdl"), scratch("waits.json"));
    let text = "shared b = 0\nmain { spawn spinner\n spawn setter\n exit }\n\
                thread spinner { while b == 0 { yield }\n assert b == 0 }\nthread setter { b = 1 }\n";
    std::fs::write(&program, text).expect("the folder can be written to");
    for (strategy, waits) in [("pct:exit=last", true), ("pct", false)] {
        let words = ["lab", "run", &program, "-s", strategy, "--until-bug", "--record", &trace];
        assert_eq!(raddle(&words).status, 1);
        let text = std::fs::read_to_string(&trace).expect("the run was recorded");
        let file = TraceFile::from_json(&text).expect("what is written can be read");
        assert_eq!(file.settings.exit_last, waits, "{strategy}");
        let again = raddle(&["replay", &trace, "--json"]);
        assert_eq!((again.status, &again.json()["verdict"]), (1, &"assertion".into()), "{}", again.err);
    }
}

/// Files of every format that was ever written stay readable, or are rejected by name.
#[test]
fn an_old_file_repeats() {
    let ran = raddle(&["replay", "crates/raddle-cli/tests/traces/format-1-lost-wakeup.json", "--json"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert_eq!(ran.json()["verdict"], "deadlock");
    let ran = raddle(&["replay", "crates/raddle-cli/tests/traces/format-2-lost-update.json", "--json"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert_eq!(ran.json()["verdict"], "assertion");
    let ran = raddle(&["report", "crates/raddle-cli/tests/traces/format-2-values.json"]);
    assert!(ran.out.contains("a = x (x = 2)      line 19"), "{}{}", ran.out, ran.err);
}

/// Records a run of `pos_fig2`.
fn recorded(name: &str) -> (String, TraceFile) {
    let trace = scratch(name);
    assert_eq!(raddle(&["lab", "run", &figure("pos_fig2"), "--until-bug", "--record", &trace]).status, 1);
    let text = std::fs::read_to_string(&trace).expect("the run was recorded");
    (trace, TraceFile::from_json(&text).expect("what is written can be read"))
}

/// Replaces a recorded run by a text and tries to replay it.
fn refused(trace: &str, text: &str, parts: &[&str]) {
    std::fs::write(trace, text).expect("the target folder can be written to");
    raddle(&["replay", trace]).is_user_error(parts);
}

#[test]
fn a_damaged_file_is_rejected() {
    let (trace, file) = recorded("damaged.json");
    let whole = file.to_json();
    refused(
        &trace,
        &whole[..whole.len() / 2],
        &["damaged.json: not a valid failure file: ", "line ", "column"],
    );
    refused(&trace, "", &["line 1", "not a valid failure file"]);
    refused(&trace, "{\"programs\": []}", &["the field `raddle_failure` is missing"]);
    refused(&trace, "not JSON at all\n", &["line 1"]);
    refused(
        &trace,
        &whole.replacen("\"raddle_failure\": 2", "\"raddle_failure\": 7", 1),
        &["format version 7"],
    );
    refused(&trace, &whole.replacen("\"lab\"", "\"other\"", 1), &["front end `other`"]);
}

#[test]
fn a_changed_file_does_not_repeat() {
    let (trace, file) = recorded("changed.json");
    let with = |change: &dyn Fn(&mut TraceFile), parts: &[&str]| {
        let mut changed = file.clone();
        change(&mut changed);
        refused(&trace, &changed.to_json(), parts);
    };
    with(&|file| file.steps.swap(0, 9), &["does not repeat: at step 1 of 10", "thread 0"]);
    let shorter = |file: &mut TraceFile| {
        file.steps.truncate(9);
        file.values.list.retain(|value| value.step < 9);
    };
    with(&shorter, &["does not repeat: at step 10 of 9", "the program continues"]);
    with(&|file| file.steps.truncate(9), &["step 10: a value has no step"]);
    with(&|file| file.steps.push(file.steps[0]), &["does not repeat: at step 11 of 11", "ended"]);
    with(&|file| file.fingerprint ^= 1, &["fingerprint does not"]);
    with(&|file| file.verdict = raddle_model::Verdict::Passed, &["the end does not", "passed", "z < 5"]);
    with(&|file| file.program = file.program.replace("z < 5", "z < 6"), &["the end does not"]);
    with(&|file| file.program.push('}'), &["the program in the file: line "]);
    with(&|file| file.steps[3].thread = 7, &["step 4: thread 7 of 2"]);
    with(&|file| file.parameters.push(("n".into(), 1)), &["the program in the file", "`n`"]);
    with(&|file| file.settings.step_limit = 4, &["does not repeat: at step 5 of 10"]);
}

/// The program is in the file, where a user may change it.
#[test]
fn a_changed_program_is_followed_if_asked_for() {
    let (trace, file) = recorded("tolerant.json");
    let same = raddle(&["replay", &trace, "--tolerant", "--json"]);
    assert_eq!(
        (same.status, &same.json()["verdict"]),
        (1, &"assertion".into()),
        "what repeats is not followed"
    );
    let mut changed = file.clone();
    changed.program = file.program.replacen("assert z < 5", "step\n    assert z < 5", 1);
    assert_ne!(changed.program, file.program);
    refused(&trace, &changed.to_json(), &["does not repeat: at step"]);
    let now = raddle(&["replay", &trace, "--tolerant", "--json"]).json();
    assert_eq!(now["recorded"], "assertion", "{now}");
    assert!(now["steps"].as_u64() > Some(file.steps.len() as u64), "{now}");
    let printed = raddle(&["replay", &trace, "--tolerant"]).out;
    assert!(
        printed.contains("the run leaves the recorded one at step ") && printed.contains("ends so: "),
        "{printed}"
    );
}

#[test]
fn a_recorded_run_can_be_named_by_itself() {
    let ran = raddle(&["lab", "run", &figure("abba"), "--until-bug", "--no-minimize", "--json", "--record"]);
    let name = ran.json()["first_failure"]["recorded"].as_str().expect("it was recorded").to_owned();
    let path = root().join(&name);
    let text = std::fs::read_to_string(&path).expect("the run was recorded");
    std::fs::remove_file(&path).expect("it is ours");
    let file = TraceFile::from_json(&text).expect("what is written can be read");
    assert_eq!(name, format!("raddle-failure-{}.json", file.id));
    assert_eq!((file.minimized, file.id.len()), (None, 8));
}

#[test]
fn a_failure_is_minimized() {
    let (trace, small) = (scratch("large.json"), scratch("small.json"));
    let words = ["lab", "run", &figure("lost_update"), "-s", "random-walk", "--until-bug", "--no-minimize"];
    assert_eq!(raddle(&[&words[..], &["--set", "n=4", "--record", &trace]].concat()).status, 1);
    let ran = raddle(&["minimize", &trace, "-o", &small]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    let read = |path: &str| TraceFile::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (before, after) = (read(&trace), read(&small));
    assert!(after.switches() < before.switches(), "{} -> {}", before.switches(), after.switches());
    assert_eq!(after.minimized.expect("it is recorded").switches_before, before.switches());
    assert_eq!((&after.id, after.run), (&before.id, before.run));
    assert!(raddle(&["replay", &small]).out.contains("it repeats exactly"));
    let printed = raddle(&["minimize", &trace, "-o", &small, "--json"]).json();
    assert_eq!((&printed["switches"], &printed["verdict"]), (&after.switches().into(), &"assertion".into()));
    // The result is deterministic.
    assert_eq!(raddle(&["minimize", &trace, "-o", &small]).out, ran.out);
    assert_eq!(read(&small), after);
}
