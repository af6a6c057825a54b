//! The probe on the cpu device, where its figures mean nothing.
#![allow(clippy::unwrap_used)]

use super::measuring::cycle;
use super::*;
use crate::worker::{ModuleId, Worker};
use lab_device::DeviceInfo;
use lab_device::{BuildRequest, builder, open};
use lab_protocol::{CompileOptions, Target};
use std::time::Duration;

fn worker() -> (Worker, ModuleId, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("probe.cu");
    std::fs::write(&source, SOURCE).unwrap();
    let request = BuildRequest {
        source,
        shown_as: "probe.cu".into(),
        include_dirs: vec![],
        defines: vec![],
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: HEADER.into(),
        arch: String::new(),
        cache_dir: crate::testing::headers::beside(),
    };
    let built = builder(Target::Cpu).unwrap().build(&request).unwrap();
    let image = built.image.unwrap_or_else(|| panic!("{}", built.log));
    let mut worker = Worker::on_a_thread(|| open(Target::Cpu), Duration::from_secs(60)).unwrap();
    let module = worker.load(&image).unwrap();
    (worker, module, folder)
}

#[test]
fn every_figure_is_measured_and_none_of_the_emulated_device_is_kept() {
    let (mut worker, module, folder) = worker();
    let figures = measure(&mut worker, module, &mut || false)
        .unwrap()
        .unwrap();
    assert!(figures.are_sane(), "{figures:?}");
    assert_eq!(figures.tensor, None, "the cpu device has no tensor cores");
    store(folder.path(), worker.info(), &figures).unwrap();
    assert_eq!(load(folder.path(), worker.info()), None);
    // An interrupted probe returns nothing.
    let mut asked = 0;
    let interrupted = &mut || {
        asked += 1;
        asked == 3
    };
    assert_eq!(measure(&mut worker, module, interrupted).unwrap(), None);
}

#[test]
fn figures_are_kept_for_one_device_and_driver() {
    let folder = tempfile::tempdir().unwrap();
    let device = DeviceInfo {
        name: "NVIDIA H200".into(),
        emulated: false,
        sms: 132,
        arch: "sm_90".into(),
        max_shared_bytes: 232_448,
        l2_bytes: 50 << 20,
        memory_bytes: 0,
        uuid: "GPU-1".into(),
        driver: "CUDA 13.0, driver 580.159".into(),
    };
    let figures = DeviceFigures {
        copy: 4e12,
        l2: 5e12,
        fma: 6e13,
        tensor: None,
        l2_round_trip: 2e-7,
        launch: 2e-6,
        exchange: 1e-6,
    };
    assert_eq!(load(folder.path(), &device), None);
    store(folder.path(), &device, &figures).unwrap();
    assert_eq!(load(folder.path(), &device), Some(figures));
    let newer = DeviceInfo {
        driver: "CUDA 13.0, driver 581.1".into(),
        ..device.clone()
    };
    assert_eq!(load(folder.path(), &newer), None, "another driver");
    let other = DeviceInfo {
        uuid: "GPU-2".into(),
        ..device.clone()
    };
    assert_eq!(load(folder.path(), &other), None, "another device");
    store(
        folder.path(),
        &device,
        &DeviceFigures {
            copy: 0.0,
            ..figures
        },
    )
    .unwrap();
    assert_eq!(
        load(folder.path(), &device),
        None,
        "a figure of zero is refused"
    );
}

#[test]
fn the_chase_visits_every_line_once() {
    let next = cycle(1000);
    let (mut at, mut steps) = (0, 0);
    loop {
        at = next[at];
        steps += 1;
        if at == 0 {
            break;
        }
    }
    assert_eq!(steps, 1000);
}
