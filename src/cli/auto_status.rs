//! `lab auto status`: what the loop of a kernel and its lanes do, and what they have brought.

use super::verdict::Judged;
use super::{JsonArg, KernelArg, open, say, say_below, told};
use anyhow::Result;
use clap::Args;
use lab_auto::{DiskUse, KeptPoint, LastTurn, LeftRun, State, TurnOutcome};
use lab_git::short;
use lab_project::Project;
use lab_store::RunIndex;
use lab_text::figures::{self, counted};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The kernel of a loop.
#[derive(Args, Debug)]
pub struct LoopArg {
    #[command(flatten)]
    kernel: KernelArg,
    /// The same, as `lab auto` takes it
    #[arg(
        long = "kernel",
        value_name = "KERNEL_OR_FOLDER",
        conflicts_with = "kernel"
    )]
    named: Option<PathBuf>,
}

impl LoopArg {
    pub fn open(&self) -> Result<Project> {
        open(self.named.as_deref().or(self.kernel.kernel.as_deref()))
    }
}

#[derive(Args, Debug)]
pub struct StatusArgs {
    #[command(flatten)]
    kernel: LoopArg,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab auto status` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct StatusAnswer {
    /// Whether a loop works on the kernel now.
    running: bool,
    /// Null if there was no loop yet.
    state: Option<State>,
    disk: DiskUse,
    /// The lanes of the kernel, by name.
    lanes: Vec<LaneAnswer>,
}

/// One lane of `lab auto --lanes`.
#[derive(JsonSchema, Serialize)]
struct LaneAnswer {
    /// The name of the lane; its branch is lane/NAME.
    lane: String,
    /// Whether a loop works in the lane now.
    running: bool,
    /// Null if there was no loop in the lane yet.
    state: Option<State>,
}

pub fn main(options: &StatusArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    let index = RunIndex::open(&project);
    let lanes = lab_auto::lanes(&project, &index).into_iter().map(|lane| {
        Ok(LaneAnswer {
            lane: lane.name,
            running: lane.running,
            state: lane.state.map_err(anyhow::Error::msg)?,
        })
    });
    let status = StatusAnswer {
        running: lab_auto::is_running(&project)?,
        state: lab_auto::read_state(&project)?.map(|state| state.follow(&index)),
        disk: lab_auto::disk_use(&project)?,
        lanes: lanes.collect::<Result<_>>()?,
    };
    Ok(told(&status, || status.tell(&project.kernel_name)))
}

impl StatusAnswer {
    fn tell(&self, kernel: &str) {
        if self.state.is_none() && self.lanes.is_empty() {
            return say(&format!("no `lab auto` has worked on {kernel} yet"));
        }
        let tell = |running, state: &Option<State>| {
            state.iter().for_each(|state| tell_status(running, state));
        };
        tell(self.running, &self.state);
        for lane in &self.lanes {
            say(&format!("lane {}", lane.lane));
            tell(lane.running, &lane.state);
        }
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        say(&format!(
            "on disk: {:.1} MB in .lab/runs, {:.1} MB of git's objects",
            megabytes(self.disk.runs_bytes),
            megabytes(self.disk.git_bytes)
        ));
    }
}

/// What a loop does, and what it has brought.
fn tell_status(running: bool, state: &State) {
    let turn = match running {
        true => format!("turn {}: ", state.turn),
        false => String::new(),
    };
    say(&(turn + &state.doing(running)));
    say_below(where_it_stands(state));
}

/// The counts, the last turn, the best experiment, the floor, kept kernels to go back to, and runs
/// that wait for a person.
fn where_it_stands(state: &State) -> Vec<String> {
    let mut lines = vec![counts(state)];
    let last = state.last_turn.as_ref();
    lines.extend(last.map(|turn| format!("last: {}", turn.in_words())));
    let trouble = state.trouble.as_ref();
    lines.extend(trouble.map(|why| format!("failed since: {why}")));
    lines.extend(state.best.as_ref().map(|best| {
        let (figure, commit) = (figures::figure(best.value), short(&best.commit));
        format!(
            "best: run {} at {commit}, {} {figure}: {}",
            best.run, best.objective, best.description
        )
    }));
    lines.extend(state.bounds.as_ref().map(|bounds| {
        let estimate = bounds
            .of_estimate
            .map(|percent| format!(", the estimate {percent:.0} %"))
            .unwrap_or_default();
        format!(
            "the floor is {:.1} % of the incumbent's time{estimate} (run {})",
            bounds.of_floor, bounds.run
        )
    }));
    for KeptPoint {
        run,
        commit,
        description,
    } in &state.older_kept
    {
        let commit = short(commit);
        lines.push(format!(
            "kept before: run {run} '{description}' (`lab auto --from {commit}` starts there)"
        ));
    }
    for LeftRun {
        run,
        description,
        why,
    } in &state.left
    {
        lines.push(format!(
            "left to you: run {run} '{description}': {why} (`lab restore left/{run}`)"
        ));
    }
    lines
}

/// How a turn ended, with the figures of its run and what was tried.
pub(super) fn turn_line(project: &Project, turn: &LastTurn) -> String {
    let run = turn.run.filter(|_| turn.outcome != TurnOutcome::Known);
    let index = RunIndex::new(project);
    let record = run.and_then(|run| index.store().read(run).ok());
    let judged = record
        .as_ref()
        .and_then(|record| Judged::of(project, None, &index, record));
    let more = judged.map(|judged| judged.figures_and_tried());
    turn.in_words() + &more.unwrap_or_default()
}

pub(super) fn counts(state: &State) -> String {
    let counts = &state.counts;
    let mut text = format!(
        "{}: {} kept, {} discarded, {} crashed, {} left; {} known, {} without a change, {} failed",
        counted(
            usize::try_from(counts.experiments).unwrap_or(usize::MAX),
            "experiment"
        ),
        counts.kept,
        counts.discarded,
        counts.crashed,
        counts.left,
        counts.known,
        counts.nothing,
        counts.failed
    );
    if state.plateau {
        text += &format!(
            "; plateau: {} turns in a row brought no keep",
            counts.discards_in_a_row
        );
    }
    text
}
