//! Goes on with what a lab that was killed began, and says so.

use super::intent::{self, Intent, Step, What};
use super::on_disk;
use super::steps::{self, Came, Locked, unfinished};
use anyhow::{Context, Result, anyhow, ensure};
use lab_git::Repo;
use lab_project::Project;
use lab_run::experiment::Status;
use lab_run::record::is_inside;
use lab_store::DecisionLock;
use lab_system::leftovers;
use std::path::Path;
use std::time::SystemTime;

/// A decision of an earlier lab that was completed or taken back.
pub struct Resumed {
    intent: Intent,
    is_done: bool,
    /// What was done, in words.
    pub text: String,
}

impl Resumed {
    /// Whether that was what the user asks for now.
    pub fn is_as_asked(&self, now: &Intent) -> bool {
        self.is_done && self.intent.what == now.what && self.intent.asked == now.asked
    }
}

/// Goes on with the intent of a lab that was killed. Returns what was done, in words; `None` if
/// there was none, which takes no lock, and while another process decides: the intent is its own.
pub fn resume(project: &Project) -> Result<Option<String>> {
    if !intent::exists(project) {
        return Ok(None);
    }
    let lock = DecisionLock::try_take(project)?;
    let resumed = lock.map(|lock| resume_under(project, lock)).transpose()?;
    Ok(resumed.flatten().map(|(text, _)| text))
}

/// The same for who decides next, and how the run was decided, if a keep or a discard was completed.
/// Waits while another process decides: a lane of a loop may do so, and the intent be another's.
pub fn resume_decision(project: &Project) -> Result<Option<(String, Option<Status>)>> {
    match intent::exists(project) {
        true => resume_under(project, DecisionLock::take(project)?),
        false => Ok(None),
    }
}

fn resume_under(project: &Project, lock: DecisionLock) -> Result<Option<(String, Option<Status>)>> {
    let mut locked = Locked::new(project, lock)?;
    let resumed = resume_locked(&mut locked)?;
    let status =
        resumed
            .as_ref()
            .filter(|resumed| resumed.is_done)
            .and_then(|resumed| match resumed.intent.what {
                What::Keep => Some(Status::Keep),
                What::Discard => Some(Status::Discard),
                _ => None,
            });
    let texts = resumed.map(|resumed| resumed.text);
    let texts: Vec<String> = texts.into_iter().chain(locked.said).collect();
    Ok((!texts.is_empty()).then(|| (texts.join("; "), status)))
}

/// The same under a lock that is held already. Also removes temporary files that are left.
pub fn resume_locked(locked: &mut Locked) -> Result<Option<Resumed>> {
    let project = &locked.repo.project;
    leftovers::sweep(&project.files(), &project.lab_dir);
    let since = intent::written_at(project);
    let resumed = match intent::read(project)? {
        None => {
            // If there is a lock but no intent, somebody deleted the intent file.
            lab_git::unlock_index(&locked.repo)?;
            None
        }
        Some(intent) if intent.steps.is_empty() => {
            retry_owed(locked, &intent.owed)?;
            None
        }
        Some(intent) => Some(resume_intent(locked, intent)?),
    };
    remove_leftovers(locked, since);
    Ok(resumed)
}

/// Removes what a lab left that was killed, or whose disk refused to remove it. What cannot be removed
/// now stays for the next decision.
fn remove_leftovers(locked: &mut Locked, since: Option<SystemTime>) {
    let project = &locked.repo.project;
    if let Ok(notes) = on_disk::recover(&locked.repo, &[], None) {
        leftovers::sweep(&project.files(), &project.root);
        locked.said.extend(notes);
    }
    if locked.lock.was_killed {
        lab_git::remove_leftovers(&locked.repo, since);
    } else {
        lab_git::remove_own_locks(&locked.repo);
    }
}

/// Removes what a loop that was killed left in git's folders: it also writes where nobody decides.
/// It stays while another process decides. A temporary file beside the kernel stays, too: it may
/// hold what an editor had just saved.
pub fn remove_leftovers_of_loop(project: &Project) -> Result<()> {
    if let Some(lock) = DecisionLock::try_take(project)? {
        lab_git::remove_leftovers(&Locked::new(project, lock)?.repo, None);
    }
    Ok(())
}

/// Tries the steps that only failed, and notes for the user which of them are taken now.
fn retry_owed(locked: &mut Locked, owed: &[Step]) -> Result<()> {
    locked.owed = steps::retry(locked, owed.to_vec());
    locked.close(locked.owed.clone())?;
    let is_done = |kind: fn(&Step) -> bool| {
        owed.iter()
            .any(|step| kind(step) && !locked.owed.contains(step))
    };
    let said = [
        (
            is_done(|step| matches!(step, Step::JudgedBytes { .. })),
            "the judged line endings that could not be remembered before are remembered",
        ),
        (
            is_done(|step| matches!(step, Step::Note { .. })),
            "the git note that could not be written before is written",
        ),
        (
            is_done(|step| matches!(step, Step::Row { .. })),
            "the row that could not be written before is written",
        ),
        (
            is_done(|step| matches!(step, Step::Stage { .. })),
            "git's index, which could not be written before, is written",
        ),
    ];
    let said = said.into_iter().filter(|(is_done, _)| *is_done);
    locked.said.extend(said.map(|(_, text)| text.to_owned()));
    Ok(())
}

/// Opens the project of another kernel. The path must lie in this repository: the steps are taken
/// in the repository of the project.
fn of_same_repository(project: &Project, kernel: &str) -> Result<Project> {
    let elsewhere = || {
        anyhow!(
            "{kernel} is not in this repository. If no lab of this repository wrote {}, delete it",
            intent::path(project).display()
        )
    };
    ensure!(is_inside(kernel), elsewhere());
    let other = Project::open(&project.root, Some(Path::new(kernel)))?;
    ensure!(other.root == project.root, elsewhere());
    Ok(other)
}

fn resume_intent(locked: &mut Locked, mut intent: Intent) -> Result<Resumed> {
    let began = format!("{} that an earlier lab began", intent.subject);
    // The lab that was killed may have worked on another kernel.
    let project = &locked.repo.project;
    if intent.kernel != project.kernel_name && !intent.kernel.is_empty() {
        locked.repo = of_same_repository(project, &intent.kernel)
            .and_then(|other| Repo::open(&other))
            .with_context(|| format!("{began} cannot be finished"))?;
    }
    for run in intent.steps.iter().filter_map(Step::run) {
        leftovers::sweep(locked.lock.store.files(), &locked.lock.store.folder(run));
    }
    let taken = steps::take(locked, &mut intent);
    locked.owed.clone_from(&intent.owed);
    let why = match taken {
        Came::Done(notes) => {
            let closed = locked.close(intent.owed.clone());
            closed.map_err(|error| unfinished(&intent, error))?;
            let text: Vec<String> = std::iter::once(done(&intent)).chain(notes).collect();
            return Ok(Resumed {
                intent,
                is_done: true,
                text: text.join("; "),
            });
        }
        Came::TakenBack(why) => why,
        // A hook refused: nothing was committed, and would not be the next time.
        Came::Failed(error) if intent.is_by_program() => format!("{error:#}"),
        Came::Failed(error) | Came::Unfinished(error) => {
            return Err(unfinished(&intent, error).context(format!("{began} is not finished")));
        }
    };
    locked.withdraw(&intent)?;
    Ok(Resumed {
        intent,
        is_done: false,
        text: format!("{began} is taken back: {why}"),
    })
}

/// Tells the user that an intent is carried out.
fn done(intent: &Intent) -> String {
    if let (What::Describe, Some((commit, text))) = (intent.what, intent.described()) {
        return format!(
            "the description of {commit} is now '{text}', as an earlier lab began to write"
        );
    }
    let commit = intent.commit.as_deref().map(lab_git::short);
    let names_commit = matches!(intent.what, What::Keep | What::Discard | What::Rules);
    let commit = commit
        .filter(|_| names_commit)
        .map(|commit| format!(" ({commit})"));
    format!(
        "{} that an earlier lab began is done{}",
        intent.subject,
        commit.unwrap_or_default()
    )
}
