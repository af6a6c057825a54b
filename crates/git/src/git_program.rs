//! Starts the git program for what libgit2 cannot do: fetch, pack, write a split or sparse index,
//! run hooks and sign commits.

use super::head::head_fault_at;
use super::{CommitFile, Repo};
use anyhow::{Context, Result, bail};
use lab_project::{Project, trust};
use lab_system::file_lock::LockedFile;
use lab_system::{descendants, threads};
use lab_text::sanitise;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, ErrorKind, Read, Write};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

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

const NO_HOOKS: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];

/// Starts git with the lock, which comes as stdin, as a descriptor that git and its hooks pass on.
/// Nothing else is passed on: git reads no input.
const WITH_LOCK: &str = "exec 9<&0 </dev/null; exec git \"$@\"";

/// Starts git and a watch over the lab, whose end of stdin closes when the lab ends: the watch then
/// kills git. A lab that is done with git sends the watch a line first.
const WITH_WATCH: &str =
    "exec 9<&0 </dev/null; { read -r done <&9 || kill $$; } >/dev/null 2>&1 & exec git \"$@\" 9<&-";

/// Most bytes of git's output and of its messages that are read. The list of a pathspec's files is
/// short, and a remote may send messages without end.
const OUTPUT: u64 = 1 << 20;

/// What the shell exits with where it finds no git.
const NOT_FOUND: i32 = 127;

/// How git says that it takes the folder for no repository, as where HEAD is damaged.
const NO_REPOSITORY: &str = "not a git repository";

/// How git is started.
pub struct GitProgram<'a> {
    pub project: &'a Project,
    /// What it is needed for.
    pub why: &'a str,
    /// The index that it works on; `None` for the user's.
    pub index: Option<PathBuf>,
    /// With a lock, hooks are run, and git and the hooks hold the lock until they end.
    pub lock: Option<&'a mut LockedFile>,
    /// Whether it talks to another repository: that may let git wait, and send messages, without end.
    /// git then ends where there are too many, and when the lab is killed.
    pub is_remote: bool,
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
            is_remote: false,
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
        let output = match bounded_output(&mut command, self.is_remote) {
            Ok(output) if output.status.code() != Some(NOT_FOUND) => output,
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let why = threads::refused("process", error).to_string();
                return Err(NoGit(no_git, why).into());
            }
            _ => return Err(NoGit(no_git, "install git".to_owned()).into()),
        };
        let is_name = |arg: &&&str| !arg.starts_with('-') && !arg.contains('=');
        let name = args.iter().find(is_name).unwrap_or(&"");
        if output.is_too_much && self.is_remote {
            bail!("`git {name}` was ended: it printed more than {OUTPUT} bytes ({why})");
        }
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
        if said.contains(NO_REPOSITORY)
            && let Some(fault) = head_fault_at(&self.project.root)
        {
            bail!("{fault}");
        }
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
            None if self.is_remote => {
                command = Command::new("sh");
                command
                    .args(["-c", WITH_WATCH, "git"])
                    .stdin(Stdio::piped());
                command.args(SETTINGS).args(NO_HOOKS);
            }
            None => {
                command = Command::new("git");
                command.stdin(Stdio::null()).args(SETTINGS).args(NO_HOOKS);
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

/// What git printed, and how it ended.
struct BoundedOutput {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Whether it printed more than [`OUTPUT`].
    is_too_much: bool,
}

/// Runs a command and reads what it prints. Where that is too much, kills it and what it has started,
/// or leaves the rest out.
fn bounded_output(command: &mut Command, kills: bool) -> io::Result<BoundedOutput> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (id, watch) = (Pid::from_child(&child), child.stdin.take());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = thread::scope(|scope| {
        let too_much = || {
            if kills {
                kill(id);
            }
        };
        let messages = threads::start_in(scope, move || read_bounded(err, too_much));
        let stdout = read_bounded(out, too_much);
        // Without the thread git cannot go on once its messages fill the pipe.
        let messages = messages.inspect_err(|_| kill(id))?;
        let stderr = messages.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok::<_, io::Error>((stdout, stderr))
    })?;
    if let Some(mut watch) = watch {
        // The watch may be gone already.
        let _ = watch.write_all(b"done\n");
    }
    let status = child.wait()?;
    let [(stdout, much), (stderr, many)] = [stdout?, stderr?];
    Ok(BoundedOutput {
        status,
        stdout,
        stderr,
        is_too_much: much || many,
    })
}

/// Reads what a process prints up to [`OUTPUT`], and whether it prints more. Calls `too_much` then.
fn read_bounded(from: Option<impl Read>, too_much: impl Fn()) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    let Some(mut from) = from else {
        return Ok((bytes, false));
    };
    from.by_ref().take(OUTPUT).read_to_end(&mut bytes)?;
    let is_more = from.read(&mut [0])? > 0;
    if is_more {
        too_much();
        io::copy(&mut from, &mut io::sink())?;
    }
    Ok((bytes, is_more))
}

/// Kills a child that is not reaped yet, and what it has started.
fn kill(process: Pid) {
    let below = descendants::of(process);
    let _ = kill_process(process, Signal::KILL);
    descendants::kill(&below);
}
