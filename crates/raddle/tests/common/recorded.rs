//! The data of a failing run, as in a failure file.

use raddle::Failed;
use raddle_model::TraceFile;

pub(crate) fn trace(failed: &Failed) -> TraceFile {
    TraceFile::from_json(&failed.to_json()).expect("it is the text of a failure file")
}
