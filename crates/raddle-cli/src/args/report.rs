//! The arguments of `raddle report`.

use super::show::ShowArgs;
use super::values::{duration, runs};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Examples:
  raddle report bug.json                            the steps that matter, in the terminal
  raddle report bug.json -o bug.html                a page to step through, for any browser, without a network
  raddle report bug.json -o report.xml              JUnit, for continuous integration
  raddle report bug.json --format sarif > bug.sarif

Without --format, the extension of OUT determines it: .html, .txt, .xml (JUnit), .sarif, .trace.json or .perfetto.json (for
ui.perfetto.dev), .json (the events). Without OUT it is text.

The report is made from the file alone; no program runs. With --explain the program is run again: the failure is explained, as by
`raddle explain` but with less effort, and the closest passing run is shown next to it. Source files are put into a page if they are
found: below this folder, below --source, and, if you recorded the run on this machine, where its program was built.

Exit status: 0 the report was made, 2 an error in arguments or files.")]
pub(crate) struct ReportArgs {
    /// A failure file, or - for standard input
    pub(crate) file: String,
    /// File for the report (default: standard output)
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Format of the report
    #[arg(long, short, value_enum)]
    pub(crate) format: Option<FormatArg>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Run the program again to explain the failure
    #[arg(long)]
    pub(crate) explain: bool,
    /// Run the program of a file that you did not record on this machine
    #[arg(long, requires = "explain")]
    pub(crate) trust: bool,
    /// Maximum number of runs for the explanation (default: 3000, and fewer for a run with many steps)
    #[arg(long, short = 'n', value_name = "N", requires = "explain", value_parser = runs)]
    pub(crate) runs: Option<u64>,
    /// Stop starting new runs for the explanation after this long, such as 30s or 5m
    #[arg(long, value_name = "T", default_value = "30s", value_parser = duration)]
    pub(crate) time: Duration,
    /// A folder with source files; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FormatArg {
    /// A page to step through
    Html,
    /// A failed test, for continuous integration
    Junit,
    /// SARIF 2.1.0 with a flow for each thread
    Sarif,
    /// The trace format of Chrome and Perfetto
    Perfetto,
    /// The events, for scripts
    Json,
    /// Columns for a terminal
    Text,
}

impl FormatArg {
    /// Returns the format of a file extension. The longest one counts.
    pub(crate) fn of(path: &Path) -> Option<FormatArg> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let ends = [
            (".html", FormatArg::Html),
            (".htm", FormatArg::Html),
            (".xml", FormatArg::Junit),
            (".sarif", FormatArg::Sarif),
            (".sarif.json", FormatArg::Sarif),
            (".perfetto.json", FormatArg::Perfetto),
            (".trace.json", FormatArg::Perfetto),
            (".txt", FormatArg::Text),
            (".json", FormatArg::Json),
        ];
        ends.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_tells_the_format() {
        for (name, format) in [
            ("a/b.html", Some(FormatArg::Html)),
            ("B.XML", Some(FormatArg::Junit)),
            ("b.sarif", Some(FormatArg::Sarif)),
            ("b.sarif.json", Some(FormatArg::Sarif)),
            ("b.trace.json", Some(FormatArg::Perfetto)),
            ("b.json", Some(FormatArg::Json)),
            ("b.txt", Some(FormatArg::Text)),
            ("b.pdf", None),
            ("html", None),
        ] {
            assert_eq!(FormatArg::of(Path::new(name)), format, "{name}");
        }
    }
}
