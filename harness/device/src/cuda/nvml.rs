//! The telemetry of a GPU, through NVML. The library is loaded at run time, as the driver is.

use super::devices;
use crate::api::{Finding, Telemetry, version_number};
use lab_protocol::telemetry::{Process, Reading, ThrottleReason};
use lab_system::descendants::descends_from;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor, TemperatureThreshold};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The telemetry of one GPU.
struct NvmlTelemetry {
    device: Device<'static>,
    /// In µs since 1970. Processes are reported with their use since then.
    since: u64,
    /// The largest use of the multiprocessors that was seen of each process, in percent.
    busy: BTreeMap<u32, u32>,
    nvml: &'static Nvml,
    /// The other GPUs, once they were asked for.
    others: Option<Vec<(String, NvmlTelemetry)>>,
}

/// Opens the telemetry of the GPU with this identifier, as `nvidia-smi -L` writes it (`GPU-…`),
/// through NVML. Takes 20 to 50 ms. The error says why it cannot be read.
pub fn telemetry(uuid: &str) -> Result<Box<dyn Telemetry>, String> {
    // A device handle borrows the library, which is used as long as the process lives.
    let nvml: &'static Nvml = Box::leak(Box::new(load()?));
    let device = nvml
        .device_by_uuid(uuid)
        .map_err(|e| format!("NVML does not know the device {uuid}: {e}"))?;
    Ok(Box::new(NvmlTelemetry::of(nvml, device)))
}

impl NvmlTelemetry {
    fn of(nvml: &'static Nvml, device: Device<'static>) -> Self {
        NvmlTelemetry {
            device,
            since: now(),
            busy: BTreeMap::new(),
            nvml,
            others: None,
        }
    }

    /// Opens the other GPUs of the machine. What cannot be opened is left out.
    fn open_others(&self) -> Vec<(String, NvmlTelemetry)> {
        let own = self.device.index().ok();
        let indices = 0..self.nvml.device_count().unwrap_or(0);
        let open = |index| {
            let device = self.nvml.device_by_index(index).ok()?;
            let name = format!("{index} {}", device.name().unwrap_or_default());
            Some((name, NvmlTelemetry::of(self.nvml, device)))
        };
        indices
            .filter(|index| Some(*index) != own)
            .filter_map(open)
            .collect()
    }

    /// Returns the processes on the device. `None` where NVML cannot list them, as in some
    /// containers.
    fn processes(&mut self) -> Option<Vec<Process>> {
        let mut found = self.device.running_compute_processes().ok()?;
        found.extend(self.device.running_graphics_processes().unwrap_or_default());
        let used = match self.device.process_utilization_stats(self.since) {
            Ok(used) => Some(used),
            // NVML returns this where no process has used the device since then.
            Err(NvmlError::NotFound) => Some(Vec::new()),
            Err(_) => None,
        };
        for sample in used.iter().flatten() {
            let most = self.busy.entry(sample.pid).or_default();
            *most = (*most).max(sample.sm_util.min(100));
        }
        let mut memory: BTreeMap<u32, Option<u64>> = BTreeMap::new();
        for process in &found {
            let bytes = match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes),
                UsedGpuMemory::Unavailable => None,
            };
            let known = memory.entry(process.pid).or_default();
            *known = (*known).max(bytes);
        }
        let busy = |pid| {
            used.as_ref()
                .map(|_| self.busy.get(&pid).copied().unwrap_or(0))
        };
        let process = |(pid, memory)| Process {
            pid,
            name: name_of(pid),
            own: descends_from(pid, std::process::id()),
            is_lab: runs_this_program(pid) || is_python_worker(pid),
            busy: busy(pid),
            memory,
        };
        Some(memory.into_iter().map(process).collect())
    }
}

impl Telemetry for NvmlTelemetry {
    fn start(&mut self) {
        self.since = now();
        self.busy.clear();
    }

    fn read(&mut self, with_processes: bool) -> Reading {
        // Where NVML cannot tell the reasons, the clocks count as those of a running kernel.
        let reasons = self
            .device
            .current_throttle_reasons()
            .unwrap_or(ThrottleReasons::NONE);
        Reading {
            sm_clock_mhz: self.device.clock_info(Clock::SM).ok(),
            memory_clock_mhz: self.device.clock_info(Clock::Memory).ok(),
            temperature_c: self.device.temperature(TemperatureSensor::Gpu).ok(),
            power_w: self
                .device
                .power_usage()
                .ok()
                .map(|milliwatts| f64::from(milliwatts) / 1e3),
            idle: reasons.contains(ThrottleReasons::GPU_IDLE),
            throttle_reasons: ThrottleReason::of_bits(reasons.bits()),
            memory: with_processes
                .then(|| self.device.memory_info().ok())
                .flatten()
                .map(|memory| (memory.used, memory.total)),
            processes: with_processes.then(|| self.processes()).flatten(),
        }
    }

    fn others(&mut self) -> Vec<(String, Reading)> {
        let mut others = self.others.take().unwrap_or_else(|| self.open_others());
        let read = |(name, gpu): &mut (String, NvmlTelemetry)| (name.clone(), gpu.read(true));
        let states = others.iter_mut().map(read).collect();
        self.others = Some(others);
        states
    }

    fn slowdown_c(&self) -> Option<u32> {
        self.device
            .temperature_threshold(TemperatureThreshold::Slowdown)
            .ok()
    }
}

fn load() -> Result<Nvml, String> {
    Nvml::init().map_err(|error| match error {
        NvmlError::LibloadingError(_) => "libnvidia-ml.so.1 was not found".to_owned(),
        other => format!("NVML does not start: {other}"),
    })
}

/// The time in µs since 1970.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |t| t.as_micros() as u64)
}

/// Returns the name of a process's program. A worker is started through `/proc/self/exe`, so its
/// name is `exe`; for such a process, returns the name of the file instead. Empty where the process
/// has ended.
fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let file = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    match (name.trim(), file.file_name()) {
        ("exe", Some(file)) => file.to_string_lossy().into_owned(),
        (name, _) => name.to_owned(),
    }
}

/// Whether the process runs this very program. False where that cannot be read, as of another
/// user's process.
fn runs_this_program(pid: u32) -> bool {
    let file = |of: &str| {
        std::fs::metadata(format!("/proc/{of}/exe"))
            .map(|about| (about.dev(), about.ino()))
            .ok()
    };
    file("self").is_some_and(|own| file(&pid.to_string()) == Some(own))
}

/// Whether the process is a judge's Python worker, `python -m lab_harness.worker`. A fork of the
/// Python on standby counts as another process: it may run a harness of the user, which knows
/// nothing of the device's lock.
fn is_python_worker(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    words
        .windows(2)
        .any(|pair| pair[0] == b"-m" && pair[1] == b"lab_harness.worker")
}

/// Checks NVML for `lab doctor`.
pub fn finding() -> Finding {
    let state = load().and_then(|nvml| {
        let version = nvml.sys_driver_version().map_err(|e| e.to_string())?;
        let uuids = devices::uuids().map_err(|e| e.to_string())?;
        let state = |uuid: &String| -> Result<String, NvmlError> {
            let device = nvml.device_by_uuid(uuid.as_str())?;
            let clock = device.clock_info(Clock::SM)?;
            let temperature = device.temperature(TemperatureSensor::Gpu)?;
            Ok(format!("at {clock} MHz, {temperature} °C"))
        };
        let states = uuids.iter().enumerate().map(|(ordinal, uuid)| {
            let state = state(uuid).unwrap_or_else(|e| format!("cannot be read: {e}"));
            format!("; cuda:{ordinal} {state}")
        });
        let says = format!("driver {version}{}", states.collect::<String>());
        let public = format!("driver {}", version_number(&version));
        Ok(Finding::good("NVML", says).public(public))
    });
    match state {
        Ok(finding) => finding,
        Err(why) => Finding::bad(
            "NVML",
            format!("{why}. Results have no clocks, no temperature and no other processes."),
            Some(
                "NVML comes with the NVIDIA driver. In a container, ask for the driver capability `utility`.",
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn an_idle_gpu_and_fixed_clocks_are_no_faults() {
        let throttle_reasons = |flags: ThrottleReasons| ThrottleReason::of_bits(flags.bits());
        let seen = throttle_reasons(
            ThrottleReasons::GPU_IDLE | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING,
        );
        assert_eq!(seen, [ThrottleReason::ApplicationClocks]);
        assert!(seen.iter().all(|reason| reason.fault().is_none()));
        let seen =
            throttle_reasons(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN);
        assert_eq!(
            seen,
            [
                ThrottleReason::SwPowerCap,
                ThrottleReason::HwThermalSlowdown
            ]
        );
        assert!(seen.iter().all(|reason| reason.fault().is_some()));
        let all = ThrottleReasons::SW_POWER_CAP
            | ThrottleReasons::HW_SLOWDOWN
            | ThrottleReasons::SW_THERMAL_SLOWDOWN
            | ThrottleReasons::HW_THERMAL_SLOWDOWN
            | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN
            | ThrottleReasons::SYNC_BOOST
            | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING
            | ThrottleReasons::DISPLAY_CLOCK_SETTING;
        let bits = throttle_reasons(all)
            .into_iter()
            .map(|reason| reason as u64);
        assert_eq!(bits.sum::<u64>(), all.bits());
        assert_eq!(
            throttle_reasons(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN),
            [ThrottleReason::HwPowerBrake]
        );
        assert_eq!(
            throttle_reasons(ThrottleReasons::SYNC_BOOST),
            [ThrottleReason::SyncBoost]
        );
    }

    #[test]
    fn only_this_process_and_its_children_are_own() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let is_own = |pid| descends_from(pid, std::process::id());
        assert!(is_own(std::process::id()) && is_own(child.id()));
        let parent = rustix::process::getppid().unwrap().as_raw_pid();
        assert!(!is_own(1) && !is_own(parent as u32));
        assert!(runs_this_program(std::process::id()) && !runs_this_program(child.id()));
        assert!(!is_python_worker(child.id()));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
