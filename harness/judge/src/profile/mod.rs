//! `lab profile`: what is read of a profiler's report and of a built image. [`crate::judge`] makes the launch.
//!
//! | file | what it does |
//! |---|---|
//! | `ncu` | where NVIDIA's ncu is, its version, its command lines |
//! | `metrics` | the counters of the quick set |
//! | `limited` | runs a program for a limited time and reads a limited output |
//! | `page` | a CSV page of ncu, by the names of its columns |
//! | `raw`, `details`, `source` | the pages with the counters, the findings and the lines of source |
//! | `log` | what ncu says of a failure |
//! | `permission` | whether this process may read counters |
//! | `workload` | the workload that is profiled |
//! | `shown_files` | the user's names of the files in a report |
//! | `disassembly`, `loops`, `mix`, `occupancy`, `image` | the static view of an image |

pub mod details;
pub mod disassembly;
pub mod image;
pub mod limited;
pub mod log;
mod loops;
pub mod metrics;
mod mix;
pub mod ncu;
pub mod occupancy;
mod page;
pub mod permission;
pub mod raw;
pub mod shown_files;
pub mod source;
pub mod workload;

use lab_device::Finding;
use permission::Permission;
use std::path::PathBuf;
use std::time::Duration;

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

/// How long ncu may take for a launch with all its replays, unless the options say another time.
pub const LIMIT: Duration = Duration::from_secs(300);

/// What this machine has for `lab profile`, if `cuda` is set: ncu, and whether counters may be read. Without it a profile is the static
/// view, so nothing counts as missing.
pub fn equipment(cuda: bool, named: Option<PathBuf>) -> Vec<Finding> {
    if !cuda {
        return Vec::new();
    }
    let found = named.or_else(ncu::find).ok_or_else(|| ncu::REMEDY.to_owned()).and_then(ncu::Ncu::at);
    let program = Finding {
        what: "profile, cuda".into(),
        ok: true,
        says: found.as_ref().map_or_else(
            |_| "lab profile has no ncu here: it shows the static view".into(),
            |ncu| format!("ncu {} at {}", ncu.version, ncu.path.display()),
        ),
        remedy: found.err(),
    };
    let (says, remedy) = match permission::look() {
        Permission::Allowed => ("this user may read the GPU's counters", None),
        Permission::Refused => ("this user may not read the GPU's counters", Some(permission::refused())),
        Permission::Unknown => (
            "whether this user may read the GPU's counters is not in /proc/driver/nvidia/params",
            Some("lab profile shows it: a refusal is told with what to do".to_owned()),
        ),
    };
    let counters = Finding { what: "counters, cuda".into(), ok: true, says: says.into(), remedy };
    vec![program, counters]
}
