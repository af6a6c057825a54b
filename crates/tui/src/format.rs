//! Numbers and times as a person reads them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lab_core::objective::Objective;
use lab_core::text::figures::thousands;
use std::time::Duration;

/// `165210.4` is `165,210`; small numbers keep some digits: `12.34`, `0.0042`.
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs();
    if size >= 1e15 {
        return format!("{value:.3e}");
    }
    if size >= 100.0 {
        return thousands(value.round());
    }
    if size >= 1.0 {
        return format!("{value:.2}");
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    if size >= 1e-4 { format!("{value:.4}") } else { format!("{value:.2e}") }
}

/// `165210.4` is `165.2k` and `1650.3` is `1,650`, which is no wider: for axes and narrow columns.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let (part, unit) = match size {
        _ if !value.is_finite() => return value.to_string(),
        s if s >= 999.95e9 => return format!("{value:.1e}"),
        s if s >= 999.95e6 => (value / 1e9, "G"),
        s if s >= 999.95e3 => (value / 1e6, "M"),
        s if s >= 9999.5 => (value / 1e3, "k"),
        s if s >= 999.5 => return thousands(value.round()),
        s if s >= 100.0 => return format!("{value:.0}"),
        s if s >= 1.0 => (value, ""),
        0.0 => return "0".to_owned(),
        s if s >= 1e-3 => return format!("{value:.3}"),
        _ => return format!("{value:.1e}"),
    };
    let text = if part.abs() < 9.995 { format!("{part:.2}") } else { format!("{part:.1}") };
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The value of a gate or its limit: whole numbers as they are, the rest with two digits.
pub fn gate(value: f64) -> String {
    if value.is_finite() && value.fract() == 0.0 && value.abs() < 1e9 {
        return thousands(value);
    }
    if value.is_finite() && (1e-2..1e6).contains(&value.abs()) {
        let text = format!("{value:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    if value.is_nan() {
        return "NaN".to_owned();
    }
    format!("{value:.1e}")
}

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
    fn numbers_read_well_at_every_size() {
        let counts: Vec<String> =
            [165210.4, 1234567.0, 42.0, 0.0042, 0.0, 1e-7, f64::NAN, -5432.1].map(count).to_vec();
        assert_eq!(counts, ["165,210", "1,234,567", "42.00", "0.0042", "0", "1.00e-7", "NaN", "-5,432"]);
        let shorts: Vec<String> = [165210.4, 42000.0, 999.0, 1.5, 0.25, 2.5e9, 999_960.0].map(short).to_vec();
        assert_eq!(shorts, ["165.2k", "42k", "999", "1.5", "0.250", "2.5G", "1M"]);
        let near = [1650.3, 1550.0, 999.7, 9999.4, 9999.6, -1234.0, 1.55e6, 1.55, 9.996, 99.96].map(short);
        let wanted = ["1,650", "1,550", "1,000", "9,999", "10k", "-1,234", "1.55M", "1.55", "10", "100"];
        assert_eq!(near, wanted, "two that differ by a tenth read as two");
        let gates: Vec<String> = [0.0, 2.1e-6, 1024.0, 0.125, f64::NAN].map(gate).to_vec();
        assert_eq!(gates, ["0", "2.1e-6", "1,024", "0.125", "NaN"]);
    }

    #[test]
    fn times_read_well_at_every_size() {
        assert_eq!(seconds(0.381), "0.38 s");
        assert_eq!(seconds(185.0), "3 min 05 s");
        assert_eq!(elapsed(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(percent(0.031), "+3.1 %");
        assert_eq!(unit(&Objective::Throughput), "sps");
    }
}
