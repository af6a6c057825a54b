//! The device's state during the measurement, in one row.

use crate::format;
use crate::text::printable;
use crate::theme::Theme;
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
pub fn line(report: &Report, theme: &Theme) -> Option<Line<'static>> {
    let mut facts = Vec::new();
    let clock = |key| {
        report.measure(key).map(|clock| {
            (
                format!("{} MHz{}", rounded(clock.value), range(&clock)),
                clock,
            )
        })
    };
    facts.extend(clock("sm_clock_mhz").map(|(words, _)| words));
    let heat = report.measure("temperature_c");
    facts.extend(heat.map(|heat| format!("{} °C", rounded(heat.high.unwrap_or(heat.value)))));
    facts.extend(
        report
            .measure("power_w")
            .map(|power| format!("{} W", rounded(power.value))),
    );
    facts.extend(
        report
            .value("throttle")
            .map(|why| format!("throttle {}", printable(why))),
    );
    let others = report
        .value("foreign_processes")
        .map(first_word)
        .filter(|count| *count != "0");
    facts.extend(others.map(|count| format!("other processes {}", printable(count))));
    let moved = clock("memory_clock_mhz").filter(|(_, clock)| clock.low != clock.high);
    facts.extend(moved.map(|(words, _)| format!("memory {words}")));
    (!facts.is_empty()).then(|| Line::styled(format!("  {}", facts.join(" · ")), theme.quiet()))
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
