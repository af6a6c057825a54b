//! An editor without a model: each turn applies the next `*.patch` of a folder to the kernel in
//! HEAD.

use super::answer::Answer;
use super::running::Edited;
use super::state::{LastTurn, TurnOutcome};
use anyhow::Result;
use lab_git::Repo;
use lab_project::Project;
use lab_run::inputs::SIZE_LIMIT;
use lab_system::failure::Failure;
use lab_system::listing;
use lab_system::root::Root;
use std::path::Path;

/// Returns the name of the first patch in a folder that comes after `last`, by name. `None` after
/// the last one.
pub fn next(folder: &Path, last: Option<&str>) -> Result<Option<String>> {
    let entries = listing::read_dir(folder).cannot("read", folder)?;
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let patches = names
        .filter(|name| name.ends_with(".patch") && last.is_none_or(|last| name.as_str() > last));
    Ok(patches.min())
}

/// Applies one patch. A patch that does not apply is a failed turn that names it.
pub fn apply(project: &Project, folder: &Path, name: &str, turn: u64) -> Result<Edited> {
    let mut told = LastTurn::begun(turn);
    told.command = format!("patch {name}");
    let read = Root::new(folder).read(Path::new(name), SIZE_LIMIT);
    let read = read.cannot("read", &folder.join(name));
    let repo = Repo::open(project)?;
    match read.and_then(|patch| lab_git::apply_patch(&repo, &patch)) {
        Err(error) => {
            let told = told.ended(
                TurnOutcome::Failed,
                format!("{name} does not apply: {error:#}"),
            );
            Ok(Edited::Without {
                told,
                cost: 0.0,
                cannot_start: false,
            })
        }
        Ok(patched) => {
            told.ignored = patched
                .others
                .iter()
                .map(|path| format!("changed {path} (it is in the patch)"))
                .collect();
            let description = Some(name.trim_end_matches(".patch").to_owned());
            Ok(Edited::Kernel {
                bytes: patched.kernel,
                answer: Answer {
                    description,
                    ..Answer::default()
                },
                told,
            })
        }
    }
}
