//! The device's state during the measurement, in one row.

use crate::format;
use crate::text::printable;
use crate::widgets::paragraph::quiet_facts;
use lab_protocol::report::{Measure, Report, first_word};
use ratatui::text::Line;

/// The result lines that the row shows.
pub const KEYS: [&str; 6] = [
    "sm_clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "power_w",
    "throttle",
    "foreign_processes",
];

/// `1,980 MHz (1,965 … 1,980) · 41 °C · 320 W · throttle none`; with other processes if there were
/// any, and the memory's clock if it changed.
pub fn line(report: &Report) -> Option<Line<'static>> {
    let clock = |of: &Measure| format!("{} MHz{}", rounded(of.value), range(of));
    let heat = |of: Measure| format!("{} °C", rounded(of.high.unwrap_or(of.value)));
    let others = report.value("foreign_processes").map(first_word);
    let moved = report
        .measure("memory_clock_mhz")
        .filter(|of| of.low != of.high);
    let facts = [
        report.measure("sm_clock_mhz").map(|of| clock(&of)),
        report.measure("temperature_c").map(heat),
        report
            .measure("power_w")
            .map(|power| format!("{} W", rounded(power.value))),
        report
            .value("throttle")
            .map(|why| format!("throttle {}", printable(why))),
        others
            .filter(|count| *count != "0")
            .map(|count| format!("other processes {}", printable(count))),
        moved.map(|of| format!("memory {}", clock(&of))),
    ];
    quiet_facts(facts.into_iter().flatten())
}

/// ` (low … high)` of a value that changed, else nothing.
pub fn range(clock: &Measure) -> String {
    match (clock.low, clock.high) {
        (Some(low), Some(high)) if low != high => {
            format!(" ({} … {})", rounded(low), rounded(high))
        }
        _ => String::new(),
    }
}

/// The value without decimals, with thousands separated.
pub fn rounded(value: f64) -> String {
    format::gate(value.round())
}
