//! `lab show`: the verdict of an earlier run or of an experiment, as `lab run` printed it.

use super::json::answer::{RunAnswer, ShowAnswer};
use super::output::say_each;
use super::shown::Paper;
use super::verdict::Judged;
use super::{JsonArg, answer, any, here, is_json, say, shown};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use lab_git::{Repo, short};
use lab_history::{Session, details, kernels as list, names};
use lab_project::objective::Objective;
use lab_project::{Project, kernels};
use lab_protocol::Exit;
use lab_run::RunId;
use lab_run::record::Record;
use lab_run::sweep::AttachedSweep;
use lab_run::verdict::with_ends;
use lab_store::{RunIndex, RunStore};
use lab_text::figures;
use lab_tui::theme::style::QUIET;
use lab_tui::widgets::evidence;
use ratatui::text::Line;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many points of an attached sweep are printed.
const SWEEP_POINTS: usize = 10;

#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The number of a run, `last`, or the commit of an experiment as git names it
    #[arg(default_value = "last")]
    run: String,
    /// Which cells of this output are wrong, and the values around the first
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    tensor: Option<String>,
    /// With --tensor: the values around this cell instead. A row is a place in all dimensions but the
    /// last, counted from 0. The last 3 failed runs have all cells
    #[arg(long, value_name = "ROW,COLUMN", requires = "tensor", value_parser = cell)]
    at: Option<[usize; 2]>,
    /// Print the result lines too, with those of all workloads (`lab help run-log`)
    #[arg(long, conflicts_with_all = ["json", "tensor"])]
    log: bool,
    #[command(flatten)]
    json: JsonArg,
}

/// Exits with 0 whatever the verdict is: the run is only looked at.
pub fn main(options: &ShowArgs) -> Result<ExitCode> {
    let any = any()?;
    let record = read(&any, &options.run)?;
    let run = record.start.id;
    let project = named_here(&any, &record.start.kernel)
        .with_context(|| format!("run {run} is of {}", record.start.kernel))?;
    let (repo, index) = (Repo::open(&project).ok(), RunIndex::open(&project));
    let judged = Judged::of(&project, repo.as_ref(), &index, &record)
        .with_context(|| format!("run {run} is in progress"))?;
    if is_json() {
        let answered = ShowAnswer {
            run: RunAnswer::of(&judged),
            sweep: attached(&record),
        };
        return Ok(answer(Exit::Passed, answered));
    }
    if let Some(tensor) = &options.tensor {
        let store = RunStore::of(&any);
        return match options.at {
            Some(cell) => cells_at(&store, &record, tensor, cell),
            None => wrong_cells(&record, tensor),
        };
    }
    if options.log {
        let report = record.report();
        say_each(
            report
                .entries()
                .map(|(key, value)| format!("{key}: {value}")),
        );
        let workloads = record.workloads.iter();
        say_each(workloads.map(|workload| format!("workload: {workload}")));
    }
    shown::tell(&judged);
    if let Some(decision) = &record.decision {
        let commit = decision.commit.as_deref().map_or("", short);
        let (status, description) = (decision.status.word(), &decision.description);
        say(&format!("  {status} {commit}: {description}"));
        let sealed = judged.on_sealed_inputs();
        say_each(sealed.map(|text| format!("    {text}")));
        for (key, value) in &decision.trailers {
            say(&format!("    {key}: {value}"));
        }
    }
    if let Some(sweep) = attached(&record) {
        say_each(sweep_lines(sweep, record.emulated()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The sweep that found the kernel of an experiment.
fn attached(record: &Record) -> Option<&AttachedSweep> {
    record.decision.as_ref()?.sweep.as_deref()
}

/// The best points of a sweep that went with a commit. Figures of an emulated device are left out.
fn sweep_lines(sweep: &AttachedSweep, emulated: bool) -> Vec<String> {
    let AttachedSweep {
        recorded, allowed, ..
    } = sweep;
    let shown = sweep.points.iter().take(SWEEP_POINTS);
    let points = shown.map(|point| {
        let unit = sweep.objective.as_ref().map_or("", Objective::unit);
        let figure = point.figure.filter(|_| !emulated);
        let figure = figure.map(|it| format!("  {} {unit}", with_ends(&it, figures::count)));
        let ratio = point.ratio.filter(|_| !emulated);
        let ratio = ratio.map(|it| format!("  {}×", with_ends(&it, |it| format!("{it:.3}"))));
        format!(
            "    {:>4}  {}  {}{}{}",
            point.number,
            sweep.values_of(point),
            point.outcome.word(),
            figure.unwrap_or_default(),
            ratio.unwrap_or_default()
        )
    });
    let more = sweep.points.len().saturating_sub(SWEEP_POINTS);
    let more = (more > 0).then(|| format!("    and {more} more: --json has them"));
    let head = format!("  the sweep's points ({recorded} of {allowed} recorded), the best first:");
    std::iter::once(head).chain(points).chain(more).collect()
}

/// The project of a kernel, which commands in this folder name as short as they can: by its folder.
fn named_here(any: &Project, kernel: &str) -> Result<Project> {
    let from = here()?.canonicalize()?;
    let open = |name: &str| {
        let path = any.root.join(name);
        let path = match path.strip_prefix(&from) {
            Ok(here) if here == Path::new("") => PathBuf::from("."),
            Ok(below) => below.to_owned(),
            Err(_) => path,
        };
        Project::open(&from, Some(&path))
    };
    let by_folder = open(kernels::shown(kernel, &list::names(any)));
    match by_folder {
        Ok(project) if project.kernel_name == kernel => Ok(project),
        _ => open(kernel),
    }
}

/// The newest run with a verdict, of whichever kernel.
fn last(any: &Project) -> Result<RunId> {
    let index = RunIndex::open(any);
    let mut judged = index.newest().filter(|run| run.verdict.is_some());
    let newest = judged.next().map(|run| run.id);
    newest.context("no run has a verdict yet: `lab run` judges the kernel")
}

/// The record of the run or the experiment of this name.
fn read(any: &Project, name: &str) -> Result<Record> {
    let run = match name {
        "last" => Some(last(any)?),
        _ => name.parse().ok().map(RunId),
    };
    // A run is shown also where git cannot be read.
    if let Some(record) = run.and_then(|run| RunIndex::new(any).store().read(run).ok()) {
        return Ok(record);
    }
    let session = Session::open(any)?;
    let key = names::experiment(&session, name)?;
    details::record(Some(&session.repo), any, &key).with_context(|| {
        format!("no experiment with a record here is of '{name}': `lab log --all` lists them")
    })
}

fn cell(text: &str) -> Result<[usize; 2], String> {
    let parsed = text
        .split_once(',')
        .and_then(|(row, column)| Some([row.trim().parse().ok()?, column.trim().parse().ok()?]));
    parsed.ok_or_else(|| "write it as ROW,COLUMN, as in 511,32".to_owned())
}

/// Draws the values around a cell of a wrong output.
fn cells_at(store: &RunStore, record: &Record, tensor: &str, cell: [usize; 2]) -> Result<ExitCode> {
    let (paper, report, run) = (Paper::stdout(), record.report(), record.start.id);
    let Some(map) = report.wrong_map(tensor) else {
        return wrong_cells(record, tensor);
    };
    let [rows, columns] = map.shape;
    ensure!(
        cell[0] < rows && cell[1] < columns,
        "'{tensor}' has the rows 0 to {} and the columns 0 to {}: --at names one of each",
        rows.saturating_sub(1),
        columns.saturating_sub(1)
    );
    let tile = store.all_cells(run, tensor, map.shape)?.around(cell)?;
    let fits = evidence::wrong_cells::fits(&tile, [usize::MAX, paper.columns]);
    let top = [0, 1].map(|axis| cell[axis].saturating_sub(fits[axis] / 2));
    let lines = evidence::wrong_cells::around(tensor, &tile, (map.shape, cell, top), fits);
    lines.iter().for_each(|line| paper.say(line));
    Ok(ExitCode::SUCCESS)
}

/// Draws which cells of an output are wrong.
fn wrong_cells(record: &Record, tensor: &str) -> Result<ExitCode> {
    let (paper, report, run) = (Paper::stdout(), record.report(), record.start.id);
    let lines = evidence::wrong_cells::lines(&report, tensor, paper.columns, paper.symbols);
    let known = report.wrong_tensors();
    if lines.is_empty() && known.is_empty() {
        bail!(
            "run {run} recorded no wrong cells: it passed, ended before, or its harness printed none"
        );
    }
    ensure!(
        !lines.is_empty(),
        "run {run} recorded no wrong cells of '{tensor}', but of {}",
        known.join(", ")
    );
    let mut all = evidence::wrong_cells::summary(&report, paper.columns);
    all.extend(lines);
    let at = format!(
        "  `lab show {run} --tensor {tensor} --at ROW,COLUMN` shows others, where all cells were kept"
    );
    all.push(Line::styled(at, QUIET));
    all.iter().for_each(|line| paper.say(line));
    Ok(ExitCode::SUCCESS)
}
