//! Which profile is read for the views Device and Source, and what was read.

use lab_protocol::profile::Profile;
use lab_run::{Fingerprint, RunId};

/// Which profile to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileRequest {
    /// A run of the bytes. The profile may belong to another run of the same bytes.
    pub run: RunId,
    /// Git blob id of the incumbent's kernel, for the roofline.
    pub incumbent: Option<String>,
    /// How many profiles were made since the screen was opened, by whichever process.
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
