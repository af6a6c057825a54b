//! Packs the lab's refs apart from a discard: for `lab clean`, and after a fetch, which may bring
//! thousands. It is no decision, but git locks its packed refs meanwhile, and the intent lets the
//! next command remove the lock of a git that was killed.

use super::carry_out::carry_out;
use super::intent::{Asked, Intent, What};
use super::step::Step;
use super::{Refusal, begin};
use crate::project::Project;
use crate::repo::{self, Repo};
use std::result::Result as StdResult;

/// Packs the refs below `refs/lab` into git's file of packed refs. Every ref stays. Returns how
/// many of them are no files of their own any more.
pub fn pack_refs(project: &Project) -> StdResult<usize, Refusal> {
    let before = repo::loose_refs(&Repo::open(project)?, usize::MAX);
    if before == 0 {
        return Ok(0);
    }
    let asked = Asked {
        what: What::PackRefs,
        kernel: "",
        text: "",
    };
    let locked = begin(project, &asked)?;
    let mut intent = Intent::new(&asked, project, "");
    intent.kernel = String::new();
    intent.steps.push(Step::PackRefs);
    let notes =
        carry_out(project, &locked, intent, "no ref was packed")?.close(project, &locked)?;
    match repo::loose_refs(&locked.repo, usize::MAX) {
        after if after < before => Ok(before - after),
        _ => Err(Refusal::No(notes.join("; "))),
    }
}

/// The same where there are so many refs that it is worth its time. Returns what came of it, in
/// words.
pub fn pack_many_refs(project: &Project) -> Option<String> {
    if !repo::has_many_loose_refs(&Repo::open(project).ok()?) {
        return None;
    }
    Some(match pack_refs(project) {
        Ok(packed) => format!("{packed} refs of the lab are in one file now"),
        Err(refusal) => format!("the refs of the lab stay files of their own: {refusal}"),
    })
}
