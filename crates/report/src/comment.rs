//! A comment for a pull request: what the kernels that a branch changed gained.

use crate::MARK;
use crate::rows::{self, cut};
use anyhow::Result;
use askama::Template;
use lab_git::{Since, short};
use lab_history::details;
use lab_history::kernels::{self, marks};
use lab_history::{History, Session};
use lab_project::Project;
use lab_run::experiment::{Experiment, Status};
use lab_run::message::Trailer;
use lab_run::peers;
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

/// The comment about the kernels that HEAD changed since it left `base`, in GitHub's Markdown; of
/// `only` these, if there are any. Reads disk and git.
pub fn comment(project: &Project, only: &[String], base: Option<&str>) -> Result<String> {
    let Session { repo, history, .. } = Session::open(project)?;
    let since = lab_git::since(&repo, base)?;
    let mut names = kernels::names(project);
    names.retain(|name| only.is_empty() || only.contains(name));
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
    let of_it = history.experiments.iter();
    let of_it = of_it.filter(|e| e.kernel.as_deref() == Some(name));
    let branch = Branch {
        project: kernels::open(project, name)?.project,
        experiments: of_it.map(|e| (e, is_since(e, since))).collect(),
    };
    let (before, last) = (branch.before(), branch.last());
    let figure = |e: Option<&Experiment>| e.map(|e| branch.figure(e)).unwrap_or_default();
    let fastest = last.and_then(|e| peers::fastest(&e.peers));
    let kept = branch.kept().map(|e| Kept {
        commit: &e.row.commit,
        description: cut(&e.row.description),
        change: rows::change(e, &branch.project.config),
        trailers: &e.trailers,
    });
    Ok(Changed {
        name,
        before: figure(before),
        now: figure(last),
        change: branch.change(),
        device: last.and_then(|e| e.device.as_deref()).unwrap_or_default(),
        peers: fastest.map(ToString::to_string).unwrap_or_default(),
        discarded: branch.discarded(),
        kept: kept.collect(),
    })
}

/// The experiments of a kernel, oldest first, each with whether the branch holds its commit.
struct Branch<'a> {
    project: Project,
    experiments: Vec<(&'a Experiment, bool)>,
}

impl<'a> Branch<'a> {
    /// The experiments that the branch kept.
    fn kept(&self) -> impl DoubleEndedIterator<Item = &'a Experiment> {
        let all = self.experiments.iter();
        all.filter(|(e, is_since)| *is_since && e.row.status == Status::Keep)
            .map(|(e, _)| *e)
    }

    /// The newest of them with a figure.
    fn last(&self) -> Option<&'a Experiment> {
        self.kept().rev().find(|e| e.figure().is_some())
    }

    /// What the base holds, measured on the same device in the same unit.
    fn before(&self) -> Option<&'a Experiment> {
        let last = self.last()?;
        let is_alike = |e: &Experiment| {
            e.measured.alike() == last.measured.alike()
                && e.device == last.device
                && e.emulated == last.emulated
        };
        let is_before = |(e, is_since): &&(&Experiment, bool)| {
            !is_since && e.row.status == Status::Keep && e.figure().is_some() && is_alike(e)
        };
        self.experiments.iter().rfind(is_before).map(|(e, _)| *e)
    }

    /// How many were discarded since the base's was kept, or since the branch's first.
    fn discarded(&self) -> usize {
        let first = self.before().or_else(|| self.kept().next());
        let is_first = |(e, _): &(&Experiment, bool)| first.is_some_and(|first| e.is(&first.key()));
        let since = self.experiments.iter().skip_while(|it| !is_first(it));
        let is_discarded = |e: &Experiment| matches!(e.row.status, Status::Discard | Status::Crash);
        since.filter(|(e, _)| is_discarded(e)).count()
    }

    fn figure(&self, e: &Experiment) -> String {
        let unit = e.objective(&self.project.config.objective);
        let value = e.figure().map(count).unwrap_or_default();
        format!("{}{value} {}", marks(e), unit.unit())
    }

    /// The change from the base to the last kept experiment. If several were kept one after the
    /// other, the two were not timed in turns.
    fn change(&self) -> String {
        let config = &self.project.config;
        match (self.before(), self.last()) {
            (_, Some(last)) if self.kept().count() == 1 => rows::change(last, config),
            (Some(before), Some(last)) if !last.emulated => {
                let keys = [before.key(), last.key()];
                match details::compare(&self.project, keys, 0).ratio() {
                    Ok(change) => {
                        let objective = last.objective(&config.objective);
                        let text = change.in_words(&objective, last.goal(config.goal));
                        let in_turns = change.interval.is_some();
                        text + if in_turns { "" } else { ", not timed in turns" }
                    }
                    Err(why) => why,
                }
            }
            _ => String::new(),
        }
    }
}
