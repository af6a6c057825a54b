//! Numbers and times as a person reads them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lab_core::objective::Objective;
use std::time::Duration;

pub use lab_core::text::figures::{count, gate, short};

/// `0.031` is `+3.1 %`.
pub fn percent(ratio: f64) -> String {
    format!("{:+.1} %", ratio * 100.0)
}

/// `0.38 s`, `12.4 s`, `3 min 05 s`.
pub fn seconds(time: f64) -> String {
    match time {
        t if !t.is_finite() || t < 0.0 => "?".to_owned(),
        t if t < 10.0 => format!("{t:.2} s"),
        t if t < 120.0 => format!("{t:.1} s"),
        t => format!("{} min {:02} s", (t / 60.0) as u64, (t % 60.0) as u64),
    }
}

/// The same with one digit less: for a clock that ticks ten times a second.
pub fn elapsed(time: Duration) -> String {
    match time.as_secs_f64() {
        t if t < 120.0 => format!("{t:.1} s"),
        t => format!("{} min {:02} s", (t / 60.0) as u64, (t % 60.0) as u64),
    }
}

/// Bytes with a binary unit.
pub fn bytes(value: f64) -> String {
    match value {
        v if v >= 1024.0 * 1024.0 * 1024.0 => format!("{:.1} GiB", v / 1024.0 / 1024.0 / 1024.0),
        v if v >= 1024.0 * 1024.0 => format!("{:.1} MiB", v / 1024.0 / 1024.0),
        v if v >= 1024.0 => format!("{:.1} KiB", v / 1024.0),
        v => format!("{v:.0} B"),
    }
}

/// `14:03:22` in the user's zone.
pub fn clock(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// `2026-05-01 14:03` in the user's zone.
pub fn date(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// `throughput_sps` measures in `sps`, `kernel_us` in `us`; a key without `_` is its own unit.
pub fn unit(objective: &Objective) -> &str {
    objective.unit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well_at_every_size() {
        assert_eq!(seconds(0.381), "0.38 s");
        assert_eq!(seconds(185.0), "3 min 05 s");
        assert_eq!(elapsed(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(percent(0.031), "+3.1 %");
        assert_eq!(unit(&Objective::Throughput), "sps");
    }
}
