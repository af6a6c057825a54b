//! Goes on with what a lab that was killed began, and says so.

use super::carry_out::{close, unfinished, withdraw};
use super::describe::Changes;
use super::intent::{self, Asked, Intent, OlderIntent, Unfinished, What};
use super::step::Step;
use super::steps::{self, Came, Failure};
use super::{Locked, describe, rules, undo};
use crate::project::Project;
use crate::repo;
use crate::run::RunId;
use crate::run::experiment::Status;
use anyhow::{Context, Result};
use lab_system::leftovers;
use std::path::Path;

/// A decision of an earlier lab that was completed or taken back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resumed {
    pub what: What,
    /// What the user asked for then: see [`Asked::key`].
    pub asked: String,
    pub is_done: bool,
    /// What was done, in words.
    pub text: String,
}

impl Resumed {
    /// Whether that was what the user asks for now.
    pub(super) fn is_as_asked(&self, asked: &Asked) -> bool {
        self.is_done && self.what == asked.what && self.asked == asked.key()
    }
}

/// Goes on with the intent of a lab that was killed. Returns what was done, in words; `None` if
/// there was none, which takes no lock, and while another process decides: the intent is its own.
pub fn resume(project: &Project) -> Result<Option<String>> {
    Ok(resume_decision(project)?.map(|(text, _)| text))
}

/// The same, and how the run was decided, if a keep or a discard was completed.
pub fn resume_decision(project: &Project) -> Result<Option<(String, Option<Status>)>> {
    if !intent::exists(project) {
        return Ok(None);
    }
    let Some(mut locked) = Locked::try_take(project)? else {
        return Ok(None);
    };
    let resumed = resume_locked(project, &mut locked)?;
    let said = std::mem::take(&mut locked.said);
    let status =
        resumed
            .as_ref()
            .filter(|resumed| resumed.is_done)
            .and_then(|resumed| match resumed.what {
                What::Keep => Some(Status::Keep),
                What::Discard => Some(Status::Discard),
                _ => None,
            });
    let texts: Vec<String> = resumed
        .map(|resumed| resumed.text)
        .into_iter()
        .chain(said)
        .collect();
    Ok((!texts.is_empty()).then(|| (texts.join("; "), status)))
}

/// The same under a lock that is held already. Also removes the temporary files of a lab that was
/// killed.
pub(super) fn resume_locked(project: &Project, locked: &mut Locked) -> Result<Option<Resumed>> {
    leftovers::sweep(&project.files(), &project.lab_dir);
    let since = intent::written_at(project);
    let resumed = match intent::read(project)? {
        None => {
            // A lock without an intent is of a lab whose intent somebody removed.
            repo::unlock_index(&locked.repo)?;
            None
        }
        Some(unfinished) => resume_intent(project, locked, unfinished)?,
    };
    if locked.lock.was_killed {
        leftovers::sweep(&project.files(), &project.root);
        repo::remove_leftovers(&locked.repo, since);
    }
    Ok(resumed)
}

fn resume_intent(
    project: &Project,
    locked: &mut Locked,
    unfinished: Unfinished,
) -> Result<Option<Resumed>> {
    let mut intent = match unfinished {
        Unfinished::Steps(intent) if intent.steps.is_empty() => {
            let owed = intent.owed;
            locked.owed = steps::retry(project, locked, owed.clone());
            close(project, locked, locked.owed.clone())?;
            let done: Vec<&Step> = owed
                .iter()
                .filter(|step| !locked.owed.contains(step))
                .collect();
            if done
                .iter()
                .any(|step| matches!(step, Step::JudgedBytes { .. }))
            {
                let text =
                    "the judged line endings that could not be remembered before are remembered";
                locked.said.push(text.to_owned());
            }
            if done.iter().any(|step| matches!(step, Step::Note { .. })) {
                locked
                    .said
                    .push("the git note that could not be written before is written".to_owned());
            }
            return Ok(None);
        }
        Unfinished::Steps(intent) => *intent,
        Unfinished::Older(older) => match plan_older(project, locked, &older)? {
            Ok(intent) => intent,
            Err(left) => {
                intent::remove(project)?;
                return Ok(Some(Resumed {
                    is_done: false,
                    text: left,
                    ..Resumed::of(&Intent::empty())
                }));
            }
        },
    };
    // The lab that was killed may have worked on another kernel.
    let other = (intent.kernel != project.kernel_name && !intent.kernel.is_empty())
        .then(|| Project::open(&project.root, Some(Path::new(&intent.kernel))))
        .transpose()
        .with_context(|| {
            format!(
                "{} that an earlier lab began cannot be finished",
                intent.subject
            )
        })?;
    let project = other.as_ref().unwrap_or(project);
    for run in intent.steps.iter().filter_map(Step::run) {
        leftovers::sweep(locked.lock.store.files(), &locked.lock.store.folder(run));
    }
    let resumed = Resumed::of(&intent);
    match steps::take(project, locked, &mut intent) {
        Ok(Came::Done(notes)) => {
            locked.owed.clone_from(&intent.owed);
            close(project, locked, intent.owed.clone())?;
            let text = std::iter::once(done(&intent))
                .chain(notes)
                .collect::<Vec<_>>()
                .join("; ");
            Ok(Some(Resumed {
                is_done: true,
                text,
                ..resumed
            }))
        }
        Ok(Came::TakenBack(why)) => taken_back(project, locked, &intent, resumed, &why).map(Some),
        // A hook refused: nothing was committed, and would not be the next time.
        Err(Failure {
            error,
            is_begun: false,
        }) if intent.is_by_program() => {
            taken_back(project, locked, &intent, resumed, &format!("{error:#}")).map(Some)
        }
        Err(Failure { error, .. }) => Err(unfinished_error(&intent, error)),
    }
}

fn unfinished_error(intent: &Intent, error: anyhow::Error) -> anyhow::Error {
    unfinished(intent, error).context(format!(
        "{} that an earlier lab began is not finished",
        intent.subject
    ))
}

fn taken_back(
    project: &Project,
    locked: &mut Locked,
    intent: &Intent,
    resumed: Resumed,
    why: &str,
) -> Result<Resumed> {
    locked.owed.clone_from(&intent.owed);
    withdraw(project, locked)?;
    let text = format!(
        "{} that an earlier lab began is taken back: {why}",
        intent.subject
    );
    Ok(Resumed {
        is_done: false,
        text,
        ..resumed
    })
}

impl Resumed {
    fn of(intent: &Intent) -> Resumed {
        Resumed {
            what: intent.what,
            asked: intent.asked.clone(),
            is_done: false,
            text: String::new(),
        }
    }
}

/// Tells the user that an intent is carried out.
fn done(intent: &Intent) -> String {
    let commit = intent.commit.as_deref().map(repo::short);
    let commit = commit
        .map(|commit| format!(" ({commit})"))
        .unwrap_or_default();
    match (intent.what, intent.described()) {
        (What::Describe, Some((commit, text))) => {
            format!("the description of {commit} is now '{text}', as an earlier lab began to write")
        }
        (What::Keep | What::Discard | What::Rules, _) => {
            format!(
                "{} that an earlier lab began is done{commit}",
                intent.subject
            )
        }
        _ => format!("{} that an earlier lab began is done", intent.subject),
    }
}

/// The steps that an older lab began; the error says why it is left.
fn plan_older(
    project: &Project,
    locked: &Locked,
    older: &OlderIntent,
) -> Result<std::result::Result<Intent, String>> {
    Ok(match older {
        OlderIntent::Describe {
            run,
            row,
            emulated,
            description,
        } => {
            let asked = Asked {
                what: What::Describe,
                kernel: "",
                text: description,
            };
            let changes = Changes::of_description(description);
            Ok(describe::plan(
                project, locked, &asked, *run, row, *emulated, &changes,
            )?)
        }
        OlderIntent::Rules {
            head,
            subject,
            emulated,
        } => {
            let asked = Asked {
                what: What::Rules,
                kernel: &project.kernel_name,
                text: subject,
            };
            let planned =
                rules::plan_older(project, locked, &asked, head.as_deref(), subject, *emulated)?;
            planned.ok_or_else(|| {
                "a change of the rules that an earlier lab began was not committed".to_owned()
            })
        }
        OlderIntent::Undo { run, on_disk } => {
            let of_run = of_run(project, locked, *run)?;
            let project = of_run.as_ref().unwrap_or(project);
            let planned = undo::plan_older(project, locked, *run, on_disk.as_deref())?;
            planned.map(|(intent, _)| intent).map_err(|why| {
                format!("the undo of run {run} that an earlier lab began is left: {why}")
            })
        }
    })
}

/// The project of a run's kernel, if it is another than this one's.
fn of_run(project: &Project, locked: &Locked, run: RunId) -> Result<Option<Project>> {
    let record = locked.lock.store.read(run)?;
    let kernel = Some(&record.start.kernel).filter(|kernel| **kernel != project.kernel_name);
    Ok(kernel.and_then(|kernel| Project::open(&project.root, Some(Path::new(kernel))).ok()))
}
