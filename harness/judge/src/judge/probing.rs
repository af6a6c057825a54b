//! Probing the device with the judge's processes: once for each device and driver while a judge is
//! on standby, or on request by `lab probe`.

use super::kernel_builder::KernelBuilder;
use super::processes::start_compiler;
use super::session::{Opened, Session};
use super::start_signal::StartSignal;
use crate::device_lock::DeviceUse;
use crate::outcome::Stop;
use crate::probe::{self, DeviceFigures, HEADER, SOURCE};
use crate::process::private_folder;
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use crate::worker::Worker;
use lab_device::DeviceInfo;
use lab_protocol::JudgeRequest;
use lab_protocol::report::Writer;
use lab_protocol::{Language, console};
use lab_system::lifetime;
use std::path::Path;
use std::sync::Arc;

/// Probes the device before the start signal and stores the figures.
///
/// Returns `None` on the emulated device, if another run uses the device, if the start signal
/// arrives, and if the probe fails or is disturbed. The last two are written as log text. A later
/// judge then probes again; only the bounds of this run are missing.
pub(super) fn probe_ahead(
    env: &Session,
    builder: &mut KernelBuilder,
    out: &mut Writer,
    start: &mut StartSignal,
) -> Result<Option<DeviceFigures>, Stop> {
    if env.device.emulated || start.received() {
        return Ok(None);
    }
    match try_probe_ahead(env, builder, start) {
        Ok(Ok(figures)) => Ok(figures),
        Ok(Err(disturbed)) => {
            out.text(&format!(
                "the probe of the device was disturbed, so nothing bounds the times: {disturbed}"
            ))?;
            Ok(None)
        }
        Err(stop) => {
            out.text(&format!(
                "the device could not be probed, so nothing bounds the times: {stop}"
            ))?;
            Ok(None)
        }
    }
}

/// The figures, or what disturbed the probe.
fn try_probe_ahead(
    env: &Session,
    builder: &mut KernelBuilder,
    start: &mut StartSignal,
) -> Result<Result<Option<DeviceFigures>, String>, Stop> {
    let Some(_access) = env.access.try_get(DeviceUse::Measuring)? else {
        return Ok(Ok(None));
    };
    // The probe is compiled, also where the kernel and its reference are Python.
    let is_only_for_probe = builder.compiler.is_none();
    if is_only_for_probe {
        builder.compiler = Some(start_compiler(&env.request, env.target, &env.sink)?);
    }
    let mut worker = env.start_worker(Language::Cuda)?;
    env.telemetry.start();
    let figures = build_and_measure(builder, &mut worker, &mut || start.received());
    if is_only_for_probe {
        builder.compiler = None;
    }
    let disturbed = disturbances(&env.telemetry);
    let Some(figures) = figures? else {
        return Ok(Ok(None));
    };
    if !disturbed.is_empty() {
        return Ok(Err(disturbed.join("; ")));
    }
    store(&env.cache_dir, &env.device, &figures)?;
    Ok(Ok(Some(figures)))
}

/// The result of `lab probe`.
pub struct Probed {
    /// The device that was probed.
    pub device: DeviceInfo,
    /// What it can do.
    pub figures: DeviceFigures,
    /// What made the device slower than it can be. If this is empty, the figures were stored and
    /// bound the times of later runs. Otherwise they are only shown.
    pub disturbed: Vec<String>,
}

/// Probes the device, also if its figures are stored already. If a signal ends the calling process,
/// it ends its children first.
pub fn probe(request: JudgeRequest) -> Result<Probed, Stop> {
    lifetime::kill_children_on_signals(private_folder::remove_own)?;
    let sink = SharedSink::new(console::stderr());
    let Opened {
        session,
        mut builder,
        mut worker,
    } = Session::open(&Arc::new(request), &sink, Language::Cuda, true)?;
    let Session {
        device,
        cache_dir,
        telemetry,
        access,
        ..
    } = session;
    let _access = access.wait(DeviceUse::Measuring, &mut sink.writer())?;
    telemetry.start();
    let figures = build_and_measure(&mut builder, &mut worker, &mut || false)?;
    let disturbed = disturbances(&telemetry);
    let figures = figures.ok_or_else(|| Stop::Lab("the probe was interrupted".into()))?;
    if disturbed.is_empty() {
        store(&cache_dir, &device, &figures)?;
    }
    Ok(Probed {
        device,
        figures,
        disturbed,
    })
}

fn store(cache_dir: &Path, device: &DeviceInfo, figures: &DeviceFigures) -> Result<(), Stop> {
    probe::store(cache_dir, device, figures).map_err(|e| {
        Stop::Lab(format!(
            "the figures of the device cannot be stored in {}: {e}",
            cache_dir.display()
        ))
    })
}

/// Builds the probe and measures with a worker that does nothing else. `None` if `interrupted`
/// returned true.
fn build_and_measure(
    builder: &mut KernelBuilder,
    worker: &mut Worker,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Option<DeviceFigures>, Stop> {
    let image = builder.own_source("probe.cu", SOURCE, HEADER)?;
    let module = worker.load(&image.path)?;
    probe::measure(worker, module, interrupted)
}

/// What made the device slower than it can be while telemetry was read. No bound may follow from
/// such figures.
fn disturbances(telemetry: &TelemetryMonitor) -> Vec<String> {
    match telemetry.finish() {
        Ok(Some(summary)) => summary.slowed(),
        // Without telemetry nothing is known against the figures: each is the best of several
        // launches.
        Ok(None) | Err(_) => Vec::new(),
    }
}
