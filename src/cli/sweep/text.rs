//! What `lab sweep` prints for people.

use super::map;
use crate::cli::table::table;
use itertools::Itertools;
use lab_project::Project;
use lab_run::verdict::with_ends;
use lab_sweep::summary::{self, NO_BEST, PointCounts};
use lab_sweep::{
    Budget, Ended, FOREIGN, PointOutcome, Sweep, SweepJobs, SweepPoint, SweepStart, SweepStore,
};
use lab_text::age::in_words;
use lab_text::{figures, listed};
use std::time::{Duration, Instant};

/// Rows of the table.
const LISTED: usize = 10;

/// `sweep 2 of kernel.cu: 24 points of BLOCK, ROWS`, how far it is, and what the budget leaves.
pub fn begin_line(sweep: &Sweep, wanted: usize, budget: Budget) -> String {
    let SweepStart {
        sweep: id,
        kernel,
        parameters,
        points,
        ..
    } = &sweep.start;
    let names = parameters.iter().map(|it| &it.name).join(", ");
    let done = sweep.points.len();
    let goes_on = match done {
        0 => String::new(),
        done => format!(" goes on after {done}"),
    };
    let is_spent = match budget {
        Budget::All => false,
        Budget::Points(most) => done >= most,
        Budget::Time(most) => done > 0 && sweep.elapsed_s() >= most.as_secs_f64(),
    };
    let budget = match wanted < *points {
        _ if is_spent => "; these spent the budget, so nothing is to be measured".to_owned(),
        true if done > 0 => format!("; {} more are to be measured", wanted - done),
        true => format!("; {wanted} are to be measured"),
        false => String::new(),
    };
    format!(
        "sweep {id} of {kernel}{goes_on}: {} of {names}{budget}",
        figures::counted(*points, "point")
    )
}

/// What is said of the jobs of a sweep on a cluster, beside the line that shows how far they are.
#[derive(Default)]
pub struct JobsTold {
    /// The job that was told of last, and when.
    job: Option<(String, Instant)>,
    /// It was said that it waits.
    waits: bool,
    /// It was said that Slurm does not answer.
    silent: bool,
}

impl JobsTold {
    /// The id of a new job, that all tasks of a job still wait after `patience`, and that Slurm does
    /// not answer, or does again.
    pub fn news(&mut self, jobs: &SweepJobs, patience: Duration) -> Option<String> {
        let since = match &self.job {
            Some((job, since)) if *job == jobs.job => since.elapsed(),
            _ => {
                self.job = Some((jobs.job.clone(), Instant::now()));
                self.waits = false;
                return Some(jobs.in_words());
            }
        };
        let is_silent = jobs.unanswered.is_some();
        if is_silent != std::mem::replace(&mut self.silent, is_silent) {
            let words = jobs.in_words();
            return Some(match is_silent {
                true => format!("{words}: the tasks go on, and it is asked again"),
                false => format!("Slurm answers again: {words}"),
            });
        }
        let is_waiting = jobs.pending > 0 && jobs.running == 0;
        if !is_waiting || self.waits || since < patience {
            return None;
        }
        self.waits = true;
        let (words, job) = (jobs.in_words(), &jobs.job);
        Some(format!(
            "{words}: `squeue --jobs={job}` says what they wait for"
        ))
    }
}

/// `point 4 of 24: BLOCK=128 ROWS=2  about 2 min 10 s left`. It has only characters of one column.
pub fn progress_line(number: usize, wanted: usize, values: &str, left: Option<Duration>) -> String {
    let left = left.map_or_else(String::new, |left| {
        format!("  about {} left", in_words(left))
    });
    format!("point {number} of {wanted}: {values}{left}")
}

/// `point 3 of 24: BLOCK=128 ROWS=2: 165,210 (164,880 … 165,540) sps, faster +2.1 % (+1.9 … +2.4)`
pub fn point_line(start: &SweepStart, point: &SweepPoint, wanted: usize) -> String {
    let result = match (point.outcome, &point.why) {
        (PointOutcome::Pass, why) if why.is_empty() => figure(point),
        (PointOutcome::Slower, _) => format!("{}: {}", point.outcome.word(), figure(point)),
        (outcome, why) => format!("{}: {why}", outcome.word()),
    };
    let change = match change(point) {
        change if change.is_empty() => String::new(),
        change => format!(", {change}"),
    };
    format!(
        "point {} of {wanted}: {}: {result}{change}",
        point.number,
        start.in_words(point)
    )
}

fn figure(point: &SweepPoint) -> String {
    let Some(figure) = &point.figure else {
        return String::new();
    };
    format!(
        "{} {}",
        with_ends(&figure.measure, figures::count),
        figure.objective.unit()
    )
}

fn change(point: &SweepPoint) -> String {
    point
        .improvement()
        .map_or_else(String::new, |change| change.to_string())
}

/// `sweep 2 of kernel.cu: 24 of 24 points: 20 passed; 4 wrong  NVIDIA H200`
pub fn counts_line(sweep: &Sweep) -> String {
    let start = &sweep.start;
    let line = format!(
        "sweep {} of {}: {} of {} points: {}  {}",
        start.sweep,
        start.kernel,
        sweep.points.len(),
        start.points,
        PointCounts::of(&sweep.points).in_words(),
        sweep.devices()
    );
    let foreign = match sweep.is_own() {
        true => "",
        false => &format!("  {FOREIGN}"),
    };
    line.trim_end().to_owned() + foreign
}

/// The whole sweep, with a map over a `pair` of parameters.
pub fn lines(
    project: &Project,
    sweep: &Sweep,
    ended: Option<&Ended>,
    pair: Option<[usize; 2]>,
) -> Vec<String> {
    let start = &sweep.start;
    let mut lines = vec![counts_line(sweep)];
    let best = summary::ranked(&sweep.points);
    let row = |point: &&SweepPoint| {
        [
            point.number.to_string(),
            start.in_words(point),
            figure(point),
            change(point),
        ]
    };
    let head = ["point", "values", "figure", "beside the incumbent"].map(str::to_owned);
    let mut rows: Vec<[String; 4]> = vec![head];
    rows.extend(best.iter().take(LISTED).map(row));
    if rows.len() > 1 {
        if rows.iter().skip(1).all(|row| row[3].is_empty()) {
            rows[0][3].clear();
        }
        lines.extend(table(&rows).into_iter().map(|line| format!("  {line}")));
    }
    if best.len() > LISTED {
        lines.push(format!(
            "  … {} more passed: --json lists all",
            best.len() - LISTED
        ));
    }
    let parts = summary::importance(sweep).into_iter();
    let parts = parts.map(|part| format!("{} {:.0} %", part.name, 100.0 * part.explained));
    lines.extend(listed(parts).map(|parts| format!("  importance: {parts}")));
    lines.extend(pair.map(|pair| map::lines(sweep, pair)).unwrap_or_default());
    lines.extend(not_passed(project, sweep));
    lines.extend(damaged(project, sweep));
    if sweep.is_emulated() {
        lines.push("  the device is emulated: these times say nothing about a GPU".to_owned());
    }
    if let Some(Ended::NotJudged(why)) = ended {
        lines.push(format!("  not judged: {why}"));
    }
    lines.push(format!(
        "  {}",
        what_to_do(project, sweep, best.first().copied(), ended)
    ));
    lines
}

/// The first points that are of no use, each with its log.
fn not_passed(project: &Project, sweep: &Sweep) -> Vec<String> {
    let store = SweepStore::of(project);
    let bad = sweep
        .points
        .iter()
        .filter(|point| !point.outcome.is_correct());
    let line = |point: &SweepPoint| {
        let log = store.log(sweep.start.sweep, point.number);
        let log = if log.is_file() {
            format!(" ({})", log.display())
        } else {
            String::new()
        };
        format!(
            "  point {} {}: {}: {}{log}",
            point.number,
            sweep.start.in_words(point),
            point.outcome.word(),
            point.why
        )
    };
    let all: Vec<&SweepPoint> = bad.collect();
    let mut lines: Vec<String> = all.iter().take(3).map(|point| line(point)).collect();
    if all.len() > 3 {
        lines.push(format!(
            "  … {} more did not pass: --json lists all",
            all.len() - 3
        ));
    }
    lines
}

/// How many points are lost because their lines cannot be read.
fn damaged(project: &Project, sweep: &Sweep) -> Option<String> {
    let (store, id) = (SweepStore::of(project), sweep.start.sweep);
    // A process writes its last line now.
    let count = match store.is_in_progress(id) {
        true => 0,
        false => store.damaged_lines(id),
    };
    let file = store.lines_file(id);
    let lines = figures::counted(count, "line");
    let whose = "cannot be read: what such a line told is measured again";
    (count > 0).then(|| format!("  {lines} of {} {whose}", file.display()))
}

fn what_to_do(
    project: &Project,
    sweep: &Sweep,
    best: Option<&SweepPoint>,
    ended: Option<&Ended>,
) -> String {
    let this = &project.argument;
    let is_left = sweep.points.len() < sweep.start.points;
    let goes_on = format!("`lab sweep{this}{}` goes on", sweep.start.executor_option());
    match (ended, best) {
        (Some(Ended::Interrupted), _) => format!("interrupted: {goes_on}"),
        (Some(Ended::NotJudged(_)), _) => goes_on,
        (None, _) if SweepStore::of(project).is_in_progress(sweep.start.sweep) => {
            "it goes on in another process".to_owned()
        }
        (_, None) if sweep.points.is_empty() => format!("no point is measured: {goes_on}"),
        (_, None) => "no point passed: correct the kernel or its tune lines".to_owned(),
        (_, Some(best)) => {
            let more = match is_left {
                true => format!("; {goes_on}, with a larger budget if it had one"),
                false => String::new(),
            };
            match best.emulated {
                true => {
                    format!("{NO_BEST}. `lab sweep{this} --apply N` writes point N{more}")
                }
                false => format!(
                    "`lab sweep{this} --apply` writes point {} into the kernel{more}",
                    best.number
                ),
            }
        }
    }
}
