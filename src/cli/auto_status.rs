//! `lab auto status`: what the loop of a kernel and its lanes do, and what they have brought.

use super::{JsonArg, KernelArg, answer, open, say};
use anyhow::Result;
use clap::Args;
use lab_auto::{DiskUse, KeptPoint, LeftRun, Phase, State};
use lab_git::short;
use lab_protocol::Exit;
use lab_text::figures;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct StatusArgs {
    #[command(flatten)]
    kernel: KernelArg,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab auto status` prints with `--json`.
#[derive(Serialize)]
struct StatusAnswer {
    /// Whether a loop works on the kernel now.
    running: bool,
    /// `None` if there was no loop yet.
    state: Option<State>,
    disk: DiskUse,
    /// The lanes of the kernel.
    lanes: Vec<LaneAnswer>,
}

/// One lane of `lab auto --lanes`.
#[derive(Serialize)]
struct LaneAnswer {
    lane: String,
    running: bool,
    state: Option<State>,
}

pub fn main(options: &StatusArgs) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    let (running, state) = (
        lab_auto::is_running(&project)?,
        lab_auto::read_state(&project)?,
    );
    let disk = lab_auto::disk_use(&project)?;
    let lanes = lab_auto::lanes(&project).into_iter().map(|lane| {
        Ok(LaneAnswer {
            lane: lane.name,
            running: lane.running,
            state: lane.state.map_err(anyhow::Error::msg)?,
        })
    });
    let lanes: Vec<LaneAnswer> = lanes.collect::<Result<_>>()?;
    if options.json.json {
        return Ok(answer(
            Exit::Passed,
            StatusAnswer {
                running,
                state,
                disk,
                lanes,
            },
        ));
    }
    if state.is_none() && lanes.is_empty() {
        say(&format!(
            "no `lab auto` has worked on {} yet",
            project.kernel_name
        ));
        return Ok(ExitCode::SUCCESS);
    }
    state.iter().for_each(|state| tell_status(running, state));
    for LaneAnswer {
        lane,
        running,
        state,
    } in &lanes
    {
        say(&format!("lane {lane}"));
        state.iter().for_each(|state| tell_status(*running, state));
    }
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    say(&format!(
        "on disk: {:.1} MB in .lab/runs, {:.1} MB of git's objects",
        megabytes(disk.runs_bytes),
        megabytes(disk.git_bytes)
    ));
    Ok(ExitCode::SUCCESS)
}

/// What a loop does, and what it has brought.
fn tell_status(running: bool, state: &State) {
    say(&match (running, &state.ended) {
        (true, _) => format!("turn {}: {}", state.turn, phase(state.phase)),
        (false, Some(why)) => format!("ended after turn {}: {why}", state.turn),
        (false, None) => format!(
            "killed in turn {}; the next `lab auto` goes on from there",
            state.turn
        ),
    });
    say(&format!("  {}", counts(state)));
    state
        .last_turn
        .iter()
        .for_each(|turn| say(&format!("  last: {}", turn.in_words())));
    state
        .trouble
        .iter()
        .for_each(|why| say(&format!("  failed since: {why}")));
    where_it_stands(state)
        .iter()
        .for_each(|line| say(&format!("  {line}")));
}

/// The best experiment, the floor, kept kernels to go back to, and runs that wait for a person.
fn where_it_stands(state: &State) -> Vec<String> {
    let mut lines = Vec::new();
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

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "between two turns",
        Phase::WaitingForPerson => {
            "waiting: the kernel's file is not the incumbent, so a person edits it"
        }
        Phase::Editing => "the command edits",
        Phase::Judging => "judging",
        Phase::BackingOff => "waiting after a failure",
        Phase::Paused => "paused",
        Phase::Ended => "ended",
    }
}

pub(super) fn counts(state: &State) -> String {
    let counts = &state.counts;
    let mut text = format!(
        "{} experiments: {} kept, {} discarded, {} crashed, {} left; {} known, {} without a change, {} failed",
        counts.experiments,
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
