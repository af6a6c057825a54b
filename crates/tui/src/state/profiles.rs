//! The profile that is shown, and the one that is being made.

use super::Now;
use crate::profile::{ProfileRequest, ProfileView};
use lab_protocol::profile::Profile;
use lab_run::{Fingerprint, RunId};

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
    /// How many were made since the screen was opened, by whichever process.
    pub made: u32,
}

impl Profiles {
    /// The profile that is shown, with its run.
    pub fn shown(&self) -> Option<&(RunId, Profile)> {
        self.view.as_ref()?.profile.as_ref().ok()?.as_ref()
    }

    /// The profile of these files, if it is the one that was read.
    pub fn of(&self, files: &Fingerprint) -> Option<&Profile> {
        let view = self
            .view
            .as_ref()
            .filter(|view| view.fingerprint.as_ref() == Some(files))?;
        Some(&view.profile.as_ref().ok()?.as_ref()?.1)
    }
}
