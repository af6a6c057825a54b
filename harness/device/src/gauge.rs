//! What a device says of its own state while a kernel runs on it: clocks, temperature, power, what
//! holds its clocks back, and who else uses it.

use super::{DeviceInfo, cuda};

/// What a device said at one moment. What it does not tell is `None`, or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub sm_clock_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    pub temperature_c: Option<u32>,
    pub power_w: Option<f64>,
    /// Nothing ran at this moment: its clock says nothing about a kernel.
    pub idle: bool,
    /// What holds the clocks below what they could be.
    pub brakes: Vec<Brake>,
    /// Bytes in use and in all; `None` where it was not asked this time.
    pub memory: Option<(u64, u64)>,
    /// Processes that have the device open; `None` where it was not asked this time.
    pub processes: Option<Vec<Process>>,
}

/// Why a clock is lower than it could be, in NVML's words for it ("clocks event reasons").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Brake {
    SwPowerCap,
    HwSlowdown,
    SwThermalSlowdown,
    HwThermalSlowdown,
    HwPowerBrake,
    SyncBoost,
    /// Somebody fixed the clocks: they are steady, which is no fault.
    ApplicationClocks,
    DisplayClocks,
}

impl Brake {
    /// The word in `throttle:`.
    pub fn word(self) -> &'static str {
        match self {
            Brake::SwPowerCap => "sw_power_cap",
            Brake::HwSlowdown => "hw_slowdown",
            Brake::SwThermalSlowdown => "sw_thermal_slowdown",
            Brake::HwThermalSlowdown => "hw_thermal_slowdown",
            Brake::HwPowerBrake => "hw_power_brake",
            Brake::SyncBoost => "sync_boost",
            Brake::ApplicationClocks => "application_clocks",
            Brake::DisplayClocks => "display_clocks",
        }
    }

    /// What it is, where it makes a time worth less than it looks.
    pub fn fault(self) -> Option<&'static str> {
        match self {
            Brake::SwPowerCap => Some("it draws as much power as its limit allows"),
            Brake::HwSlowdown => Some("the hardware slowed it down, for heat or power"),
            Brake::SwThermalSlowdown | Brake::HwThermalSlowdown => Some("it is too hot"),
            Brake::HwPowerBrake => Some("the machine's power supply asked for less"),
            Brake::SyncBoost | Brake::ApplicationClocks | Brake::DisplayClocks => None,
        }
    }
}

/// A process that has the device open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// Of its program; empty where it cannot be read.
    pub name: String,
    /// Part of this lab's own run.
    pub own: bool,
    /// The most of the multiprocessors' time, in percent, that it used since the first reading;
    /// `None` where the device does not tell.
    pub busy: Option<u32>,
    /// Of the device's memory, in bytes; `None` where the device does not tell.
    pub memory: Option<u64>,
}

/// Reads a device's state. Made and used on one thread.
pub trait Gauge {
    /// `with_processes`: ask for them and for the memory too, which takes longer.
    fn read(&mut self, with_processes: bool) -> Reading;
    /// Degrees Celsius from which on the device slows itself down.
    fn slowdown_c(&self) -> Option<u32>;
}

/// The gauge of an open device; `None` of one that has no state to tell. Takes tens of milliseconds.
/// The error says in words why there is none where there should be.
pub fn open(info: &DeviceInfo) -> Result<Option<Box<dyn Gauge>>, String> {
    if info.emulated {
        return Ok(None);
    }
    of_gpu(&info.uuid).map(Some)
}

/// The gauge of a GPU by its identifier (`GPU-…`): for whoever looks on and opens no device.
pub fn of_gpu(uuid: &str) -> Result<Box<dyn Gauge>, String> {
    Ok(Box::new(cuda::gauge(uuid)?))
}
