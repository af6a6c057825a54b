//! How long a stage still takes is known from earlier runs of the kernel on the same device.

use crate::lab::Lab;
use lab_project::Project;
use lab_protocol::report::{Asked, Report};
use lab_store::RunIndex;

/// A harness on this device whose build takes so long. It names no time for the stages behind it.
fn builds_in(device: &str, seconds: &str) -> String {
    format!(
        "echo 'stage: build at=0'; echo 'device: {device}'; echo 'stage: verify at={seconds}'; \
         echo 'stage: measure'; echo 'correctness: pass'; echo 'throughput_sps: 5'; echo 'stage: done at=99'"
    )
}

/// The seconds that a build of this kernel takes on this device, as far as earlier runs tell.
fn build_takes(lab: &Lab, kernel: &str, device: &str) -> Option<f64> {
    let project = Project::open(&lab.repo, None).unwrap();
    let building = format!("stage: build at=0\ndevice: {device}\n");
    let times = lab_history::stage_times(&RunIndex::open(&project), kernel);
    times.of(Asked::Run, &Report::read(&building))
}

#[test]
fn a_stage_takes_as_long_as_in_the_last_run_that_did_not_skip_it() {
    let lab = Lab::new();
    assert_eq!(build_takes(&lab, "kernel.cu", "a card"), None);
    for (device, seconds) in [("a card", "20"), ("a card", "0.1"), ("another card", "3")] {
        lab.harness(&builds_in(device, seconds));
        lab.lab("run").is(0);
    }
    assert_eq!(build_takes(&lab, "kernel.cu", "a card"), Some(20.0));
    assert_eq!(build_takes(&lab, "kernel.cu", "another card"), Some(3.0));
    assert_eq!(build_takes(&lab, "kernel.cu", "a third card"), None);
    // A first build takes as long as the builds of other kernels did.
    assert_eq!(build_takes(&lab, "other.cu", "a card"), Some(20.0));
    let record = lab.read(".lab/runs/1/record.json");
    assert!(
        record.contains("build at=0.000") && record.contains("measure at="),
        "{record}"
    );
}
