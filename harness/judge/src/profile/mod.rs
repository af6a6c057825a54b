//! `lab profile`: what is read of a profiler's report and of a built image. [`crate::judge`] makes
//! the launch.
//!
//! | file | what it does |
//! |---|---|
//! | `ncu` | where NVIDIA's ncu is, its version, its command lines |
//! | `metrics` | the counters of the quick set |
//! | `page` | a CSV page of ncu, by the names of its columns |
//! | `raw`, `details`, `source` | the pages with the counters, the findings and the lines of source |
//! | `log` | what ncu says of a failure |
//! | `permission` | whether this process may read counters, as far as Linux shows it |
//! | `proofs` | what ncu has shown of that, kept in the cache folder |
//! | `tiny` | the kernel that ncu shows it with |
//! | `workload` | the workload that is profiled |
//! | `shown_files` | the user's names of the files in a report |
//! | `disassembly`, `loops`, `mix`, `occupancy`, `image` | the static view of an image |

pub mod details;
pub mod disassembly;
pub mod image;
pub mod log;
mod loops;
pub mod metrics;
mod mix;
pub mod ncu;
pub mod occupancy;
mod page;
pub mod permission;
pub mod proofs;
pub mod raw;
pub mod shown_files;
pub mod source;
pub mod tiny;
pub mod workload;

use lab_device::{Finding, version_number};
use std::path::PathBuf;

/// The files in the folder of a profile.
pub mod file {
    /// The profile.
    pub const PROFILE: &str = "profile.json";
    /// The durations of all workloads.
    pub const WORKLOADS: &str = "profile-workloads.json";
    /// The profiler's own report.
    pub const REPORT: &str = "profile.ncu-rep";
    /// The profiler's own text.
    pub const TEXT: &str = "ncu.txt";
}

/// What this machine has for `lab profile`: ncu, and whether counters may be read. `named` is the
/// ncu of LAB_NCU, which is used on every device. Without a GPU and without a named ncu there is
/// nothing to say. `prove` reads one counter of a tiny kernel; its error says why there are no
/// counters, and what to do. Without counters a profile is the static view, so nothing counts as
/// missing.
pub fn equipment(
    cuda: bool,
    named: Option<PathBuf>,
    prove: impl FnOnce(&ncu::Ncu) -> Result<(), String>,
) -> Vec<Finding> {
    if !cuda && named.is_none() {
        return Vec::new();
    }
    let finding = |what: &str, says: String, remedy| Finding {
        remedy,
        ..Finding::good(what, says)
    };
    let found = named
        .or_else(ncu::find)
        .ok_or_else(|| ncu::REMEDY.to_owned())
        .and_then(ncu::Ncu::at);
    let ncu = match found {
        Ok(ncu) => ncu,
        Err(why) => {
            let says = "lab profile has no ncu here: it shows the static view".into();
            return vec![finding("profile", says, Some(why)).public("no ncu")];
        }
    };
    let (says, remedy) = match prove(&ncu) {
        Ok(()) => (
            "this user may read the counters: ncu has counted a tiny kernel".into(),
            None,
        ),
        Err(why) => (
            "no counters can be read: lab profile shows the static view".into(),
            Some(why),
        ),
    };
    let program = format!("ncu {} at {}", ncu.version, ncu.path.display());
    let version = format!("ncu {}", version_number(&ncu.version));
    let public = match remedy {
        Some(_) => "cannot be read",
        None => "can be read",
    };
    vec![
        finding("profile", program, None).public(version),
        finding("counters", says, remedy).public(public),
    ]
}
