//! One run of the user's command: its work tree, its environment, its limits, and the kernel that
//! it left.

use super::answer::{self, Answer};
use super::files::Files;
use super::hints;
use super::lanes::device_name;
use super::noticed::UsersRepository;
use super::running::{Edited, Running};
use super::state::{LastTurn, TurnOutcome};
use anyhow::{Context, Result};
use itertools::Itertools;
use lab_git::{AgentTree, Repo};
use lab_project::Project;
use lab_run::Ending;
use lab_runner::follow::{Follow, read_log};
use lab_runner::process::{self, Control};
use lab_runner::spec::own_program;
use lab_system::failure::Failure;
use lab_system::root::{Access, Root, if_there};
use lab_text::{shell, signal};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Most bytes of output. A command that prints more is ended; head and tail are kept.
const OUTPUT_LIMIT: u64 = 16 << 20;

/// Why a turn that a person ended has no result.
pub const TURN_ENDED: &str = "a person ended the turn";

/// Lines of the output's end that the state holds.
const OUTPUT_LINES: usize = 20;

/// Most bytes of files other than the kernel that are kept in git of one turn; of all turns
/// together; and of a turn when that is spent.
const KEPT_OF_A_TURN: u64 = 64 << 20;
const KEPT_IN_ALL: u64 = 1 << 30;
const KEPT_AT_LEAST: u64 = 16 << 10;

impl Running<'_, '_> {
    /// Runs the command. An error is of the lab's own files.
    pub fn run_command(&mut self, words: &[String], control: &Control) -> Result<Edited> {
        let started = Instant::now();
        let (project, turn) = (self.auto.project, self.state.turn);
        let told = hints::of(&self.auto, &self.index, &self.state)?;
        let user = Root::new(&self.files.user);
        let repo = Repo::open(project)?;
        keep_half_done(project, self.files)?;
        // The command of an earlier turn may have removed them.
        self.files.create()?;
        let before_it = UsersRepository::look(&repo, project)?;
        // Without a crash to mend the command starts from the incumbent.
        let mending = self.state.mending.as_deref();
        let crashed = mending.and_then(|hash| self.files.candidate(hash));
        let path = self.files.user.join("tree");
        let last = self.tree.take();
        let tree = AgentTree::create(&repo, &path, turn, crashed.as_deref(), last)?;
        let before = tree
            .read_kernel()
            .context("cannot read the kernel in the work tree of the command")?;
        let [state, answer] = ["state.json", "answer.json"].map(|name| self.files.user.join(name));
        user.replace_with(&state, |out| out.write_all(&told))
            .cannot("write", &state)?;
        user.remove_file(&answer).cannot("remove", &answer)?;
        let (log, log_path) = self.files.log()?;
        let command = self.command(words, &tree, &state, &answer);
        let limit = self.auto.options.turn_limit;
        let ending = follow(command, limit, log, control)?;
        let mut told = LastTurn::begun(turn);
        told.command = in_words(ending, limit);
        told.seconds = started.elapsed().as_secs_f64();
        told.noticed = before_it.changes(project, self.files);
        // It may not be as it was when the command began.
        let repo = Repo::open(project);
        if self.auto.control.is_ended() {
            keep_others(&tree, &repo?, self.files, &mut told, true)?;
            end_turn(self.files)?;
            return Ok(Edited::Stopped(told.ended(
                TurnOutcome::Failed,
                "the loop was ended while the command edited",
            )));
        }
        let log = project.files().open(&log_path, Access::Read);
        let lines = log.and_then(|log| read_log(log, OUTPUT_LINES));
        let lines = lines.unwrap_or_default();
        told.output = lines.into_iter().map(|line| line.text).collect();
        let bytes = if_there(user.read(&answer, answer::LIMIT));
        let said = bytes
            .map_err(|error| format!("LAB_ANSWER is not read: {error}"))
            .and_then(|bytes| bytes.map_or_else(|| Ok(Answer::default()), |it| Answer::parse(&it)));
        let said = said.unwrap_or_else(|why| {
            told.answer_error = Some(why);
            Answer::default()
        });
        let kernel = match ending {
            Ending::Exited(0) => tree
                .read_kernel()
                .map_err(|error| format!("its kernel is not taken: {error:#}")),
            Ending::Superseded => Err(told.command.clone()),
            _ => Err(format!("the command failed: {}", told.command)),
        };
        // The kernel of a command that failed is not judged, and it is not lost.
        match (repo, &kernel) {
            (Ok(repo), _) => keep_others(&tree, &repo, self.files, &mut told, kernel.is_err())?,
            (Err(why), Ok(_)) => told
                .ignored
                .push(format!("other files are not kept: {why:#}")),
            (Err(why), Err(_)) => return Err(why),
        }
        if kernel.as_ref().map_or(true, |bytes| *bytes == before) {
            end_turn(self.files)?;
        }
        let cost = said.cost.unwrap_or(0.0);
        self.tree = Some(tree);
        Ok(match kernel {
            Err(why) => Edited::Without {
                told: told.ended(TurnOutcome::Failed, why),
                cost,
                cannot_start: matches!(ending, Ending::Exited(126 | 127)),
            },
            Ok(bytes) if bytes == before => {
                let why = "the command did not change the kernel";
                Edited::Without {
                    told: told.ended(TurnOutcome::Nothing, why),
                    cost,
                    cannot_start: false,
                }
            }
            Ok(bytes) => Edited::Kernel {
                bytes,
                answer: said,
                told,
            },
        })
    }

    fn command(&self, words: &[String], tree: &AgentTree, state: &Path, answer: &Path) -> Command {
        let words = words.iter().map(|word| shell::quote(word)).join(" ");
        let line = format!("exec {words}");
        let mut command = Command::new(own_program());
        let own = std::process::id().to_string();
        command
            .arg0("lab")
            .args(["supervise", "--parent", &own, "--", &line]);
        let kernel = tree.kernel();
        command.current_dir(kernel.parent().unwrap_or(tree.path()));
        command
            .env("LAB_AUTO_STATE", state)
            .env("LAB_ANSWER", answer)
            .env("LAB_KERNEL", &kernel);
        command
            .env("LAB_DEVICE", device_name(self.target()))
            .env("LAB_TURN", self.state.turn.to_string())
            .env("LAB_ATTEMPT", self.state.counts.mended.to_string());
        // git in the work tree is about the work tree, whoever started the lab.
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_COMMON_DIR",
            "GIT_OBJECT_DIRECTORY",
        ] {
            command.env_remove(name);
        }
        command
    }
}

/// Follows the command to its end.
fn follow(command: Command, time: Duration, log: File, control: &Control) -> Result<Ending> {
    let mut follow = Follow::new(log, OUTPUT_LIMIT);
    let running = process::start(command, Stdio::null()).context("cannot start the command")?;
    let (ending, _) = process::follow(running, time, control, &mut follow, |_| {});
    // The log is for reading only: the turn goes on without it.
    let _ = follow.finish();
    Ok(ending)
}

/// Keeps in git what a command had done in a turn that did not end: the loop was killed, or its
/// files could not be written. `None` if every turn ended, or the command had changed nothing.
pub fn keep_half_done(project: &Project, files: &Files) -> Result<Option<LastTurn>> {
    let repo = Repo::open(project)?;
    let Some((tree, turn)) = AgentTree::find(&repo, &files.user.join("tree"))? else {
        return Ok(None);
    };
    let mut told = LastTurn::begun(turn);
    keep_others(&tree, &repo, files, &mut told, true)?;
    end_turn(files)?;
    let why = "the loop was ended while the command edited";
    Ok(told
        .ignored_ref
        .is_some()
        .then(|| told.ended(TurnOutcome::Failed, why)))
}

/// Notes that nothing of the work tree is needed any more. Call it once the command's kernel is
/// stored elsewhere.
pub fn end_turn(files: &Files) -> Result<()> {
    AgentTree::forget(&files.user.join("tree")).context("cannot end the turn of the command")
}

/// Keeps in git what the command changed besides the kernel, within what the loop may keep.
fn keep_others(
    tree: &AgentTree,
    repo: &Repo,
    files: &Files,
    told: &mut LastTurn,
    with_kernel: bool,
) -> Result<()> {
    let kept = files.kept_bytes();
    let most = KEPT_IN_ALL
        .saturating_sub(kept)
        .clamp(KEPT_AT_LEAST, KEPT_OF_A_TURN);
    let others = tree.keep_others(repo, told.turn, with_kernel, most)?;
    if others.bytes > 0 {
        files.write_kept_bytes(kept.saturating_add(others.bytes))?;
    }
    told.ignore(others);
    Ok(())
}

fn in_words(ending: Ending, limit: Duration) -> String {
    match ending {
        Ending::Exited(126) => "exit code 126: it cannot be executed".to_owned(),
        Ending::Exited(127) => "exit code 127: there is no such program".to_owned(),
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Signalled(number) => format!("it was ended by {}", signal::name(number)),
        Ending::TimedOut => format!(
            "it was ended after {} s (--turn-limit)",
            limit.as_secs_f64()
        ),
        Ending::Flooded => format!(
            "it was ended: it printed more than {} MiB",
            OUTPUT_LIMIT >> 20
        ),
        // If the whole loop ends, the turn is not reported.
        Ending::Superseded => TURN_ENDED.to_owned(),
        Ending::NotStarted | Ending::Unknown => "nobody knows how it ended".to_owned(),
    }
}
