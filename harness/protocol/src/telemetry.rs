//! A GPU's state at one moment: clocks, temperature, power, throttle reasons, memory, processes.

use strum::{IntoStaticStr, VariantArray};

/// A GPU's state at one moment. What the GPU does not report is `None` or empty.
///
/// ```
/// use lab_protocol::telemetry::{Reading, ThrottleReason};
///
/// let reading = Reading { throttle_reasons: vec![ThrottleReason::HwThermalSlowdown], ..Reading::default() };
/// assert_eq!(reading.throttle_reasons[0].fault(), Some("it is too hot"));
/// assert_eq!(ThrottleReason::ApplicationClocks.fault(), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Clock of the multiprocessors, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Memory clock, in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Temperature, in °C.
    pub temperature_c: Option<u32>,
    /// Power, in W.
    pub power_w: Option<f64>,
    /// Nothing ran at this moment, so the clocks say nothing about a kernel.
    pub idle: bool,
    /// Why the clocks are lower than they could be.
    pub throttle_reasons: Vec<ThrottleReason>,
    /// Bytes in use and bytes in all; `None` if this reading did not ask for them.
    pub memory: Option<(u64, u64)>,
    /// Processes that have the device open; `None` if this reading did not ask for them.
    pub processes: Option<Vec<Process>>,
}

/// Why a clock is lower than it could be: the "clocks event reasons" of NVML, each with its bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ThrottleReason {
    /// The power limit is reached.
    SwPowerCap = 0x4,
    /// The hardware slowed the clocks down, for heat or power.
    HwSlowdown = 0x8,
    /// Software slowed the clocks down, because the GPU is too hot.
    SwThermalSlowdown = 0x20,
    /// Hardware slowed the clocks down, because the GPU is too hot.
    HwThermalSlowdown = 0x40,
    /// The power supply asked for less power.
    HwPowerBrake = 0x80,
    /// Clocks are kept equal within a group of GPUs.
    SyncBoost = 0x10,
    /// The user fixed the clocks. Fixed clocks are steady, so this is no fault.
    ApplicationClocks = 0x2,
    /// A display setting limits the clocks.
    DisplayClocks = 0x100,
}

impl ThrottleReason {
    /// The reasons whose bits are set.
    pub fn of_bits(bits: u64) -> Vec<ThrottleReason> {
        let all = ThrottleReason::VARIANTS.iter().copied();
        all.filter(|reason| bits & *reason as u64 != 0).collect()
    }

    /// The word in the result line `throttle:`.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// A half sentence for a caveat; `None` if this reason does not make a time unreliable.
    pub fn fault(self) -> Option<&'static str> {
        match self {
            ThrottleReason::SwPowerCap => Some("it draws as much power as its limit allows"),
            ThrottleReason::HwSlowdown => Some("the hardware slowed it down, for heat or power"),
            ThrottleReason::SwThermalSlowdown | ThrottleReason::HwThermalSlowdown => {
                Some("it is too hot")
            }
            ThrottleReason::HwPowerBrake => Some("the machine's power supply asked for less"),
            ThrottleReason::SyncBoost
            | ThrottleReason::ApplicationClocks
            | ThrottleReason::DisplayClocks => None,
        }
    }
}

/// A process that has the device open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The program's name; empty if it cannot be read.
    pub name: String,
    /// The process belongs to this lab's own run.
    pub own: bool,
    /// The process runs this very program, or is a Python worker of it. It launches only with the
    /// device's lock.
    pub is_lab: bool,
    /// The largest share of the multiprocessors' time, in percent, that the process used since the
    /// readings began; `None` if the device does not tell.
    pub busy: Option<u32>,
    /// Bytes of device memory that the process holds; `None` if the device does not tell.
    pub memory: Option<u64>,
}
