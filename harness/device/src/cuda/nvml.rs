//! The state of a GPU by NVML, which is loaded at run time like the driver.

use super::devices;
use crate::api::Finding;
use crate::api::Telemetry;
use lab_protocol::telemetry::{Process, Reading, ThrottleReason};
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor, TemperatureThreshold};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// One GPU.
pub struct NvmlTelemetry {
    device: Device<'static>,
    /// Microseconds since 1970 when it was opened: usage before that is nobody's business.
    opened: u64,
    /// The most that each process was seen to use, in percent.
    busy: BTreeMap<u32, u32>,
}

impl NvmlTelemetry {
    /// `uuid` as `nvidia-smi -L` writes it. Takes 20 to 50 ms.
    pub fn open(uuid: &str) -> Result<Self, String> {
        // Handles borrow the library; it is wanted as long as the process lives.
        let nvml: &'static Nvml = Box::leak(Box::new(load()?));
        let device = nvml
            .device_by_uuid(uuid)
            .map_err(|e| format!("NVML does not know the device {uuid}: {}", words(&e)))?;
        Ok(NvmlTelemetry { device, opened: now(), busy: BTreeMap::new() })
    }

    fn memory(&self) -> Option<(u64, u64)> {
        self.device.memory_info().ok().map(|memory| (memory.used, memory.total))
    }

    /// `None` where NVML does not say who uses the device.
    fn processes(&mut self) -> Option<Vec<Process>> {
        let mut found = self.device.running_compute_processes().ok()?;
        found.extend(self.device.running_graphics_processes().unwrap_or_default());
        let used = match self.device.process_utilization_stats(self.opened) {
            Ok(used) => Some(used),
            // So it says that nobody used it lately.
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
        let busy = |pid| used.as_ref().map(|_| self.busy.get(&pid).copied().unwrap_or(0));
        let process = |(pid, memory)| Process {
            pid,
            name: name_of(pid),
            own: descends_from_this(pid),
            busy: busy(pid),
            memory,
        };
        Some(memory.into_iter().map(process).collect())
    }
}

impl Telemetry for NvmlTelemetry {
    fn read(&mut self, with_processes: bool) -> Reading {
        // Where even this is not told, the clocks count as those of a kernel.
        let reasons = self.device.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE);
        Reading {
            sm_clock_mhz: self.device.clock_info(Clock::SM).ok(),
            memory_clock_mhz: self.device.clock_info(Clock::Memory).ok(),
            temperature_c: self.device.temperature(TemperatureSensor::Gpu).ok(),
            power_w: self.device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3),
            idle: reasons.contains(ThrottleReasons::GPU_IDLE),
            throttle_reasons: throttle_reasons(reasons),
            memory: with_processes.then(|| self.memory()).flatten(),
            processes: if with_processes { self.processes() } else { None },
        }
    }

    fn slowdown_c(&self) -> Option<u32> {
        self.device.temperature_threshold(TemperatureThreshold::Slowdown).ok()
    }
}

fn throttle_reasons(reasons: ThrottleReasons) -> Vec<ThrottleReason> {
    let all = [
        (ThrottleReasons::SW_POWER_CAP, ThrottleReason::SwPowerCap),
        (ThrottleReasons::HW_SLOWDOWN, ThrottleReason::HwSlowdown),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, ThrottleReason::SwThermalSlowdown),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, ThrottleReason::HwThermalSlowdown),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, ThrottleReason::HwPowerBrake),
        (ThrottleReasons::SYNC_BOOST, ThrottleReason::SyncBoost),
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, ThrottleReason::ApplicationClocks),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, ThrottleReason::DisplayClocks),
    ];
    all.into_iter().filter(|(flag, _)| reasons.contains(*flag)).map(|(_, brake)| brake).collect()
}

fn load() -> Result<Nvml, String> {
    Nvml::init().map_err(|error| match error {
        NvmlError::LibloadingError(_) => "libnvidia-ml.so.1 was not found".to_owned(),
        other => format!("NVML does not start: {}", words(&other)),
    })
}

/// The library's errors are words already, some with a capital.
fn words(error: &NvmlError) -> String {
    error.to_string()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_micros() as u64)
}

/// Of its program. One that was started by way of `/proc/self/exe`, as a worker is, is called by the file behind it.
fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let file = || {
        Some(std::fs::read_link(format!("/proc/{pid}/exe")).ok()?.file_name()?.to_string_lossy().into_owned())
    };
    match name.trim() {
        "exe" => file().unwrap_or_else(|| "exe".to_owned()),
        name => name.to_owned(),
    }
}

/// Whether the process is this one or was started by it, over any number of generations.
fn descends_from_this(pid: u32) -> bool {
    let own = std::process::id();
    let mut at = Some(pid);
    // A process may change its parent while it is looked at; no chain is that long.
    for _ in 0..64 {
        match at {
            Some(pid) if pid == own => return true,
            Some(pid) if pid > 1 => at = parent(pid),
            _ => return false,
        }
    }
    false
}

/// The fourth field of `/proc/PID/stat`. The second is a name in brackets, which may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// What `lab doctor` says of it.
pub fn finding() -> Finding {
    let what = "NVML".to_owned();
    let state = load().and_then(|nvml| {
        let version = nvml.sys_driver_version().map_err(|e| words(&e))?;
        let devices = devices::uuids().unwrap_or_default().into_iter().enumerate();
        let states = devices.filter_map(|(ordinal, uuid)| {
            let device = nvml.device_by_uuid(uuid).ok()?;
            let clock = device.clock_info(Clock::SM).ok()?;
            let heat = device.temperature(TemperatureSensor::Gpu).ok()?;
            Some(format!("cuda:{ordinal} at {clock} MHz, {heat} °C"))
        });
        let states: Vec<String> = states.collect();
        Ok(format!(
            "driver {version}; {}",
            if states.is_empty() { "no state".into() } else { states.join("; ") }
        ))
    });
    match state {
        Ok(says) => Finding { what, ok: true, says, remedy: None },
        Err(why) => Finding {
            what,
            ok: false,
            says: format!("{why}: results say nothing of clocks, heat and other processes"),
            remedy: Some(
                "It comes with the NVIDIA driver; in a container ask for the capability `utility`.".into(),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn idleness_and_fixed_clocks_are_no_faults() {
        let seen = throttle_reasons(ThrottleReasons::GPU_IDLE | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING);
        assert_eq!(seen, [ThrottleReason::ApplicationClocks]);
        assert!(seen.iter().all(|brake| brake.fault().is_none()));
        let seen = throttle_reasons(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN);
        assert_eq!(seen, [ThrottleReason::SwPowerCap, ThrottleReason::HwThermalSlowdown]);
        assert!(seen.iter().all(|brake| brake.fault().is_some()));
    }

    #[test]
    fn children_are_own_and_others_are_not() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(descends_from_this(std::process::id()) && descends_from_this(child.id()));
        assert!(
            !descends_from_this(1)
                && !descends_from_this(rustix::process::getppid().unwrap().as_raw_pid() as u32)
        );
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
