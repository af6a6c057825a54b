//! `lab bench`: several independent runs of the present bytes by a fixed discipline, over all
//! workloads.

mod progress;
pub mod text;

use super::interrupt::controlled;
use super::json::bench::{BenchReport, as_export, as_text};
use super::output::complain_of;
use super::run::{self, RunArgs};
use super::sweep::{ExecutorArg, Shown, counted_as};
use super::{code, complain, failed, is_json, say, told_with};
use crate::confinement;
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use lab_bench::{BenchEvent, BenchRequest, BenchState, BenchStore, Comparison, Session, export};
use lab_project::Project;
use lab_protocol::console::say_lines;
use lab_protocol::{Exit, Target};
use lab_run::Reason;
use lab_runner::execute::NotRun;
use lab_runner::spec::RunSpec;
use lab_sweep::slurm;
use lab_system::atomic_file;
use lab_system::root::Root;
use lab_text::figures::counted;
use progress::Progress;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct BenchArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Independent runs, each in a new judge process [default: 6; with --resume, as the bench was
    /// begun]
    #[arg(long, value_name = "N", value_parser = counted_as::<u32>("runs", 1..=1_000))]
    runs: Option<u32>,
    /// Untimed launches at the beginning of each trial [default: 3]
    #[arg(long, value_name = "N", value_parser = counted_as::<usize>("untimed launches", 0..=100_000))]
    warm_up: Option<usize>,
    /// Timed launches of a trial [default: 100]
    #[arg(long, value_name = "N", value_parser = counted_as::<usize>("timed launches", 1..=100_000))]
    iterations: Option<usize>,
    /// Trials of a run, each in a new process of the kernel [default: 5]
    #[arg(long, value_name = "N", value_parser = counted_as::<usize>("trials", 1..=1_000))]
    trials: Option<usize>,
    /// Go on with the last bench of these bytes: only the missing runs are made
    #[arg(long)]
    resume: bool,
    /// Where it runs; with slurm the whole bench is one job [default: executor of lab.toml, else
    /// local]
    #[arg(long, value_enum, overrides_with = "executor", conflicts_with = "show")]
    executor: Option<ExecutorArg>,
    /// Do not time the kernel beside the problem's peers
    #[arg(long)]
    no_peers: bool,
    /// Make one run, in turns with the incumbent and with the warm-up, iterations and trials of
    /// lab.toml: it has a verdict and can be kept
    #[arg(
        long,
        conflicts_with_all = ["resume", "runs", "warm_up", "iterations", "trials", "show", "export"]
    )]
    verdict: bool,
    /// Measure nothing; show this bench: its number, or `last`
    #[arg(
        long,
        value_name = "N|last",
        conflicts_with_all = ["resume", "runs", "warm_up", "iterations", "trials", "no_peers"]
    )]
    show: Option<Shown>,
    /// With --show: how many times as fast each workload was as in this other bench
    #[arg(long, value_name = "N", requires = "show")]
    beside: Option<Shown>,
    /// Write the times as json, csv, md, or bmf (Bencher), on stdout or into --output
    #[arg(long, value_name = "FORMAT")]
    export: Option<Format>,
    /// The file for --export
    #[arg(short, long, alias = "out", value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Csv,
    Md,
    Bmf,
}

pub fn main(options: &BenchArgs) -> Result<ExitCode> {
    let mut project = options.run.kernel.open()?;
    ExecutorArg::choose(options.executor, &mut project);
    if options.show.is_none() {
        become_job(&project, options.run.device)?;
    }
    if options.verdict {
        let spec = RunSpec {
            peers: !options.no_peers,
            ..confinement::spec(Reason::Measure, options.run.device)
        };
        return run::judged(&options.run, spec);
    }
    ensure!(
        !options.run.decides(),
        "a bench of several runs decides nothing: add --verdict to --decide, --hypothesis and --lesson"
    );
    check_output(options)?;
    let benches = BenchStore::of(&project);
    let state = match options.show {
        Some(shown) => {
            complain_of(&benches);
            BenchState::found(benches.of_number_or_newest(shown.0, &project)?)
        }
        None => measure(&project, options)?,
    };
    let other = options.beside;
    let other = other.map(|other| benches.of_number_or_newest(other.0, &project));
    let beside = other.transpose()?;
    let beside = beside.map(|other| Comparison::of(&state.bench, &other));
    Ok(report(&project, options, &state, beside.as_ref()))
}

/// Becomes the job in which Slurm starts this command on a node, if jobs are to be sent. Its runs must
/// be timed on one device, so it is one job.
fn become_job(project: &Project, device: Option<Target>) -> Result<(), NotRun> {
    let Some(mut job) = slurm::job(project, "lab-bench", device)? else {
        return Ok(());
    };
    let words = std::env::args_os().skip(1);
    let error = job.args(words).arg("--executor=local").exec();
    Err(NotRun::Refused(slurm::not_started("srun", &error)))
}

/// Refuses an export that could not be written, before minutes are spent on measuring.
fn check_output(options: &BenchArgs) -> Result<()> {
    let Some(file) = &options.output else {
        ensure!(
            options.export.is_none() || !is_json(),
            "--json and --export both print on stdout: name a file for the export with --output FILE"
        );
        return Ok(());
    };
    check_file(file)
}

/// Refuses a file that an export cannot be written to.
pub fn check_file(file: &Path) -> Result<()> {
    let shown = file.display();
    ensure!(
        !file.is_dir(),
        "cannot write the export to {shown}: it is a folder"
    );
    let around = Root::around(file);
    let folder = around.path();
    ensure!(
        folder.is_dir(),
        "cannot write the export to {shown}: there is no folder {}",
        folder.display()
    );
    Ok(())
}

fn measure(project: &Project, options: &BenchArgs) -> Result<BenchState, NotRun> {
    let control = controlled()?;
    let spec = confinement::spec(Reason::Command, options.run.device);
    let request = BenchRequest {
        runs: options.runs,
        warm_up: options.warm_up,
        iterations: options.iterations,
        trials: options.trials,
        resume: options.resume,
        peers: !options.no_peers,
    };
    let mut session = Session::begin(project, spec, &request)?;
    let mut progress = Progress::new(&session);
    complain_of_begin(&session);
    let ended = session.run(&control, &mut |event| match event {
        BenchEvent::Began(run) => progress.began(run),
        BenchEvent::Progress(run, report) => progress.show(run, &report),
        BenchEvent::Ended(run) => progress.ended(run),
        BenchEvent::Peers => progress.peers(),
    });
    progress.clear();
    let ended = Some(ended?);
    Ok(BenchState {
        wanted: session.wanted,
        bench: session.bench,
        ended,
    })
}

/// Says on stderr what begins or goes on, and by which discipline.
fn complain_of_begin(session: &Session) {
    let (start, wanted) = (&session.bench.start, session.wanted);
    let goes_on = match session.bench.runs.len() {
        0 => String::new(),
        done => format!(" goes on after {done} of {wanted} runs"),
    };
    complain(&format!(
        "bench {} of {}{goes_on}: {}, {}",
        start.bench,
        start.kernel,
        counted(wanted as usize, "run"),
        session.bench.measures(" of each workload")
    ));
}

/// Prints the bench and writes the export.
fn report(
    project: &Project,
    options: &BenchArgs,
    state: &BenchState,
    beside: Option<&Comparison>,
) -> ExitCode {
    let (bench, exit) = (&state.bench, state.exit());
    let report = BenchReport::of(project, state, beside);
    let mut lines = text::lines(project, state);
    lines.extend(beside.into_iter().flat_map(text::beside));
    if let Some(format) = options.export {
        let text = match format {
            Format::Json => as_export(exit, &report),
            Format::Csv => export::csv(bench),
            Format::Md => export::markdown(bench),
            Format::Bmf => as_text(&export::bmf(bench)),
        };
        let Some(file) = &options.output else {
            say_lines(text.trim_end_matches('\n'));
            lines.iter().for_each(|line| complain(line));
            return code(exit);
        };
        if let Err(error) = atomic_file::replace(file, text.as_bytes()) {
            let why = format!(
                "cannot write the export to {}: {error}. The bench is recorded: `lab bench --show {} --export \
                 …` writes it elsewhere",
                file.display(),
                bench.start.bench
            );
            return failed(&why, Exit::NOT_JUDGED);
        }
    }
    told_with(exit, report, || {
        lines.iter().for_each(|line| say(line));
        if let Some(file) = &options.output {
            say(&format!("  the export is in {}", file.display()));
        }
    })
}
