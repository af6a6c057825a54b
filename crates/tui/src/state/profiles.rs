//! The profile that is shown, and the one that is being made.

use super::Now;
use lab_core::run::{Fingerprint, RunId};
use lab_protocol::profile::Profile;

/// Which profile to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileRequest {
    /// A run of the bytes. The profile may belong to another run of the same bytes.
    pub run: RunId,
    /// Git blob id of the incumbent's kernel, for the roofline.
    pub incumbent: Option<String>,
    /// How many profiles this screen had made.
    pub made: u32,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct ProfileView {
    pub request: ProfileRequest,
    /// The files that the runs judged; `None` where the run is gone.
    pub fingerprint: Option<Fingerprint>,
    /// The profile with its run. The error says what is wrong with the file.
    pub profile: Result<Option<(RunId, Profile)>, String>,
    /// The incumbent's profile, if it has one and is another kernel.
    pub incumbent: Option<Profile>,
}

/// Profiles, as far as the screen knows them.
#[derive(Debug, Default)]
pub struct Profiles {
    /// The latest request.
    pub request: Option<ProfileRequest>,
    pub view: Option<ProfileView>,
    /// When the profile in progress was asked for.
    pub running: Option<Now>,
    /// Why the last one could not be made.
    pub failed: Option<String>,
    /// How many were made.
    pub made: u32,
    /// The profile and the files whose hot lines are in Source.
    pub placed: Option<(ProfileRequest, Fingerprint)>,
}

impl Profiles {
    /// The profile that is shown, with its run.
    pub fn shown(&self) -> Option<&(RunId, Profile)> {
        self.view.as_ref()?.profile.as_ref().ok()?.as_ref()
    }

    /// The profile of these files, if it is the one that was read.
    pub fn of(&self, files: &Fingerprint) -> Option<&Profile> {
        let view = self.view.as_ref().filter(|view| view.fingerprint.as_ref() == Some(files))?;
        Some(&view.profile.as_ref().ok()?.as_ref()?.1)
    }
}
