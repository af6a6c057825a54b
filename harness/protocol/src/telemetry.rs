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
    pub brakes: Vec<ThrottleReason>,
    /// Bytes in use and in all; `None` where it was not asked this time.
    pub memory: Option<(u64, u64)>,
    /// Processes that have the device open; `None` where it was not asked this time.
    pub processes: Option<Vec<Process>>,
}

/// Why a clock is lower than it could be, in NVML's words for it ("clocks event reasons").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThrottleReason {
    SwPowerCap,
    HwSlowdown,
    SwThermalSlowdown,
    HwThermalSlowdown,
    HwPowerThrottleReason,
    SyncBoost,
    /// Somebody fixed the clocks: they are steady, which is no fault.
    ApplicationClocks,
    DisplayClocks,
}

impl ThrottleReason {
    /// The word in `throttle:`.
    pub fn word(self) -> &'static str {
        match self {
            ThrottleReason::SwPowerCap => "sw_power_cap",
            ThrottleReason::HwSlowdown => "hw_slowdown",
            ThrottleReason::SwThermalSlowdown => "sw_thermal_slowdown",
            ThrottleReason::HwThermalSlowdown => "hw_thermal_slowdown",
            ThrottleReason::HwPowerThrottleReason => "hw_power_brake",
            ThrottleReason::SyncBoost => "sync_boost",
            ThrottleReason::ApplicationClocks => "application_clocks",
            ThrottleReason::DisplayClocks => "display_clocks",
        }
    }

    /// What it is, where it makes a time worth less than it looks.
    pub fn fault(self) -> Option<&'static str> {
        match self {
            ThrottleReason::SwPowerCap => Some("it draws as much power as its limit allows"),
            ThrottleReason::HwSlowdown => Some("the hardware slowed it down, for heat or power"),
            ThrottleReason::SwThermalSlowdown | ThrottleReason::HwThermalSlowdown => Some("it is too hot"),
            ThrottleReason::HwPowerThrottleReason => Some("the machine's power supply asked for less"),
            ThrottleReason::SyncBoost | ThrottleReason::ApplicationClocks | ThrottleReason::DisplayClocks => {
                None
            }
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
