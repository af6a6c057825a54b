//! Reading the profile of a run.

use anyhow::{Context, Result, bail};
use lab_project::Project;
use lab_protocol::profile::{Profile, VERSION};
use lab_run::RunId;
use lab_run::record::Origin;
use lab_runner::profiling::PROFILE;
use lab_store::RunStore;
use lab_store::signature::{self, Purpose};
use std::io;

/// Most bytes that are read. The full set of a large kernel takes a few MB.
const LIMIT: u64 = 64 << 20;

/// The profile in a run's folder; `None` if the run has none. The error says what is wrong with the
/// file.
pub fn of_run(project: &Project, run: RunId) -> Result<Option<Profile>> {
    Ok(with_origin(project, run)?.map(|(profile, _)| profile))
}

/// [`of_run`], and who wrote it.
pub fn with_origin(project: &Project, run: RunId) -> Result<Option<(Profile, Origin)>> {
    let store = RunStore::of(project);
    let path = store.folder(run).join(PROFILE);
    let bytes = match store.files().read(&path, LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
    };
    let unusable = || {
        format!(
            "{} cannot be used: `lab profile` writes it anew",
            path.display()
        )
    };
    let profile = parse(&bytes).with_context(unusable)?;
    let signed = signature::read::<serde_json::Value>(Purpose::Profile, &bytes);
    Ok(Some((profile, signed.map_or(Origin::Foreign, |it| it.1))))
}

/// Reads the text of a profile.json.
pub fn parse(bytes: &[u8]) -> Result<Profile> {
    let profile: Profile =
        serde_json::from_slice(bytes).context("it is no profile of this program")?;
    if profile.version > VERSION {
        bail!(
            "it has version {}, and this lab reads up to {VERSION}",
            profile.version
        );
    }
    Ok(profile)
}
