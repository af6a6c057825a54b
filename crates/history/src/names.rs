//! Finds the experiment or commit that a user names in a command.

use super::{History, Session, elsewhere};
use anyhow::{Result, bail};
use lab_git::{NamedCommit, Repo, short};
use lab_run::RunId;
use lab_run::experiment::{Experiment, ExperimentKey};
use lab_store::RunIndex;
use std::fmt::Write;

/// A commit that a user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Full id.
    pub commit: String,
    /// Path of the kernel that the commit is about: an experiment's, or that of saved bytes. `None`
    /// for any other commit.
    pub kernel: Option<String>,
}

/// The commit that a name means. `name` is a prefix of an id, another name that git knows, or the
/// number of a discarded run. A name that means several commits is refused with the candidates:
/// commits in git, this repository's own run of that number, and rows whose commit is not here.
pub fn resolve_name(repo: &Repo, name: &str) -> Result<Named> {
    let mut commits = lab_git::commits_named(repo, name)?;
    let is_stored = commits
        .iter()
        .flat_map(|c| &c.refs)
        .any(|reference| reference.starts_with("refs/lab/"));
    if !is_stored && !name.bytes().all(|b| b.is_ascii_hexdigit()) {
        // A name like `HEAD` says nothing about a kernel.
        let (commit, _) = lab_git::resolve(repo, name)?;
        return Ok(Named {
            commit,
            kernel: None,
        });
    }
    let mut index = RunIndex::open(&repo.project);
    let history = crate::look(repo, &mut index);
    let mut others = Vec::new();
    if let Some(run) = name.parse().ok().map(RunId) {
        others.extend(own_run(repo, &index, run, &mut commits)?);
    }
    others.extend(rows_without_commit(&history, name, &commits));
    match (commits.as_slice(), others.as_slice()) {
        ([only], []) => {
            let mut of = history
                .experiments
                .iter()
                .rev()
                .filter(|e| holds(&only.id, e));
            let known = of.find_map(|e| e.kernel.clone());
            let kernel = known.map_or_else(
                || lab_git::stored_kernel(repo, &only.id),
                |kernel| Ok(Some(kernel)),
            )?;
            Ok(Named {
                commit: only.id.clone(),
                kernel,
            })
        }
        ([], []) => bail!(lab_git::unknown(name)),
        ([], [only]) => {
            if let Some(run) = own_open_run(&index, name) {
                let text = only.clone();
                bail!(NotInGit { run, text })
            }
            let is_elsewhere = only.ends_with(NOT_HERE);
            let source = elsewhere::source(repo, None).filter(|_| is_elsewhere);
            let fetch = source.map_or("", |_| ". `lab fetch` fetches commits of other clones");
            bail!("{only}{fetch}")
        }
        _ => {
            let mut text =
                format!("'{name}' names more than one experiment or commit: give one of these ids");
            for commit in &commits {
                let _ = write!(text, "\n  {commit}");
            }
            others
                .iter()
                .for_each(|other| text.push_str(&format!("\n  {other}")));
            bail!(text)
        }
    }
}

/// The experiment or the run of this name: the number of a run, or a commit as git names it.
pub fn experiment(session: &Session, name: &str) -> Result<ExperimentKey> {
    let run = name.parse().ok().map(RunId);
    let record = run.map(|run| session.index.store().read(run));
    if let Some(Ok(record)) = &record {
        let decision = record.decision.as_ref();
        let commit = decision.and_then(|it| it.commit.as_deref());
        return Ok(ExperimentKey {
            commit: commit.map_or("", short).to_owned(),
            run,
            decided: decision.map(|it| it.decided),
        });
    }
    let commit = match (resolve_name(&session.repo, name), record) {
        (Err(_), Some(Err(no_run))) => return Err(no_run),
        (named, _) => named?.commit,
    };
    let mut experiments = session.history.experiments.iter().rev();
    let known = experiments.find(|it| holds(&commit, it));
    Ok(known.map_or_else(
        || ExperimentKey {
            commit: short(&commit).to_owned(),
            run: None,
            decided: None,
        },
        Experiment::key,
    ))
}

/// A name means a run of this repository that no commit holds.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct NotInGit {
    pub run: RunId,
    text: String,
}

/// The run of that number that nobody decided.
fn own_open_run(index: &RunIndex, name: &str) -> Option<RunId> {
    let run = RunId(name.parse().ok()?);
    let record = index.store().read(run).ok()?;
    record.decision.is_none().then_some(run)
}

const NOT_HERE: &str = ": git does not hold this commit here";

/// Whether this commit, given by its full id, holds the experiment.
pub fn holds(commit: &str, experiment: &Experiment) -> bool {
    let short = &experiment.row.commit;
    short.len() >= 4 && commit.starts_with(short.as_str())
}

/// Puts this repository's own run of that number among the candidates. A run that no commit holds
/// comes back in words.
fn own_run(
    repo: &Repo,
    index: &RunIndex,
    run: RunId,
    commits: &mut Vec<NamedCommit>,
) -> Result<Option<String>> {
    let Ok(record) = index.store().read(run) else {
        return Ok(None);
    };
    let decided = record
        .decision
        .as_ref()
        .and_then(|decision| decision.commit.clone());
    let was: Vec<&str> = record
        .undone
        .iter()
        .filter_map(|decision| decision.commit.as_deref())
        .collect();
    let Some(decided) = decided else {
        // A discard that was undone left its ref: it is of this run.
        if commits
            .iter()
            .any(|commit| was.contains(&commit.id.as_str()))
            || record.start.is_check()
        {
            return Ok(None);
        }
        return Ok(Some(format!(
            "run {run} of this repository, of {}: no commit holds its bytes, they are in {}",
            record.start.kernel,
            index.store().kernel(run).display()
        )));
    };
    // If a run was decided twice, the last decision counts.
    commits.retain(|commit| commit.id == decided || !was.contains(&commit.id.as_str()));
    if !commits.iter().any(|commit| commit.id == decided) {
        match lab_git::commits_named(repo, &decided)?.pop() {
            Some(own) => {
                commits.push(NamedCommit {
                    refs: vec![format!("run {run} of this repository")],
                    ..own
                });
            }
            None => {
                return Ok(Some(format!(
                    "run {run} of this repository, whose commit {decided} is not in git any more"
                )));
            }
        }
    }
    Ok(None)
}

/// The rows whose commit begins with these digits and is not in git, in words.
fn rows_without_commit(history: &History, digits: &str, commits: &[NamedCommit]) -> Vec<String> {
    let mut rows: Vec<&Experiment> = Vec::new();
    for experiment in &history.experiments {
        let is_named = digits.len() >= 4 && experiment.row.commit.starts_with(digits);
        let is_here = commits.iter().any(|commit| holds(&commit.id, experiment));
        if is_named
            && !is_here
            && !rows
                .iter()
                .any(|row| row.row.commit == experiment.row.commit)
        {
            rows.push(experiment);
        }
    }
    let text = |e: &&Experiment| format!("{} '{}'{NOT_HERE}", e.row.commit, e.row.description);
    rows.iter().map(text).collect()
}
