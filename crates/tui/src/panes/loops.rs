//! The panes of the view Loop: what the loop of `lab auto` and its lanes do, the edit of its
//! command, the newest verdicts, and the command's output.

pub mod command;
pub mod edit;
pub mod lanes;
pub mod status;
pub mod verdicts;

use crate::text::printable;
use lab_text::figures::thousands;

/// Experiments an hour.
fn rate(hourly: f64) -> String {
    if hourly < 9.95 {
        format!("{hourly:.1}")
    } else {
        thousands(hourly)
    }
}

/// A duration in its two largest units: `34 s`, `2 min 05 s`, `2 h 10 min`.
fn time(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ if (seconds / 60).is_multiple_of(60) => format!("{} h", seconds / 3600),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// `: two fewer loads` behind a run; nothing without a description.
fn described(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!(": {}", printable(text)),
    }
}
