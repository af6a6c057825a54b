//! `lab profile` on a GPU with the real ncu: counters, findings and lines of source of the
//! committed kernels. Needs a CUDA device, NVRTC, ncu and the right to read counters, so every test
//! is ignored unless scripts/gpu-tests runs it.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "judge/support.rs"]
mod support;

use lab_judge::profile::file;
use lab_judge::profile::ncu::{self, Ncu};
use lab_protocol::ProfileRequest;
use lab_protocol::profile::{Origin, Profile, ProfileSet, WorkloadDurations};
use lab_protocol::{Exit, Target};
use lab_protocol::{JudgeKind, JudgeRequest};
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{options, run};

/// The folder of a committed kernel: in the source tree that this was built from, or in the
/// repository that it runs in.
fn committed(name: &str) -> PathBuf {
    let built_at = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels"));
    if built_at.is_dir() {
        built_at.join(name)
    } else {
        Path::new("kernels").join(name)
    }
}

/// Profiles a committed kernel into a new folder, with the sandbox.
fn profiled(name: &str, set: ProfileSet, all_workloads: bool) -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let request = ProfileRequest {
        set,
        workload: all_workloads.then(|| "all".into()),
        out: out.path().to_owned(),
        keeps_report: false,
        writes_text: false,
        ncu: None,
        limit: Duration::from_secs(300),
        proof_limit: ProfileRequest::PROOF_LIMIT,
    };
    let folder = committed(name);
    let judged = run(JudgeRequest {
        device: Target::Cuda(0),
        kind: JudgeKind::Profile(request),
        ..options(&folder)
    });
    judged.expect(Exit::Passed);
    out
}

fn read(out: &tempfile::TempDir) -> Profile {
    serde_json::from_slice(&std::fs::read(out.path().join(file::PROFILE)).unwrap()).unwrap()
}

#[test]
#[ignore = "needs a CUDA device and ncu: scripts/gpu-tests"]
fn on_a_gpu_a_quick_profile_has_every_counter_that_it_asks_for() {
    let profile = read(&profiled("rmsnorm", ProfileSet::Quick, false));
    assert!(
        matches!(profile.origin, Origin::Counters { .. }),
        "{:?}",
        profile.origin
    );
    // The kernel changes with each experiment that is kept, and with it the name of its function.
    let kernel = std::fs::read_to_string(committed("rmsnorm").join("kernel.cu")).unwrap();
    assert!(kernel.contains(&profile.entry), "{}", profile.entry);
    assert!(profile.metrics["gpu__time_duration.sum"].value > 0.0);
    // There are counters because the tiny kernel was counted, and the profile is compared with the
    // least cost of the workload.
    let least = profile.least.as_ref().unwrap();
    let moved = profile.metrics["dram__bytes_read.sum"].value / least.read_bytes;
    assert!(
        (0.9..3.0).contains(&moved),
        "DRAM read {moved} of the least bytes"
    );
    assert!(
        profile
            .differences
            .iter()
            .any(|text| text.contains("CUDA graph")),
        "{:?}",
        profile.differences
    );
    // Only counters that a quick profile never has are missing.
    let counters: Vec<_> = profile
        .missing
        .iter()
        .filter(|text| text.contains("__"))
        .collect();
    assert!(counters.is_empty(), "{counters:?}");
}

#[test]
#[ignore = "needs a CUDA device and ncu: scripts/gpu-tests"]
fn on_a_gpu_a_full_profile_names_hot_lines_of_the_kernels_own_file() {
    let profile = read(&profiled("wavegru", ProfileSet::Full, false));
    assert_eq!(profile.entry, "wavegru");
    assert!(profile.metrics.len() > 500 && !profile.findings.is_empty());
    let hottest = profile
        .lines
        .iter()
        .max_by_key(|line| line.samples)
        .unwrap();
    assert!(
        hottest.samples > 0 && !hottest.sass.is_empty(),
        "{hottest:?}"
    );
    assert!(
        profile
            .lines
            .iter()
            .any(|line| line.file == "kernel.cu" && line.samples > 0)
    );
    assert!(profile.image.occupancy.is_some() && profile.image.registers.is_some());
}

#[test]
#[ignore = "needs a CUDA device and ncu: scripts/gpu-tests"]
fn on_a_gpu_every_workload_has_a_duration() {
    let out = profiled("rmsnorm", ProfileSet::Quick, true);
    let text = std::fs::read(out.path().join(file::WORKLOADS)).unwrap();
    let durations: WorkloadDurations = serde_json::from_slice(&text).unwrap();
    assert!(durations.workloads.len() > 1);
    assert!(
        durations
            .workloads
            .iter()
            .all(|workload| workload.us > 0.0 && !workload.used_fallback_filter)
    );
}

#[test]
#[ignore = "needs a CUDA device and ncu: scripts/gpu-tests"]
fn on_a_gpu_a_tiny_kernel_proves_that_counters_can_be_read_and_the_answer_is_kept() {
    let cache = tempfile::tempdir().unwrap();
    let folder = committed("rmsnorm");
    let options = JudgeRequest {
        device: Target::Cuda(0),
        cache_dir: Some(cache.path().to_owned()),
        ..options(&folder)
    };
    let ncu = Ncu::at(ncu::find().expect("an ncu")).unwrap();
    assert_eq!(
        lab_judge::judge::counters_are_readable(options.clone(), &ncu),
        Ok(())
    );
    let read = || {
        let entries = lab_system::listing::read_dir(cache.path()).unwrap();
        let mut answers = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().contains("counters-"));
        std::fs::read_to_string(answers.next().expect("an answer")).unwrap()
    };
    let kept = read();
    assert!(kept.contains("\"refused\":null"), "{kept}");
    // The kept answer is not written anew.
    assert_eq!(
        lab_judge::judge::counters_are_readable(options.clone(), &ncu),
        Ok(())
    );
    assert_eq!(read(), kept);
}
