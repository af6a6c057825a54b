//! The reader reads what the writer writes, and takes nothing else for a result.

use super::*;
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
    let log =
        "stage: build\nhello: World\n| correctness: pass\nkernel.cu(3): error: x\nstage: verify\n";
    let report = Report::read(log);
    assert_eq!(report.stage(), Some(Stage::Verify));
    assert_eq!(report.value("hello"), Some("World"));
    assert_eq!(report.correctness(), None);
}

#[test]
fn nan_fails_a_gate_and_so_does_a_word() {
    let report =
        Report::read("a_diff: nan limit=1\nb_diff: what limit=1\nc_diff: 1e-3 limit=1e-3\n");
    let passes: Vec<bool> = report.gates().iter().map(Gate::passes).collect();
    assert_eq!(passes, [false, false, true]);
}

#[test]
fn a_measure_carries_its_interval() {
    let report = Report::read("throughput_sps: 42013.5 low=41890 high=42102\n");
    let measure = report.measure("throughput_sps");
    assert_eq!(
        measure,
        Some(Measure {
            value: 42013.5,
            low: Some(41890.0),
            high: Some(42102.0)
        })
    );
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

/// A block in which the candidate takes `slower` times as long, with some noise.
fn block(at: usize, slower: f64) -> String {
    let noise = |turn: usize| 1.0 + 1e-3 * ((7 * at + 3 * turn) % 5) as f64;
    let b = 0.01 * slower;
    format!(
        "{:.6} {:.6} {:.6} {:.6}",
        0.01 * noise(0),
        b * noise(1),
        b * noise(2),
        0.01 * noise(3)
    )
}

#[test]
fn turns_decide_where_a_harness_prints_its_own_words_too() {
    let mut log = "speed_ratio: 1.5 low=1.4 high=1.6 quads=9\nspeed: faster\n".to_owned();
    log += &(0..8)
        .map(|at| format!("turns: {}\n", block(at, 1.02)))
        .collect::<String>();
    let mut report = Report::read(&log);
    assert_eq!(
        report.comparison().expect("words").speed,
        Some(Speed::Faster)
    );
    report.judge_turns(0.005);
    let comparison = report.comparison().expect("turns");
    assert_eq!(
        (comparison.speed, report.doubt()),
        (Some(Speed::Slower), None)
    );
    assert!(
        (comparison.ratio.value - 1.0 / 1.02).abs() < 1e-3,
        "{comparison:?}"
    );
    assert_eq!(
        report.value("speed_ratio").map(|v| attribute(v, "quads")),
        Some(Some("8"))
    );
    assert_eq!(report.series("turns").map(|turns| turns.len()), Some(32));
    assert_eq!(report.value("turns"), None, "the lines are no entry");
}

#[test]
fn few_turns_are_undecided_and_say_what_is_missing() {
    let mut report = Report::read(&format!(
        "turns: {}\nturns: {}\n",
        block(0, 1.02),
        block(1, 1.02)
    ));
    report.judge_turns(0.005);
    assert_eq!(
        report.comparison().expect("two blocks").speed,
        Some(Speed::Undecided)
    );
    let missing =
        "speed undecided: only 2 ABBA blocks, and a verdict needs 3; time more ABBA blocks";
    assert_eq!(report.doubt(), Some(missing));
    let ratio = report.comparison().expect("two blocks").ratio;
    assert_eq!((ratio.low, ratio.high), (None, None), "no interval yet");
    report.push_line("turns: none");
    report.judge_turns(0.005);
    assert!(report.turns().is_empty() && report.comparison().is_none() && report.doubt().is_none());
}

#[test]
fn several_blocks_may_stand_on_a_line_and_trials_are_kept_apart() {
    let together = Report::read(&format!("turns: {} {}\n", block(0, 1.0), block(1, 1.0)));
    let apart = Report::read(&format!(
        "turns: {}\nturns: {}\n",
        block(0, 1.0),
        block(1, 1.0)
    ));
    assert_eq!(together.turns(), apart.turns());
    let of_trials = |trials: [&str; 3]| {
        let lines = [(0, 1.01), (1, 1.02), (2, 1.03)].map(|(at, slower)| {
            format!(
                "turns: {} {} {}\n",
                block(at, slower),
                block(at, slower),
                trials[at]
            )
        });
        Report::read(&lines.concat())
            .turns()
            .ratio()
            .expect("blocks")
    };
    let (one, three) = (
        of_trials(["", "", ""]),
        of_trials(["trial=1", "trial=2", "trial=3"]),
    );
    assert_eq!(one.blocks, three.blocks);
    assert!(
        three.log.half_width > 1.5 * one.log.half_width,
        "{one:?} {three:?}"
    );
}

#[test]
fn each_kind_of_turns_line_that_cannot_be_read_is_told_beside_what_is_missing() {
    let mut report = Report::read("turns: 1 2 3\nturns: 1 -2 2 1\nturns: 1 2 3\nturns: 1 2 2 1\n");
    report.judge_turns(0.005);
    let why = "3 turns: lines cannot be read: 3 times are no whole ABBA blocks of four; '-2' is no time in seconds; \
               speed undecided: only 1 ABBA block, and a verdict needs 3; time more ABBA blocks";
    assert_eq!(report.doubt(), Some(why));
    assert_eq!(report.value("speed_ratio"), Some("0.5000 quads=1"));
}

#[test]
fn a_turns_line_that_cannot_be_read_adds_nothing_and_is_told() {
    for (line, why) in [
        (
            "1 2 3",
            "a turns: line cannot be read: 3 times are no whole ABBA blocks of four",
        ),
        (
            "1 2 3 4 5",
            "a turns: line cannot be read: 5 times are no whole ABBA blocks of four",
        ),
        (
            "1 2 0 4",
            "a turns: line cannot be read: '0' is no time in seconds",
        ),
        (
            "1 2 nan 4",
            "a turns: line cannot be read: 'nan' is no time in seconds",
        ),
        (
            "1 2 -3 4",
            "a turns: line cannot be read: '-3' is no time in seconds",
        ),
        (
            "trial=1",
            "a turns: line cannot be read: 0 times are no whole ABBA blocks of four",
        ),
    ] {
        let mut report = Report::read(&format!("turns: {line}\n"));
        report.judge_turns(0.005);
        assert!(report.turns().is_empty(), "{line}");
        assert_eq!(report.doubt(), Some(why), "{line}");
        assert_eq!(report.comparison(), None, "{line}");
    }
}

proptest! {
    /// Whatever a harness prints: blocks are whole, their times positive, and the interval holds
    /// its ratio.
    #[test]
    fn any_turns_line_is_read_or_refused(values in prop::collection::vec("[0-9.e+-]{0,6}|nan|inf|none|trial=[0-9]|\\PC{0,5}", 0..20)) {
        let mut report = Report::default();
        for line in values.chunks(5) {
            report.push_line(&format!("turns: {}", line.join(" ")));
        }
        report.judge_turns(0.005);
        let positive = |t: &f64| t.is_finite() && *t > 0.0;
        prop_assert!(report.turns().blocks().all(|b| b.a.iter().chain(&b.b).all(positive)));
        prop_assert_eq!(report.comparison().is_some(), !report.turns().is_empty());
    }

    /// What was printed is what is read, up to the digits that were printed.
    #[test]
    fn printed_turns_are_read(times in prop::collection::vec(1e-9f64..1e3, 1..40)) {
        let whole = times.len() / 4 * 4;
        let log: String = times[..whole].chunks(4).map(|four| {
            let words: Vec<String> = four.iter().map(f64::to_string).collect();
            format!("turns: {}\n", words.join(" "))
        }).collect();
        let report = Report::read(&log);
        let read: Vec<f64> = report.turns().blocks().flat_map(|b| [b.a[0], b.b[0], b.b[1], b.a[1]]).collect();
        prop_assert_eq!(read, &times[..whole]);
    }

    /// No number of lines fills the memory.
    #[test]
    fn blocks_beyond_the_limit_are_not_kept(more in 0usize..40) {
        let line = format!("turns: {}", "1 1 1 1 ".repeat(100));
        let mut report = Report::default();
        (0..TURN_BLOCKS / 100 + more).for_each(|_| { report.push_line(&line); });
        prop_assert!(report.turns().len() <= TURN_BLOCKS);
    }

    #[test]
    fn what_is_written_is_read(
        key in "[a-z][a-z0-9_]{0,20}",
        value in "[ -~]{1,40}",
    ) {
        let value = value.trim();
        prop_assume!(!["caveat", "workload", "turns"].contains(&key.as_str()) && !value.is_empty());
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
    fn any_text_or_kernel_output_is_no_result(lines in prop::collection::vec("[a-z:_ \r|]{0,12}|correctness: pass|\\PC{0,20}", 0..8)) {
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
    fn any_log_holds_only_what_a_terminal_shows(
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
