//! The page in a real browser: it loads, steps, filters, scrolls through long runs, and has two themes.
//!
//! `tools/install.sh` installs the browser. Without one the test prints a message and passes, unless
//! `RADDLE_BROWSER` or `CI` is set.

mod browser;
mod reports;

use browser::Browser;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns a browser, or `None` if there is none and it is not required.
fn browser(name: &str) -> Option<(Browser, PathBuf)> {
    let Some(program) = browser::find() else {
        #[expect(clippy::disallowed_methods, reason = "the environment says whether the test may be skipped")]
        let wanted = ["RADDLE_BROWSER", "CI"].iter().any(|name| std::env::var(name).is_ok());
        assert!(!wanted, "no Chromium on this machine; tools/install.sh installs it");
        let words =
            "NOT TESTED: the page of a report, because there is no Chromium; tools/install.sh installs it";
        writeln!(std::io::stderr(), "\n{words}\n").expect("somebody reads the messages");
        return None;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the target folder can be written to");
    Some((Browser::start(program, &folder), folder))
}

fn open(browser: &mut Browser, folder: &Path, report: &raddle_report::FailureReport) {
    let path = folder.join("page.html");
    std::fs::write(&path, raddle_report::format::html(report)).expect("the target folder can be written to");
    browser.open(&path);
}

/// The number of the line of the current step, the step, and its description.
const NOW: &str = "[document.querySelector('.line.now')?.dataset.line, \
                   document.querySelector('.row.now')?.dataset.step, \
                   document.getElementById('current').textContent.split(' (')[0]]";

#[test]
fn the_page_of_a_deadlock() {
    let Some((mut browser, folder)) = browser("page_deadlock") else { return };
    open(&mut browser, &folder, &reports::deadlock());
    assert_eq!(browser.complaints(), [""; 0]);

    // A program may fail before its first step.
    open(&mut browser, &folder, &reports::long(1, 0));
    browser.press("End");
    assert_eq!(browser.ask("document.querySelectorAll('.row').length"), 0);
    assert_eq!(browser.complaints(), [""; 0]);
    open(&mut browser, &folder, &reports::deadlock());

    // It begins at the last step; both threads are at their lines.
    assert_eq!(browser.ask(NOW), json!(["9", "3", "Step 4 of 4"]));
    browser.press("k");
    assert_eq!(browser.ask(NOW), json!(["2", "2", "Step 3 of 4"]));
    browser.press("Home");
    assert_eq!(browser.ask(NOW), json!(["1", "0", "Step 1 of 4"]));
    browser.press("ArrowDown");
    browser.press("ArrowRight");
    browser.press("j");
    assert_eq!(browser.ask(NOW), json!(["9", "3", "Step 4 of 4"]));
    browser.press("ArrowUp");
    browser.press("]");
    assert_eq!(browser.ask(NOW), json!(["9", "3", "Step 4 of 4"]));
    let others = "[...document.querySelectorAll('.line.here')].map((line) => line.dataset.line)";
    assert_eq!(browser.ask(others), json!(["2"]), "where the other thread is");
    let state = "[...document.querySelectorAll('#state tbody tr')].map((row) => \
                 [...row.cells].map((cell) => cell.textContent))";
    let waits = json!([["A", "m<1>", "n, held by B"], ["B", "n", "m<1>, held by A"]]);
    assert_eq!(browser.ask(state), waits);
    browser.press("End");
    assert_eq!(
        browser.ask("document.getElementById('current').textContent.slice(0, 19)"),
        "After the last step"
    );

    // The other run shows the same step of the same thread, and names are text.
    assert_eq!(browser.ask("document.querySelectorAll('.run').length"), 2);
    browser.press("Home");
    assert_eq!(browser.ask("document.querySelector('.row.twin')?.dataset.step"), "0");
    browser.ask("document.querySelector('.row[data-step=\"2\"] .cell').click()");
    assert_eq!(browser.ask("document.querySelectorAll('.row.twin').length"), 0, "it has no such step");
    browser.press("Home");
    assert_eq!(browser.ask("document.querySelectorAll('h1 b, .cell b').length"), 0);
    assert_eq!(browser.ask("document.getElementById('title').textContent.includes('<b>')"), true);
    let arrows = browser.ask("document.querySelector('.run').querySelectorAll('.pair').length");
    assert_eq!(arrows, 1);

    // A filter leaves the steps of one object, then all are shown again.
    let rows = "[...document.querySelector('.run').querySelectorAll('.row')].map((row) => row.dataset.step)";
    let set = |id: &str, value: &str| {
        format!(
            "(() => {{ const node = document.getElementById('{id}'); node.value = {}; \
             node.dispatchEvent(new Event('change')); return node.value; }})()",
            json!(value)
        )
    };
    assert_eq!(browser.ask(rows), json!(["0", "1", "2", "3", "4", "5"]));
    assert_eq!(browser.ask(&set("by-object", "n")), "n");
    assert_eq!(browser.ask(rows), json!(["3", "4"]));
    assert_eq!(browser.ask(&set("by-thread", "B")), "B");
    assert_eq!(browser.ask(rows), json!(["3"]));
    browser.ask("document.getElementById('all').click()");
    assert_eq!(browser.ask(rows).as_array().map(Vec::len), Some(6));

    // The theme is the one that the user prefers, until the button changes it.
    let theme = "[document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]";
    browser.prefer("dark");
    assert_eq!(browser.ask(theme), json!(["dark", "rgb(22, 24, 28)"]));
    browser.prefer("light");
    assert_eq!(browser.ask(theme), json!(["light", "rgb(251, 251, 249)"]));
    browser.ask("document.getElementById('theme').click()");
    assert_eq!(browser.ask(theme), json!(["dark", "rgb(22, 24, 28)"]));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_run_of_a_hundred_threads_and_a_hundred_thousand_steps() {
    let Some((mut browser, folder)) = browser("page_long") else { return };
    let report = reports::long(100, 100_000);
    let size = raddle_report::format::html(&report).len();
    assert!(size < 5_000_000, "a page of {size} bytes");
    open(&mut browser, &folder, &report);
    assert_eq!(browser.complaints(), [""; 0]);
    let rows = "document.querySelectorAll('.row').length";
    let at =
        |browser: &mut Browser| browser.ask("Number(document.querySelector('.row').dataset.step)").as_u64();
    let is_bounded = |browser: &mut Browser| {
        let (rows, all) =
            (browser.ask(rows).as_u64(), browser.ask("document.querySelectorAll('*').length").as_u64());
        assert!(rows.is_some_and(|rows| (5..100).contains(&rows)), "{rows:?} rows");
        assert!(all.is_some_and(|all| all < 6_000), "{all:?} elements");
    };
    is_bounded(&mut browser);
    browser.press("Home");
    assert_eq!(at(&mut browser), Some(0));
    is_bounded(&mut browser);
    browser.ask("(document.querySelector('.lanes').scrollTop = 24 * 50000, 0)");
    assert!(at(&mut browser).is_some_and(|step| (49_900..50_001).contains(&step)), "in the middle");
    is_bounded(&mut browser);
    browser.press("End");
    assert_eq!(browser.ask("document.querySelector('.row.now').dataset.step"), "99999");
    is_bounded(&mut browser);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A long run is opened with the steps that matter, and only their threads have lanes.
#[test]
fn a_long_run_is_opened_with_the_steps_that_matter() {
    let Some((mut browser, folder)) = browser("page_relevant") else { return };
    let mut report = reports::long(200, 2_000);
    report.relevant = Some([4, 5, 801].into());
    open(&mut browser, &folder, &report);
    let rows = "[...document.querySelectorAll('.row')].map((row) => row.dataset.step)";
    let heads = "[...document.querySelectorAll('.heads span')].map((head) => head.textContent)";
    let count = "document.getElementById('count').textContent";
    assert_eq!(browser.ask(rows), json!(["4", "5", "801"]));
    assert_eq!(browser.ask(heads), json!(["worker 0", "worker 1"]));
    assert_eq!(browser.ask(count), "3 of 2000 steps");
    browser.press("Home");
    assert_eq!(browser.ask("document.querySelector('.row.now').dataset.step"), "4");
    browser.press("m");
    assert_eq!(browser.ask(heads).as_array().map(Vec::len), Some(200));
    assert_eq!(browser.ask(count), "");
    browser.press("m");
    assert_eq!(browser.ask(rows), json!(["4", "5", "801"]));
    browser.press("Escape");
    assert_eq!(browser.ask(heads).as_array().map(Vec::len), Some(200));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Each event of the idiom has its letter in both runs, and can be selected.
#[test]
fn the_idiom_of_a_failure_is_marked() {
    let Some((mut browser, folder)) = browser("page_idiom") else { return };
    open(&mut browser, &folder, &reports::lost_update());
    let marks = |run: usize| {
        format!(
            "[...document.querySelectorAll('.run')[{run}].querySelectorAll('.row')].filter((row) => row.querySelector('.mark'))\
             .map((row) => [row.querySelector('.mark').textContent, row.dataset.step])"
        )
    };
    assert_eq!(browser.ask(&marks(0)), json!([["A", "0"], ["B", "2"], ["C", "3"]]));
    assert_eq!(
        browser.ask(&marks(1)),
        json!([["B", "1"], ["A", "2"], ["C", "3"]]),
        "where it is another order"
    );
    let reported = "document.getElementById('idiom').innerText.startsWith('Maple\\'s idiom 2: A=>B=>C.')";
    assert_eq!(browser.ask(reported), true);
    browser.ask("document.querySelectorAll('#idiom button')[1].click()");
    assert_eq!(browser.ask("document.querySelector('.run .row.now').dataset.step"), "2");
    // A failure without an idiom has no such line.
    open(&mut browser, &folder, &reports::deadlock());
    assert_eq!(
        browser.ask("[document.getElementById('idiom').hidden, document.querySelectorAll('.mark').length]"),
        json!([true, 0])
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The value that a step read or wrote is in its row and in the description of the current step; a run
/// without values shows none.
#[test]
fn values_are_shown_with_the_steps() {
    let Some((mut browser, folder)) = browser("page_values") else { return };
    open(&mut browser, &folder, &reports::lost_update());
    let cells = |run: usize| {
        format!(
            "[...document.querySelectorAll('.run')[{run}].querySelectorAll('.cell')].map((cell) => \
             [...cell.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent).join(''))"
        )
    };
    let write = "write x.<i>low</i> = 1";
    let reported = browser.ask(&cells(0));
    let reported: Vec<&str> =
        reported.as_array().expect("a list").iter().filter_map(|reported| reported.as_str()).collect();
    // A narrow lane has room for the value, and for a part of the name.
    for (reported, [begin, end]) in
        reported.iter().zip([["read x.", " = 0"], ["read x.", " = 0"], ["write x.", " = 1"]])
    {
        assert!(reported.starts_with(begin) && reported.ends_with(end), "{reported}");
    }
    assert_eq!(reported.len(), 4);
    let cut = "[...document.querySelectorAll('.cell')].filter((cell) => cell.scrollWidth > cell.clientWidth).length";
    assert_eq!(browser.ask(cut), 0, "nothing is cut off: {reported:?}");
    let title = browser.ask("document.querySelectorAll('.cell')[3].title");
    assert!(title.as_str().is_some_and(|title| title.contains(&format!("A: {write}\n"))), "{title}");
    assert_eq!(browser.ask(&cells(1)), json!(["read x", "write x", "read x", "write x"]));
    browser.press("End");
    let reported = browser.ask("document.getElementById('current').textContent");
    assert!(
        reported.as_str().is_some_and(|reported| reported.contains(&format!("A does “{write}”"))),
        "{reported}"
    );
    assert_eq!(browser.ask("document.querySelectorAll('.cell i').length"), 0, "names are text");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A page may not be as tall as such a run; every step can be scrolled to and selected nevertheless.
#[test]
fn a_run_of_a_million_steps() {
    let Some((mut browser, folder)) = browser("page_million") else { return };
    open(&mut browser, &folder, &reports::long(4, 1_000_000));
    assert_eq!(browser.complaints(), [""; 0]);
    // The first and the last visible row.
    let seen = "(() => { const box = document.querySelector('.lanes').getBoundingClientRect(); \
                const rows = [...document.querySelectorAll('.run .row')].filter((row) => { const at = row.getBoundingClientRect(); \
                return at.bottom > box.top + 26 && at.top < box.bottom; }); \
                return [Number(rows[0].dataset.step), Number(rows[rows.length - 1].dataset.step)]; })()";
    let rows = |browser: &mut Browser| {
        let value = browser.ask(seen);
        [0, 1].map(|which| value[which].as_u64().expect("rows are seen"))
    };
    browser.press("Home");
    assert_eq!(rows(&mut browser)[0], 0);
    // Turning the wheel skips no step.
    for from in [0.0, 0.3, 0.9] {
        browser.ask(&format!("(() => {{ const box = document.querySelector('.lanes'); box.scrollTop = {from} * box.scrollHeight; return 0; }})()"));
        let mut last = rows(&mut browser);
        for _ in 0..5 {
            browser.ask("(document.querySelector('.lanes').scrollTop += 100, 0)");
            let now = rows(&mut browser);
            assert!(now[0] > last[0] && now[0] <= last[1] + 1, "from {last:?} to {now:?}");
            last = now;
        }
    }
    // With keys, each step is visible.
    let now = "Number(document.querySelector('.run .row.now').dataset.step)";
    browser.ask("document.querySelector('.run .row .cell').click()");
    let begin = browser.ask(now).as_u64().expect("a step");
    assert!(begin > 800_000, "{begin}");
    for step in begin + 1..begin + 60 {
        browser.press("ArrowDown");
        assert_eq!(browser.ask(now), step);
        let [first, last] = rows(&mut browser);
        assert!(first <= step && step <= last, "{step} is not among {first} to {last}");
    }
    browser.press("End");
    assert_eq!(browser.ask(now), 999_999);
    assert_eq!(rows(&mut browser)[1], 999_999);
    assert_eq!(browser.complaints(), [""; 0]);
}
