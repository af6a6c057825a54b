//! The rule for caveats, on samples as an H200 gives them and on possible faults of each.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn reading(clock: u32) -> Reading {
    Reading {
        sm_clock_mhz: Some(clock),
        memory_clock_mhz: Some(3201),
        temperature_c: Some(41),
        power_w: Some(320.4),
        ..Reading::default()
    }
}

/// One reading every 20 ms.
fn summary_of(readings: impl IntoIterator<Item = Reading>) -> TelemetrySummary {
    let samples = readings.into_iter().enumerate();
    let samples = samples.map(|(i, reading)| Sample {
        at: Duration::from_millis(20 * i as u64),
        reading,
    });
    TelemetrySummary::of(samples.collect(), Some(92)).unwrap()
}

fn clocks(clocks: &[u32]) -> TelemetrySummary {
    summary_of(clocks.iter().map(|clock| reading(*clock)))
}

#[track_caller]
fn caveated(summary: &TelemetrySummary, words: &str) {
    let caveats = summary.caveats();
    assert!(
        caveats.len() == 1 && caveats[0].contains(words),
        "{caveats:?}"
    );
}

#[test]
fn a_steady_device_is_recorded_without_a_caveat() {
    let summary = clocks(&[1980, 1980, 1965, 1980, 1980]);
    let lines: Vec<String> = summary
        .lines()
        .iter()
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    assert_eq!(
        lines,
        [
            "sm_clock_mhz: 1980 low=1965 high=1980",
            "memory_clock_mhz: 3201 low=3201 high=3201",
            "temperature_c: 41 low=41 high=41",
            "power_w: 320 low=320 high=320",
            "throttle: none",
            "foreign_processes: unknown",
        ]
    );
    assert_eq!(summary.caveats(), [""; 0]);
}

#[test]
fn the_way_up_from_idle_is_no_caveat() {
    assert_eq!(clocks(&[345, 1200, 1980, 1980, 1980]).caveats(), [""; 0]);
    assert_eq!(
        clocks(&[345, 1200, 1980, 1980, 1980]).sm_clock.unwrap().low,
        1980.0
    );
    let idle = Reading {
        idle: true,
        ..reading(345)
    };
    let summary = summary_of([
        idle.clone(),
        reading(1980),
        idle.clone(),
        reading(1980),
        idle,
    ]);
    assert_eq!(summary.caveats(), [""; 0]);
    assert_eq!(
        summary.sm_clock.unwrap().low,
        1980.0,
        "an idle device's clock says nothing of the kernel"
    );
}

#[test]
fn a_clock_that_falls_or_rises_later_is_a_caveat() {
    caveated(
        &clocks(&[1980, 1980, 1980, 1755, 1755]),
        "clock moved while this was measured: 1755 to 1980 MHz",
    );
    let mut late = vec![1755; 20];
    late.extend([1980; 20]);
    caveated(&clocks(&late), "1755 to 1980 MHz");
    let dip = [1980, 1980, 345, 1980, 1980];
    caveated(&clocks(&dip), "345 to 1980 MHz");
    let memory = summary_of([3201, 3201, 2619].map(|m| Reading {
        memory_clock_mhz: Some(m),
        ..reading(1980)
    }));
    caveated(&memory, "the device's memory clock moved");
}

#[test]
fn heat_and_power_are_named_and_fixed_clocks_are_not_a_fault() {
    let throttled = |throttle_reasons: &[ThrottleReason]| {
        summary_of([
            reading(1980),
            Reading {
                throttle_reasons: throttle_reasons.to_vec(),
                ..reading(1980)
            },
        ])
    };
    let fixed = throttled(&[ThrottleReason::ApplicationClocks]);
    assert_eq!(fixed.caveats(), [""; 0]);
    assert!(
        fixed
            .lines()
            .contains(&("throttle", "application_clocks".into()))
    );
    let power = throttled(&[ThrottleReason::SyncBoost, ThrottleReason::SwPowerCap]);
    caveated(
        &power,
        "it draws as much power as its limit allows (sw_power_cap)",
    );
    assert!(
        power
            .lines()
            .contains(&("throttle", "sw_power_cap,sync_boost".into()))
    );
    caveated(
        &throttled(&[ThrottleReason::HwThermalSlowdown]),
        "it is too hot (hw_thermal_slowdown)",
    );
    // Only a reason that was active while something ran counts.
    let idle = Reading {
        idle: true,
        throttle_reasons: vec![ThrottleReason::SwPowerCap],
        ..reading(345)
    };
    assert_eq!(summary_of([idle, reading(1980)]).caveats(), [""; 0]);
    caveated(
        &summary_of([Reading {
            temperature_c: Some(92),
            ..reading(1980)
        }]),
        "had 92 °C while this was measured, and slows itself down from 92 °C on",
    );
}

fn process(pid: u32, own: bool, busy: Option<u32>) -> Process {
    Process {
        pid,
        name: "train.py".into(),
        own,
        is_lab: own,
        busy,
        memory: None,
    }
}

fn shared(processes: &[Process]) -> TelemetrySummary {
    summary_of([
        Reading {
            processes: Some(processes.to_vec()),
            ..reading(1980)
        },
        reading(1980),
    ])
}

#[test]
fn another_process_counts_where_it_works() {
    let own = process(10, true, Some(90));
    let alone = shared(std::slice::from_ref(&own));
    assert!(
        alone.lines().contains(&("foreign_processes", "0".into())) && alone.caveats().is_empty()
    );
    // A desktop, or another lab on standby.
    let idle = shared(&[
        own.clone(),
        process(11, false, Some(0)),
        process(12, false, None),
    ]);
    assert!(idle.lines().contains(&("foreign_processes", "2".into())) && idle.caveats().is_empty());
    // A judge that gets ready used the device before, and is locked out meanwhile.
    let ready = Process {
        is_lab: true,
        ..process(13, false, Some(14))
    };
    assert!(shared(&[own.clone(), ready]).caveats().is_empty());
    let busy = shared(&[own, process(11, false, Some(35))]);
    caveated(
        &busy,
        "process 11 (train.py) used up to 35 % of the same device",
    );
}

#[test]
fn the_best_of_many_launches_is_slowed_by_what_lasts() {
    let throttled = |reason| {
        summary_of([Reading {
            throttle_reasons: vec![reason],
            ..reading(1980)
        }])
        .slowed()
    };
    assert_eq!(throttled(ThrottleReason::SwPowerCap), [""; 0]);
    assert_eq!(clocks(&[1980, 1980, 1755]).slowed(), [""; 0]);
    assert_eq!(throttled(ThrottleReason::HwSlowdown).len(), 1);
    assert_eq!(
        shared(&[process(10, true, None), process(11, false, Some(35))])
            .slowed()
            .len(),
        1
    );
}

#[test]
fn process_ids_of_another_namespace_are_not_reported() {
    let summary = shared(&[process(70_001, false, Some(90))]);
    assert_eq!(summary.foreign, None);
    assert!(
        summary
            .lines()
            .contains(&("foreign_processes", "unknown".into()))
            && summary.caveats().is_empty()
    );
}

#[test]
fn a_device_that_reports_nothing_gives_no_lines_and_a_caveat() {
    assert_eq!(TelemetrySummary::of(Vec::new(), None), None);
    let silent = summary_of([Reading::default(), Reading::default()]);
    assert_eq!(silent.lines(), Vec::new());
    caveated(&silent, "the device does not report its clock");
}

proptest! {
    /// Whatever the readings: median, lowest and highest value are readings, and the caveat follows
    /// from the line.
    #[test]
    fn the_caveat_follows_from_the_line(read in prop::collection::vec((300u32..2000, any::<bool>()), 1..60)) {
        let summary = summary_of(read.iter().map(|(clock, idle)| Reading { idle: *idle, ..reading(*clock) }));
        let ObservedRange { median, low, high } = summary.sm_clock.unwrap();
        prop_assert!(low <= median && median <= high);
        prop_assert!([low, median, high].iter().all(|c| read.iter().any(|(r, _)| f64::from(*r) == *c)));
        let moved = high - median > 0.02 * median || median - low > 0.02 * median;
        let moved = moved && read.iter().any(|(_, idle)| !idle);
        prop_assert_eq!(summary.caveats().iter().any(|c| c.contains("clock moved")), moved);
    }
}
