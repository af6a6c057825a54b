//! `lab sweep`: builds, verifies and measures the points of the kernel's tune lines.

pub mod apply;
pub mod map;
mod task;
pub mod text;

use super::interrupt::controlled;
use super::json::sweep::SweepReport;
use super::live::LiveLine;
use super::output::complain_of;
use super::{JsonArg, KernelArg, code, complain, is_json, say, told, told_with};
use crate::confinement;
use anyhow::Result;
use clap::{Args, ValueEnum};
use lab_project::Project;
use lab_project::config::Executor;
use lab_protocol::{Exit, Target};
use lab_run::Reason;
use lab_runner::execute::NotRun;
use lab_sweep::task::ArrayName;
use lab_sweep::{Budget, Ended, Session, Strategy, Sweep, SweepEvent, SweepRequest, SweepStore};
use serde::Deserialize;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub struct SweepArgs {
    #[command(flatten)]
    kernel: KernelArg,
    #[command(flatten)]
    json: JsonArg,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml. With several, as in cuda:0,cuda:1, each judges
    /// points of its own
    #[arg(long, value_delimiter = ',')]
    device: Vec<Target>,
    /// In which order the points are tried
    #[arg(long, value_enum, default_value = "grid")]
    strategy: StrategyArg,
    /// End after so many points (200) or after so long (90s, 30m, 2h), earlier parts of the sweep
    /// counted [default: all points]
    #[arg(long, value_name = "N|TIME")]
    budget: Option<BudgetArg>,
    /// Processes that build points ahead [default: one for each core with `--device cpu`, else one
    /// for each four]; with 0, each point is built and judged after the one before it
    #[arg(long, value_name = "N", value_parser = counted_as::<usize>("processes", 0..=256))]
    builders: Option<usize>,
    /// Where the points are judged [default: executor of lab.toml, else local]
    #[arg(long, value_enum)]
    executor: Option<ExecutorArg>,
    /// Judge the points of one task of this array
    #[arg(long, value_name = "SWEEP/ARRAY", hide = true)]
    task: Option<ArrayName>,
    /// Begin a new sweep where an earlier one could go on
    #[arg(long)]
    new: bool,
    /// Show the best figure for each pair of values of these two parameters [default: the two that
    /// matter most]
    #[arg(long, value_name = "NAME,NAME", conflicts_with = "apply")]
    by: Option<String>,
    /// Measure nothing; show this sweep: its number, or `last`
    #[arg(long, value_name = "N|last", conflicts_with_all = ["device", "strategy", "budget", "builders", "executor", "new"])]
    show: Option<Shown>,
    /// Measure nothing; write the best point of the last sweep, or the one of this number, into the
    /// kernel on disk
    #[arg(
        long,
        value_name = "POINT",
        conflicts_with_all = ["device", "strategy", "budget", "builders", "executor", "new", "show"]
    )]
    #[expect(clippy::option_option, reason = "the option may have no value")]
    apply: Option<Option<u32>>,
}

/// The order in which points are tried.
#[derive(Clone, Copy, Debug, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrategyArg {
    /// All points, the last parameter changing fastest
    #[default]
    Grid,
    /// All points in a random order
    Random,
    /// Values that were frequent among the best points so far (tree-structured Parzen estimator)
    Tpe,
}

impl From<StrategyArg> for Strategy {
    fn from(strategy: StrategyArg) -> Strategy {
        match strategy {
            StrategyArg::Grid => Strategy::Grid,
            StrategyArg::Random => Strategy::Random,
            StrategyArg::Tpe => Strategy::Tpe,
        }
    }
}

/// What starts the judges.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExecutorArg {
    /// lab itself, on this machine
    Local,
    /// Slurm, on the nodes of a cluster
    Slurm,
}

impl ExecutorArg {
    /// Has the project's judges run where the option says, in place of lab.toml.
    pub fn choose(option: Option<ExecutorArg>, project: &mut Project) {
        project.config.executor = match option {
            Some(ExecutorArg::Local) => Executor::Local,
            Some(ExecutorArg::Slurm) => Executor::Slurm,
            None => return,
        };
    }
}

#[derive(Clone, Copy, Debug)]
struct BudgetArg(Budget);

impl FromStr for BudgetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is neither a number of points nor a time such as 90s, 30m or 2h");
        let (number, unit) = match text.char_indices().last() {
            Some((at, unit)) if !unit.is_ascii_digit() => (&text[..at], Some(unit)),
            _ => (text, None),
        };
        let number: u32 = number.parse().map_err(|_| wrong())?;
        if number == 0 {
            return Err("a budget of 0 tries nothing".to_owned());
        }
        let seconds = match unit {
            None => return Ok(BudgetArg(Budget::Points(number as usize))),
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some(_) => return Err(wrong()),
        };
        Ok(BudgetArg(Budget::Time(Duration::from_secs(
            u64::from(number) * seconds,
        ))))
    }
}

/// Reads a number of these in this range.
pub fn counted_as<T: FromStr + PartialOrd + Display + Clone>(
    what: &'static str,
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (from, to) = (range.start(), range.end());
        number.ok_or_else(|| format!("'{text}' is not a number of {what} from {from} to {to}"))
    }
}

/// The bench or the sweep that is to be shown: its number, or the last.
#[derive(Clone, Copy, Debug)]
pub struct Shown(pub Option<u64>);

impl FromStr for Shown {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = (text != "last").then(|| text.parse()).transpose();
        number
            .map(Shown)
            .map_err(|_| format!("'{text}' is neither a number nor `last`"))
    }
}

pub fn main(options: &SweepArgs) -> Result<ExitCode> {
    let mut project = options.kernel.open()?;
    if let Some(array) = options.task {
        return task::main(project, array, options);
    }
    ExecutorArg::choose(options.executor, &mut project);
    if let Some(point) = options.apply {
        return apply::main(&project, point);
    }
    let (sweep, ended) = match options.show {
        Some(shown) => {
            let sweeps = SweepStore::of(&project);
            complain_of(&sweeps);
            (sweeps.of_number_or_newest(shown.0, &project)?, None)
        }
        None => {
            let (sweep, ended) = measure(&project, options)?;
            (sweep, Some(ended))
        }
    };
    report(&project, options, &sweep, ended)
}

fn measure(project: &Project, options: &SweepArgs) -> Result<(Sweep, Ended), NotRun> {
    let control = controlled()?;
    let spec = confinement::spec(Reason::Command, options.device.first().copied());
    let request = SweepRequest {
        devices: options.device.clone(),
        strategy: options.strategy.into(),
        budget: options.budget.map_or(Budget::All, |budget| budget.0),
        anew: options.new,
        builders: options.builders,
        only: None,
    };
    let mut session = Session::begin(project, spec, &request)?;
    if options.by.is_some() {
        // A wrong name is told before anything is measured.
        let named = map::pair(&session.sweep, options.by.as_deref());
        named.map_err(|why| NotRun::Refused(why.to_string()))?;
    }
    complain(&text::begin_line(
        &session.sweep,
        session.wanted(),
        request.budget,
    ));
    let (wanted, start) = (session.wanted(), session.sweep.start.clone());
    let has_time = matches!(request.budget, Budget::Time(_));
    let (before, began, mut line) = (session.sweep.points.len(), Instant::now(), LiveLine::new());
    let (mut done, mut jobs_told) = (before, text::JobsTold::default());
    let patience = Duration::from_secs(2 * project.config.slurm.ask_s);
    let ended = session.run(&control, &mut |event| match event {
        SweepEvent::Judging(values) => {
            let of_each = began.elapsed().div_f64((done - before).max(1) as f64);
            let left = of_each.mul_f64(wanted.saturating_sub(done) as f64);
            // With a time for its budget, a sweep ends before its last point.
            let left = (done > before && !has_time).then_some(left);
            line.show(|| text::progress_line(done + 1, wanted, &values, left));
        }
        SweepEvent::Recorded(point) => {
            done += 1;
            line.clear();
            complain(&text::point_line(&start, point, wanted));
        }
        SweepEvent::Jobs(jobs) => {
            if let Some(news) = jobs_told.news(jobs, patience) {
                line.clear();
                complain(&news);
            }
            line.show(|| jobs.in_words());
        }
    });
    line.clear();
    Ok((session.sweep, ended?))
}

fn report(
    project: &Project,
    options: &SweepArgs,
    sweep: &Sweep,
    ended: Option<Ended>,
) -> Result<ExitCode> {
    let has_best = !lab_sweep::summary::ranked(&sweep.points).is_empty();
    let exit = match &ended {
        None => Exit::Passed,
        Some(Ended::Interrupted) => Exit::Crashed,
        Some(Ended::NotJudged(_)) => Exit::NOT_JUDGED,
        Some(Ended::Complete | Ended::BudgetSpent) if has_best => Exit::Passed,
        Some(Ended::Complete | Ended::BudgetSpent) => Exit::Wrong,
    };
    let pair = map::pair(sweep, options.by.as_deref()).or_else(|why| match is_json() {
        true => Ok(None),
        false => Err(why),
    })?;
    let report = SweepReport::of(project, sweep, ended.as_ref());
    Ok(told_with(exit, report, || {
        text::lines(project, sweep, ended.as_ref(), pair)
            .iter()
            .for_each(|line| say(line));
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_number_of_points_or_a_time() {
        let of = |text: &str| BudgetArg::from_str(text).map(|budget| budget.0);
        assert_eq!(of("200"), Ok(Budget::Points(200)));
        assert_eq!(of("90s"), Ok(Budget::Time(Duration::from_secs(90))));
        assert_eq!(of("2h"), Ok(Budget::Time(Duration::from_secs(7200))));
        for nothing in ["0", "0s"] {
            assert_eq!(of(nothing), Err("a budget of 0 tries nothing".to_owned()));
        }
        for wrong in ["", "h", "2d", "-1", "1.5h", "2é"] {
            let why = format!(
                "'{wrong}' is neither a number of points nor a time such as 90s, 30m or 2h"
            );
            assert_eq!(of(wrong), Err(why));
        }
    }
}
