use super::*;

/// Reads the notation `Wx1rlx Ryacq Ux1ar Fsc | ..`: a write, a read, an addition and a fence, with the order at the
/// end. `Cx01scrlx` exchanges 0 for 1. Every read has a register of its own.
pub(crate) fn parse(text: &str) -> Litmus {
    let mut program = Litmus { initial: Vec::new(), ..Litmus::default() };
    let order = |name: &str| match name {
        "rlx" => MemoryOrder::Relaxed,
        "acq" => MemoryOrder::Acquire,
        "rel" => MemoryOrder::Release,
        "ar" => MemoryOrder::AcquireRelease,
        "sc" => MemoryOrder::SequentiallyConsistent,
        other => panic!("`{other}` is not an order"),
    };
    for thread in text.split('|') {
        let mut steps = Vec::new();
        for word in thread.split_whitespace() {
            if let Some(name) = word.strip_prefix('F') {
                steps.push(Step::Fence(order(name)));
                continue;
            }
            let location = usize::from(word.as_bytes()[1] - b'x');
            program.initial.resize(program.initial.len().max(location + 1), 0);
            let digit = |at: usize| i64::from(word.as_bytes()[at] - b'0');
            let register = program.registers;
            program.registers += usize::from(!word.starts_with('W'));
            steps.push(match word.as_bytes()[0] {
                b'R' => Step::Load { register, location, order: order(&word[2..]) },
                b'W' => Step::Store { location, value: digit(2), order: order(&word[3..]) },
                b'U' => Step::Update {
                    register: Some(register),
                    location,
                    update: Update::Add(digit(2)),
                    order: order(&word[3..]),
                },
                b'C' => Step::Exchange {
                    register: Some(register),
                    location,
                    expected: digit(2),
                    new: digit(3),
                    success: order(&word[4..word.len() - 3]),
                    failure: order(&word[word.len() - 3..]),
                },
                other => panic!("`{}` is not a step", char::from(other)),
            });
        }
        program.threads.push(steps);
    }
    program
}

fn count(text: &str) -> usize {
    outcomes(&parse(text)).expect("small programs").len()
}

/// Returns true if the registers may have these values at the end.
fn allows(text: &str, registers: &[i64]) -> bool {
    outcomes(&parse(text)).expect("small programs").iter().any(|outcome| outcome.registers == registers)
}

/// The numbers are those of another implementation of the same axioms.
#[test]
fn litmus_programs_have_the_known_number_of_outcomes() {
    for (text, outcomes) in [
        ("Wx1rlx Ryrlx | Wy1rlx Rxrlx", 4),
        ("Wx1sc Rysc | Wy1sc Rxsc", 3),
        ("Wx1rel Ryacq | Wy1rel Rxacq", 4),
        ("Wx1rlx Fsc Ryrlx | Wy1rlx Fsc Rxrlx", 3),
        ("Wx1rlx Wy1rlx | Ryrlx Rxrlx", 4),
        ("Wx1rlx Wy1rel | Ryacq Rxrlx", 3),
        ("Wx1rlx Frel Wy1rlx | Ryrlx Facq Rxrlx", 3),
        ("Wx1rlx Wy1rel | Ryrlx Rxrlx", 4),
        ("Wx1rel | Wy1rel | Rxacq Ryacq | Ryacq Rxacq", 16),
        ("Wx1sc | Wy1sc | Rxsc Rysc | Rysc Rxsc", 15),
        ("Wx1rlx | Rxrlx Wy1rel | Ryacq Rxrlx", 7),
        ("Wx1rlx Wy2rlx | Wy1rlx Wx2rlx", 4),
        ("Wx1sc Wy2sc | Wy1sc Wx2sc", 3),
        ("Wx1rlx Wy1rlx | Wy2rlx Rxrlx", 4),
        ("Wx1sc Wy1sc | Wy2sc Rxsc", 3),
        ("Wx2rlx Wy1rel | Ryacq Wx1rlx", 3),
        ("Wx1rlx | Wx2rlx | Rxrlx Rxrlx | Rxrlx Rxrlx", 72),
        ("Wx1rlx Wy1rel | Uy1rlx | Ryacq Rxrlx", 8),
        ("Wx1rlx Wy1rel Wy2rlx | Ryacq Rxrlx", 5),
        ("Ux1rlx | Ux1rlx | Ux1rlx", 6),
        ("Wx1rlx Wy1rel | Uy1acq Wz1rlx | Wz2sc Rxsc", 8),
        ("Wx1sc Wy1rel | Uy1sc Wy3rlx Rysc | Wy2sc Rxsc", 26),
        ("Rxrlx Wy1rlx | Ryrlx Wx1rlx", 3),
        ("Wx1sc | Rxsc Rysc | Wy1sc Rxsc", 7),
        ("Wx1rlx Wy1rel | Ryacq Fsc Rzrlx | Wz1rlx Fsc Rxrlx", 7),
        ("Wx1sc Ryrlx | Wy1sc Rxrlx", 4),
        ("Wx1rlx Rysc | Wy1rlx Rxsc", 4),
        ("Ux1ar Ryacq | Uy1ar Rxacq", 4),
    ] {
        assert_eq!(count(text), outcomes, "{text}");
    }
}

#[test]
fn the_outcomes_are_the_expected_ones() {
    assert!(allows("Wx1rlx Ryrlx | Wy1rlx Rxrlx", &[0, 0]));
    assert!(!allows("Wx1sc Rysc | Wy1sc Rxsc", &[0, 0]));
    assert!(!allows("Wx1rlx Wy1rel | Ryacq Rxrlx", &[1, 0]));
    assert!(allows("Wx1rlx Wy1rel | Ryrlx Rxrlx", &[1, 0]));
    assert!(!allows("Rxrlx Wy1rlx | Ryrlx Wx1rlx", &[1, 1]), "load buffering is not in the model");
    // A later store of the same thread does not continue a release sequence in C++20.
    assert!(allows("Wx1rlx Wy1rel Wy2rlx | Ryacq Rxrlx", &[2, 0]));
    // A read-modify-write does.
    assert!(!allows("Wx1rlx Wy1rel | Uy1rlx | Ryacq Rxrlx", &[1, 2, 0]));
}

#[test]
fn an_exchange_writes_only_where_it_finds_the_expected_value() {
    // Two threads take the same lock; only one gets it.
    let text = "Cx01acqrlx | Cx01acqrlx";
    assert!(
        allows(text, &[0, 1]) && allows(text, &[1, 0]) && !allows(text, &[0, 0]) && !allows(text, &[1, 1])
    );
    // An exchange that fails reads in its failure order, and may read an old value.
    let acquires = "Wx1rlx Wy1rel | Cy02rlxacq Rxrlx";
    let relaxed = "Wx1rlx Wy1rel | Cy02acqrlx Rxrlx";
    assert!(!allows(acquires, &[1, 0]) && allows(relaxed, &[1, 0]));
    // One that succeeds continues the release sequence.
    assert!(!allows("Wx1rlx Wy1rel | Cy12rlxrlx | Ryacq Rxrlx", &[1, 2, 0]));
}

#[test]
fn a_program_that_is_too_large_has_no_answer() {
    let program = parse(&"Wx1rlx ".repeat(64));
    assert_eq!(outcomes(&program), None);
}
