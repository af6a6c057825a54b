//! The tools that only read: the history, one experiment and its diff, the rules, the peers.

use super::answer::Answer;
use super::jobs::Job;
use super::limits::{self, DIFF, LISTED, LISTED_TEXT};
use super::tools::{ExperimentArguments, HistoryArguments, NoArguments};
use super::work;
use crate::cli::diff::{DiffReport, Pair};
use crate::cli::json::run::ComparisonReport;
use crate::cli::rules::RulesAnswer;
use crate::cli::verdict::Judged;
use crate::cli::{log, peers, problem_file};
use anyhow::{Context, Result, bail, ensure};
use lab_decide::status;
use lab_git::{Repo, text_diff};
use lab_history::Session;
use lab_history::lessons::{self, Idea};
use lab_project::Project;
use lab_project::config::Config;
use lab_protocol::report::Speed;
use lab_run::RunId;
use lab_run::experiment::{Experiment, Status};
use lab_run::record::Record;
use lab_store::{RunIndex, RunStore};
use lab_text::listed;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

const USUAL: usize = 20;

/// Estimated tokens of the digest of lessons.
const LESSON_TOKENS: usize = 2_000;

/// Unchanged lines around each change of a diff.
const AROUND: u32 = 3;

#[derive(JsonSchema, Serialize)]
pub struct HistoryReport<'a> {
    head: String,
    kernel: &'a str,
    undecided_run: Option<u64>,
    /// The measure of every `objective` below, and its unit.
    objective: &'a str,
    unit: &'a str,
    /// How many experiments of the kernel there are, by their status.
    counts: BTreeMap<&'static str, usize>,
    /// The last experiment that was kept.
    incumbent: Option<Listed>,
    /// Newest first.
    experiments: Vec<Listed>,
    /// Experiments that are older than those listed.
    older: usize,
    /// What the experiments brought and taught, by idea. `None` unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    lessons: Option<Vec<Idea>>,
    problems: Vec<&'a String>,
}

/// An experiment in a list, without what is null or usual. `experiment` tells the rest.
#[derive(JsonSchema, Serialize)]
struct Listed {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    commit: String,
    status: Status,
    description: String,
    /// `None` unless it was correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<f64>,
    /// Above 1 it was better than the incumbent of its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<Speed>,
    /// Which of `fail`, `caveated`, `emulated` and `foreign` it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<&'static str>,
}

impl Listed {
    fn of(experiment: &Experiment, config: &Config) -> Listed {
        let (row, measured) = (&experiment.row, &experiment.measured);
        let correct = row.correctness.passed();
        let change = measured.change.filter(|_| correct);
        let compared = ComparisonReport::of(change.as_ref(), None, config);
        let marks = [
            ("fail", !correct && row.status != Status::Rules),
            ("caveated", measured.caveated),
            ("emulated", experiment.emulated),
            ("foreign", experiment.foreign),
        ];
        let mut description = row.description.clone();
        limits::cut(&mut description, LISTED_TEXT);
        Listed {
            run: experiment.run,
            commit: row.commit.clone(),
            status: row.status,
            description,
            objective: experiment.figure_of(None),
            ratio: compared.ratio.map(|it| (it.value * 1e4).round() / 1e4),
            speed: compared.speed,
            marks: marks.iter().filter(|it| it.1).map(|it| it.0).collect(),
        }
    }
}

/// Lists experiments of the kernel, newest first.
pub fn history(project: &Project, asked: HistoryArguments, _: &Job) -> Result<Answer> {
    let limit = asked.limit.unwrap_or(USUAL).min(LISTED);
    let Session {
        repo,
        index,
        history,
    } = Session::open(project)?;
    let status = status::look(&repo, &index)?;
    let ours = |e: &Experiment| e.kernel.is_none() || e.is_about(&project.kernel_name);
    let report = |e: &Experiment| Listed::of(e, &project.config);
    let mut answer = HistoryReport {
        head: status.head.label(),
        kernel: &project.kernel_name,
        undecided_run: log::undecided(&status),
        objective: project.config.objective.name(),
        unit: project.config.objective.unit(),
        counts: BTreeMap::new(),
        incumbent: None,
        experiments: Vec::new(),
        older: 0,
        lessons: None,
        problems: history.problems.iter().take(5).collect(),
    };
    let mut to_skip = asked.offset;
    for experiment in history.experiments.iter().rev().filter(|e| ours(e)) {
        let status = experiment.row.status;
        *answer.counts.entry(status.word()).or_default() += 1;
        if answer.incumbent.is_none() && status == Status::Keep {
            answer.incumbent = Some(report(experiment));
        }
        if asked.status.is_some_and(|wanted| wanted != status) {
            continue;
        }
        if to_skip > 0 {
            to_skip -= 1;
        } else if answer.experiments.len() < limit {
            answer.experiments.push(report(experiment));
        } else {
            answer.older += 1;
        }
    }
    if asked.lessons {
        let newest_first = history.experiments.iter().rev();
        let ideas = lessons::lessons(
            newest_first.filter(|e| e.is_about(&project.kernel_name)),
            &project.config.objective,
            project.config.goal,
        );
        let length = |idea: &Idea| serde_json::to_string(idea).unwrap_or_default();
        answer.lessons = Some(lessons::fitting(ideas, LESSON_TOKENS, length).0);
    }
    let (summary, next) = (answer.summary(), answer.next(asked.offset));
    Ok(Answer::new(&summary, &next, answer))
}

impl HistoryReport<'_> {
    fn summary(&self) -> String {
        let counts = self
            .counts
            .iter()
            .map(|(word, count)| format!("{count} {word}"));
        let counted = listed(counts).unwrap_or_else(|| "no experiment yet".to_owned());
        let undecided = self.undecided_run.map(|run| format!("; run {run} is open"));
        let (kernel, head) = (self.kernel, &self.head);
        format!(
            "{kernel} at {head}: {counted}{}",
            undecided.unwrap_or_default()
        )
    }

    fn next(&self, offset: usize) -> String {
        match (self.undecided_run, self.older) {
            (Some(run), _) => {
                format!("Decide run {run} with keep or discard, or edit the kernel and call judge.")
            }
            (None, 0) => {
                "Edit the kernel and call judge. `experiment` shows one in detail, with its diff."
                    .to_owned()
            }
            (None, older) => format!(
                "Edit the kernel and call judge. {older} older experiments: call history with \"offset\": {}.",
                offset + self.experiments.len()
            ),
        }
    }
}

/// How the rules differ from those in HEAD.
pub fn rules(project: &Project, _: NoArguments, _: &Job) -> Result<Answer> {
    let rules = RulesAnswer::of(project)?;
    let next = match (problem_file::mistake(project), rules.has_changed()) {
        (Some(why), _) => format!("Nothing can be judged: a person mends problem.toml. {why}"),
        (None, true) => "Nothing can be kept: a person commits the rules with `lab rules -m TEXT`, or takes the change back.".to_owned(),
        (None, false) => "Edit the kernel and call judge.".to_owned(),
    };
    Ok(Answer::new(&rules.lines().join("; "), &next, rules))
}

/// The problem's peers with their last figures.
pub fn peers(project: &Project, _: NoArguments, _: &Job) -> Result<Answer> {
    if let Some(why) = problem_file::mistake(project) {
        return Ok(Answer::error(&why, "A person mends problem.toml."));
    }
    let peers = peers::look(project)?;
    let (summary, next) = match peers.lines() {
        none if none.is_empty() => (
            format!("{} has no peers", project.kernel_name),
            "Edit the kernel and call judge. A person adds a peer with `lab peers new`.",
        ),
        lines => (
            lines.join("; "),
            "Call measure: it times the kernel beside the peers.",
        ),
    };
    Ok(Answer::new(&summary, next, peers))
}

/// One experiment, or one run that is undecided, with its diff.
pub fn experiment(project: &Project, asked: ExperimentArguments, _: &Job) -> Result<Answer> {
    let (answer, name) = match (asked.run, asked.commit) {
        (Some(run), None) => {
            let wrong = |_| work::Wrong(format!("`run`: '{run}' is no number of a run"));
            let run: u64 = run.parse().map_err(wrong)?;
            let answer = of_run(project, &RunIndex::open(project), RunId(run))?;
            (answer, run.to_string())
        }
        (None, Some(commit)) => (of_commit(project, &commit)?, commit),
        _ => bail!(work::Wrong(
            "give either `run` or `commit`: `history` lists both".to_owned()
        )),
    };
    let Some(against) = asked.against else {
        return Ok(answer);
    };
    let both = Pair::read(project, [&against, &name])?;
    let mut compared = both.report();
    let diff = compared.diff.take();
    Ok(answer
        .said(
            &compared.words,
            "`diff` is from the other kernel to this one.",
        )
        .with_all(Against { diff, compared }))
}

fn of_run(project: &Project, index: &RunIndex, run: RunId) -> Result<Answer> {
    let record = RunStore::of(project).read(run)?;
    let about = project.with_kernel(&record.start.kernel);
    let repo = Repo::open(&about).ok();
    let Some(judged) = Judged::of(&about, repo.as_ref(), index, &record) else {
        let next = "Call experiment again later, or judge to judge the present bytes.";
        return Ok(Answer::new(&format!("run {run} is in progress"), next, ()));
    };
    let resource = format!("lab://run/{run}/diff");
    Ok(with_diff(
        work::answer(&judged),
        diff_of_run(&about, &record),
        &resource,
    ))
}

fn of_commit(project: &Project, commit: &str) -> Result<Answer> {
    ensure!(
        commit.len() >= 4,
        "'{commit}' is too short for a commit: give four characters of its id or more"
    );
    let Session {
        repo,
        index,
        history,
    } = Session::open(project)?;
    let names = |e: &&Experiment| {
        let own = &e.row.commit;
        own.starts_with(commit) || (own.len() >= 4 && commit.starts_with(own.as_str()))
    };
    let found = history.experiments.iter().rev().find(names);
    let found = found
        .with_context(|| format!("no experiment has the commit {commit}: `history` lists them"))?;
    if let Some(run) = found.run {
        return of_run(project, &index, run);
    }
    let present = history.present(&repo)?;
    let summary = format!(
        "{} {} '{}'",
        found.row.status.word(),
        found.row.commit,
        found.row.description
    );
    let next = "Its record is not here: `lab fetch` fetches records of other clones. Edit the kernel and call judge.";
    let answer = Answer::new(
        &summary,
        next,
        log::as_json(&repo, project, &present, found),
    );
    let diff = lab_git::change(&repo, &found.row.commit, AROUND);
    Ok(with_diff(answer, diff, "no resource"))
}

/// The change that a run made to the kernel: by its commit, or, while it is undecided, against the
/// incumbent.
pub fn diff_of_run(project: &Project, record: &Record) -> Result<String> {
    let repo = Repo::open(project)?;
    if let Some(commit) = record.decision.as_ref().and_then(|it| it.commit.as_ref()) {
        return lab_git::change(&repo, commit, AROUND);
    }
    let judged = RunStore::of(project).judged_kernel(record.start.id)?;
    let old = match lab_git::incumbent(&repo)? {
        Some(_) => lab_git::show(&repo, "HEAD")?,
        None => String::new(),
    };
    text_diff(&old, &String::from_utf8_lossy(&judged), AROUND)
}

/// What is added if an experiment is compared with another one.
#[derive(JsonSchema, Serialize)]
pub struct Against<'a> {
    diff: Option<&'a str>,
    compared: DiffReport<'a>,
}

/// The change that an experiment made to the kernel.
#[derive(JsonSchema, Serialize)]
pub struct Diff {
    diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff_is_cut: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff_is_missing: Option<String>,
}

fn with_diff(answer: Answer, diff: Result<String>, resource: &str) -> Answer {
    let (diff, missing) = match diff {
        Ok(diff) => (Some(diff), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let size = diff.as_ref().map_or(0, String::len);
    let cut =
        (size > DIFF).then(|| format!("the diff has {size} bytes: {resource} has more of it"));
    answer.with_all(Diff {
        diff,
        diff_is_cut: cut,
        diff_is_missing: missing,
    })
}
