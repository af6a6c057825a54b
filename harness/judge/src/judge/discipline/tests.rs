//! The launches of a discipline, of a simulated kernel whose times are given and not waited for.
#![allow(clippy::unwrap_used)]

use super::super::measuring::tests::{Launches, Script, Takes, worker};
use super::*;
use crate::outcome::{Stop, unless_wrong};
use crate::problem::WorkerRole;
use lab_device::DeviceInfo;
use lab_protocol::report::Log;
use lab_protocol::report::Report;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const ASKED: Discipline = Discipline {
    warm_up: 3,
    iterations: 4,
    trials: 2,
};

struct Measured {
    passes: bool,
    report: Report,
    /// Which process launched, in order.
    launches: Vec<WorkerRole>,
}

/// Measures by [`ASKED`].
fn run(emulated: bool, takes: Takes) -> Measured {
    let launches = Launches::default();
    let mut script = Script {
        takes,
        launches: launches.clone(),
    };
    let mut of_candidate = worker().unwrap();
    let device = DeviceInfo {
        emulated,
        ..of_candidate.info().clone()
    };
    let log = Log::default();
    let mut out = log.writer();
    let mut cx = ProblemContext {
        memory: None,
        device: &device,
        figures: None,
        cache_dir: Path::new("/nowhere"),
        seed: 1,
        seed_is_fixed: true,
        is_swept: false,
        is_enough: &AtomicBool::new(false),
        out: &mut out,
        spawn_worker: &mut |_| worker(),
        build: &mut |_, _| Err(Stop::Lab("nothing is built".into())),
    };
    let module = of_candidate.load(Path::new("x")).unwrap();
    let candidate = Candidate {
        problem: &mut script,
        worker: &mut of_candidate,
        module,
        image: Path::new("x"),
    };
    let verdict = measure(&mut cx, ASKED, candidate);
    let passes = unless_wrong(verdict).unwrap().is_some();
    let launches = launches.borrow().iter().map(|(place, _)| *place).collect();
    Measured {
        passes,
        report: Report::read(&log.text()),
        launches,
    }
}

fn count(measured: &Measured, place: WorkerRole) -> usize {
    measured
        .launches
        .iter()
        .filter(|launched| **launched == place)
        .count()
}

#[test]
fn every_trial_is_a_process_with_its_untimed_and_its_timed_launches() {
    // Untimed launches take 100 s each: they count for nothing.
    let measured = run(false, |_, launch| {
        Some(if launch % 7 < 3 { 100.0 } else { launch as f64 })
    });
    assert!(measured.passes);
    assert_eq!(count(&measured, WorkerRole::Verified), 3 + 4);
    assert_eq!(count(&measured, WorkerRole::Fresh(1)), 3 + 4);
    assert_eq!(
        measured.report.value("discipline"),
        Some("3/4/2 warm_up=3 iterations=4 trials=2")
    );
    // Launches 3 to 6 have the median 4.5 s, launches 10 to 13 have 11.5 s: 8 s on the mean.
    let workload = &measured.report.workloads()[0];
    let expected = [
        ("kernel_us", "8000000.000"),
        ("trials_us", "4500000.000,11500000.000"),
        ("samples", "8"),
    ];
    assert_eq!(workload[..3], expected);
    assert_eq!(measured.report.number("mean_us"), Some(8e6));
    assert_eq!(measured.report.progress(), Some((8, 8)));
}

#[test]
fn on_the_emulated_device_a_trial_is_one_launch_and_the_log_says_so() {
    let measured = run(true, |_, _| Some(1.0));
    assert!(measured.passes);
    assert_eq!(
        measured.launches,
        [WorkerRole::Verified, WorkerRole::Fresh(1)]
    );
    assert_eq!(
        measured.report.value("discipline"),
        Some("0/1/2 warm_up=0 iterations=1 trials=2")
    );
    let caveat = &measured.report.caveats()[0];
    assert!(
        caveat.contains("a trial is one launch of each workload instead of 4 after 3 untimed"),
        "{caveat}"
    );
}

#[test]
fn a_wrong_result_fails_in_an_untimed_launch_too() {
    let measured = run(false, |_, launch| (launch != 1).then_some(1.0));
    assert!(!measured.passes);
    assert!(measured.report.value("first_failure").is_some());
    assert_eq!(
        measured.report.value("mean_us"),
        None,
        "no figure stands beside a failure"
    );
}
