//! What a loop starts from: the state of an earlier one, or a new one.

use super::files::{Files, Locks, read_state};
use super::options::Auto;
use super::state::{Counts, State};
use anyhow::{Context, Result, bail};
use lab_git::{Repo, Switched, short};
use lab_project::Project;
use lab_runner::execute::{NotRun, inputs_of};
use lab_store::DecisionLock;

/// The blob of the kernel that a loop has to beat. The error says that HEAD does not hold it yet.
pub fn incumbent(repo: &Repo) -> Result<String> {
    let Project {
        kernel_name,
        argument,
        ..
    } = &repo.project;
    lab_git::incumbent(repo)?.with_context(|| {
        format!(
            "HEAD does not hold {kernel_name}, so there is no incumbent to beat: commit it (`git add`, `git commit`), or \
             `lab run{argument}` and `lab keep{argument} -m TEXT`"
        )
    })
}

/// Creates the loop's folders and takes its locks. git does not show what is in them.
pub fn claim(project: &Project, files: &Files) -> Result<Locks> {
    // Without the list of what git leaves out, the loop works as well.
    let _ = lab_git::exclude(&Repo::open(project)?);
    files.create()?;
    files.lock(project)
}

/// Checks that the loop can work, completes what an earlier lab began, and returns the state to go
/// on from.
pub fn begin(auto: &Auto) -> Result<State> {
    let project = auto.project;
    lab_decide::resume_decision(project)?;
    let repo = Repo::open(project)?;
    if let Some(fault) = lab_git::head_fault(&repo) {
        bail!("{fault}");
    }
    incumbent(&repo)?;
    match inputs_of(project, auto.spec) {
        // The kernel's file is a person's matter: the loop waits.
        Ok(_) | Err(NotRun::Kernel(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let budget = auto.options.budget.clone();
    let earlier = read_state(project)?;
    if earlier.as_ref().is_some_and(|old| old.ended.is_none()) {
        lab_decide::remove_leftovers_of_loop(project)?;
    }
    Ok(match earlier {
        // It was killed, or a signal ended it while a kernel was judged. The same budget goes on;
        // another one begins.
        Some(old) if old.ended.is_none() || old.candidate.is_some() => {
            let (counts, counted) = if old.budget == budget {
                (old.counts.clone(), old.counted.clone())
            } else {
                Default::default()
            };
            let counts = Counts {
                failures_in_a_row: 0,
                ..counts
            };
            State {
                process: std::process::id(),
                budget,
                counts,
                counted,
                ended: None,
                ..old
            }
        }
        Some(old) => State {
            last_turn: old.last_turn,
            left: old.left,
            cleaned: old.cleaned,
            ..State::new(&project.kernel_name, budget, old.turn)
        },
        None => State::new(&project.kernel_name, budget, 0),
    })
}

/// Checks out the branch `lab/auto/SHORT`, which starts at a commit; returns what was done, in a
/// sentence. Open the project anew afterwards: its files are other ones.
pub fn start_from(project: &Project, name: &str) -> Result<String> {
    let files = Files::of(project)?;
    let _lock = claim(project, &files)?;
    lab_decide::resume_decision(project)?;
    let repo = Repo::open(project)?;
    let head = lab_git::head(&repo)?;
    let (commit, subject) = lab_git::resolve(&repo, name)?;
    if lab_git::bytes_of(&repo, &commit).is_err() {
        bail!(
            "{} '{subject}' does not hold {}: name another commit",
            short(&commit),
            project.kernel_name
        );
    }
    let branch = format!("lab/auto/{}", short(&commit));
    let is_there = head.branch.as_ref() == Some(&branch);
    if let Some(candidate) = read_state(project)?
        .and_then(|state| state.candidate)
        .filter(|_| !is_there)
    {
        bail!(
            "the kernel of turn {} is not decided yet: `lab auto` without --from decides it first",
            candidate.told.turn
        );
    }
    let _deciding = DecisionLock::take(project)?;
    let switched = lab_git::switch_to_branch(&repo, &branch, &commit)?;
    let back = match (&head.branch, &head.commit) {
        (Some(before), _) => format!("`git switch {before}` goes back"),
        (None, Some(before)) => format!("`git switch --detach {}` goes back", short(before)),
        (None, None) => String::new(),
    };
    Ok(match switched {
        Switched::There => format!("on the branch {branch} already"),
        Switched::New => format!(
            "on the new branch {branch} at {} '{subject}'; {back}",
            short(&commit)
        ),
        Switched::Again => format!("on the branch {branch}, which was there before; {back}"),
    })
}
