//! `lab bench`: several independent runs of the present bytes by a fixed discipline, over all
//! workloads.

mod progress;
mod text;

use super::interrupt::end_on_signals;
use super::json::bench::{BenchReport, as_export, as_text};
use super::{JsonArg, KernelArg, answer, code, complain, failed, open, say};
use crate::confinement;
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use lab_core::bench::{
    Bench, BenchEvent, BenchId, BenchRequest, BenchState, BenchStore, Discipline, Ended,
    NotBenched, Session, export,
};
use lab_core::project::Project;
use lab_core::run::Reason;
use lab_core::run::verdict::Outcome;
use lab_core::runner::process::Control;
use lab_core::runner::spec::RunSpec;
use lab_protocol::console::say_lines;
use lab_protocol::{Exit, Target};
use lab_system::atomic_file;
use progress::Progress;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use text::counted;

#[derive(Args, Debug)]
pub struct BenchArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// Independent runs, each in a new judge process [default: 6; with --resume, as the bench was
    /// begun]
    #[arg(long, value_name = "N", value_parser = runs)]
    runs: Option<u32>,
    /// Untimed launches at the beginning of each trial [default: 3]
    #[arg(long, value_name = "N", value_parser = warm_up)]
    warm_up: Option<usize>,
    /// Timed launches of a trial [default: 100]
    #[arg(long, value_name = "N", value_parser = iterations)]
    iterations: Option<usize>,
    /// Trials of a run, each in a new process of the kernel [default: 5]
    #[arg(long, value_name = "N", value_parser = trials)]
    trials: Option<usize>,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    device: Option<Target>,
    /// Go on with the last bench of these bytes: only the missing runs are made
    #[arg(long)]
    resume: bool,
    /// Do not time the kernel beside the problem's peers
    #[arg(long)]
    no_peers: bool,
    /// Measure nothing; show this bench: its number, or `last`
    #[arg(
        long,
        value_name = "N|last",
        conflicts_with_all = ["resume", "runs", "warm_up", "iterations", "trials", "no_peers"]
    )]
    show: Option<Shown>,
    /// Write the times as json, csv, md, or bmf (Bencher), on stdout or into --output
    #[arg(long, value_name = "FORMAT")]
    export: Option<Format>,
    /// The file for --export
    #[arg(long, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArg,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Csv,
    Md,
    Bmf,
}

/// The bench that is to be shown.
#[derive(Clone, Copy, Debug)]
enum Shown {
    Last,
    Number(BenchId),
}

impl std::str::FromStr for Shown {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = || text.parse().map(|number| Shown::Number(BenchId(number)));
        if text == "last" {
            Ok(Shown::Last)
        } else {
            number().map_err(|_| format!("'{text}' is neither a number nor `last`"))
        }
    }
}

fn count(text: &str, what: &str, from: u32, to: u32) -> Result<u32, String> {
    let wrong = || format!("'{text}' is not a number of {what} from {from} to {to}");
    text.parse()
        .ok()
        .filter(|number| (from..=to).contains(number))
        .ok_or_else(wrong)
}

fn runs(text: &str) -> Result<u32, String> {
    count(text, "runs", 1, 1_000)
}

fn warm_up(text: &str) -> Result<usize, String> {
    count(text, "untimed launches", 0, 100_000).map(|number| number as usize)
}

fn iterations(text: &str) -> Result<usize, String> {
    count(text, "timed launches", 1, 100_000).map(|number| number as usize)
}

fn trials(text: &str) -> Result<usize, String> {
    count(text, "trials", 1, 1_000).map(|number| number as usize)
}

pub fn main(options: &BenchArgs) -> ExitCode {
    let begun = open(options.kernel.kernel.as_deref()).and_then(|project| {
        check_output(options)?;
        Ok(project)
    });
    let project = match begun {
        Ok(project) => project,
        Err(error) => return failed(&format!("{error:#}"), Exit::Usage),
    };
    if let Some(shown) = options.show {
        return match find(&project, shown) {
            Ok(bench) => report(&project, options, &BenchState::found(bench)),
            Err(error) => failed(&format!("{error:#}"), Exit::Usage),
        };
    }
    match measure(&project, options) {
        Ok(state) => report(&project, options, &state),
        Err(error) => failed(&error.to_string(), error.exit()),
    }
}

/// Refuses an export that could not be written, before minutes are spent on measuring.
fn check_output(options: &BenchArgs) -> Result<()> {
    let Some(file) = &options.output else {
        ensure!(
            options.export.is_none() || !options.json.json,
            "--json and --export both print on stdout: name a file for the export with --output FILE"
        );
        return Ok(());
    };
    ensure!(
        !file.is_dir(),
        "cannot write the export to {}: it is a folder",
        file.display()
    );
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    ensure!(
        folder.is_dir(),
        "cannot write the export to {}: there is no folder {}",
        file.display(),
        folder.display()
    );
    Ok(())
}

fn find(project: &Project, shown: Shown) -> Result<Bench> {
    let store = BenchStore::new(&project.lab_dir);
    match shown {
        Shown::Number(id) => store.read(id),
        Shown::Last => store
            .newest(|start| start.kernel == project.kernel_name)
            .with_context(|| {
                format!(
                    "there is no bench of {} yet: `lab bench{}` makes one",
                    project.kernel_name, project.argument
                )
            }),
    }
}

fn measure(project: &Project, options: &BenchArgs) -> Result<BenchState, NotBenched> {
    let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
    end_on_signals(control.clone())?;
    let spec = RunSpec {
        device: options.device,
        confinement: confinement::missing,
        ..RunSpec::new(Reason::Command)
    };
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
    let (start, done) = (&session.bench.start, session.bench.runs.len());
    let discipline = start.discipline.map_or_else(
        || format!("as `{}` measures", start.command),
        |Discipline {
             warm_up,
             iterations,
             trials,
         }| {
            let trials = counted(trials, "trial");
            format!("{warm_up} untimed and {iterations} timed launches of each workload, {trials}")
        },
    );
    let begun = match done {
        0 => format!("bench {} of {}", start.bench, start.kernel),
        done => format!(
            "bench {} of {} goes on after {done} of {} runs",
            start.bench, start.kernel, session.wanted
        ),
    };
    complain(&format!(
        "{begun}: {}, {discipline}",
        counted(session.wanted as usize, "run")
    ));
}

/// Prints the bench and writes the export.
fn report(project: &Project, options: &BenchArgs, state: &BenchState) -> ExitCode {
    let bench = &state.bench;
    let exit = state
        .ended
        .as_ref()
        .map_or(Exit::Passed, |ended| exit_of(bench, ended));
    let report = BenchReport::of(project, state);
    if let Some(format) = options.export {
        let text = match format {
            Format::Json => as_export(exit, &report),
            Format::Csv => export::csv(bench),
            Format::Md => export::markdown(bench),
            Format::Bmf => as_text(&export::bmf(bench)),
        };
        match &options.output {
            None => {
                say_lines(text.trim_end_matches('\n'));
                text::lines(project, state)
                    .iter()
                    .for_each(|line| complain(line));
                return code(exit);
            }
            Some(file) => {
                if let Err(error) = atomic_file::replace(file, text.as_bytes()) {
                    let number = bench.start.bench;
                    return failed(
                        &format!(
                            "cannot write the export to {}: {error}. The bench is recorded: `lab bench --show {number} --export \
                             …` writes it elsewhere",
                            file.display()
                        ),
                        Exit::NOT_JUDGED,
                    );
                }
            }
        }
    }
    if options.json.json {
        return answer(exit, report);
    }
    text::lines(project, state)
        .iter()
        .for_each(|line| say(line));
    if let Some(file) = &options.output {
        say(&format!("  the export is in {}", file.display()));
    }
    code(exit)
}

/// The exit code, as of a run with the same end.
fn exit_of(bench: &Bench, ended: &Ended) -> Exit {
    match (ended, bench.failed_run()) {
        (Ended::Complete, None) => Exit::Passed,
        (Ended::NotJudged(_), _) => Exit::NOT_JUDGED,
        (_, Some(run)) if run.build_failed => Exit::NotBuilt,
        (_, Some(run)) if run.outcome == Outcome::Fail => Exit::Wrong,
        (Ended::Interrupted, None) | (_, Some(_)) => Exit::Crashed,
        (Ended::Failed, None) => Exit::Crashed,
    }
}
