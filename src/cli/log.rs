//! `lab log`: lists the experiments, oldest first.

use super::json::experiment::ExperimentReport;
use super::json::run::RunReport;
use super::output::{resume, say_each};
use super::verdict::Judged;
use super::{JsonArg, KernelArg, answer, any, complain, is_json, say};
use anyhow::Result;
use clap::Args;
use itertools::Itertools;
use lab_bench::{BenchDigest, BenchStore};
use lab_decide::status::{self, ProjectStatus};
use lab_git::{Present, Repo};
use lab_history::Session;
use lab_history::elsewhere::Elsewhere;
use lab_project::Project;
use lab_project::objective::Objective;
use lab_protocol::Exit;
use lab_run::experiment::{Experiment, Status};
use lab_run::peers;
use lab_run::record::Record;
use lab_store::{Fact, Keys, RunIndex, RunSummary};
use lab_text::figures;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Most other kernels that are named.
const NAMED: usize = 4;

#[derive(Args, Debug)]
pub struct LogArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// List the experiments of all problems, which is of every kernel
    #[arg(long, visible_alias = "all-problems")]
    all: bool,
    /// List the runs that have a verdict and no decision in place of the experiments
    #[arg(long)]
    undecided: bool,
    #[command(flatten)]
    json: JsonArg,
    /// Add the rows that could not be written when their run was decided
    #[arg(long)]
    append_missing: bool,
}

pub fn main(options: &LogArgs) -> Result<ExitCode> {
    let meant = options.kernel.open();
    // Outside of a kernel's folder all experiments can still be listed.
    let is_meant = meant.is_ok() || options.kernel.kernel.is_some();
    let project = match meant {
        Err(_) if !is_meant && (options.all || options.append_missing) => any()?,
        meant => meant?,
    };
    // Reports a decision that cannot be finished now, and lists the experiments all the same.
    resume(&project);
    if options.append_missing {
        let added = lab_decide::append_missing(&project)?;
        complain(&format!("{added} missing rows added"));
    }
    let Session {
        repo,
        index,
        mut history,
    } = Session::open(&project)?;
    let benches = BenchStore::of(&project);
    let problems = benches.problems().map(|error| format!("{error:#}"));
    history.problems.extend(problems);
    let status = status::look(&repo, &index)?;
    let show_all = options.all || !is_meant;
    // An experiment of an unknown problem may be of any kernel.
    let ours = |e: &Experiment| show_all || e.kernel.is_none() || e.is_about(&project.kernel_name);
    let (listed, others): (Vec<&Experiment>, Vec<&Experiment>) =
        history.experiments.iter().partition(|e| ours(e));
    let other_problems = OtherProblem::count(&others);
    let elsewhere = Elsewhere::look(&repo, &history)?;
    let benches = present_benches(&project, &status)
        .filter(|_| is_meant)
        .unwrap_or_default();
    let open = match options.undecided {
        true => open_runs(&project, &index, show_all),
        false => Vec::new(),
    };
    let open: Vec<Judged> = open
        .iter()
        .filter_map(|(of, record)| Judged::of(of, Some(&repo), &index, record))
        .collect();
    let exit = if is_json() {
        let present = history.present(&repo)?;
        let reports = listed.iter().map(|e| as_json(&repo, &project, &present, e));
        let log = LogAnswer {
            head: status.head.label(),
            kernel: is_meant.then_some(&project.kernel_name),
            undecided_run: undecided(&status),
            rows_of_other_clones: elsewhere.map_or(0, |elsewhere| elsewhere.rows),
            other_problems,
            undecided: open.iter().map(RunReport::of).collect(),
            experiments: reports.collect(),
            benches,
            problems: &history.problems,
        };
        answer(Exit::Passed, log)
    } else {
        let (name, this) = if is_meant {
            (project.kernel_name.as_str(), project.argument.as_str())
        } else {
            ("every kernel", " KERNEL")
        };
        say(&format!("{name}  {}", status.head.label()));
        if options.undecided {
            return Ok(tell_open(&open));
        }
        say_each(
            listed
                .iter()
                .map(|e| as_text(e, show_all, &project.config.objective)),
        );
        if listed.is_empty() {
            say(&format!(
                "no experiment yet: `lab run{this}`, then `lab keep{this} -m TEXT` or `lab discard{this} -m TEXT`"
            ));
        }
        if !other_problems.is_empty() {
            let more = other_problems.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("{more} more kernels"));
            let named = other_problems.iter().take(NAMED).map(OtherProblem::text);
            let them = named.chain(more).join(", ");
            let count: usize = other_problems.iter().map(|other| other.experiments).sum();
            say(&format!(
                "{count} of other kernels: `lab log --all` ({them})"
            ));
        }
        if let Some(main) = lab_git::main_tree(&repo).filter(|_| project.lane.is_none()) {
            say(&format!(
                "experiments of the main work tree are listed too: their runs are in {}",
                main.display()
            ));
        }
        if let Some(elsewhere) = elsewhere {
            say(&elsewhere.text());
        }
        benches
            .iter()
            .for_each(|bench| say(&format!("of the present bytes: {bench}")));
        if let Some((run, last)) = undecided(&status).zip(status.last.as_ref()) {
            let foreign = if last.is_foreign() {
                "foreign and "
            } else {
                ""
            };
            let said = last
                .draft
                .as_ref()
                .map(|draft| format!(": {}", draft.description));
            say(&format!(
                "run {run} is {foreign}open{}",
                said.unwrap_or_default()
            ));
        }
        ExitCode::SUCCESS
    };
    history
        .problems
        .iter()
        .for_each(|problem| complain(problem));
    Ok(exit)
}

/// What `lab log` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct LogAnswer<'a> {
    /// Branch and commit of HEAD.
    head: String,
    /// Null if the experiments of every kernel are listed.
    kernel: Option<&'a String>,
    /// The last run, if it is undecided.
    undecided_run: Option<u64>,
    /// Rows with neither record nor commit here: `lab fetch` fetches them.
    rows_of_other_clones: usize,
    /// The experiments of other problems, which are not listed.
    other_problems: Vec<OtherProblem>,
    /// The runs that have a verdict and no decision, oldest first; empty without `--undecided`.
    undecided: Vec<RunReport>,
    /// Oldest first.
    experiments: Vec<ExperimentReport>,
    /// The benches of the present bytes, newest first.
    benches: Vec<BenchDigest>,
    /// Damaged records, rows that cannot be read, missing rows.
    problems: &'a [String],
}

/// Another problem of the repository, and how many experiments it has.
#[derive(JsonSchema, Serialize)]
struct OtherProblem {
    /// Path of its kernel.
    kernel: String,
    /// How many.
    experiments: usize,
}

impl OtherProblem {
    /// Counts experiments by their problems, by name.
    fn count(experiments: &[&Experiment]) -> Vec<OtherProblem> {
        let mut counted: BTreeMap<&String, usize> = BTreeMap::new();
        // A change of the rules is a row, and no experiment.
        let counts = experiments.iter().filter(|e| e.row.status != Status::Rules);
        for kernel in counts.filter_map(|experiment| experiment.kernel.as_ref()) {
            *counted.entry(kernel).or_default() += 1;
        }
        let other = |(kernel, experiments): (&String, usize)| OtherProblem {
            kernel: kernel.clone(),
            experiments,
        };
        counted.into_iter().map(other).collect()
    }

    fn text(&self) -> String {
        format!("{} of {}", self.experiments, self.kernel)
    }
}

/// The benches of the present bytes. `None` if the kernel cannot be read.
fn present_benches(project: &Project, status: &ProjectStatus) -> Option<Vec<BenchDigest>> {
    let store = BenchStore::of(project);
    Some(BenchDigest::of_bytes(
        &store,
        &project.kernel_name,
        status.present().ok()?,
    ))
}

/// The last run of the kernel, if it is undecided.
pub fn undecided(status: &ProjectStatus) -> Option<u64> {
    status
        .last
        .as_ref()
        .filter(|r| lab_decide::is_undecided(r))
        .map(|r| r.start.id.0)
}

/// The runs of the kernel, or of every kernel, that have a verdict and no decision, oldest first; each
/// with the project of its kernel.
fn open_runs(project: &Project, index: &RunIndex, of_all: bool) -> Vec<(Project, Record)> {
    let may = |keys: &Keys| keys.is(Fact::HasVerdict) && !keys.is(Fact::IsDecided);
    let ours = |run: &&RunSummary| !run.is_check() && (of_all || run.judges(project));
    let runs = index.newest_with(may).filter(ours);
    let records = runs.filter_map(|run| index.store().read(run.id).ok());
    let mut open: Vec<(Project, Record)> = records
        .filter(lab_decide::is_undecided)
        .map(|record| (project.with_kernel(&record.start.kernel), record))
        .collect();
    // Nothing is to be decided about the incumbent's own bytes.
    let mut incumbents: BTreeMap<String, Option<String>> = BTreeMap::new();
    open.retain(|(of, record)| {
        let look = || lab_git::incumbent(&Repo::open(of).ok()?).ok()?;
        let incumbent = incumbents
            .entry(of.kernel_name.clone())
            .or_insert_with(look);
        incumbent.as_deref() != Some(record.start.blob.as_str())
    });
    open.reverse();
    open
}

/// A line for each run that nobody decided.
fn tell_open(open: &[Judged]) -> ExitCode {
    say_each(open.iter().map(Judged::with_description));
    say(match open {
        [] => "no run waits for a decision",
        _ => "`lab show RUN` shows one. `lab keep` and `lab discard` take it with `--run RUN`",
    });
    ExitCode::SUCCESS
}

/// `objective` is the one of lab.toml.
fn as_text(experiment: &Experiment, with_kernel: bool, objective: &Objective) -> String {
    let row = &experiment.row;
    let figure = Some(experiment.figure()).filter(|_| row.correctness.passed());
    let objective = experiment.objective(objective);
    let figures = match figure {
        Some(figure) => {
            let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figures::figure);
            let (figure, time) = (shown(figure), shown(row.time()));
            // A time that is the objective stands once.
            let time = match objective {
                Objective::KernelTime => " ".repeat(14),
                _ => format!(" {time:>10} µs"),
            };
            format!("{figure:>12} {}{time}", objective.heading())
        }
        None => format!(
            "{:>12} {:>width$}",
            "-",
            "-",
            width = 14 + objective.heading().chars().count()
        ),
    };
    let kernel = match &experiment.kernel {
        Some(kernel) if with_kernel => format!("{kernel}  "),
        Some(_) => String::new(),
        None => "(unknown problem)  ".to_owned(),
    };
    let remark = |is_so: bool, text: &str| is_so.then(|| text.to_owned());
    let remarks = [
        peers::fastest(&experiment.peers).map(std::string::ToString::to_string),
        remark(experiment.emulated, "emulated"),
        remark(experiment.foreign, "foreign"),
        experiment
            .renamed_from
            .as_ref()
            .map(|from| format!("was {from}")),
        experiment.run.map(|run| format!("run {run}")),
    ];
    let remarks: String = remarks
        .into_iter()
        .flatten()
        .map(|it| format!("  ({it})"))
        .collect();
    let (commit, status, description) = (&row.commit, row.status.word(), &row.description);
    let tags = match experiment.tags() {
        tags if tags.is_empty() => tags,
        tags => format!("  {tags}"),
    };
    format!("{commit:<8} {status:<7} {figures}  {kernel}{description}{tags}{remarks}")
}

/// An experiment as JSON.
pub fn as_json(
    repo: &Repo,
    project: &Project,
    present: &Present,
    experiment: &Experiment,
) -> ExperimentReport {
    // Without a record, the commit itself may hold the trailers.
    let commit = &experiment.row.commit;
    let trailers = match experiment.decided {
        Some(_) => experiment.trailers.clone(),
        None if present.holds(commit) => lab_git::trailers_of(repo, commit).unwrap_or_default(),
        None => Vec::new(),
    };
    ExperimentReport::of(experiment, &project.config, &trailers)
}
