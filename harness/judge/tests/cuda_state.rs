//! A real GPU's telemetry, its probe and the bounds that follow from the probe. Needs a CUDA
//! device, NVRTC and NVML, so every test is ignored unless scripts/gpu-tests runs it.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

use lab_device::{BuildRequest, Builder, DeviceInfo, ExecutionOrder, FolderTrust, cuda};
use lab_judge::device_lock::{DeviceLock, DeviceUse};
use lab_judge::outcome::unless_wrong;
use lab_judge::probe::bounds::{self, CacheState, Demand};
use lab_judge::probe::{self, DeviceFigures};
use lab_judge::telemetry::TelemetryMonitor;
use lab_judge::worker::{Launch, LaunchArg, ModuleId, Worker};
use lab_protocol::CompileOptions;
use lab_protocol::report::{Report, Writer};
use lab_stats::aggregate::Aggregate;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Writes to stderr directly, because the test runner captures what `eprintln!` writes.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Two measurements at once would disturb each other, and NVRTC has one place for a precompiled
/// header.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn my_turn() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Builds the probe for this architecture.
fn build(folder: &Path, arch: &str) -> PathBuf {
    let mut builder = cuda::nvrtc_builder(FolderTrust::Untrusted).expect("these tests need NVRTC");
    let source = folder.join("probe.cu");
    std::fs::write(&source, probe::SOURCE).unwrap();
    let request = BuildRequest {
        source,
        shown_as: "probe.cu".into(),
        include_dirs: vec![],
        defines: vec![],
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: probe::HEADER.into(),
        arch: arch.into(),
        cache_dir: folder.join("cache"),
    };
    let built = builder.build(&request).unwrap();
    built.image.unwrap_or_else(|| panic!("{}", built.log))
}

/// A worker on the first CUDA device with the probe loaded, and two values that must outlive it:
/// the probe's folder and the lock that keeps the other tests waiting.
fn gpu() -> (
    Worker,
    ModuleId,
    (tempfile::TempDir, MutexGuard<'static, ()>),
) {
    let turn = my_turn();
    let mut worker = Worker::on_a_thread(|| cuda::open(0), Duration::from_secs(60)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let image = build(folder.path(), &worker.info().arch.clone());
    let module = worker.load(&image).unwrap();
    (worker, module, (folder, turn))
}

fn word(value: u32) -> LaunchArg {
    LaunchArg::Value(value.to_le_bytes().to_vec())
}

fn launch(
    worker: &mut Worker,
    module: ModuleId,
    entry: &str,
    args: &[LaunchArg],
    shape: [u32; 2],
) -> f64 {
    let dims = bytemuck::cast_slice(&shape).to_vec();
    let launch = Launch {
        module,
        entry: entry.into(),
        args: args.to_vec(),
        dims,
        order: ExecutionOrder::Forward,
        parameters: Vec::new(),
        scratch: String::new(),
    };
    worker.launch(&launch).unwrap()
}

/// The figures, measured once for all tests of this process.
fn figures(worker: &mut Worker, module: ModuleId) -> DeviceFigures {
    static FIGURES: OnceLock<DeviceFigures> = OnceLock::new();
    *FIGURES.get_or_init(|| {
        let began = Instant::now();
        let figures = probe::measure(worker, module, &mut || false)
            .unwrap()
            .unwrap();
        say(&format!(
            "probed in {:.2} s: {figures:?}",
            began.elapsed().as_secs_f64()
        ));
        figures
    })
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn the_probe_builds_without_a_gpu() {
    let _turn = my_turn();
    let folder = tempfile::tempdir().unwrap();
    assert!(build(folder.path(), "sm_90").is_file());
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_state_is_read_while_a_kernel_runs() {
    let (mut worker, module, _kept) = gpu();
    let monitor = TelemetryMonitor::open(worker.info()).unwrap();
    let out = worker.buffer("out", 4).unwrap();
    let shape = [2 * worker.info().sms, 1024];
    let args = [
        LaunchArg::Buffer(out),
        word(0.5f32.to_bits()),
        word(200_000),
    ];
    monitor.start();
    let mut busy = 0.0;
    while busy < 0.5 {
        busy += launch(&mut worker, module, "probe_fma", &args, shape);
    }
    let summary = monitor.finish().unwrap().unwrap();
    for (key, value) in summary.lines() {
        say(&format!("{key}: {value}"));
    }
    for caveat in summary.caveats() {
        say(&format!("caveat: {caveat}"));
    }
    let clock = summary.sm_clock.unwrap();
    assert!(
        (500.0..4000.0).contains(&clock.median) && clock.low <= clock.high,
        "{summary:?}"
    );
    assert!(
        (15.0..110.0).contains(&summary.temperature.unwrap().median),
        "{summary:?}"
    );
    assert!(summary.power.unwrap().high > 30.0, "{summary:?}");
    assert!(summary.memory_clock.is_some(), "{summary:?}");
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_probes_figures_are_plausible() {
    let (mut worker, module, _kept) = gpu();
    let info = worker.info().clone();
    let DeviceFigures {
        copy,
        l2,
        fma,
        tensor,
        l2_round_trip,
        launch,
        exchange,
    } = figures(&mut worker, module);
    assert!(
        info.uuid.len() == 40 && info.l2_bytes >= 1 << 20,
        "{info:?}"
    );
    // Limits that hold for every GPU that the lab supports.
    assert!(
        (2e11..2e13).contains(&copy) && l2 > copy,
        "copy {copy:e}, L2 {l2:e}"
    );
    assert!((5e12..2e14).contains(&fma), "fma {fma:e}");
    assert!(
        (1e-7..1e-6).contains(&l2_round_trip),
        "L2 round trip {l2_round_trip:e}"
    );
    assert!((5e-7..2e-5).contains(&launch), "launch {launch:e}");
    assert!(
        (5e-7..3e-6).contains(&exchange) && exchange > l2_round_trip,
        "exchange {exchange:e}"
    );
    if info.name.contains("H200") {
        // Specified: 4.8 TB/s, 67 TFLOP/s, 989 TFLOP/s by wgmma.
        assert!((3e12..4.8e12).contains(&copy), "copy {copy:e}");
        assert!((5e13..6.8e13).contains(&fma), "fma {fma:e}");
        assert!(
            (4e14..9.9e14).contains(&tensor.unwrap()),
            "tensor {tensor:?}"
        );
        assert!((7e-7..2e-6).contains(&exchange), "exchange {exchange:e}");
    }
}

fn judged(
    figures: &DeviceFigures,
    info: &DeviceInfo,
    demand: &Demand,
    seconds: f64,
) -> (bool, Report) {
    let (reader, writer) = io::pipe().unwrap();
    let mut out = Writer::new(writer);
    let demands = std::slice::from_ref(demand);
    let verdict = bounds::judge(
        figures,
        info.l2_bytes,
        demands,
        &[seconds],
        Aggregate::Geometric,
        &mut out,
    );
    let passes = unless_wrong(verdict).unwrap().is_some();
    drop(out);
    let log = io::read_to_string(reader).unwrap();
    say(&log);
    (passes, Report::read(&log))
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_floor_refuses_a_faked_time_and_no_honest_one() {
    let (mut worker, module, _kept) = gpu();
    let info = worker.info().clone();
    let figures = figures(&mut worker, module);

    // An honest copy, as fast as this device can do it.
    let bytes = 1usize << 30;
    let (from, to) = (
        worker.buffer("from", bytes).unwrap(),
        worker.buffer("to", bytes).unwrap(),
    );
    let args = [
        LaunchArg::Buffer(from),
        LaunchArg::Buffer(to),
        word((bytes / 16) as u32),
    ];
    let seconds = (0..4).map(|_| launch(&mut worker, module, "probe_copy", &args, [128, 1024]));
    let seconds = seconds.fold(f64::INFINITY, f64::min);
    let (reads, writes) = (bytes as f64, bytes as f64);
    let demand = Demand {
        label: "copy".into(),
        reads,
        writes,
        cache: CacheState::Cold,
        ..Demand::default()
    };
    let (passes, report) = judged(&figures, &info, &demand, seconds);
    assert!(passes);
    assert!((50.0..=130.0).contains(&report.number("of_estimate").unwrap()));
    // A third of that time is impossible.
    let (passes, report) = judged(&figures, &info, &demand, seconds / 3.0);
    assert!(!passes);
    assert!(
        report
            .value("first_failure")
            .unwrap()
            .contains("which this device cannot reach")
    );

    // 4,096 steps of WaveGRU with four exchanges: the fastest known kernel, and a kernel that
    // computes nothing.
    let demand = Demand {
        reads: 30e6,
        flops: 1e11,
        steps: 4096.0,
        exchanges: 4.0,
        ..Demand::default()
    };
    assert!(judged(&figures, &info, &demand, 4096.0 * 2.73e-6).0);
    assert!(!judged(&figures, &info, &demand, 4096.0 * 0.02e-6).0);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_flushed_cache_makes_a_launch_slower() {
    let (mut worker, module, _kept) = gpu();
    let info = worker.info().clone();
    let bytes = 8usize << 20;
    let (from, out) = (
        worker.buffer("from", bytes).unwrap(),
        worker.buffer("out", 4).unwrap(),
    );
    let scratch = worker
        .buffer("scratch", 4 * info.l2_bytes as usize)
        .unwrap();
    let args = [
        LaunchArg::Buffer(from),
        LaunchArg::Buffer(out),
        word((bytes / 16) as u32),
        word(1),
    ];
    let mut best = |cold: bool| {
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            if cold {
                worker.poison(scratch).unwrap();
            }
            best = best.min(launch(
                &mut worker,
                module,
                "probe_l2",
                &args,
                [2 * info.sms, 1024],
            ));
        }
        best
    };
    let (warm, cold) = (best(false), best(true));
    say(&format!(
        "8 MiB read once: {:.2} µs warm, {:.2} µs cold",
        warm * 1e6,
        cold * 1e6
    ));
    assert!(cold > 1.1 * warm, "warm {warm:e}, cold {cold:e}");
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_lock_is_the_gpus_own() {
    let (worker, _, _kept) = gpu();
    let folder = tempfile::tempdir().unwrap();
    let lock = DeviceLock::of(worker.info(), folder.path());
    let twin = DeviceLock::of(
        &DeviceInfo {
            name: "another name".into(),
            ..worker.info().clone()
        },
        folder.path(),
    );
    let held = lock
        .take(DeviceUse::Measuring, Duration::from_secs(60), || Ok(()))
        .unwrap();
    assert!(held.is_some());
    assert!(
        twin.try_take(DeviceUse::Launching).unwrap().is_none(),
        "it is named by the identifier"
    );
}
