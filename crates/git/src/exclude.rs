//! Keeps the lab's own files out of `git status`, and changes no file that git tracks.

use super::patterns::IGNORED;
use super::{Repo, bounds, index};
use anyhow::Result;
use lab_system::failure::Failure;
use lab_system::root::{Access, Root, if_there};
use std::io::Write;
use std::path::Path;

/// Most bytes of the file.
const READ_LIMIT: u64 = 16 << 20;

/// Adds `.lab`, `results.tsv`, `results.cpu.tsv` and `run.log` to `.git/info/exclude`, unless they
/// stand there or git tracks them.
pub fn exclude(repo: &Repo) -> Result<()> {
    let git = &repo.git;
    let project = &repo.project;
    let home = project
        .relative(&project.home)
        .filter(|h| !h.is_empty())
        .map_or_else(String::new, |h| h + "/");
    let wanted = [
        ".lab/",
        "results.tsv",
        "results.cpu.tsv",
        &format!("{home}run.log"),
    ]
    .map(str::to_owned);
    let (files, file) = (Root::new(git.commondir()), Path::new("info/exclude"));
    let shown = git.commondir().join(file);
    let present = if_there(files.read(file, READ_LIMIT)).cannot("write", &shown)?;
    let present = String::from_utf8_lossy(&present.unwrap_or_default()).into_owned();
    let mut missing = Vec::new();
    for name in wanted {
        let line = format!("/{}", pattern(&name));
        if !present.lines().any(|have| have.trim() == line) && index::staged(repo, &name)?.is_none()
        {
            missing.push(line);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let gap = if present.is_empty() || present.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let text = format!("{gap}# written by lab\n{}\n", missing.join("\n"));
    files
        .create_dir_all(Path::new("info"))
        .and_then(|()| {
            files
                .open(file, Access::ReadAppend)?
                .write_all(text.as_bytes())
        })
        .cannot("write", &shown)
}

/// Whether git leaves a file at this path out, by a .gitignore or its own lists.
pub fn ignores(repo: &Repo, path: &str) -> bool {
    bounds::refuse_costly(&repo.git, path, &IGNORED).is_ok()
        && repo.git.is_path_ignored(path).unwrap_or(false)
}

/// A line of the file that means the path of this name alone. No line can hold a line break, so a
/// control character becomes any one character.
fn pattern(name: &str) -> String {
    let escaped = |c: char| match c {
        '*' | '?' | '[' | '\\' => format!("\\{c}"),
        _ if c.is_ascii_control() => "?".to_owned(),
        _ => c.to_string(),
    };
    name.chars().map(escaped).collect()
}

/// Whether git tracks this file.
pub fn tracked(repo: &Repo, path: &Path) -> bool {
    let staged = repo
        .project
        .relative(path)
        .map(|name| index::staged(repo, &name));
    matches!(staged, Some(Ok(Some(_))))
}
