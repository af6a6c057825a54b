//! How near a profiled launch, and the run of its bytes, come to what the workload costs at least.

use super::facts::{bytes, operations};
use lab_protocol::profile::{LeastWork, Profile};
use lab_text::figures::figure;

/// One line for each thing that is known: what a launch must do, what DRAM moved, and the time of
/// the run against the floor.
pub fn lines(profile: &Profile) -> Vec<String> {
    let Some(least) = &profile.least else {
        return Vec::new();
    };
    let mut all = vec![demand(least)];
    all.extend(moved(profile, least));
    all.extend(time(profile, least));
    all
}

/// Bytes that DRAM moved for each byte that the workload must move. `None` without counters.
pub fn moved_of_least(profile: &Profile) -> Option<f64> {
    let least = profile.least.as_ref()?;
    let needed = least.read_bytes + least.written_bytes;
    let moved = profile.value("dram__bytes_read.sum")? + profile.value("dram__bytes_write.sum")?;
    (needed > 0.0).then(|| moved / needed)
}

fn demand(least: &LeastWork) -> String {
    let LeastWork {
        read_bytes,
        written_bytes,
        ..
    } = least;
    let mut parts = Vec::new();
    if *read_bytes > 0.0 {
        parts.push(format!("read {}", bytes(*read_bytes)));
    }
    if *written_bytes > 0.0 {
        parts.push(format!("write {}", bytes(*written_bytes)));
    }
    parts.extend(
        least
            .flops
            .map(|flops| format!("compute {}", operations(flops))),
    );
    let needed = read_bytes + written_bytes;
    let intensity = least
        .flops
        .filter(|_| needed > 0.0)
        .map(|flops| flops / needed);
    let intensity = intensity
        .map(|each| format!(" ({} FLOP a byte)", figure(each)))
        .unwrap_or_default();
    format!("a launch must {}{intensity}", parts.join(", "))
}

fn moved(profile: &Profile, least: &LeastWork) -> Option<String> {
    let ratio = moved_of_least(profile)?;
    let moved = bytes(ratio * (least.read_bytes + least.written_bytes));
    let note = if ratio < 0.995 {
        ": what was written may still be in the L2 cache at the end"
    } else {
        ""
    };
    Some(format!(
        "DRAM moved {moved}, {ratio:.2}× the least bytes{note}"
    ))
}

fn time(profile: &Profile, least: &LeastWork) -> Option<String> {
    let us = |us: f64| format!("{} µs", figure(us));
    let Some(floor) = least.floor_us.filter(|floor| *floor > 0.0) else {
        // The cpu device has no floor, and its image no architecture: its times say nothing.
        let text = match least.estimate_us {
            Some(_) => "no floor: arithmetic limits it, and the roofline has its peak",
            None => "no floor: the device was not probed yet (`lab probe` does)",
        };
        let run = least
            .run_us
            .map(|run| format!("the run took {} a launch; ", us(run)))
            .unwrap_or_default();
        return (!profile.arch.is_empty()).then(|| format!("{run}{text}"));
    };
    let estimate = least
        .estimate_us
        .map(|of| format!("; the estimate is {}", us(of)))
        .unwrap_or_default();
    Some(match least.run_us {
        Some(run) => format!(
            "the run took {} a launch, {:.2}× the floor of {}{estimate}",
            us(run),
            run / floor,
            us(floor)
        ),
        None => format!("no launch takes less than {}{estimate}", us(floor)),
    })
}
