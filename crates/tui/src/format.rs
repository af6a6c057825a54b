//! The text of numbers, durations, sizes and times. Each is rounded before its form is chosen:
//! 119.97 s reads as 2 minutes, not as 120.0 s.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lab_text::figures;
use std::time::Duration;

pub use lab_text::figures::{count, counted, distinct, gate, short};

/// A ratio less 1 as a signed percentage, or as a factor where it is large. A change never reads as
/// none.
///
/// ```
/// assert_eq!([0.031, 0.0004, 458.1].map(lab_tui::format::percent), ["+3.1 %", "+0.04 %", "×459.1"]);
/// ```
pub fn percent(ratio: f64) -> String {
    figures::change(ratio, None)
}

/// A time in microseconds: `6.05 µs`.
pub fn us(time: f64) -> String {
    format!("{} µs", count(time))
}

/// A measure with the ends of its interval, where it has one: its value, and `(low … high)`.
pub fn measure(value: f64, ends: Option<(f64, f64)>) -> (String, Option<String>) {
    match ends {
        Some((low, high)) => {
            let [value, low, high] = distinct([value, low, high], count);
            (value, Some(format!("({low} … {high})")))
        }
        None => (count(value), None),
    }
}

/// A duration in seconds: with 2 decimals below 10 s, with 1 decimal below 2 minutes, else in
/// minutes and seconds. `?` for a number that is not a duration.
///
/// ```
/// use lab_tui::format::seconds;
/// assert_eq!([0.381, 12.44, 185.0].map(seconds), ["0.38 s", "12.4 s", "3 min 05 s"]);
/// ```
pub fn seconds(time: f64) -> String {
    match time {
        t if !t.is_finite() || t < 0.0 => "?".to_owned(),
        t if t < 9.995 => format!("{t:.2} s"),
        t => tenths(t),
    }
}

/// So long a clock shows tenths of a second.
pub const IN_TENTHS: Duration = Duration::from_secs(10);

/// The time since a start, for a clock: in tenths of a second at first, then in seconds, from 2
/// minutes on in minutes and seconds.
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        _ if time < IN_TENTHS => tenths(time.as_secs_f64()),
        ..120 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

fn tenths(time: f64) -> String {
    if time < 119.95 {
        return format!("{time:.1} s");
    }
    // A minute and its seconds are rounded together.
    let whole = time.round() as u64;
    format!("{} min {:02} s", whole / 60, whole % 60)
}

/// A number of bytes with a binary unit.
///
/// ```
/// use lab_tui::format::bytes;
/// assert_eq!([512.0, 1536.0, 1048570.0].map(bytes), ["512 B", "1.5 KiB", "1.0 MiB"]);
/// ```
pub fn bytes(value: f64) -> String {
    if value < 1023.5 {
        return format!("{value:.0} B");
    }
    let (mut value, mut unit) = (value / 1024.0, "KiB");
    for larger in ["MiB", "GiB"] {
        // From here on it would read as 1024.0.
        if value < 1023.95 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    format!("{value:.1} {unit}")
}

/// The time of day in the user's time zone: `14:03:22`.
pub fn clock(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// Date and time in the user's time zone: `2026-05-01 14:03`.
pub fn date(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well_at_every_size() {
        assert_eq!(seconds(0.381), "0.38 s");
        assert_eq!(seconds(185.0), "3 min 05 s");
        // Rounded first, so that no form is left whose number reads as the next one's.
        assert_eq!(
            [9.996, 119.94, 119.96, 179.6].map(seconds),
            ["10.0 s", "119.9 s", "2 min 00 s", "3 min 00 s"]
        );
        assert_eq!(
            [1023.6, 1024.0 * 1023.96, 5e12].map(bytes),
            ["1.0 KiB", "1.0 MiB", "4656.6 GiB"]
        );
        assert_eq!([f64::NAN, -1.0].map(seconds), ["?", "?"]);
        assert_eq!(
            [9_940, 12_940, 119_999, 125_400].map(|ms| elapsed(Duration::from_millis(ms))),
            ["9.9 s", "12 s", "119 s", "2 min 05 s"]
        );
        assert_eq!(percent(0.031), "+3.1 %");
    }
}
