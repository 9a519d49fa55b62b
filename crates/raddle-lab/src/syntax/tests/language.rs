//! Good programs: the code they compile to and the values they compute.

use super::interpreter::{End, State, random_walk};
use crate::syntax::{Action, Event, Fault, Mode, Operation, Program, compile};

fn good(source: &str) -> Program {
    compile(source, &[]).unwrap_or_else(|error| panic!("{source}: {error}"))
}

/// Runs a program of one thread to its end; returns the shared values.
fn run(source: &str) -> (Vec<i64>, Option<End>) {
    let program = good(source);
    let mut state = State::new(&program);
    while state.end.is_none() {
        state.step(&program, 0);
    }
    (state.shared, state.end)
}

fn value(expression: &str) -> i64 {
    let (shared, end) = run(&format!("shared x = 0\nthread A {{ local t = 7\n x = {expression} }}"));
    assert_eq!(end, Some(End::Passed), "{expression}");
    shared[0]
}

#[test]
fn operators_bind_as_in_c() {
    for (expression, expected) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("24 / 4 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("-2 * -3", 6),
        ("- - 2", 2),
        ("!0 + 1", 2),
        ("!t == 0", 1),
        ("1 || 0 && 0", 1),
        ("1 + 1 == 2 && 3 < 4", 1),
        ("(1 < 2) == 1", 1),
        ("t * t - 7 * 7 + true", 1),
        ("0 && 1 / 0", 0),
        ("3 || 1 / 0", 1),
        ("9223372036854775807 + 1", i64::MIN),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn overrides_replace_parameters_and_what_depends_on_them() {
    let source = "param n = 2, m = n + 1\nshared a[m] = n\nthread A * n { step }";
    let program = compile(source, &[("n", 4)]).expect("a good program");
    assert_eq!(program.params, [("n".to_owned(), 4), ("m".to_owned(), 5)]);
    assert_eq!(program.initial_values(), [4; 5]);
    let names: Vec<_> = program.initial_threads.iter().map(|start| start.name.as_str()).collect();
    assert_eq!(names, ["A1", "A2", "A3", "A4"]);
    assert_eq!(program.initial_threads[3].argument, 3);
}

#[test]
fn loops_and_branches_compute() {
    for (body, expected) in [
        ("repeat 4 as i { x += i }", 6),
        ("repeat 100000 { x++ }", 100_000),
        ("repeat 3 as i { repeat i as j { x += j + 1 } }", 4),
        ("local k = 3\n repeat k as i { x += i; k = 9 }", 3),
        ("repeat -1 { x++ }", 0),
        ("repeat 2 as i { x += i }\n repeat 2 as i { x += i }", 2),
        ("repeat 3 as i { local t; t += i; x += t }", 3),
        ("local t = 5\n while t { t--; x++ }", 5),
        ("while x < 3 { x++ }", 3),
        ("if x == 0 { x = 5 } else { x = 6 }", 5),
        ("if x { x = 5 }\n else if x == 0 { x = 7 }\n else { x = 8 }", 7),
        ("local t\n t = x++; x += t * 10; t = x--; x += t * 10", 10),
        ("x = 5; x -= 7 - 4", 2),
        ("repeat 4 as i { a[i] = i * i }\n local t = 3\n x = a[t]", 9),
        ("x = 1; return; x = 2", 1),
        ("once o { x++ }; once o { x++ }", 1),
        ("while 1 { x++; if x == 3 { exit } }", 3),
        ("if 0 { x = 1 } else { x = 2 }; if 1 { x += 10 }", 12),
    ] {
        let source = format!("shared x = 0, a[4] = 0\nonce o\nthread A {{ {body} }}");
        let (shared, end) = run(&source);
        assert_eq!((shared[0], end), (expected, Some(End::Passed)), "{body}");
    }
}

#[test]
fn faults_are_results_of_the_program() {
    for (body, fault) in [
        ("x = 1 / x", Fault::DivisionByZero),
        ("local t\n t = 1 % t", Fault::DivisionByZero),
        ("a[4] = 1", Fault::IndexOutOfRange { index: 4, length: 4 }),
        ("local t = -1\n x = a[t]", Fault::IndexOutOfRange { index: -1, length: 4 }),
        ("assert x", Fault::Assertion),
        ("step; assert 1 > 2", Fault::Assertion),
        ("while 1 { }", Fault::EndlessLocalLoop),
    ] {
        let source = format!("shared x = 0, a[4] = 0\nthread A {{ {body} }}");
        assert_eq!(run(&source).1, Some(End::Failed(fault)), "{body}");
    }
}

/// Label, text and accesses of an event.
type Described = (String, String, Vec<(String, Mode)>);

/// Returns the events of the first thread, in the order of the code.
fn events(program: &Program) -> Vec<Described> {
    let thread = &program.threads[0];
    let locals = vec![0; usize::from(thread.locals)];
    let mut list = Vec::new();
    for instruction in &thread.code {
        if let Operation::Event(event) = &instruction.operation {
            let source = program.source(instruction);
            let accesses = event.accesses(&locals);
            let touched = accesses.as_slice().iter();
            let touched =
                touched.map(|(object, mode)| (program.objects[*object as usize].name.clone(), *mode));
            list.push((source.label.clone(), source.text.clone(), touched.collect()));
        }
    }
    list
}

#[test]
fn accesses_labels_and_texts_are_kept() {
    let program = good(
        "mutex m\nshared x = 0, y = 0, a[2] = 0\ncondition cv\nthread A { # comment
            local t = 0, u
            x++          # counts
            t = t + 1
            y = x + 1
            x = x * x
            a[t] = a[u]
            if x == y { lock m; wait cv m for 3; unlock m }
        }",
    );
    let object = |name: &str, mode| (name.to_owned(), mode);
    let expected = [
        ("A1", "x++", vec![object("x", Mode::ReadWrite)]),
        ("A2", "y = x + 1", vec![object("x", Mode::Read), object("y", Mode::Write)]),
        ("A3", "x = x * x", vec![object("x", Mode::ReadWrite)]),
        ("A4", "a[t] = a[u]", vec![object("a[0]", Mode::ReadWrite)]),
        ("A5", "if x == y", vec![object("x", Mode::Read), object("y", Mode::Read)]),
        ("A6", "lock m", vec![object("m", Mode::Sync)]),
        ("A7", "wait cv m for 3", vec![object("cv", Mode::Sync), object("m", Mode::Sync)]),
        ("A8", "unlock m", vec![object("m", Mode::Sync)]),
    ];
    let found = events(&program);
    assert_eq!(found.len(), expected.len());
    for ((label, text, touched), (want_label, want_text, want_touched)) in found.iter().zip(expected) {
        assert_eq!((label.as_str(), text.as_str()), (want_label, want_text));
        assert_eq!(*touched, want_touched, "{text}");
    }
    assert_eq!(program.sources[1].position.line, 6);
}

#[test]
fn rounds_of_an_unrolled_loop_share_their_source_and_fix_their_objects() {
    let program = good("shared a[3] = 0\nthread T1 { repeat 3 as i { a[i]++ } }");
    assert!(program.is_straight_line);
    let labels: Vec<_> = events(&program).into_iter().map(|(label, ..)| label).collect();
    assert_eq!(labels, ["T1.1", "T1.1", "T1.1"]);
    for instruction in &program.threads[0].code {
        let Operation::Event(event) = &instruction.operation else { panic!("only events") };
        assert!(event.fixed_accesses().is_some());
    }
    assert!(!good("thread A { repeat 5000 { step } }").is_straight_line);
}

#[test]
fn every_statement_compiles_to_its_action() {
    let source = "shared x = 0
        mutex m
        recursive mutex r
        checked mutex c
        rwlock l
        condition cv
        semaphore s = 1
        barrier b = 1
        once o
        main {
            local v, h
            x = 1; step; yield; sleep 3; v = choose 4
            lock m; lock r for 10; v = lock c for v; v = trylock m; unlock m
            rdlock l; wrlock l; rwunlock l
            wait s; v = wait s for 2; signal s
            wait cv m; v = wait cv m for 10; signal cv; broadcast cv
            barrier b; v = barrier b
            once o { x++ }
            h = spawn T(v + 1); spawn U; join h; join U
            destroy m; destroy cv
            exit
        }
        thread T(i) { x = i }
        thread U { }";
    let program = good(source);
    let names = program.threads[0].code.iter().filter_map(|instruction| match &instruction.operation {
        Operation::Event(event) => Some(event.name()),
        _ => None,
    });
    let expected = "assign,step,yield,sleep,choose,lock,lock,lock,trylock,unlock,rdlock,wrlock,rwunlock,wait,\
        wait,signal,wait,wait,signal,broadcast,barrier,barrier,once,add,once end,spawn,spawn,join,join,\
        destroy,destroy,exit";
    assert_eq!(names.collect::<Vec<_>>().join(","), expected);
    assert_eq!(program.initial_threads.len(), 1);
    assert_eq!(program.thread("T").and_then(|thread| thread.parameter.as_deref()), Some("i"));
    let joins_by_block = program.threads[0].code.iter().any(|instruction| {
        matches!(&instruction.operation, Operation::Event(event) if matches!(event.action, Action::JoinThread(2)))
    });
    assert!(joins_by_block);
}

#[test]
fn local_statements_are_not_events() {
    let program =
        good("shared x = 0\nthread A { local t = 1, u = t; t = u + 1; if t { u++ }; x = u; assert u }");
    assert_eq!(events(&program).len(), 1);
}

#[test]
fn once_and_join_order_threads() {
    let source =
        "shared x = 0\nonce o\nmain { local h; h = spawn T(1); spawn U; join h; join U; assert x == 1 }
        thread T(i) { once o { x += i } }\nthread U { once o { x += 1 } }";
    assert_eq!(random_walk(&good(source)).into_keys().collect::<Vec<_>>(), [End::Passed]);
}

#[test]
fn atomic_accesses_have_orders() {
    let program = good(
        "shared x = 0, a[2] = 0\nthread A {\n local v, i = 1\n x.store(1, release)\n v = x.load(acquire)\n v = a[i].fetch_add(2, relaxed)\n \
         x.swap(v, acq_rel); v = x.compare_exchange(v, v + 1, seq_cst, relaxed)\n fence(seq_cst)\n}",
    );
    let events: Vec<&Event> = program.threads[0]
        .code
        .iter()
        .filter_map(|instruction| match &instruction.operation {
            Operation::Event(event) => Some(&**event),
            _ => None,
        })
        .collect();
    let names: Vec<&str> = events.iter().map(|event| event.name()).collect();
    assert_eq!(names, ["store", "load", "fetch_add", "swap", "compare_exchange", "fence"]);
    assert!(program.has_weak_orders());
    assert!(!good("shared x = 0\nthread A { x.store(1, seq_cst); x = 2 }").has_weak_orders());
}
