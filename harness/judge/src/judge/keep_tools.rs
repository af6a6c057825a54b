//! NVIDIA's tools for races in shared memory and for barriers, on a kernel that a keep asks about. A
//! GPU hides many races: its warps run in the order in which they are usually right.

use super::processes::no_output;
use super::session::Session;
use crate::check::sanitizer::ComputeSanitizer;
use crate::check::{self, ToolRun};
use crate::device_lock::DeviceUse;
use crate::outcome::{Correctness, Stop};
use crate::parallel::each_on_a_thread;
use crate::problem;
use lab_protocol::{Language, Tool};
use std::path::Path;
use std::sync::Arc;

const TOOLS: [Tool; 2] = [Tool::Racecheck, Tool::Synccheck];

/// Words of what orders accesses to shared memory without the tools' knowing: they would report
/// races where there are none.
const NOT_FOLLOWED: [&str; 8] = [
    "mbarrier",
    "cp.async",
    "cuda::barrier",
    "cuda::pipeline",
    "__pipeline",
    "__threadfence",
    "fence.",
    "::atomic",
];

/// Runs the tools on the small workloads, side by side, and writes what they find. `Pass` where
/// this machine has no compute-sanitizer, and for a kernel that they cannot follow. A tool that
/// does not finish is a caveat.
pub fn watch(session: &mut Session, source: &Path, image: &Path) -> Result<Correctness, Stop> {
    let is_cuda = session.request.language() == Language::Cuda;
    let is_watched = is_cuda && !session.device.emulated;
    if !is_watched || !can_follow(&std::fs::read(source).unwrap_or_default()) {
        return Ok(Correctness::Pass);
    }
    let Some(sanitizer) = ComputeSanitizer::find() else {
        return Ok(Correctness::Pass);
    };
    let access = session.wait(DeviceUse::Launching)?;
    let (device, cache_dir, seed) = (&session.device, &session.cache_dir, session.seed);
    let (request, target) = (Arc::clone(&session.request), session.target);
    let found = each_on_a_thread(&TOOLS, |tool| {
        let problem = problem::open(&request.folder)?.watched(device);
        let run = ToolRun::new(*tool, &request, image, Some(&sanitizer), cache_dir)?;
        let worker = run.start(target, check::time_limit(&request), no_output())?;
        run.find_beside(&problem, device, seed, worker)
    });
    drop(access);
    let mut verdict = Correctness::Pass;
    for (tool, found) in TOOLS.into_iter().zip(found) {
        match found {
            Ok(findings) => {
                let written = check::write_verdict(tool, &findings, &mut session.out)?;
                if written == Correctness::Fail {
                    verdict = written;
                }
            }
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

/// Whether a source has shared memory, and nothing orders its accesses that the tools do not know.
fn can_follow(source: &[u8]) -> bool {
    let text = String::from_utf8_lossy(source);
    text.contains("__shared__") && !NOT_FOLLOWED.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_with_shared_memory_is_watched_unless_the_tools_do_not_know_what_orders_it() {
        assert!(can_follow(b"__shared__ float tile[32];"));
        assert!(!can_follow(b"float x = y[0];"));
        for other in [
            "asm(\"cp.async.ca.shared.global ...\");",
            "__threadfence_block();",
        ] {
            let source = format!("__shared__ float tile[32]; {other}");
            assert!(!can_follow(source.as_bytes()), "{source}");
        }
    }
}
