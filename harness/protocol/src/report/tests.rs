//! The reader reads what the writer writes, and takes nothing else for a result.

use super::*;
use crate::testing::Log;
use crate::text::is_visible;
use proptest::prelude::*;
use std::io;

/// The log that `write` writes.
fn printed(write: impl FnOnce(&mut Writer) -> io::Result<()>) -> String {
    let log = Log::default();
    write(&mut log.writer()).expect("memory takes everything");
    log.text()
}

#[test]
fn the_last_line_of_a_key_counts_and_text_is_left_alone() {
    let log = "stage: build\nhello: World\n| correctness: pass\nkernel.cu(3): error: x\nstage: verify\n";
    let report = Report::read(log);
    assert_eq!(report.stage(), Some(Stage::Verify));
    assert_eq!(report.value("hello"), Some("World"));
    assert_eq!(report.correctness(), None);
}

#[test]
fn nan_fails_a_gate_and_so_does_a_word() {
    let report = Report::read("a_diff: nan limit=1\nb_diff: what limit=1\nc_diff: 1e-3 limit=1e-3\n");
    let passes: Vec<bool> = report.gates().iter().map(Gate::passes).collect();
    assert_eq!(passes, [false, false, true]);
}

#[test]
fn a_measure_carries_its_interval() {
    let report = Report::read("throughput_sps: 42013.5 low=41890 high=42102\n");
    let measure = report.measure("throughput_sps");
    assert_eq!(measure, Some(Measure { value: 42013.5, low: Some(41890.0), high: Some(42102.0) }));
}

#[test]
fn a_peak_survives_the_thinning_of_a_long_series() {
    let mut points = vec![0.0; 4096];
    points[3000] = 7.0;
    let report = Report::read(&printed(|out| out.series("teacher", &points)));
    let series = report.series("teacher").expect("it was written");
    assert_eq!(series.len(), SERIES_POINTS);
    assert_eq!(series[3000 / 8], 7.0);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        key in "[a-z][a-z0-9_]{0,20}",
        value in "[ -~]{1,40}",
    ) {
        let value = value.trim();
        prop_assume!(!["caveat", "workload"].contains(&key.as_str()) && !value.is_empty());
        let report = Report::read(&printed(|out| out.line(&key, value)));
        prop_assert_eq!(report.value(&key), Some(value));
    }

    #[test]
    fn a_gate_says_the_same_on_both_sides(value in any::<f64>(), limit in any::<f64>()) {
        let report = Report::read(&printed(|out| out.gate("y_diff", value, limit)));
        let gate = &report.gates()[0];
        prop_assert_eq!(gate.passes(), value <= limit);
        prop_assert!(gate.value == value || value.is_nan() && gate.value.is_nan());
    }

    #[test]
    fn text_and_kernel_output_are_never_results(lines in prop::collection::vec("[a-z:_ \r|]{0,12}|correctness: pass|\\PC{0,20}", 0..8)) {
        let text = lines.join("\n");
        let log = printed(|out| {
            out.text(&text)?;
            lines.iter().try_for_each(|line| out.kernel_output(line.replace('\r', " ").as_bytes()))
        });
        prop_assert_eq!(Report::read(&log).entries().count(), 0);
        // Nor if a reader takes a carriage return for the end of a line.
        prop_assert_eq!(Report::read(&log.replace('\r', "\n")).entries().count(), 0);
    }

    #[test]
    fn a_log_holds_only_what_a_terminal_shows(
        key in "\\PC{0,10}|\\x1b\\[2J",
        text in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let log = printed(|out| {
            out.line(&key, &text)?;
            out.caveat(&text)?;
            out.gate_at("y_error", 1.0, 2.0, Some(&text))?;
            out.text(&text)?;
            out.kernel_output(&bytes)?;
            out.text(&String::from_utf8_lossy(&bytes))
        });
        prop_assert!(log.chars().all(|c| matches!(c, '\t' | '\n') || is_visible(c)), "{log:?}");
        // Each text takes as many lines as it has, and each value one.
        let lines = |text: &str| text.lines().count();
        prop_assert_eq!(lines(&log), 4 + lines(&text) + lines(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn any_log_is_read(log in "(\\PC|\n|\r|: |limit=|stage|_series|progress|[0-9/,.e-]){0,200}") {
        let report = Report::read(&log);
        let _ = (report.stage(), report.progress(), report.gates(), report.workloads(), report.correctness());
        let keys: Vec<String> = report.entries().map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            let _ = (report.measure(&key), report.series(key.trim_end_matches("_series")));
        }
    }
}
