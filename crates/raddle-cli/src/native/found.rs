//! The first failing run: as a file, made smaller, with the words of the source.

use super::{FRONT_END, minimize, places, replay};
use raddle_model::native::{Ran, SHARED, Setup};
use raddle_model::{Surroundings, TraceFile};
use raddle_symbols::Symbols;
use std::path::{Path, PathBuf};

/// The parameter of a failure file that tells at which accesses the schedule could change.
pub(super) const POINTS: &str = "points";

/// The parameter of a failure file that tells that a place was another one where it had other callers.
pub(super) const CALLERS: &str = "callers";

/// What a failing run is of.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The program and its arguments.
    pub(crate) words: &'a [String],
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) setup: &'a Setup,
}

/// A failing run that was kept.
pub(crate) struct Found {
    /// The run, smaller than it was found if it could be made so.
    pub(crate) file: TraceFile,
    /// What the program printed in it.
    pub(crate) output: String,
    /// Where it was written to.
    pub(crate) path: Option<PathBuf>,
    /// Why it was not.
    pub(crate) not_kept: Option<String>,
}

impl Found {
    /// Writes the failing run `ran`, which has its trace, to `path`, or to a file called by its id. If it is to be
    /// `small`, what replaces it there is shorter.
    pub(crate) fn keep(ran: &Ran, origin: Origin<'_>, path: Option<&Path>, small: bool) -> Found {
        let mut file = trace_file(ran, origin);
        file.build = raddle_symbols::build(Path::new(&origin.words[0])).ok();
        let raw = file.clone();
        places::translate(&mut file, &mut Symbols::new());
        file.id = file.short_id();
        let raw = TraceFile { id: file.id.clone(), ..raw };
        let path = match path {
            Some(folder) if folder.is_dir() => folder.join(file.file_name()),
            Some(path) => path.to_owned(),
            None => PathBuf::from(file.file_name()),
        };
        let is_short = raw.steps.len() <= raddle_explain::MOST_AUTOMATIC_STEPS;
        let written = crate::minimize::write(&path, &file)
            .and_then(|()| if is_short && small { minimize::after_failure(&raw, &path) } else { Ok(None) });
        let output = ran.output.clone();
        match written {
            Ok(None) => {
                if is_short && let Some(values) = replay::values(&raw) {
                    file.values = values;
                    // The file is there already, without them.
                    _ = crate::minimize::write(&path, &file);
                }
                Found { file, output, path: Some(path), not_kept: None }
            }
            Ok(Some((file, output))) => Found { file, output, path: Some(path), not_kept: None },
            Err(error) => Found { file, output, path: None, not_kept: Some(format!("{error:#}")) },
        }
    }
}

/// The failing run with the program that it is of.
fn trace_file(ran: &Ran, origin: Origin<'_>) -> TraceFile {
    let mut file = ran.trace.as_deref().cloned().expect("the first failing run was asked for with its trace");
    file.front_end = FRONT_END.to_owned();
    file.program = origin.words[0].clone();
    file.arguments = origin.words[1..].to_vec();
    file.surroundings = origin.surroundings.clone();
    file.parameters = vec![(POINTS.to_owned(), origin.setup.points as i64)];
    if origin.setup.callers {
        file.parameters.push((CALLERS.to_owned(), 1));
    }
    file.parameters.extend(ran.shared.iter().map(|&unit| (SHARED.to_owned(), unit as i64)));
    file
}
