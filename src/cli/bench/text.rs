//! What `lab bench` prints for people.

use crate::cli::peer_lines;
use lab_core::bench::export::{us, with_ends};
use lab_core::bench::summary::numbers;
use lab_core::bench::{BenchRun, BenchState, BenchStore, Ended, Summary};
use lab_core::project::Project;
use lab_core::run::verdict::Outcome;

/// Most workloads that are listed; all of them are in an export.
const LISTED: usize = 12;

/// `run 2 of 6: mean 13.615 µs, passed 54/54, 41.2 s`.
pub fn run_line(run: &BenchRun, wanted: u32) -> String {
    let result = match run.mean_us() {
        Some(mean) => format!("mean {} µs", us(mean)),
        None => format!("{}: {}", word(run), run.why),
    };
    let passed = if run.workloads.is_empty() {
        String::new()
    } else {
        format!(" {},", run.passed_text())
    };
    format!(
        "run {} of {wanted}: {result},{passed} {:.1} s",
        run.run, run.seconds
    )
}

fn word(run: &BenchRun) -> &'static str {
    if run.build_failed {
        "BUILD ERROR"
    } else {
        run.outcome.word()
    }
}

/// The whole bench.
pub fn lines(project: &Project, state: &BenchState) -> Vec<String> {
    let bench = &state.bench;
    let summary = Summary::of(bench);
    let mut lines = vec![head(state, &summary)];
    if let Some(mean) = &summary.mean {
        let (runs, workloads) = (summary.passed_runs, summary.workloads.len());
        lines.push(format!(
            "  mean {} over {}: arithmetic mean of {}",
            with_ends(mean),
            counted(runs, "run"),
            counted(workloads, "workload")
        ));
        if runs > 1 {
            let spread = mean.spread_pct();
            lines.push(format!(
                "  spread: the slowest run took {spread:.1} % longer than the fastest"
            ));
        }
    }
    if let Some([fast, slow]) = &summary.groups {
        let group = |group: &lab_core::bench::summary::Group| {
            format!(
                "runs {} at {} … {} µs",
                numbers(&group.runs),
                us(group.low),
                us(group.high)
            )
        };
        lines.push(format!(
            "  the runs fall into two groups: {}; {}",
            group(fast),
            group(slow)
        ));
    }
    if summary.workloads.len() > 1 {
        if let Some(mean) = &summary.geometric {
            lines.push(format!("  geometric mean {}", with_ends(mean)));
        }
        if let Some((name, time)) = &summary.worst {
            lines.push(format!("  slowest workload {name}: {}", with_ends(time)));
        }
        lines.extend(workload_lines(&summary));
    }
    if let Some(run) = bench.failed_run() {
        lines.push(format!("  run {} did not pass: {}", run.run, run.why));
        let failed = run.failed();
        if !failed.is_empty() {
            let more = if failed.len() > LISTED {
                format!(", and {} more", failed.len() - LISTED)
            } else {
                String::new()
            };
            let shown = failed.iter().take(LISTED).cloned().collect::<Vec<_>>();
            lines.push(format!("  not passed: {}{more}", shown.join(", ")));
        }
        let log = BenchStore::new(&project.lab_dir).log(bench.start.bench, run.run);
        lines.push(format!("  its log is {}", log.display()));
    }
    if let Some(of) = &bench.peers {
        lines.extend(peer_lines::lines(&of.peers));
        lines.extend(
            of.failure
                .iter()
                .map(|why| format!("  not compared with the peers: {why}")),
        );
    }
    lines.extend(
        summary
            .caveats
            .iter()
            .map(|caveat| format!("  caveat: {caveat}")),
    );
    lines.extend(what_to_do(project, state));
    lines
}

fn head(state: &BenchState, summary: &Summary) -> String {
    let (bench, start) = (&state.bench, &state.bench.start);
    let device = bench
        .runs
        .first()
        .and_then(|run| run.device.name.as_deref());
    let (sign, word) = match bench.failed_run() {
        Some(run) if run.build_failed => (Outcome::Fail.sign(), word(run)),
        Some(run) => (run.outcome.sign(), word(run)),
        None if summary.passed_runs == 0 => (Outcome::NotJudged.sign(), Outcome::NotJudged.word()),
        None => (Outcome::Pass.sign(), Outcome::Pass.word()),
    };
    let mut text = format!("{sign} {word}  bench {} of {}", start.bench, start.kernel);
    if !summary.workloads.is_empty() {
        text += &format!("  {}", summary.passed_text());
    }
    text += &format!(
        " in {} of {}",
        bench.runs.len(),
        counted(state.wanted as usize, "run")
    );
    device.map_or(text.clone(), |device| format!("{text}  {device}"))
}

/// The times of the workloads, in the order of the problem. Of many, the first ones.
fn workload_lines(summary: &Summary) -> Vec<String> {
    let timed: Vec<_> = summary
        .workloads
        .iter()
        .filter_map(|w| Some((&w.name, w.us?)))
        .collect();
    let widest = timed
        .iter()
        .take(LISTED)
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let line = |(name, time): &(&String, _)| format!("    {name:widest$}  {}", with_ends(time));
    let mut lines: Vec<String> = timed.iter().take(LISTED).map(line).collect();
    if timed.len() > LISTED {
        lines.push(format!(
            "    … {} more: --export md lists all",
            timed.len() - LISTED
        ));
    }
    lines
}

fn what_to_do(project: &Project, state: &BenchState) -> Vec<String> {
    let (number, this) = (state.bench.start.bench, &project.argument);
    let done = format!(
        "{} of {} runs are recorded",
        state.bench.runs.len(),
        state.wanted
    );
    match &state.ended {
        Some(Ended::Interrupted) => {
            vec![format!(
                "  interrupted: {done}; `lab bench{this} --resume` goes on"
            )]
        }
        Some(Ended::NotJudged(why)) => {
            vec![
                format!("  not judged: {why}"),
                format!("  {done}; `lab bench{this} --resume` goes on"),
            ]
        }
        None if BenchStore::new(&project.lab_dir).is_in_progress(number) => {
            vec![format!("  {done}; it goes on in another process")]
        }
        None if !state.is_complete() && state.bench.failed_run().is_none() => {
            vec![format!(
                "  {done}; `lab bench{this} --resume` goes on, if the bytes are still the same"
            )]
        }
        _ => vec![format!(
            "  `lab bench{this} --show {number} --export md` (or csv, json, bmf) writes all times"
        )],
    }
}

/// `1 run`, `6 runs`.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}
