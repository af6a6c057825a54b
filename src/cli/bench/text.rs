//! What `lab bench` prints for people.

use crate::cli::peer_lines::{self, LISTED, listed};
use itertools::Itertools;
use lab_bench::comparison::{Comparison, SpeedOverRuns};
use lab_bench::{BenchRun, BenchState, BenchStore, Ended, Summary};
use lab_git::short;
use lab_project::Project;
use lab_protocol::report::is_emulated;
use lab_run::verdict::Outcome;
use lab_text::figures::counted;

/// `run 2 of 6: mean 13.615 µs, passed 54/54, 41.2 s`.
pub fn run_line(run: &BenchRun, wanted: u32) -> String {
    let result = match run.mean_us() {
        Some(mean) => format!("mean {} µs", lab_bench::us(mean)),
        None => format!("{}: {}", word(run), run.why),
    };
    let passed = match run.workloads.len() {
        0 => String::new(),
        all => format!(" passed {}/{all},", run.passed()),
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
    let mut line = |text: String| lines.push(format!("  {text}"));
    if let Some(mean) = &summary.mean {
        let (runs, workloads) = (summary.passed_runs, summary.workload_count);
        line(format!(
            "mean {mean} over {}: arithmetic mean of {}",
            counted(runs, "run"),
            counted(workloads, "workload")
        ));
        if runs > 1 {
            line(format!(
                "spread: the slowest run took {:.1} % longer than the fastest",
                mean.spread_pct
            ));
        }
    }
    if let Some(groups) = summary.groups_text("…") {
        line(format!("the runs fall into two groups: {groups}"));
    }
    if summary.workload_count > 1 {
        summary
            .geometric
            .iter()
            .for_each(|mean| line(format!("geometric mean {mean}")));
        let timed = summary
            .workloads
            .iter()
            .filter_map(|w| Some((&w.name, w.us?)));
        let timed: Vec<_> = timed.collect();
        let slowest = timed
            .iter()
            .find(|(name, _)| Some(*name) == summary.slowest.as_ref());
        slowest
            .iter()
            .for_each(|(name, time)| line(format!("slowest workload {name}: {time}")));
        let rows = timed
            .iter()
            .map(|(name, time)| [(*name).clone(), time.to_string()]);
        let rest = |more| format!("… {more} more: --export md lists all");
        listed(rows, rest).into_iter().for_each(&mut line);
    }
    if let Some(run) = bench.failed_run() {
        line(format!("run {} did not pass: {}", run.run, run.why));
        let failed = run.failed();
        if !failed.is_empty() {
            let shown = failed.iter().take(LISTED).join(", ");
            let more = match failed.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            line(format!("not passed: {shown}{more}"));
        }
        let log = BenchStore::of(project).log(bench.start.bench, run.run);
        line(format!("its log is {}", log.display()));
    }
    if let Some(of) = &bench.peers {
        let emulated = of.device.as_deref().is_some_and(is_emulated);
        peer_lines::lines(&of.peers, emulated)
            .into_iter()
            .for_each(|text| lines.push(text));
        let failure = of.failure.iter();
        lines.extend(failure.map(|why| format!("  not compared with the peers: {why}")));
    }
    let caveats = summary.caveats.iter();
    lines.extend(caveats.map(|caveat| format!("  caveat: {caveat}")));
    if let Some(Ended::NotJudged(why)) = &state.ended {
        lines.push(format!("  not judged: {why}"));
    }
    lines.push(format!("  {}", what_to_do(project, state)));
    lines
}

/// A bench beside another one.
pub fn beside(of: &Comparison) -> Vec<String> {
    let (bench, kernel) = (of.bench, short(&of.blob));
    let Some(mean) = of.mean.filter(|_| of.unlike.is_none()) else {
        let why = of.unlike.as_deref().unwrap_or_default();
        return vec![format!("  not compared with bench {bench}: {why}")];
    };
    let text = |speed: &SpeedOverRuns| {
        let SpeedOverRuns { ratio, low, high } = speed;
        let overlap = match speed.overlaps() {
            true => ", the runs overlap",
            false => "",
        };
        format!("{ratio:.3}× ({low:.3} … {high:.3}){overlap}")
    };
    let mut lines = vec![format!(
        "  {} beside bench {bench} of the kernel {kernel}, geometric mean over {}; not timed in turns, so clocks and other \
         work of those minutes are in it",
        text(&mean),
        counted(of.workloads.len(), "workload")
    )];
    let rows = of.workloads.iter();
    let rows = rows.map(|it| [it.name.clone(), text(&it.speed)]);
    let rest = |more| format!("… {more} more: --json lists all");
    let rows = listed(rows, rest).into_iter();
    lines.extend(rows.map(|row| format!("  {row}")));
    lines
}

fn head(state: &BenchState, summary: &Summary) -> String {
    let (bench, start) = (&state.bench, &state.bench.start);
    let (sign, word) = match bench.failed_run() {
        Some(run) if run.build_failed => (Outcome::Fail.sign(), word(run)),
        Some(run) => (run.outcome.sign(), word(run)),
        None if summary.passed_runs == 0 => (Outcome::NotJudged.sign(), Outcome::NotJudged.word()),
        None => (Outcome::Pass.sign(), Outcome::Pass.word()),
    };
    let passed = match summary.workload_count {
        0 => String::new(),
        _ => format!("  {}", summary.passed_text()),
    };
    let device = bench.device_name().map(|device| format!("  {device}"));
    format!(
        "{sign} {word}  bench {} of {}{passed} in {} of {}{}",
        start.bench,
        start.kernel,
        bench.runs.len(),
        counted(state.wanted as usize, "run"),
        device.unwrap_or_default()
    )
}

fn what_to_do(project: &Project, state: &BenchState) -> String {
    let (number, this) = (state.bench.start.bench, &project.argument);
    let done = format!(
        "{} of {} runs are recorded",
        state.bench.runs.len(),
        state.wanted
    );
    let goes_on = format!("{done}; `lab bench{this} --resume` goes on");
    match &state.ended {
        Some(Ended::Interrupted) => format!("interrupted: {goes_on}"),
        Some(Ended::NotJudged(_)) if state.bench.runs.is_empty() => {
            format!("nothing is recorded; `lab bench{this}` begins again")
        }
        Some(Ended::NotJudged(_)) => goes_on,
        None if BenchStore::of(project).is_in_progress(number) => {
            format!("{done}; it goes on in another process")
        }
        None if !state.is_complete() && state.bench.failed_run().is_none() => {
            format!("{goes_on}, if the bytes are still the same")
        }
        _ => format!(
            "`lab bench{this} --show {number} --export md` (or csv, json, bmf) writes all times"
        ),
    }
}
