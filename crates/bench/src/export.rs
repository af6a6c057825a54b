//! A bench as CSV, as Markdown, and in Bencher's format.

use crate::record::{Bench, BenchRun, WorkloadOutcome};
use crate::summary::{Summary, TimeOverRuns, WorkloadSummary};
use itertools::Itertools;
use lab_protocol::text::escape_invisible;
use lab_run::peers::MeasuredPeer;
use serde_json::{Map, Value, json};

/// One line for each workload and run:
/// `bench,kernel,device,run,workload,outcome,kernel_us,trials_us,whose`. The trials' times are
/// separated by blanks. `whose` is `own`, or `foreign` for a bench that this user's lab did not write.
pub fn csv(bench: &Bench) -> String {
    let mut text =
        "bench,kernel,device,run,workload,outcome,kernel_us,trials_us,whose\n".to_owned();
    let whose = if bench.is_own() { "own" } else { "foreign" };
    for run in &bench.runs {
        for workload in &run.workloads {
            let trials = workload.trials_us.iter().join(" ");
            let cells = [
                bench.start.bench.to_string(),
                bench.start.kernel.clone(),
                run.device.name.clone().unwrap_or_default(),
                run.run.to_string(),
                workload.name.clone(),
                workload.outcome.word().to_owned(),
                workload.us.map(|us| us.to_string()).unwrap_or_default(),
                trials,
                whose.to_owned(),
            ];
            text += &cells.map(|cell| csv_cell(&cell)).join(",");
            text.push('\n');
        }
    }
    text
}

/// A cell of a CSV file (RFC 4180). A cell that a spreadsheet would take for a formula gets an
/// apostrophe before it.
fn csv_cell(text: &str) -> String {
    let clean = escape_invisible(text);
    let guarded = match clean.starts_with(['=', '+', '-', '@']) {
        true => format!("'{clean}"),
        false => clean.into_owned(),
    };
    let needs_quotes = guarded.contains([',', '"', '\n', '\r']);
    if needs_quotes {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

/// A table of the runs and one of the workloads.
pub fn markdown(bench: &Bench) -> String {
    let (start, summary) = (&bench.start, Summary::of(bench));
    let mut text = format!("# Bench {} of {}\n\n", start.bench, plain(&start.kernel));
    let mut item = |what: &str| text += &format!("- {what}\n");
    item(&format!(
        "device: {}",
        plain(bench.device_name().unwrap_or("no device"))
    ));
    item(&format!("discipline: {}", plain(&bench.measures(""))));
    let (blob, fingerprint) = (&start.blob, start.fingerprint.short());
    item(&format!("bytes: `{blob}`, fingerprint `{fingerprint}`"));
    let passed = summary.passed_text();
    item(&format!(
        "{passed}, {} of {} runs",
        summary.passed_runs, start.runs
    ));
    let named = [
        ("mean", summary.mean.map(|time| time.to_string())),
        (
            "geometric mean",
            summary.geometric.map(|time| time.to_string()),
        ),
        ("two groups of runs", summary.groups_text("to")),
    ];
    for (name, value) in named {
        value
            .iter()
            .for_each(|value| item(&format!("{name}: {value}")));
    }
    let peers = bench.peers.iter().flat_map(|of| &of.peers);
    peers.for_each(|peer| item(&peer_item(peer)));
    let caveats = summary.caveats.iter();
    caveats.for_each(|caveat| item(&format!("caveat: {}", plain(caveat))));
    text += "\n| run | mean, µs | passed | seconds |\n|---|---|---|---|\n";
    text.extend(bench.runs.iter().map(run_row));
    text += "\nThe bounds are those of the fastest and the slowest run.\n\n";
    text += "| workload | µs | fastest | slowest | spread | outcome |\n|---|---|---|---|---|---|\n";
    text.extend(summary.workloads.iter().map(workload_row));
    text
}

fn workload_row(workload: &WorkloadSummary) -> String {
    let figures = match workload.us {
        Some(TimeOverRuns {
            mean,
            low,
            high,
            spread_pct,
        }) => {
            format!("{mean:.3} | {low:.3} | {high:.3} | {spread_pct:.1} %")
        }
        None => ["–"; 4].join(" | "),
    };
    let (name, outcome) = (plain(&workload.name), workload.outcome.word());
    format!("| {name} | {figures} | {outcome} |\n")
}

/// `beside F.rms\_norm: 1.65× (1.63 … 1.67), torch=2.11.0`.
fn peer_item(measured: &MeasuredPeer) -> String {
    let peer = &measured.peer;
    let figure = match (&peer.ratio, &peer.failure) {
        (Some(ratio), _) => peer
            .part
            .map_or_else(|| ratio.to_string(), |part| format!("{ratio}, {part}")),
        (None, Some(why)) => format!("not compared, {}", plain(why)),
        (None, None) => "not compared".to_owned(),
    };
    let details = [&peer.versions, &peer.call]
        .into_iter()
        .filter(|text| !text.is_empty());
    let details: String = details.map(|text| format!(", {}", plain(text))).collect();
    format!("beside {}: {figure}{details}", plain(&peer.name))
}

fn run_row(run: &BenchRun) -> String {
    let mean = run
        .mean_us()
        .map_or_else(|| "–".to_owned(), |us| format!("{us:.3}"));
    format!(
        "| {} | {mean} | {}/{} | {:.1} |\n",
        run.run,
        run.passed(),
        run.workloads.len(),
        run.seconds
    )
}

/// Text in a cell of Markdown: nothing in it has a meaning of its own.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape_invisible(text).chars() {
        if matches!(
            c,
            '|' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '\\' | '#' | '&'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format/>): for each
/// workload, and for the mean of all, the measure `latency` in nanoseconds. The bounds are those of
/// the fastest and the slowest run. A workload that did not pass in every run is left out. The names
/// of a bench that this user's lab did not write begin with `foreign: `.
pub fn bmf(bench: &Bench) -> Value {
    let summary = Summary::of(bench);
    let metric = |time: &TimeOverRuns| {
        // Clocks tell no picosecond: the rest would be noise of the arithmetic.
        let ns = |us: f64| (us * 1e6).round() / 1e3;
        json!({ "latency": {
            "value": ns(time.mean), "lower_value": ns(time.low), "upper_value": ns(time.high)
        } })
    };
    let whose = if bench.is_own() { "" } else { "foreign: " };
    let kernel = format!("{whose}{}", bench.start.kernel);
    let mut metrics = Map::new();
    if let Some(mean) = &summary.mean {
        metrics.insert(format!("{kernel} mean"), metric(mean));
    }
    let timed = summary
        .workloads
        .iter()
        .filter(|w| w.outcome == WorkloadOutcome::Pass);
    for workload in timed {
        if let Some(time) = &workload.us {
            metrics.insert(format!("{kernel} {}", workload.name), metric(time));
        }
    }
    Value::Object(metrics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::WorkloadOutcome;
    use crate::summary::tests::bench;

    #[test]
    fn bmf_has_a_value_with_bounds_for_each_workload_and_for_the_mean() {
        let read = bmf(&bench(&[
            &[("batch=1", 7.0), ("batch=64", 31.0)],
            &[("batch=1", 9.0), ("batch=64", 33.0)],
        ]));
        let wanted = json!({
            "kernel.cu mean": { "latency": { "value": 20000.0, "lower_value": 19000.0, "upper_value": 21000.0 } },
            "kernel.cu batch=1": { "latency": { "value": 8000.0, "lower_value": 7000.0, "upper_value": 9000.0 } },
            "kernel.cu batch=64": { "latency": { "value": 32000.0, "lower_value": 31000.0, "upper_value": 33000.0 } },
        });
        assert_eq!(read, wanted);
    }

    #[test]
    fn a_workload_that_failed_in_one_run_is_no_metric() {
        let mut made = bench(&[
            &[("batch=1", 7.0), ("batch=4", 8.0)],
            &[("batch=1", 7.0), ("batch=4", 8.0)],
        ]);
        made.runs[1].workloads[1].outcome = WorkloadOutcome::Fail;
        let read = bmf(&made);
        assert!(
            read.get("kernel.cu batch=1").is_some() && read.get("kernel.cu batch=4").is_none(),
            "{read}"
        );
    }

    #[test]
    fn csv_has_a_line_for_each_workload_of_each_run() {
        let text = csv(&bench(&[&[("batch=1", 7.25)], &[("batch=1", 7.5)]]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "bench,kernel,device,run,workload,outcome,kernel_us,trials_us,whose"
        );
        assert_eq!(
            lines[1..],
            [
                "3,kernel.cu,NVIDIA H200,1,batch=1,pass,7.25,7.25,own",
                "3,kernel.cu,NVIDIA H200,2,batch=1,pass,7.5,7.5,own"
            ]
        );
    }

    #[test]
    fn names_from_outside_mean_nothing_in_a_table() {
        assert_eq!(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_cell("=1+1"), "'=1+1");
        assert_eq!(csv_cell("a\nb\u{1b}"), "a\\nb\\u{1b}");
        assert_eq!(plain("a|b<c>\u{202e}"), "a\\|b\\<c\\>\\\\u{202e}");
        let text = markdown(&bench(&[&[("n=1|2", 7.0)]]));
        assert!(
            text.contains("| n=1\\|2 | 7.000 | 7.000 | 7.000 | 0.0 % | pass |\n"),
            "{text}"
        );
    }

    #[test]
    fn an_emulated_device_made_one_launch_of_each_workload() {
        let mut emulated = bench(&[&[("b=1", 28_369.6)]]);
        emulated.runs[0].emulated = true;
        let text = markdown(&emulated);
        for line in [
            "- discipline: one timed launch: an emulated device has no times of a GPU",
            "- mean: 28,370 µs (28,370 … 28,370)",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn markdown_has_the_mean_of_each_run_and_what_they_say_together() {
        let text = markdown(&bench(&[
            &[("b=1", 7.0), ("b=2", 9.0)],
            &[("b=1", 8.0), ("b=2", 10.0)],
        ]));
        for line in [
            "# Bench 3 of kernel.cu",
            "- device: NVIDIA H200",
            "- discipline: 3 untimed and 100 timed launches, 5 trials",
            "- passed 2/2, 2 of 2 runs",
            "- mean: 8.500 µs (8.000 … 9.000)",
            "| 1 | 8.000 | 2/2 | 40.0 |",
            "| b=2 | 9.500 | 9.000 | 10.000 | 11.1 % | pass |",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
    }
}
