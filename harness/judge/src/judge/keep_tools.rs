//! NVIDIA's tools for races in shared memory and for barriers, on a kernel that a keep asks about. A
//! GPU hides many races: its warps run in the order in which they are usually right.

use super::processes::no_output;
use super::session::Session;
use crate::check::sanitizer::ComputeSanitizer;
use crate::check::{self, ToolRun};
use crate::device_lock::DeviceUse;
use crate::outcome::{Correctness, Stop};
use crate::problem;
use lab_protocol::{Language, Tool};
use std::path::Path;
use std::sync::Arc;

const TOOLS: [Tool; 2] = [Tool::Racecheck, Tool::Synccheck];

/// Words of copies into shared memory that the tools do not follow: they would report races where
/// there are none.
const NOT_FOLLOWED: [&str; 5] = [
    "mbarrier",
    "cp.async",
    "cuda::barrier",
    "cuda::pipeline",
    "__pipeline",
];

/// Runs the tools on the small workloads, and writes what they find. `Pass` where this machine has
/// no compute-sanitizer, and for a kernel without shared memory. A tool that does not finish is a
/// caveat.
pub fn watch(session: &mut Session, source: &Path, image: &Path) -> Result<Correctness, Stop> {
    let request = Arc::clone(&session.request);
    let is_watched = !session.device.emulated && request.language() == Language::Cuda;
    if !is_watched || !can_follow(&std::fs::read(source).unwrap_or_default()) {
        return Ok(Correctness::Pass);
    }
    let Some(sanitizer) = ComputeSanitizer::find() else {
        return Ok(Correctness::Pass);
    };
    let problem = problem::open(&request.folder)?.watched(&session.device);
    let cache_dir = session.cache_dir.clone();
    let _access = session.wait(DeviceUse::Launching)?;
    let mut verdict = Correctness::Pass;
    for tool in TOOLS {
        let watched = ToolRun::new(tool, &request, image, Some(&sanitizer), &cache_dir)?;
        let worker = watched.start(session.target, check::time_limit(&request), no_output());
        let ran =
            worker.and_then(|worker| session.with(|cx| watched.run(&problem, cx, worker)));
        match ran {
            Ok(Correctness::Pass) => {}
            Ok(Correctness::Fail) => verdict = Correctness::Fail,
            Err(stop) => {
                let why = stop.to_string();
                let why = why.lines().next().unwrap_or_default();
                let name = tool.name();
                session
                    .out
                    .caveat(format_args!("{name} did not watch the kernel: {why}"))?;
            }
        }
    }
    Ok(verdict)
}

/// Whether a source has shared memory, all of whose accesses the tools follow.
fn can_follow(source: &[u8]) -> bool {
    let text = String::from_utf8_lossy(source);
    text.contains("__shared__") && !NOT_FOLLOWED.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_with_shared_memory_is_watched_unless_it_copies_asynchronously() {
        assert!(can_follow(b"__shared__ float tile[32];"));
        assert!(!can_follow(b"float x = y[0];"));
        assert!(!can_follow(
            b"__shared__ float tile[32]; asm(\"cp.async.ca.shared.global ...\");"
        ));
    }
}
