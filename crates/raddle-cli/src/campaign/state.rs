//! The state of a campaign on the disk.

use crate::args::CampaignPlaceArgs;
use anyhow::{Context, Result, bail, ensure};
use raddle_store::Campaign;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The name of the file with the state.
const FILE: &str = "campaign.sqlite";

/// The state of a campaign, opened by the only process that changes it.
pub(super) struct State {
    pub(super) campaign: Campaign,
    /// The state in messages.
    pub(super) name: String,
    folder: PathBuf,
    /// Locked until the process ends.
    _lock: File,
}

/// Returns the file or the URL of the state.
fn store(place: &CampaignPlaceArgs) -> PathBuf {
    place.store.clone().unwrap_or_else(|| place.folder.join(FILE))
}

/// Opens the state for reading.
pub(super) fn existing(place: &CampaignPlaceArgs) -> Result<Campaign> {
    to_read(&store(place))
}

/// Opens the state in a file or at a URL, for reading.
pub(super) fn to_read(store: &Path) -> Result<Campaign> {
    let name = raddle_store::shown(store);
    ensure!(
        raddle_store::exists(store),
        "there is no campaign {name}\nhelp: `raddle campaign run` begins one; --folder or --store name it"
    );
    Campaign::open_to_read(store).with_context(|| format!("{name}: the campaign cannot be used"))
}

/// Returns the file with the schedule of a cause.
pub(super) fn schedule_path(folder: &Path, cause: &str) -> PathBuf {
    folder.join("failures").join(format!("{cause}.json"))
}

impl State {
    /// Opens the state, or creates it.
    pub(super) fn open(place: &CampaignPlaceArgs) -> Result<State> {
        let (folder, store) = (place.folder.clone(), store(place));
        let name = raddle_store::shown(&store);
        let failures = folder.join("failures");
        std::fs::create_dir_all(&failures).with_context(|| format!("cannot make {}", failures.display()))?;
        let path = folder.join("lock");
        let lock = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "{}: another process is using this campaign\nhelp: wait for it, or name another --folder",
                folder.display()
            ),
            // This file system has no locks. Turns are still added whole.
            Err(TryLockError::Error(_)) => {}
        }
        let (campaign, set_aside) =
            Campaign::open(&store).with_context(|| format!("{name}: the campaign cannot be used"))?;
        if let Some((aside, reason)) = set_aside {
            bail!(
                "{name}: the state was damaged ({reason}); it is now {}\nhelp: run the command again to begin a new campaign, or copy \
                 a backup there",
                aside.display()
            );
        }
        Ok(State { campaign, name, folder, _lock: lock })
    }

    /// Returns the file with the schedule of a cause.
    pub(super) fn schedule_path(&self, cause: &str) -> PathBuf {
        schedule_path(&self.folder, cause)
    }

    /// Writes the schedules of all causes to files, for `raddle replay`.
    pub(super) fn write_schedules(&self) -> Result<()> {
        for (cause, text) in self.campaign.schedules()? {
            self.write_schedule(&cause, &text)?;
        }
        Ok(())
    }

    /// Writes the schedule of a cause to its file.
    pub(super) fn write_schedule(&self, cause: &str, text: &str) -> Result<()> {
        let path = self.schedule_path(cause);
        if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        raddle_search::replace(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
