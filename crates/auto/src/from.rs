//! `lab auto --from COMMIT`: the loop starts at an older kernel, on a branch of its own. The branch
//! that was checked out stays as it is, and so does every experiment.

use super::files::{Files, read_state};
use anyhow::{Result, bail};
use lab_git::{Repo, Switched, short};
use lab_project::Project;
use lab_store::DecisionLock;

/// Checks out the branch `lab/auto/SHORT`, which starts at a commit; returns what was done, in a
/// sentence. Open the project anew afterwards: its files are other ones.
pub fn start_from(project: &Project, name: &str) -> Result<String> {
    let files = Files::of(project)?;
    files.create()?;
    let _lock = files.lock(project)?;
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
