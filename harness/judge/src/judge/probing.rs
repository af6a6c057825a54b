//! Probing the device with the judge's processes: once for each device and driver while a judge is
//! on standby, or on request by `lab probe`.

use super::processes::start_compiler;
use super::session::Session;
use super::start_signal::StartSignal;
use crate::device_lock::DeviceUse;
use crate::outcome::{OrLab, Result, Stop};
use crate::probe::{self, DeviceFigures, HEADER, SOURCE};
use crate::process::private_folder;
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use crate::worker::Worker;
use lab_device::DeviceInfo;
use lab_protocol::JudgeRequest;
use lab_protocol::{Language, console};
use lab_system::lifetime;
use std::sync::Arc;

/// Probes the device before the start signal and stores the figures.
///
/// Returns `None` on the emulated device, if another run uses the device, if the start signal
/// arrives, and if the probe fails or is disturbed. The last two are written as log text. A later
/// judge then probes again; only the bounds of this run are missing.
pub(super) fn probe_ahead(
    session: &mut Session,
    start: &mut StartSignal,
) -> Result<Option<DeviceFigures>> {
    if session.device.emulated || start.received() {
        return Ok(None);
    }
    let failed = match try_probe_ahead(session, start) {
        Ok(Ok(figures)) => return Ok(figures),
        Ok(Err(disturbed)) => format!(
            "the probe of the device was disturbed, so nothing bounds the times: {disturbed}"
        ),
        Err(stop) => format!("the device could not be probed, so nothing bounds the times: {stop}"),
    };
    session.out.text(&failed)?;
    Ok(None)
}

/// The figures, or what disturbed the probe.
fn try_probe_ahead(
    session: &mut Session,
    start: &mut StartSignal,
) -> Result<Result<Option<DeviceFigures>, String>> {
    let Some(_access) = session.access.try_take(DeviceUse::Measuring)? else {
        return Ok(Ok(None));
    };
    // The probe needs a compiler even if the kernel and its reference are Python.
    let is_only_for_probe = session.builder.compiler.is_none();
    if is_only_for_probe {
        let compiler = start_compiler(&session.request, session.target, &session.sink)?;
        session.builder.compiler = Some(compiler);
    }
    let mut worker = session.start_worker(Language::Cuda)?;
    let probed = measure(session, &mut worker, &mut || start.received());
    if is_only_for_probe {
        session.builder.compiler = None;
    }
    let (figures, disturbed) = probed?;
    match disturbed.is_empty() {
        true => Ok(Ok(figures)),
        false if figures.is_none() => Ok(Ok(None)),
        false => Ok(Err(disturbed.join("; "))),
    }
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
pub fn probe(request: JudgeRequest) -> Result<Probed> {
    lifetime::kill_children_on_signals(private_folder::remove_own)?;
    let sink = SharedSink::new(console::stderr());
    let (mut session, mut worker) =
        Session::open(&Arc::new(request), &sink, (Language::Cuda, None), true)?;
    let _access = session.wait(DeviceUse::Measuring)?;
    let (figures, disturbed) = measure(&mut session, &mut worker, &mut || false)?;
    Ok(Probed {
        figures: figures.ok_or_else(|| Stop::Lab("the probe was interrupted".into()))?,
        disturbed,
        device: session.device,
    })
}

/// Builds the probe, measures with a worker that does nothing else, and stores the figures unless
/// something disturbed the device. Returns the figures, `None` if `interrupted` returned true, and
/// what disturbed it.
fn measure(
    session: &mut Session,
    worker: &mut Worker,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<(Option<DeviceFigures>, Vec<String>)> {
    session.telemetry.start();
    let image = session.builder.own_source("probe.cu", SOURCE, HEADER);
    let measured = image.and_then(|image| {
        let module = worker.load(&image)?;
        probe::measure(worker, module, interrupted)
    });
    let disturbed = disturbances(&session.telemetry);
    let figures = measured?;
    if let Some(figures) = figures.as_ref().filter(|_| disturbed.is_empty()) {
        let folder = &session.cache_dir;
        probe::store(folder, &session.device, figures).or_lab(|| {
            let folder = folder.display();
            format!("the figures of the device cannot be stored in {folder}")
        })?;
    }
    Ok((figures, disturbed))
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
