//! Random texts never make the compiler panic, and whatever compiles can be run for a while.

use super::interpreter::State;
use crate::syntax::compile;

/// SplitMix64, so that the texts are always the same.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

const TOKENS: [&str; 75] = [
    "param",
    "shared",
    "mutex",
    "recursive",
    "checked",
    "rwlock",
    "condition",
    "semaphore",
    "barrier",
    "once",
    "main",
    "thread",
    "local",
    "assert",
    "step",
    "repeat",
    "as",
    "if",
    "else",
    "while",
    "lock",
    "unlock",
    "trylock",
    "for",
    "rdlock",
    "wrlock",
    "rwunlock",
    "wait",
    "signal",
    "broadcast",
    "spawn",
    "join",
    "yield",
    "sleep",
    "choose",
    "destroy",
    "exit",
    "return",
    "self",
    "x",
    "a",
    "m",
    "cv",
    "s",
    "b",
    "o",
    "A",
    "t",
    "0",
    "1",
    "3",
    "99999",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    "==",
    "&&",
    "||",
    "!",
    "=",
    "+=",
    "++",
    "--",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "\n",
];

const STATEMENTS: [&str; 24] = [
    "x = 1",
    "x++",
    "t = x",
    "t = a[t]",
    "a[1] = t",
    "x = x / t",
    "assert x < 3",
    "step",
    "lock m",
    "unlock m",
    "wait s",
    "signal s",
    "once o {",
    "if x {",
    "while t < 2 {",
    "repeat 2 as i {",
    "}",
    "} else {",
    "return",
    "yield",
    "t++",
    "t = x--",
    "repeat t {",
    "barrier b",
];

#[test]
fn random_bytes_never_panic() {
    let mut random = Generator(1);
    for _ in 0..20_000 {
        let length = random.below(60);
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let _ = compile(&String::from_utf8_lossy(&bytes), &[]);
    }
}

#[test]
fn random_tokens_never_panic() {
    let mut random = Generator(2);
    for _ in 0..20_000 {
        let mut source =
            String::from(["", "thread A { local t\n", "shared x = 0, a[3] = 0\nmutex m\n"][random.below(3)]);
        for _ in 0..random.below(50) {
            source.push_str(TOKENS[random.below(TOKENS.len())]);
            source.push(' ');
        }
        let _ = compile(&source, &[]);
    }
}

#[test]
fn random_programs_run_without_panic() {
    let mut random = Generator(3);
    let mut compiled = 0;
    for _ in 0..20_000 {
        let mut source = String::from(
            "shared x = 0, a[3] = 0\nmutex m\nsemaphore s = 1\nonce o\nbarrier b = 2\nthread A * 2 {\n local t\n",
        );
        for _ in 0..random.below(14) {
            source.push_str(STATEMENTS[random.below(STATEMENTS.len())]);
            source.push('\n');
        }
        source.push('}');
        let Ok(program) = compile(&source, &[]) else { continue };
        compiled += 1;
        let mut state = State::new(&program);
        for _ in 0..50 {
            let enabled = state.enabled(&program);
            if enabled.is_empty() {
                break;
            }
            state.step(&program, enabled[random.below(enabled.len())]);
        }
        assert!(state.end.is_some() || !state.enabled(&program).is_empty(), "{source}");
    }
    assert!(compiled > 500, "only {compiled} of the random programs compiled");
}
