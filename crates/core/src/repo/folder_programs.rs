//! Programs that a commit would start and that came with the folder: hooks in `.git/hooks`, and programs that the repository's own
//! configuration names. A clone brings neither along, an archive with a `.git` may bring both.
//!
//! What the user's own configuration names is the user's. libgit2 starts no program; only a commit by the git program does.

use crate::repo::Repo;
use anyhow::Result;
use git2::{Config, ConfigLevel, Repository};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Hooks that `git commit` starts, and those of the commands before it.
const HOOKS: [&str; 7] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
    "post-index-change",
    "pre-auto-gc",
];

/// What a commit would start of this folder, as in `the hook .git/hooks/pre-commit`. `None` where libgit2 makes the commit, or where
/// git starts the user's own programs only.
pub fn folder_programs(repo: &Repo) -> Result<Option<String>> {
    let git = &repo.git;
    let config = git.config()?.snapshot()?;
    let named = named_programs(&config)?;
    let signs = config.get_bool("commit.gpgsign").unwrap_or(false);
    let own_folder = config.get_path("core.hooksPath").is_err();
    let hook = hooks_folder(git, &config).and_then(|folder| executable_hook(&folder));
    let Some(hook) = hook else { return Ok(named.filter(|_| signs)) };
    if own_folder || is_of_folder(&config, "core.hooksPath") {
        let shown = git.workdir().and_then(|root| hook.strip_prefix(root).ok()).unwrap_or(&hook);
        return Ok(Some(format!("the hook {}", shown.display())));
    }
    Ok(named)
}

fn hooks_folder(git: &Repository, config: &Config) -> Option<PathBuf> {
    match config.get_path("core.hooksPath") {
        Ok(path) => Some(git.workdir().unwrap_or(Path::new(".")).join(path)),
        Err(_) => Some(git.commondir().join("hooks")),
    }
}

fn executable_hook(folder: &Path) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    HOOKS.iter().map(|hook| folder.join(hook)).find(runs)
}

/// Whether the value of a key comes from the repository's own files.
fn is_of_folder(config: &Config, key: &str) -> bool {
    config.get_entry(key).is_ok_and(|entry| of_folder(entry.level()))
}

fn of_folder(level: ConfigLevel) -> bool {
    matches!(level, ConfigLevel::Local | ConfigLevel::Worktree | ConfigLevel::App)
}

/// The first program that the repository's configuration names and that `git commit` may start.
fn named_programs(config: &Config) -> Result<Option<String>> {
    let mut found = None;
    config.entries(None)?.for_each(|entry| {
        let (Ok(name), Ok(value)) = (entry.name(), entry.value()) else { return };
        if found.is_none() && of_folder(entry.level()) && names_a_program(name, value) {
            found = Some(format!("{value} ({name} in the repository's configuration)"));
        }
    })?;
    Ok(found)
}

/// Whether git starts the value of this key. Section and key are in lower case.
fn names_a_program(name: &str, value: &str) -> bool {
    let is_switch = matches!(value, "" | "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1");
    let of = |section: &str, keys: &[&str]| {
        name.strip_prefix(section).is_some_and(|rest| keys.iter().any(|key| rest.ends_with(key)))
    };
    (name == "core.fsmonitor" && !is_switch)
        || of("gpg.", &["program", "defaultkeycommand"])
        || of("filter.", &[".clean", ".smudge", ".process"])
        || matches!(
            name,
            "gc.recentobjectshook" | "core.sshcommand" | "core.alternaterefscommand" | "core.gitproxy"
        )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn keys_that_name_programs_are_told_from_switches() {
        for (name, value) in [
            ("gpg.program", "x"),
            ("gpg.ssh.program", "x"),
            ("gpg.ssh.defaultkeycommand", "x"),
            ("core.fsmonitor", ".git/x"),
            ("filter.lfs.clean", "x"),
            ("filter.a.b.process", "x"),
            ("gc.recentobjectshook", "x"),
        ] {
            assert!(names_a_program(name, value), "{name}");
        }
        for (name, value) in [
            ("core.fsmonitor", "true"),
            ("gpg.format", "ssh"),
            ("filter.lfs.required", "true"),
            ("user.name", "program"),
        ] {
            assert!(!names_a_program(name, value), "{name}");
        }
    }
}
