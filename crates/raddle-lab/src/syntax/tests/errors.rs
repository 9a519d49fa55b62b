//! Bad programs: messages and positions.

use crate::syntax::compile;

/// Text, line and column of the error, part of the message, part of the hint.
const BAD: [(&str, u32, u32, &str, &str); 67] = [
    ("shared x = 0\nthread A { x.store(1) }", 2, 21, "expected `,`, found `)`", "x.store(1, release)"),
    ("shared x = 0\nthread A { x.load(relaxed) }", 2, 14, "the result of `load` is not stored", "v = x.load"),
    ("shared x = 0\nthread A { x.add(1) }", 2, 14, "expected a method, found `add`", "`fetch_add`"),
    ("shared x = 0\nthread A { x.store(1, acquire) }", 2, 23, "a store does not acquire", "`release`"),
    ("shared x = 0\nthread A { fence(relaxed) }", 2, 18, "a relaxed fence orders nothing", "seq_cst"),
    ("", 1, 1, "no thread", "add `thread A"),
    ("shared x = 0\n", 1, 1, "no thread", "main"),
    ("x = 1", 1, 1, "`x` does not start a declaration", "statements belong inside"),
    ("thread A { }\n}", 2, 1, "`}` does not start", "here stand"),
    ("thread A { } }", 1, 14, "`}` without a `{`", "remove it"),
    ("thread A { zz = 1 }", 1, 12, "unknown variable `zz`", "declare it with `shared zz = 0` or `local zz`"),
    (
        "shared x = 0\nthread A {\n  x = 1 +\n}",
        3,
        10,
        "expected a value, found the end of the statement",
        "write a number",
    ),
    ("shared x = 0, x = 1\nthread A { }", 1, 15, "`x` is already declared in line 1", "choose another"),
    ("shared x = 0\nthread A {\n local x\n}", 3, 8, "`x` is already declared in line 1", "never hide"),
    ("thread A {\n local t\n local t\n}", 3, 8, "already declared in line 2", "choose"),
    ("thread A { }\nthread A { }", 2, 8, "already declared", "choose"),
    ("main { }\nmain { }", 2, 1, "already declared", "choose"),
    ("mutex m\nthread A { m = 1 }", 2, 12, "`m` is a mutex, not a variable", "use the name of a variable"),
    ("shared x = 0\nthread A { lock x }", 2, 17, "`x` is a shared variable, not a mutex", "a mutex"),
    ("rwlock l\nthread A { unlock l }", 2, 19, "`l` is an rwlock, not a mutex", "declare one"),
    ("mutex m\nthread A { rdlock m }", 2, 19, "not an rwlock", "rwlock"),
    ("condition cv\nthread A { wait cv }", 2, 17, "is a condition, not a semaphore", "wait cv m"),
    ("semaphore s\nmutex m\nthread A { wait s m }", 3, 17, "is a semaphore, not a condition", "condition"),
    ("semaphore s\nthread A { broadcast s }", 2, 22, "not a condition", "condition"),
    ("shared x = 0\nthread A { destroy x }", 2, 20, "not a synchronisation object", "declare one"),
    ("shared a[3] = 0\nthread A { a = 1 }", 2, 12, "`a` is an array and needs an index", "a[0]"),
    ("shared x = 0\nthread A { x[0] = 1 }", 2, 12, "`x` is not an array", "remove the index"),
    (
        "shared x = 0, a[3] = 0\nthread A { a[x] = 1 }",
        2,
        12,
        "the index of `a` reads a shared variable",
        "copy the variable into a local",
    ),
    ("shared x = 0, y = 0, z = 0\nthread A { x = y + z }", 2, 12, "touches 3 shared variables", "split it"),
    ("shared x = 0\nthread A { x = lock m for 3 }", 2, 21, "unknown variable `m`", "declare"),
    (
        "shared x = 0\nmutex m\nthread A { x = trylock m }",
        3,
        12,
        "must go into a local, and `x` is none",
        "local v",
    ),
    ("mutex m\nthread A { trylock m }", 2, 12, "result of `trylock` is not stored", "v = trylock"),
    ("mutex m\nthread A { local v; v = lock m }", 2, 32, "without a time limit has no result", "trylock"),
    ("thread A { step 3 }", 1, 17, "after `step`", "repeat 3 { step }"),
    ("thread A { step", 1, 16, "the text ends inside a block", "close the block"),
    ("thread A\n{ }", 1, 9, "expected `{`, found the end of the statement", "on the same line"),
    ("shared x = 0\nthread A { x == 1 }", 2, 14, "expected `=`, found `==`", "to assign write `=`"),
    ("shared x = 0\nthread A { assert 1 < x < 3 }", 2, 25, "cannot be chained", "&&"),
    ("shared x = 0\nthread A { assert (x }", 2, 22, "expected `)`", "close the bracket"),
    ("shared lock = 0", 1, 8, "found the keyword `lock`", "choose another name"),
    ("barrier b\nthread A { }", 1, 10, "needs the number of threads", "barrier b = 2"),
    ("barrier b = 0\nthread A { }", 1, 9, "starts with 0", "smallest value is 1"),
    ("semaphore s = -1\nthread A { }", 1, 11, "starts with -1", "smallest value is 0"),
    ("mutex m = 1\nthread A { }", 1, 9, "a mutex has no initial value", "remove the `=`"),
    ("mutex m, recursive r\nthread A { }", 1, 10, "found the keyword `recursive`", "choose"),
    ("recursive r\nthread A { }", 1, 11, "expected `mutex` after `recursive`", "recursive mutex m"),
    ("shared a[0] = 0\nthread A { }", 1, 8, "array `a` has 0 elements", "at least 1"),
    ("param n = 1 / 0\nthread A { }", 1, 7, "divides by zero", "something else than zero"),
    ("param n = k, k = 2\nthread A { }", 1, 11, "unknown variable `k`", "declare"),
    ("thread A(i) { }", 1, 10, "gets no value for `i`", "spawn it from a `main"),
    ("thread A * 0 { }", 1, 8, "has 0 copies", "1 to"),
    ("main { }\nthread A * 2 { }", 2, 8, "has copies", "without `main`"),
    ("thread A { local t = self }", 1, 22, "this thread has no copies", "thread T * n"),
    ("thread A { spawn A }", 1, 12, "`spawn` in a program without `main`", "main { .. }"),
    ("main { spawn B }", 1, 14, "no thread is named `B`", "add `thread B"),
    ("main { }\nthread B { }", 2, 8, "thread `B` is never started", "spawn B"),
    ("main { spawn B }\nthread B(i) { }", 1, 8, "needs a value for `i`", "spawn B(0)"),
    ("main { spawn B(1) }\nthread B { }", 1, 8, "takes no argument", "thread B(i)"),
    ("main { spawn B; spawn B; join B }\nthread B { }", 1, 26, "spawned at exactly one place", "h = spawn B"),
    ("main { repeat 2 { spawn B }; join B }\nthread B { }", 1, 30, "outside loops", "join h"),
    ("main { spawn main }", 1, 14, "found the keyword `main`", "choose"),
    ("thread A { repeat 3 as i { i = 1 } }", 1, 28, "loop counter `i` cannot be assigned", "while"),
    (
        "shared x = 0\nthread A { repeat x { step } }",
        2,
        12,
        "the count of `repeat` reads a shared variable",
        "local",
    ),
    ("once o\nthread A { once o { return } }", 2, 21, "`return` inside `once`", "end the `once`"),
    ("thread A { else { } }", 1, 12, "`else` without an `if`", "after the block"),
    ("thread A {\n thread B { }\n}", 2, 2, "`thread` inside a thread", "close the thread"),
    ("thread A { step step }", 1, 17, "after `step`", "repeat"),
];

#[test]
fn errors_have_position_message_and_hint() {
    for (source, line, column, message, hint) in BAD {
        let error = compile(source, &[]).expect_err(source);
        assert!(error.message.contains(message), "{source:?} gives: {error}");
        assert!(error.hint.as_ref().is_some_and(|found| found.contains(hint)), "{source:?} gives: {error}");
        assert_eq!((error.line, error.column), (line, column), "{source:?} gives: {error}");
    }
}

#[test]
fn errors_show_position_cause_and_remedy() {
    let error = compile("thread A {\n  step\n  step; zz = 1\n}", &[]).expect_err("zz is not declared");
    assert_eq!(
        error.to_string(),
        "line 3, column 9: unknown variable `zz`\nhelp: declare it with `shared zz = 0` or `local zz`"
    );
}

#[test]
fn overrides_need_a_parameter() {
    let error = compile("param n = 1\nthread A { }", &[("m", 3)]).expect_err("there is no m");
    assert_eq!(error.to_string(), "line 1, column 1: no parameter is named `m`\nhelp: known parameters: `n`");
}

#[test]
fn limits_are_errors() {
    let deep = format!("thread A {{ assert {}1{} }}", "(".repeat(100), ")".repeat(100));
    assert!(compile(&deep, &[]).expect_err("too deep").message.contains("nested more than 64"));
    let blocks = format!("thread A {{ {} {} }}", "if 1 { ".repeat(100), "}".repeat(100));
    assert!(compile(&blocks, &[]).expect_err("too deep").message.contains("nested more than 64"));
    let wide = format!("thread A {{ assert 1{} }}", " + 1".repeat(1000));
    assert!(compile(&wide, &[]).expect_err("too wide").message.contains("256 operators"));
    let huge = "shared a[1000000000] = 0\nthread A { }";
    assert!(compile(huge, &[]).expect_err("too many").message.contains("elements"));
}
