//! `lab profile` with an ncu that runs the program it is given and then prints recorded
//! pages.

mod proof;

use crate::support::{Folder, Judged, run, write_script};
use crate::toy::{PROBLEM, kernel};
use lab_judge::profile::file;
use lab_protocol::Exit;
use lab_protocol::profile::{Origin, Profile, ProfileSet, WorkloadDurations};
use lab_protocol::{JudgeKind, ProfileRequest};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An ncu. The files `mode` and `*.csv` beside it choose its behaviour for the candidate,
/// `tiny-mode` that for the tiny kernel. The recorded pages name the kernel wavegru. It writes the
/// names that it was to count into the files `filter` and `tiny`.
const NCU: &str = r#"#!/bin/sh
own=$(dirname "$0")
mode=$(cat "$own/mode" 2>/dev/null)
case "$1" in
--version) cat "$own/version.txt"; exit ;;
--import)
    report=$(cat "$2")
    while [ "$1" != --page ]; do shift; done
    page=$own/$2.csv
    if [ "$report" = tiny ]; then page=$own/tiny.csv; fi
    sed s/wavegru/toy/g "$page"
    exit ;;
esac
while true; do
    case "$1" in
    --force-overwrite) shift ;;
    --export) report=$2; shift 2 ;;
    --log-file) log=$2; shift 2 ;;
    --kernel-name) filter=$2; shift 2 ;;
    --*) shift 2 ;;
    *) break ;;
    esac
done
case "$filter" in
*tiny*) mode=$(cat "$own/tiny-mode" 2>/dev/null); report_text=tiny; echo "$filter" >> "$own/tiny" ;;
*) report_text=report; echo "$filter" > "$own/filter" ;;
esac
case "$mode" in
hang) sleep 600 & echo $! > "$own/started"; sleep 600 ;;
unusable) echo "==ERROR== Failed to open/create lock directory /tmp/nvidia/nsight_compute." > "$log" ;;
refused) echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters" > "$log" ;;
killed) "$@"; kill -9 $$ ;;
esac
"$@"
status=$?
echo "==PROF== Disconnected" >> "$log"
case "$mode" in
no-report) exit 1 ;;
hang-end) sleep 600 & echo $! > "$own/started"; sleep 600 ;;
esac
echo "$report_text" > "$report.ncu-rep"
exit $status
"#;

const RECORDED: [(&str, &str); 5] = [
    ("version.txt", include_str!("ncu/version.txt")),
    ("raw.csv", include_str!("ncu/raw.csv")),
    ("details.csv", include_str!("ncu/details.csv")),
    ("source.csv", include_str!("ncu/source.csv")),
    // The page of the tiny kernel: any launch with its duration.
    ("tiny.csv", include_str!("ncu/raw.csv")),
];

/// A toy problem, and a folder with an ncu and a folder for the profile.
struct Profiled {
    problem: Folder,
    ncu: Folder,
}

impl Profiled {
    fn new(changed: &[(&str, &str)]) -> Profiled {
        let problem = Folder::new(&[
            ("problem.toml", PROBLEM),
            ("kernel.cu", &kernel("y[threadIdx.x] = x[0];")),
        ]);
        let ncu = Folder::new(&[&RECORDED, changed].concat());
        write_script(&ncu.path().join("ncu"), NCU);
        std::fs::create_dir(ncu.path().join("out")).unwrap();
        Profiled { problem, ncu }
    }

    fn out(&self) -> PathBuf {
        self.ncu.path().join("out")
    }

    fn request(&self, set: ProfileSet) -> ProfileRequest {
        ProfileRequest {
            set,
            workload: None,
            out: self.out(),
            keeps_report: false,
            writes_text: false,
            ncu: Some(self.ncu.path().join("ncu")),
            limit: Duration::from_secs(300),
            proof_limit: Duration::from_secs(120),
        }
    }

    /// Waits until the process that a hanging ncu has started is gone.
    fn wait_for_end_of_started(&self) {
        let started = std::fs::read_to_string(self.ncu.path().join("started")).unwrap();
        let status = PathBuf::from(format!("/proc/{}/status", started.trim()));
        let watchdog = Instant::now() + Duration::from_secs(60);
        // A zombie does not count as running; this test does not care which process reaps it.
        while std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("\nState:\tZ")) {
            assert!(
                Instant::now() < watchdog,
                "the process {} still runs",
                started.trim()
            );
            std::thread::yield_now();
        }
    }

    fn run(&self, request: ProfileRequest) -> Judged {
        let mut options = self.problem.options();
        options.kind = JudgeKind::Profile(request);
        run(options)
    }
}

fn read(folder: &Path) -> Profile {
    serde_json::from_slice(&std::fs::read(folder.join(file::PROFILE)).unwrap()).unwrap()
}

#[test]
fn a_launch_is_profiled_with_its_counters_findings_and_lines() {
    let folder = Profiled::new(&[]);
    let judged = folder.run(ProfileRequest {
        keeps_report: true,
        ..folder.request(ProfileSet::Full)
    });
    judged
        .expect(Exit::Passed)
        .expect_in("profile", file::PROFILE)
        .expect_in("profile_workload", "n=256");
    assert!(
        judged.report.value("correctness").is_none(),
        "a profile is no verdict: {}",
        judged.log
    );
    let profile = read(&folder.out());
    let Origin::Counters {
        tool,
        set,
        passes,
        report,
        ..
    } = &profile.origin
    else {
        panic!("{profile:?}")
    };
    assert_eq!(
        (tool.as_str(), *set, *passes),
        ("ncu 2025.3.1.0", ProfileSet::Full, Some(38))
    );
    assert_eq!(report.as_deref(), Some(file::REPORT));
    assert!(folder.out().join(file::REPORT).is_file());
    assert_eq!(
        (profile.entry.as_str(), profile.device.as_str()),
        ("toy", "NVIDIA H200")
    );
    assert_eq!(
        profile.launch.map(|launch| (launch.grid, launch.block)),
        Some(([128, 1, 1], [256, 1, 1]))
    );
    let duration = &profile.metrics["gpu__time_duration.sum"];
    assert_eq!((duration.value, duration.unit.as_str()), (15687168.0, "ns"));
    assert!(
        profile
            .metrics
            .keys()
            .all(|name| !name.starts_with("device__") && !name.contains("Triage"))
    );
    let stores = profile
        .findings
        .iter()
        .find(|finding| finding.text.contains("global stores to L1TEX"))
        .unwrap();
    assert_eq!(
        (
            stores.rule.as_str(),
            stores.is_advice,
            stores.estimated_gain
        ),
        ("MemoryCacheAccessPattern", true, Some(34.24))
    );
    let hottest = profile
        .lines
        .iter()
        .max_by_key(|line| line.samples)
        .unwrap();
    assert!(
        hottest.samples > 100_000 && !hottest.stalls.is_empty() && !hottest.sass.is_empty(),
        "{hottest:?}"
    );
    let files: std::collections::BTreeSet<_> = profile
        .lines
        .iter()
        .map(|line| line.file.as_str())
        .collect();
    assert_eq!(
        files.into_iter().collect::<Vec<_>>(),
        ["kernel.cu", "lab.h"]
    );
    assert!(profile.taken_unix_s.is_some() && profile.kernels.is_empty());
    // 256 floats each way; the cpu device has no floor, and makes no graphs.
    let least = profile.least.as_ref().unwrap();
    assert_eq!(
        (least.read_bytes, least.written_bytes, least.floor_us),
        (1024.0, 1024.0, None)
    );
    assert!(profile.differences.is_empty());
    // The image of the cpu device has no names.
    assert_eq!(
        std::fs::read_to_string(folder.ncu.path().join("filter"))
            .unwrap()
            .trim(),
        "regex:^(?!lab_).*$"
    );
}

#[test]
fn a_quick_profile_reads_only_the_counters() {
    let folder = Profiled::new(&[("details.csv", "damaged"), ("source.csv", "damaged")]);
    folder
        .run(folder.request(ProfileSet::Quick))
        .expect(Exit::Passed);
    let profile = read(&folder.out());
    assert!(profile.findings.is_empty() && profile.lines.is_empty());
    assert!(
        profile
            .missing
            .iter()
            .any(|text| text.contains("--set full")),
        "{:?}",
        profile.missing
    );
    assert!(!folder.out().join(file::REPORT).exists());
}

#[test]
fn without_counters_there_is_the_static_view_with_the_reason() {
    for (changed, says) in [
        (vec![("mode", "refused")], "RestrictProfilingToAdminUsers=0"),
        (
            vec![("tiny-mode", "refused")],
            "RestrictProfilingToAdminUsers=0",
        ),
        (
            vec![("tiny-mode", "unusable")],
            "cannot profile here: Failed to open/create lock directory",
        ),
        (
            vec![("version.txt", "Version 2020.1.0 (build 1)")],
            "too old",
        ),
        (vec![("version.txt", "a shell\n")], "is no ncu"),
    ] {
        let folder = Profiled::new(&changed);
        let judged = folder.run(folder.request(ProfileSet::Quick));
        judged.expect(Exit::Passed);
        assert!(judged.log.contains("no counters: "), "{}", judged.log);
        let profile = read(&folder.out());
        let Origin::Image { why } = &profile.origin else {
            panic!("{profile:?}")
        };
        assert!(why.contains(says), "{why}");
        assert!(
            profile.metrics.is_empty() && profile.missing.len() > 1,
            "{:?}",
            profile.missing
        );
    }
}

#[test]
fn the_cpu_device_has_no_profile() {
    let folder = Profiled::new(&[]);
    let mut request = folder.request(ProfileSet::Quick);
    request.ncu = None;
    let judged = folder.run(request);
    judged
        .expect(Exit::Usage)
        .expect_in("stopped", "the cpu device has no counters");
    assert!(!folder.out().join(file::PROFILE).exists());
}

#[test]
fn an_ncu_that_hangs_is_ended_with_what_it_started() {
    for (mode, says) in [
        ("hang", "did not end its launch within 1 s"),
        ("hang-end", "ended without a report"),
    ] {
        let folder = Profiled::new(&[("mode", mode)]);
        let mut request = folder.request(ProfileSet::Quick);
        request.limit = Duration::from_secs(if mode == "hang" { 1 } else { 10 });
        let judged = folder.run(request);
        judged
            .expect(Exit::NOT_JUDGED)
            .expect_in("stopped", says)
            .expect_in("fault", "lab");
        assert!(!folder.out().join(file::PROFILE).exists());
        folder.wait_for_end_of_started();
    }
}

#[test]
fn an_ncu_that_is_killed_leaves_no_profile() {
    let folder = Profiled::new(&[("mode", "killed")]);
    let judged = folder.run(folder.request(ProfileSet::Quick));
    judged
        .expect(Exit::NOT_JUDGED)
        .expect_in("stopped", "ended without a report");
    assert!(!folder.out().join(file::PROFILE).exists());
}

#[test]
fn a_report_that_cannot_be_read_is_an_error_in_words() {
    let half = &RECORDED[1].1[..RECORDED[1].1.len() - 200];
    let other = RECORDED[1].1.replace("Kernel Name", "Function");
    let lines = RECORDED[3].1.replace("\"Address\"", "\"Place\"");
    for (changed, says) in [
        (("raw.csv", half), "ends within a launch"),
        (("raw.csv", other.as_str()), "profiled nothing"),
        (("raw.csv", ""), "profiled nothing"),
        (
            ("details.csv", "==ERROR== Failed to load report\n"),
            "no column 'Section Name'",
        ),
        (("source.csv", lines.as_str()), "no column 'Address'"),
        (("mode", "no-report"), "ended without a report"),
    ] {
        let folder = Profiled::new(&[changed]);
        let judged = folder.run(folder.request(ProfileSet::Full));
        judged.expect(Exit::NOT_JUDGED).expect_in("stopped", says);
        assert!(!folder.out().join(file::PROFILE).exists());
    }
}

#[test]
fn a_workload_that_is_not_there_is_named_with_those_that_are() {
    let folder = Profiled::new(&[]);
    let request = ProfileRequest {
        workload: Some("n=7".into()),
        ..folder.request(ProfileSet::Quick)
    };
    folder
        .run(request)
        .expect(Exit::NOT_JUDGED)
        .expect_in("stopped", "1 is n=256");
}

#[test]
fn every_workload_has_a_duration_and_there_is_a_mean() {
    let folder = Profiled::new(&[]);
    let request = ProfileRequest {
        workload: Some("all".into()),
        ..folder.request(ProfileSet::Quick)
    };
    folder
        .run(request)
        .expect(Exit::Passed)
        .expect_in("profile", file::WORKLOADS);
    let text = std::fs::read(folder.out().join(file::WORKLOADS)).unwrap();
    let durations: WorkloadDurations = serde_json::from_slice(&text).unwrap();
    let [only] = durations.workloads.try_into().unwrap();
    assert_eq!(
        (only.us, only.axes["n"].as_str(), only.used_fallback_filter),
        (15687.168, "256", true)
    );
    assert_eq!(durations.mean_us, 15687.168);
}
