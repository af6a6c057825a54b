//! Starts the git program for what libgit2 cannot do: fetch, pack, write a split or sparse index,
//! run hooks and sign commits.

use super::{CommitFile, Repo};
use anyhow::{Context, Result, bail};
use lab_project::{Project, trust};
use lab_system::file_lock::LockedFile;
use lab_system::threads;
use lab_text::sanitise;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Settings of every git that is started. A clean-up that goes on in the background would hold a
/// lock that it inherits, and the monitor is a program that the configuration names. git 2.36 and
/// newer waits until what it writes is on disk. By default it removes loose refs before the file of
/// packed ones is there. git would walk into submodules, each of which has a configuration of its own.
const SETTINGS: [&str; 12] = [
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.fsync=committed,reference",
    "-c",
    "submodule.recurse=false",
    "-c",
    "fetch.recurseSubmodules=false",
];

/// Starts git with the lock, which comes as stdin, as a descriptor that git and its hooks pass on.
/// Nothing else is passed on: git reads no input.
const WITH_LOCK: &str = "exec 9<&0 </dev/null; exec git \"$@\"";

/// What the shell exits with where it finds no git.
const NOT_FOUND: i32 = 127;

/// How git is started.
pub struct GitProgram<'a> {
    pub project: &'a Project,
    /// What it is needed for.
    pub why: &'a str,
    /// The index that it works on; `None` for the user's.
    pub index: Option<PathBuf>,
    /// With a lock, hooks are run, and git and the hooks hold the lock until they end.
    pub lock: Option<&'a mut LockedFile>,
}

/// The git program could not be started. What it is needed for, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0} could not be started: {1}")]
pub struct NoGit(String, String);

impl<'a> GitProgram<'a> {
    /// The git program without hooks.
    pub fn of(repo: &'a Repo, why: &'a str) -> Result<GitProgram<'a>> {
        repo.git.workdir().context("the repository is bare")?;
        Ok(GitProgram {
            project: &repo.project,
            why,
            index: None,
            lock: None,
        })
    }

    /// Runs git. Returns what it printed; the error says why it refused.
    pub fn run(&mut self, args: &[&str]) -> Result<String> {
        let why = self.why;
        let no_git = match self.lock {
            Some(_) => format!("{why}, so `git` must make the commit, and it"),
            None => format!("{why}, and `git`"),
        };
        let mut command = self.command()?;
        command.args(args).current_dir(&self.project.root);
        // An editor would wait for input that never comes.
        command
            .env("GIT_EDITOR", "true")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .envs(self.index.iter().map(|index| ("GIT_INDEX_FILE", index)));
        // For an object that is missing git would start what the folder names for a fetch.
        if !trust::is_granted(self.project) {
            command.env("GIT_NO_LAZY_FETCH", "1");
        }
        let output = match command.output() {
            Ok(output) if output.status.code() != Some(NOT_FOUND) => output,
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let why = threads::refused("process", error).to_string();
                return Err(NoGit(no_git, why).into());
            }
            _ => return Err(NoGit(no_git, "install git".to_owned()).into()),
        };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let text = [output.stderr, output.stdout].concat();
        let lines = text.split(|byte| *byte == b'\n').map(sanitise::line);
        let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
        let said = match lines.is_empty() {
            true => output.status.to_string(),
            false => lines.join(" · "),
        };
        let is_name = |arg: &&&str| !arg.starts_with('-') && !arg.contains('=');
        let name = args.iter().find(is_name).unwrap_or(&"");
        bail!("`git {name}` refused ({why}): {said}")
    }

    fn command(&mut self) -> Result<Command> {
        let mut command;
        match &mut self.lock {
            Some(lock) => {
                let lock = lock
                    .for_child()
                    .context("cannot share the lock of the commit with git")?;
                command = Command::new("sh");
                command.args(["-c", WITH_LOCK, "git"]).stdin(lock);
                command.args(SETTINGS);
            }
            None => {
                command = Command::new("git");
                command.stdin(Stdio::null()).args(SETTINGS);
                command.args(["-c", "core.hooksPath=/dev/null"]);
            }
        }
        Ok(command)
    }

    /// Sets the entry of a file in the index, or takes it out.
    pub fn set_entry(&mut self, file: &CommitFile) -> Result<()> {
        let name = &file.name;
        match &file.blob {
            Some(blob) => {
                let entry = format!("{:o},{blob},{name}", file.mode);
                self.run(&["update-index", "--add", "--cacheinfo", &entry])
            }
            None => self.run(&["update-index", "--force-remove", "--", name]),
        }
        .map(drop)
    }
}
