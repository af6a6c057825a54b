//! Keeps the lab's own files out of `git status`, and changes no file that git tracks.

use super::{Project, Repo, user_index};
use anyhow::{Context, Result};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Adds `.lab`, `results.tsv`, `results.cpu.tsv` and `run.log` to `.git/info/exclude`, unless they stand there or git
/// tracks them.
pub fn exclude(repo: &Repo, project: &Project) -> Result<()> {
    let git = &repo.git;
    let home =
        project.relative(&project.home).filter(|h| !h.is_empty()).map_or_else(String::new, |h| h + "/");
    let wanted = [".lab/", "results.tsv", "results.cpu.tsv", &format!("{home}run.log")].map(str::to_owned);
    let file = git.commondir().join("info/exclude");
    let present = fs::read_to_string(&file).unwrap_or_default();
    let mut missing = Vec::new();
    for name in wanted {
        let line = format!("/{name}");
        if !present.lines().any(|have| have.trim() == line) && user_index::staged(repo, &name)?.is_none() {
            missing.push(line);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let gap = if present.is_empty() || present.ends_with('\n') { "" } else { "\n" };
    let text = format!("{gap}# written by lab\n{}\n", missing.join("\n"));
    fs::create_dir_all(git.commondir().join("info"))
        .and_then(|()| OpenOptions::new().create(true).append(true).open(&file)?.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// Whether git tracks this file.
pub fn tracked(repo: &Repo, project: &Project, path: &Path) -> bool {
    let staged = project.relative(path).map(|name| user_index::staged(repo, &name));
    matches!(staged, Some(Ok(Some(_))))
}
