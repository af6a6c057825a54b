//! The probe of the device, by the processes of a judge: on standby, once for a device and driver, or when
//! somebody asks for it.

use super::kernel_builder::KernelBuilder;
use super::standby::StartSignal;
use super::{
    Compiler, DeviceAccess, JudgeOptions, JudgeRun, arch, cache_dir, start_worker, text_of_compiler,
};
use crate::device_lock::DeviceUse;
use crate::outcome::Stop;
use crate::probe::{self, DeviceFigures, HEADER, SOURCE};
use crate::process::lifetime;
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use crate::worker::Worker;
use lab_device::DeviceInfo;
use std::io;
use std::path::Path;

/// While nobody waits. A probe that fails, or that something disturbed, is made another time: nothing hangs on it.
pub(super) fn ahead(
    setting: &JudgeRun,
    build: &mut KernelBuilder,
    order: &mut StartSignal,
) -> Option<DeviceFigures> {
    if setting.device.emulated || order.is_here() {
        return None;
    }
    // Somebody measures: not now.
    let _turn = setting.turns.take_if_free(DeviceUse::Measuring).ok()??;
    let mut worker = start_worker(setting.options, setting.target, setting.shared).ok()?.ready().ok()?;
    setting.telemetry.start();
    let figures = run(build, &mut worker, setting.cache_dir, &mut || order.is_here());
    let disturbed = disturbances(&setting.telemetry);
    let figures = figures.ok()?.filter(|_| disturbed.is_empty())?;
    // Without a place for it the next judge probes again.
    let _ = probe::store(setting.cache_dir, setting.device, &figures);
    Some(figures)
}

/// What came of a probe that was asked for.
pub struct Probed {
    pub device: DeviceInfo,
    pub figures: DeviceFigures,
    /// Why the figures are shown only, and bound nothing; empty where they are kept.
    pub disturbed: Vec<String>,
}

/// Probes the device anew, whatever is known of it. The calling process ends its children when it ends.
pub fn probe(options: &JudgeOptions) -> Result<Probed, Stop> {
    lifetime::end_children_on_signals()?;
    let shared = SharedSink::new(io::stderr());
    let cache_dir = cache_dir(options)?;
    let target = lab_device::resolve(options.device);
    let compiler =
        Compiler::start(&options.compiler, target, options.time_limit, text_of_compiler(shared.writer()))?;
    let mut worker = start_worker(options, target, &shared)?.ready()?;
    let device = worker.info().clone();
    let mut build = KernelBuilder { compiler, options, cache_dir: &cache_dir, arch: arch(options, &device) };
    let telemetry = TelemetryMonitor::open(&device)?;
    let _turn = DeviceAccess::on(&device, &cache_dir).take(DeviceUse::Measuring, &mut shared.writer())?;
    telemetry.start();
    let figures = run(&mut build, &mut worker, &cache_dir, &mut || false)?;
    let disturbed = disturbances(&telemetry);
    let figures = figures.ok_or_else(|| Stop::Lab("the probe was not finished".into()))?;
    if disturbed.is_empty() {
        probe::store(&cache_dir, &device, &figures)
            .map_err(|e| Stop::Lab(format!("the figures cannot be kept in {}: {e}", cache_dir.display())))?;
    }
    Ok(Probed { device, figures, disturbed })
}

/// Builds the probe and measures on a worker that is used for nothing else.
fn run(
    build: &mut KernelBuilder,
    worker: &mut Worker,
    cache_dir: &Path,
    due: &mut dyn FnMut() -> bool,
) -> Result<Option<DeviceFigures>, Stop> {
    let folder = tempfile::tempdir_in(cache_dir)?;
    let source = folder.path().join("probe.cu");
    std::fs::write(&source, SOURCE)?;
    let image = build.reference(&source, HEADER)?;
    let module = worker.load(&image.path)?;
    probe::measure(worker, module, due)
}

/// In words, what makes a device look slower than it is: from such figures no floor may follow.
fn disturbances(telemetry: &TelemetryMonitor) -> Vec<String> {
    match telemetry.finish() {
        Ok(Some(course)) => course.slowed(),
        _ => Vec::new(),
    }
}
