//! Reads profiles from the folders of runs, for the views Device and Source. The view loader calls
//! it.

use crate::screen::worker::in_words;
use lab_history::profile::read;
use lab_project::Project;
use lab_protocol::profile::Profile;
use lab_run::RunId;
use lab_store::RunIndex;
use lab_tui::profile::{ProfileRequest, ProfileView};

/// The newest profile of the bytes that the run judged, and the newest one of the incumbent.
pub fn load(project: &Project, request: ProfileRequest) -> ProfileView {
    // The index is read for each request: an index that is kept would hold every run of the project
    // a second time.
    let index = RunIndex::open(project);
    let fingerprint = index
        .summary(request.run)
        .map(|run| run.fingerprint.clone());
    let of_bytes: Vec<RunId> = match &fingerprint {
        Some(files) => index
            .newest_of(files)
            .filter(|run| &run.fingerprint == files)
            .map(|run| run.id)
            .collect(),
        None => vec![request.run],
    };
    let profile = newest(project, &of_bytes);
    let incumbent = request.incumbent.as_ref().and_then(|blob| {
        let runs: Vec<RunId> = index.newest_of_blob(blob).map(|run| run.id).collect();
        // The roofline shows the incumbent beside another kernel only.
        let is_itself = runs.contains(&request.run);
        newest(project, &runs).ok().flatten().filter(|_| !is_itself)
    });
    ProfileView {
        request,
        fingerprint,
        profile,
        incumbent: incumbent.map(|(_, profile)| profile),
    }
}

fn newest(project: &Project, runs: &[RunId]) -> Result<Option<(RunId, Profile)>, String> {
    for run in runs {
        if let Some(profile) = read::of_run(project, *run).map_err(in_words)? {
            return Ok(Some((*run, profile)));
        }
    }
    Ok(None)
}
