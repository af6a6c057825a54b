//! The tiny kernel under ncu, before the candidate.

use super::{Profiled, RECORDED, read};
use crate::support::Judged;
use lab_judge::profile::ncu::Ncu;
use lab_protocol::Exit;
use lab_protocol::ProfileRequest;
use lab_protocol::profile::{Origin, ProfileSet};
use std::time::Duration;

/// The tests share a cache folder, so the path of its ncu tells each try apart.
fn profiled(folder: &Profiled) -> (Judged, Origin) {
    let judged = folder.run(folder.request(ProfileSet::Quick));
    judged.expect(Exit::Passed);
    let origin = read(&folder.out()).origin;
    (judged, origin)
}

/// How often ncu ran the tiny kernel.
fn tries(folder: &Profiled) -> usize {
    std::fs::read_to_string(folder.ncu.path().join("tiny")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_tiny_kernel_is_counted_once_for_many_profiles() {
    let folder = Profiled::new(&[]);
    let (first, origin) = profiled(&folder);
    assert!(
        first
            .log
            .contains("counters can be read: ncu counted a tiny kernel"),
        "{}",
        first.log
    );
    assert!(matches!(origin, Origin::Counters { .. }), "{origin:?}");
    let filter = std::fs::read_to_string(folder.ncu.path().join("tiny")).unwrap();
    assert_eq!(filter.trim(), "regex:^(tiny)$");
    let (second, _) = profiled(&folder);
    assert!(!second.log.contains("tiny kernel"), "{}", second.log);
    assert_eq!(tries(&folder), 1);
}

#[test]
fn a_refusal_ends_the_profile_before_the_candidate_and_is_kept_for_a_while() {
    let folder = Profiled::new(&[("tiny-mode", "refused")]);
    for again in [false, true] {
        let (_, origin) = profiled(&folder);
        let Origin::Image { why } = origin else {
            panic!("{origin:?}")
        };
        assert!(
            why.contains("ERR_NVGPUCTRPERM") && why.contains("--cap-add=PERFMON"),
            "{why}"
        );
        assert_eq!(
            why.contains("ago; `lab doctor` tries again"),
            again,
            "{why}"
        );
    }
    assert_eq!(tries(&folder), 1);
    assert!(
        !folder.ncu.path().join("filter").exists(),
        "ncu never got the candidate"
    );
}

#[test]
fn a_launch_that_shows_otherwise_has_the_tiny_kernel_counted_again() {
    let folder = Profiled::new(&[("mode", "refused")]);
    for expected in [1, 2] {
        assert!(matches!(profiled(&folder).1, Origin::Image { .. }));
        assert_eq!(tries(&folder), expected);
    }
}

#[test]
fn what_ncu_makes_of_the_tiny_kernel_is_told_with_what_to_do() {
    let without_time = RECORDED[1]
        .1
        .replace("gpu__time_duration.sum", "gpu__time.sum");
    for (changed, says) in [
        (
            ("tiny-mode", "no-report"),
            "counts no tiny kernel: ncu 2025.3.1.0 ended without a report",
        ),
        (("tiny-mode", "killed"), "counts no tiny kernel: "),
        (("tiny.csv", ""), "ncu profiled nothing"),
        (
            ("tiny.csv", without_time.as_str()),
            "its report has no gpu__time_duration.sum",
        ),
    ] {
        let folder = Profiled::new(&[changed]);
        let (_, origin) = profiled(&folder);
        let Origin::Image { why } = origin else {
            panic!("{changed:?}: {origin:?}")
        };
        assert!(why.contains(says), "{changed:?}: {why}");
    }
}

#[test]
fn an_ncu_that_hangs_over_the_tiny_kernel_is_ended() {
    let folder = Profiled::new(&[("tiny-mode", "hang")]);
    let request = ProfileRequest {
        proof_limit: Duration::from_secs(1),
        ..folder.request(ProfileSet::Quick)
    };
    folder.run(request).expect(Exit::Passed);
    let Origin::Image { why } = read(&folder.out()).origin else {
        panic!("it hangs")
    };
    assert!(
        why.contains("did not end within 1 s") && why.contains("install Nsight Compute anew"),
        "{why}"
    );
    folder.wait_for_end_of_started();
}

#[test]
fn the_doctor_tries_again_after_a_refusal() {
    let folder = Profiled::new(&[("tiny-mode", "refused")]);
    profiled(&folder);
    let ncu = Ncu::at(folder.ncu.path().join("ncu")).unwrap();
    let readable = || lab_judge::judge::counters_are_readable(folder.problem.options(), &ncu);
    assert!(readable().unwrap_err().contains("ERR_NVGPUCTRPERM"));
    std::fs::write(folder.ncu.path().join("tiny-mode"), "").unwrap();
    assert_eq!(readable(), Ok(()));
    assert_eq!(tries(&folder), 3);
    // The next profile begins with the finding of the doctor.
    assert!(matches!(profiled(&folder).1, Origin::Counters { .. }));
    assert_eq!(tries(&folder), 3);
}
