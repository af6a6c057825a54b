//! A run: one execution of a harness on certain bytes.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod inputs;
pub mod ledger;
pub mod message;

pub mod chosen;
pub mod common_workloads;
pub mod experiment;
mod kernel_blob;
pub mod peers;
pub mod record;
pub mod sealed;
pub mod sweep;
pub mod verdict;

pub use kernel_blob::KernelBlob;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::SystemTime;

/// The time by the system's clock. One beyond the year 9999 counts as the end of that year: jiff's own
/// function would panic.
pub fn now() -> Timestamp {
    at(SystemTime::now())
}

fn at(time: SystemTime) -> Timestamp {
    let is_past = time < SystemTime::UNIX_EPOCH;
    let nearest = if is_past {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Timestamp::try_from(time).unwrap_or(nearest)
}

/// The number of a run: it counts from 1 within a repository, and no number is used twice.
///
/// ```
/// use lab_run::RunId;
/// assert_eq!(RunId(12).to_string(), "12");
/// assert!(RunId(13) > RunId(12), "a newer run has the larger number");
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Why a run started.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Reason {
    /// The screen was opened on bytes that no run had judged.
    Opened,
    /// kernel.cu, or something that belongs to it, was saved.
    Saved,
    /// Key `r`.
    Rerun,
    /// `lab run`.
    Command,
    /// `lab check`, or its key: tools look for errors in the kernel, and there is no verdict about
    /// it.
    Check,
    /// `lab bench --verdict`.
    Measure,
    /// `lab restore`, or the incumbent put back by a discard.
    Restored,
}

impl Reason {
    /// Nobody asked for the run: the bytes on disk are new.
    pub fn is_automatic(self) -> bool {
        matches!(self, Reason::Opened | Reason::Saved | Reason::Restored)
    }

    /// The word that records and the screen use.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Hash of everything a verdict depends on: kernel.cu, its local includes, problem.toml,
/// reference.cu, lab.toml, the compile options. Hex.
///
/// ```
/// use lab_run::Fingerprint;
/// assert_eq!(Fingerprint("0123456789abcdef".to_owned()).short(), "0123456");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// The first seven digits.
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }
}

/// What is known of a run when it starts; part of its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    pub id: RunId,
    pub reason: Reason,
    /// Repository-relative path of the kernel.
    pub kernel: String,
    /// Git blob id of kernel.cu's judged bytes, hex.
    pub blob: String,
    pub fingerprint: Fingerprint,
    pub started: Timestamp,
    /// The harness is a command of the user's, not the built-in one.
    pub external: bool,
}

impl RunStart {
    /// Whether the run was a check: it cannot be decided, and it replaces no verdict.
    pub fn is_check(&self) -> bool {
        self.reason == Reason::Check
    }
}

/// How the harness process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// A signal of this number ended it.
    Signalled(i32),
    /// The lab ended it at `time_limit_s`.
    TimedOut,
    /// The lab ended it at `output_limit_mib`.
    Flooded,
    /// A newer save, or the user, ended it.
    Superseded,
    /// It could not be started.
    NotStarted,
    /// The lab could not wait for it, so nobody knows how it ended. The lab ended its process
    /// group.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_far_away_is_the_nearest_time_that_can_be_written() {
        let epoch = SystemTime::UNIX_EPOCH;
        let far = Duration::from_secs(1 << 40);
        assert_eq!(at(epoch), Timestamp::UNIX_EPOCH);
        assert_eq!(epoch.checked_add(far).map(at), Some(Timestamp::MAX));
        assert_eq!(epoch.checked_sub(far).map(at), Some(Timestamp::MIN));
    }
}
