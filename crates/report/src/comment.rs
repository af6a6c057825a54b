//! A comment for a pull request: what the kernels that a branch changed gained.

use crate::MARK;
use crate::rows::cut;
use anyhow::Result;
use askama::Template;
use lab_git::{Repo, Since, short};
use lab_history::History;
use lab_history::details;
use lab_history::kernels::{self, marks};
use lab_project::Project;
use lab_run::experiment::{Experiment, Status};
use lab_run::message::Trailer;
use lab_run::peers;
use lab_store::RunIndex;
use lab_text::figures::count;

#[derive(Template)]
#[template(path = "comment.md")]
struct Comment<'a> {
    mark: &'a str,
    base: &'a str,
    from: &'a str,
    kernels: Vec<Changed<'a>>,
    has_emulated: bool,
}

/// A kernel that the branch changed.
struct Changed<'a> {
    name: &'a str,
    before: String,
    now: String,
    change: String,
    device: &'a str,
    peers: String,
    kept: Vec<Kept<'a>>,
    /// Experiments that were discarded since the base.
    discarded: usize,
}

/// A kept commit of the branch.
struct Kept<'a> {
    commit: &'a str,
    description: String,
    change: String,
    trailers: &'a [Trailer],
}

/// The comment about the kernels that HEAD changed since it left `base`, in GitHub's Markdown.
/// Reads disk and git.
pub fn comment(project: &Project, base: Option<&str>) -> Result<String> {
    let mut index = RunIndex::open(project);
    let repo = Repo::open(project)?;
    let since = lab_git::since(&repo, base)?;
    let history = lab_history::look(&repo, &mut index);
    let names = kernels::names(project);
    let mut changed = Vec::new();
    for name in &names {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_inside = |path: &String| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let is_changed = |path: &String| path == name || (!folder.is_empty() && is_inside(path));
        if since.paths.iter().any(is_changed) {
            changed.push(of_kernel(project, name, &since, &history)?);
        }
    }
    let emulated = |e: &Experiment| e.emulated && e.is_kept() && is_since(e, &since);
    let comment = Comment {
        mark: MARK,
        base: &since.base,
        from: short(&since.from),
        has_emulated: history.experiments.iter().any(emulated),
        kernels: changed,
    };
    Ok(comment.render()?)
}

/// Whether the commit of an experiment is one of the branch.
fn is_since(e: &Experiment, since: &Since) -> bool {
    since
        .commits
        .iter()
        .any(|commit| lab_history::names::holds(commit, e))
}

fn of_kernel<'a>(
    project: &Project,
    name: &'a str,
    since: &Since,
    history: &'a History,
) -> Result<Changed<'a>> {
    let repo = kernels::open(project, name)?;
    let config = &repo.project.config;
    let of_it = history
        .experiments
        .iter()
        .filter(|e| e.kernel.as_deref() == Some(name));
    let of_it: Vec<&Experiment> = of_it.collect();
    let kept: Vec<&Experiment> = of_it
        .iter()
        .copied()
        .filter(|e| e.row.status == Status::Keep && is_since(e, since))
        .collect();
    let last = kept.iter().rev().find(|e| e.figure().is_some()).copied();
    // What the base holds, measured on the same device in the same unit.
    let is_before = |e: &&Experiment| {
        last.is_some_and(|last| {
            let is_alike = e.measured.alike() == last.measured.alike();
            is_alike && e.device == last.device && e.emulated == last.emulated
        }) && e.row.status == Status::Keep
            && e.figure().is_some()
            && !is_since(e, since)
    };
    let before = of_it.iter().rfind(|e| is_before(e)).copied();
    let figure = |e: &Experiment| {
        let value = e.figure().map(count).unwrap_or_default();
        format!(
            "{}{value} {}",
            marks(e),
            e.objective(&config.objective).unit()
        )
    };
    let own_change = |e: &Experiment| {
        let change = e.measured.change.filter(|_| !e.emulated)?;
        Some(change.in_words(&e.objective(&config.objective), e.goal(config.goal)))
    };
    let change = match (before, last, kept.as_slice()) {
        (_, Some(last), [_]) => own_change(last).unwrap_or_default(),
        // Several were kept one after the other: the base and the last were not timed in turns.
        (Some(before), Some(last), _) if !last.emulated => {
            let keys = [before.key(), last.key()];
            let ratio = details::compare(&repo.project, keys, 0).ratio();
            let text = |change: lab_run::verdict::Change| {
                let goal = last.goal(config.goal);
                change.in_words(&last.objective(&config.objective), goal) + ", not timed in turns"
            };
            ratio.map_or_else(|why| why, text)
        }
        _ => String::new(),
    };
    let start = kept
        .first()
        .and_then(|first| of_it.iter().position(|e| e.is(&first.key())));
    let tried = &of_it[before
        .and_then(|before| of_it.iter().position(|e| e.is(&before.key())))
        .or(start)
        .unwrap_or(of_it.len())..];
    let is_discarded = |e: &&&Experiment| matches!(e.row.status, Status::Discard | Status::Crash);
    let fastest = last.and_then(|e| peers::fastest(e.compared_peers()));
    Ok(Changed {
        name,
        before: before.map(figure).unwrap_or_default(),
        now: last.map(figure).unwrap_or_default(),
        change,
        device: last.and_then(|e| e.device.as_deref()).unwrap_or_default(),
        peers: fastest.map(ToString::to_string).unwrap_or_default(),
        discarded: tried.iter().filter(is_discarded).count(),
        kept: kept
            .iter()
            .map(|e| Kept {
                commit: &e.row.commit,
                description: cut(&e.row.description),
                change: own_change(e).unwrap_or_default(),
                trailers: &e.trailers,
            })
            .collect(),
    })
}
