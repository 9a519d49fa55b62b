//! Compiles, starts and times programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The paths, and the number of measurements.
pub(crate) struct Bench {
    pub(crate) rounds: usize,
    raddle: PathBuf,
    folder: PathBuf,
}

impl Bench {
    pub(crate) fn new(rounds: usize) -> Bench {
        let here = std::env::current_exe().expect("a program knows where it is");
        let raddle = here.with_file_name("raddle");
        assert!(raddle.exists(), "{} is missing; run cargo build --release -p raddle-cli", raddle.display());
        let folder = here.with_file_name("benchmark-native-files");
        std::fs::create_dir_all(&folder).expect("a folder can be created next to the program");
        Bench { rounds, raddle, folder }
    }

    /// Compiles one of the programs with gcc and returns its path.
    pub(crate) fn compile(&self, name: &str, flags: &[&str]) -> String {
        self.compile_as(name, name, flags)
    }

    /// Compiles a program with gcc, under another name.
    pub(crate) fn compile_as(&self, name: &str, under: &str, flags: &[&str]) -> String {
        self.compiled(Command::new("gcc"), name, under, flags)
    }

    /// Compiles a program with `raddle cc`.
    pub(crate) fn compile_by_raddle(&self, name: &str, under: &str, flags: &[&str]) -> String {
        let mut compiler = Command::new(&self.raddle);
        compiler.arg("cc");
        self.compiled(compiler, name, under, flags)
    }

    fn compiled(&self, mut compiler: Command, name: &str, under: &str, flags: &[&str]) -> String {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name).with_extension("c");
        let output = self.folder.join(under);
        compiler.args(["-g", "-pthread"]).args(flags).arg("-o").arg(&output).arg(&source);
        assert!(compiler.status().is_ok_and(|status| status.success()), "{name} is compiled");
        text(&output)
    }

    /// Returns the cost of a `raddle` command.
    pub(crate) fn raddle(&self, words: &[&str]) -> Cost {
        self.time(&text(&self.raddle), words)
    }

    /// Returns the cost of a program, which has to succeed.
    pub(crate) fn time(&self, program: &str, words: &[&str]) -> Cost {
        let mut command = self.command(program, words);
        let (start, before) = (now(), processor());
        let status = command.status().unwrap_or_else(|error| panic!("{program}: {error}"));
        let cost = Cost { wall: start.elapsed().as_secs_f64(), processor: processor() - before };
        assert!(status.success(), "{program} {words:?}: {status}");
        cost
    }

    /// Returns the number that a program prints.
    pub(crate) fn number(&self, program: &str, words: &[&str]) -> f64 {
        let output = self.command(program, words).stdout(Stdio::piped()).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}")).stdout;
        String::from_utf8_lossy(&output).trim().parse().expect("it prints a number")
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Creates a file of `size` bytes of words, which are not too random and the same on every machine.
    pub(crate) fn words_file(&self, size: usize) -> String {
        let mut bytes = Vec::with_capacity(size + 16);
        let mut state = 7_u64;
        while bytes.len() < size {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            bytes.extend(format!("{:x} ", (state >> 16) % 3001 * 12_347).bytes());
        }
        bytes.truncate(size);
        let path = self.folder.join("words");
        std::fs::write(&path, bytes).expect("a file can be written next to the program");
        text(&path)
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("paths are UTF-8 here").to_owned()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// The cost of a command, in seconds.
pub(crate) struct Cost {
    /// Wall-clock time.
    pub(crate) wall: f64,
    /// Processor time of all its processes.
    pub(crate) processor: f64,
}

/// Returns the processor time of all processes that this one has waited for, and of those that they waited
/// for.
fn processor() -> f64 {
    /// Hundredths of a second, on all Linux machines.
    const TICK: f64 = 0.01;
    let text = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat is readable");
    let numbers = text.rsplit(')').next().expect("the name ends with a parenthesis").split_whitespace();
    let ticks: u64 =
        numbers.skip(13).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks are numbers")).sum();
    ticks as f64 * TICK
}

/// Returns the smallest of several measurements.
pub(crate) fn best(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the best long measurement less the best short one.
pub(crate) fn difference(times: &[(f64, f64)]) -> f64 {
    let (short, long): (Vec<f64>, Vec<f64>) = times.iter().copied().unzip();
    best(&long) - best(&short)
}
