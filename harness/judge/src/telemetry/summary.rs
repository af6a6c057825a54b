//! Summary of a device's state over one measurement, and the rule for caveats.
//!
//! A result gets a caveat if, while something ran on the device,
//! - a clock moved by more than [`CLOCK_STEADY`] of its median. Readings of an idle device do not
//!   count, nor do the readings on the way up from idle, which are those within the first
//!   [`WAY_UP`] before the clock came near its highest value;
//! - a throttle reason was active that is a fault: heat, power, a slowdown by the hardware;
//! - the temperature reached the limit at which the device slows itself down;
//! - a process other than the run's own used the multiprocessors. A process that only has the
//!   device open does not count, because a desktop always has. Nor does a worker of another run of
//!   this program: it cannot launch while this run holds the device's lock, and the device reports
//!   use late, by up to a second. A run that did not get the lock has a caveat for that.
//!
//! A result gets a caveat, too, if the device does not report its clock.

use itertools::Itertools as _;
use lab_protocol::telemetry::{Process, Reading, ThrottleReason};
use std::time::Duration;

/// A clock within this fraction of its median is steady. GPUs step by 15 MHz, which is 0.8 % of an
/// H200's 1980 MHz, and two steps are usual.
pub const CLOCK_STEADY: f64 = 0.02;

/// A device comes up from idle within milliseconds. A clock that changes after this time is not on
/// its way up.
pub const WAY_UP: Duration = Duration::from_millis(100);

/// A reading, and its time since the start of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Time since the start of the measurement.
    pub at: Duration,
    /// The device's state.
    pub reading: Reading,
}

/// Median, lowest and highest value of what was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedRange {
    /// The median.
    pub median: f64,
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
}

/// The summary of a measurement's readings.
#[derive(Clone, Debug, PartialEq)]
pub struct TelemetrySummary {
    /// SM clock in MHz.
    pub sm_clock: Option<ObservedRange>,
    /// Memory clock in MHz.
    pub memory_clock: Option<ObservedRange>,
    /// Temperature in °C.
    pub temperature: Option<ObservedRange>,
    /// Power in W.
    pub power: Option<ObservedRange>,
    /// Every reason that was ever active, faults first.
    pub throttle_reasons: Vec<ThrottleReason>,
    /// Other processes that had the device open, each with its highest usage; `None` if the device
    /// does not report them.
    pub foreign: Option<Vec<Process>>,
    slowdown_c: Option<u32>,
    /// At least one reading was made while something ran.
    ran: bool,
}

impl TelemetrySummary {
    /// Summarises samples; `None` without one. `slowdown_c` is the temperature in °C at which the
    /// device slows itself down.
    pub fn of(samples: Vec<Sample>, slowdown_c: Option<u32>) -> Option<TelemetrySummary> {
        if samples.is_empty() {
            return None;
        }
        let busy = samples.iter().filter(|s| !s.reading.idle).collect_vec();
        let all = samples.iter().collect_vec();
        // If every launch was too short for a reading, the idle readings are still shown.
        let steady = if busy.is_empty() { &all } else { &busy };
        let number = |value: fn(&Reading) -> Option<f64>| {
            range(steady.iter().filter_map(|s| value(&s.reading)))
        };
        let clock = |value: fn(&Reading) -> Option<u32>| {
            range(settled(steady, value).into_iter().map(f64::from))
        };
        let mut throttle_reasons = busy
            .iter()
            .flat_map(|s| s.reading.throttle_reasons.iter().copied())
            .collect_vec();
        throttle_reasons.sort_unstable_by_key(|reason| (reason.fault().is_none(), *reason));
        throttle_reasons.dedup();
        Some(TelemetrySummary {
            sm_clock: clock(|r| r.sm_clock_mhz),
            memory_clock: clock(|r| r.memory_clock_mhz),
            temperature: number(|r| r.temperature_c.map(f64::from)),
            power: number(|r| r.power_w),
            throttle_reasons,
            foreign: foreign(&samples),
            slowdown_c,
            ran: !busy.is_empty(),
        })
    }

    /// The result lines, as key and value.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let ranges = [
            ("sm_clock_mhz", self.sm_clock),
            ("memory_clock_mhz", self.memory_clock),
            ("temperature_c", self.temperature),
            ("power_w", self.power),
        ];
        for (key, range) in ranges {
            if let Some(ObservedRange { median, low, high }) = range {
                lines.push((key, format!("{median:.0} low={low:.0} high={high:.0}")));
            }
        }
        if self.sm_clock.is_some() {
            let words = self
                .throttle_reasons
                .iter()
                .map(|reason| reason.word())
                .collect_vec();
            lines.push((
                "throttle",
                if words.is_empty() {
                    "none".into()
                } else {
                    words.join(",")
                },
            ));
            let foreign = self.foreign.as_ref().map(|others| others.len().to_string());
            lines.push((
                "foreign_processes",
                foreign.unwrap_or_else(|| "unknown".into()),
            ));
        }
        lines
    }

    /// The texts of the caveats.
    pub fn caveats(&self) -> Vec<String> {
        let clocks = [
            ("clock", self.sm_clock),
            ("memory clock", self.memory_clock),
        ];
        let moved = clocks
            .into_iter()
            .filter_map(|(name, clock)| self.moved(name, clock?));
        let throttled = self
            .throttle_reasons
            .iter()
            .filter_map(|reason| slowed_by(*reason));
        moved
            .chain(throttled)
            .chain(self.too_hot())
            .chain(self.busy_processes())
            .chain(self.unknown_clock())
            .collect()
    }

    /// What makes a device slower even in the best of many short launches. Clocks that are still
    /// rising do not, nor does a power limit that takes effect after a while.
    pub fn slowed(&self) -> Vec<String> {
        let lasting = self
            .throttle_reasons
            .iter()
            .filter(|reason| **reason != ThrottleReason::SwPowerCap);
        let throttled = lasting.filter_map(|reason| slowed_by(*reason));
        throttled
            .chain(self.too_hot())
            .chain(self.busy_processes())
            .collect()
    }

    fn moved(&self, name: &str, clock: ObservedRange) -> Option<String> {
        let ObservedRange { median, low, high } = clock;
        (self.ran && !clock.is_steady()).then(|| {
            format!(
                "the device's {name} moved while this was measured: {low:.0} to {high:.0} MHz, median {median:.0} \
                 (steady is within {:.0} %)",
                CLOCK_STEADY * 100.0
            )
        })
    }

    fn unknown_clock(&self) -> Option<String> {
        let unknown = self.sm_clock.is_none();
        unknown.then(|| {
            "the device does not report its clock, so whether the clock moved is unknown".to_owned()
        })
    }

    fn too_hot(&self) -> Option<String> {
        let (high, limit) = (
            self.temperature?.high,
            self.slowdown_c.filter(|limit| *limit > 0)?,
        );
        (high >= f64::from(limit)).then(|| {
            format!("the device had {high:.0} °C while this was measured, and slows itself down from {limit} °C on")
        })
    }

    fn busy_processes(&self) -> impl Iterator<Item = String> {
        self.foreign.iter().flatten().filter(|process| !process.is_lab).filter_map(|process| {
            let busy = process.busy.filter(|busy| *busy > 0)?;
            let name = if process.name.is_empty() { "unknown" } else { &process.name };
            Some(format!(
                "process {} ({name}) used up to {busy} % of the same device while this was measured",
                process.pid
            ))
        })
    }
}

fn slowed_by(reason: ThrottleReason) -> Option<String> {
    let word = reason.word();
    Some(format!(
        "the device was held back while this was measured: {} ({word})",
        reason.fault()?
    ))
}

impl ObservedRange {
    fn is_steady(&self) -> bool {
        let allowed = self.median * CLOCK_STEADY;
        self.median - self.low <= allowed && self.high - self.median <= allowed
    }
}

/// A clock's values without those on its way up from idle.
fn settled(samples: &[&Sample], value: impl Fn(&Reading) -> Option<u32>) -> Vec<u32> {
    let read = samples
        .iter()
        .filter_map(|s| Some((s.at, value(&s.reading)?)))
        .collect_vec();
    let highest = read.iter().map(|(_, clock)| *clock).max().unwrap_or(0);
    let near = |clock: u32| f64::from(clock) >= f64::from(highest) * (1.0 - CLOCK_STEADY);
    let mut on_the_way = true;
    let settled = read.into_iter().filter(|(at, clock)| {
        on_the_way &= *at <= WAY_UP && !near(*clock);
        !on_the_way
    });
    settled.map(|(_, clock)| clock).collect()
}

/// Other processes that had the device open. If the run's own worker is not among the reported
/// ones, the process ids are those of another namespace (a container's host), and nothing can be
/// said.
fn foreign(samples: &[Sample]) -> Option<Vec<Process>> {
    let seen: Vec<&Process> = samples
        .iter()
        .filter_map(|s| s.reading.processes.as_ref())
        .flatten()
        .collect();
    if !seen.iter().any(|process| process.own) {
        return None;
    }
    let mut others: Vec<Process> = Vec::new();
    for process in seen.into_iter().filter(|process| !process.own) {
        match others.iter_mut().find(|known| known.pid == process.pid) {
            Some(known) => known.busy = known.busy.max(process.busy),
            None => others.push(process.clone()),
        }
    }
    Some(others)
}

fn range(values: impl Iterator<Item = f64>) -> Option<ObservedRange> {
    let mut sorted = values.collect_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    Some(ObservedRange {
        median: sorted[sorted.len() / 2],
        low,
        high,
    })
}

#[cfg(test)]
mod tests;
