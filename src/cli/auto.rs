//! `lab auto`: lets a command edit the kernel again and again, and judges and decides each edit.

use super::json::run::RunReport;
use super::{JsonArg, KernelArg, answer, complain, failed, open, say};
use crate::confinement;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use lab_core::auto::{
    self, Auto, Budget, DiskUse, Editor, Ended, KeptPoint, LastTurn, LeftRun, Options, Phase, Request, State,
    TurnOutcome,
};
use lab_core::project::Project;
use lab_core::repo::{Repo, short};
use lab_core::run::Reason;
use lab_core::run::record::Record;
use lab_core::runner::process::Control;
use lab_core::runner::spec::RunSpec;
use lab_core::store::RunIndex;
use lab_core::text::figures;
use lab_protocol::{Exit, Target};
use lab_system::{child_group, lifetime};
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The exit code of a loop that ended after too many failures in a row.
const GAVE_UP: u8 = 4;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AutoArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// The kernel or its folder [default: the kernel of this folder, else the one in lab.toml]
    #[arg(long, value_name = "KERNEL_OR_FOLDER")]
    kernel: Option<std::path::PathBuf>,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    device: Option<Target>,
    /// End after so many judged experiments
    #[arg(long, value_name = "N")]
    experiments: Option<u64>,
    /// End after so many hours; the turn that runs is completed
    #[arg(long, value_name = "H", value_parser = positive)]
    hours: Option<f64>,
    /// End once the costs that the command reports reach this sum
    #[arg(long, value_name = "SUM", value_parser = positive)]
    cost: Option<f64>,
    /// End once the floor is this percentage of the incumbent's time, by the incumbent's newest run with a floor
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    until_floor: Option<f64>,
    /// Start at this commit, on a new branch lab/auto/COMMIT; needs a work tree without changes
    #[arg(long, value_name = "COMMIT")]
    from: Option<String>,
    /// Seconds after which the command of a turn is ended
    #[arg(long, value_name = "S", default_value = "1200", value_parser = positive)]
    turn_limit: f64,
    /// Crashes in a row that the command may mend before it starts from the incumbent again
    #[arg(long, value_name = "N", default_value_t = 2)]
    mend: u32,
    /// Failures in a row after which the loop ends
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    give_up: u32,
    /// Turns in a row without a keep that the state calls a plateau
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    plateau: u32,
    /// Keep a kernel that is as fast as the incumbent and has fewer tokens, as `keep_shorter = true` in lab.toml
    #[arg(long)]
    keep_shorter: bool,
    /// Seconds to wait after the first failure; doubled by each further one
    #[arg(long, value_name = "S", default_value = "1", value_parser = positive, hide = true)]
    back_off: f64,
    /// Apply the *.patch files of this folder to the kernel in HEAD, one a turn, by name
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    patches: Option<std::path::PathBuf>,
    /// Change the kernel in HEAD by a seeded mutator, for tests and benchmarks; a whole number from 0
    #[arg(long, value_name = "SEED", conflicts_with_all = ["command", "patches"], hide_short_help = true)]
    mutate: Option<u64>,
    /// The program that edits the kernel, and its arguments (`lab agent-guide`)
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show what the loop does and what it has brought
    Status(StatusArgs),
    /// Let the loop wait after the present turn
    Pause(KernelArg),
    /// Let a paused loop go on
    Resume(KernelArg),
    /// End the loop after the present turn
    Stop(KernelArg),
    /// End the present turn at once; the loop goes on
    EndTurn(KernelArg),
}

#[derive(Args, Debug)]
struct StatusArgs {
    #[command(flatten)]
    kernel: KernelArg,
    #[command(flatten)]
    json: JsonArg,
}

/// A number above 0.
fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    match number {
        _ if number.is_finite() && number > 0.0 && number <= 1e9 => Ok(number),
        _ => Err("it must be more than 0 and at most 1,000,000,000".to_owned()),
    }
}

/// A number above 0 and up to 100.
fn percent(text: &str) -> Result<f64, String> {
    positive(text)?;
    text.parse().ok().filter(|percent| *percent <= 100.0).ok_or_else(|| "it must be at most 100".to_owned())
}

/// What `lab auto status` prints with `--json`.
#[derive(Serialize)]
struct StatusAnswer {
    /// Whether a loop works on the kernel now.
    running: bool,
    /// `None` if there was no loop yet.
    state: Option<State>,
    disk: DiskUse,
}

pub fn main(options: &AutoArgs) -> Result<ExitCode> {
    match &options.action {
        Some(Action::Status(status)) => show_status(status),
        Some(Action::Pause(kernel)) => ask(kernel, Request::Pause),
        Some(Action::Resume(kernel)) => ask(kernel, Request::Resume),
        Some(Action::Stop(kernel)) => ask(kernel, Request::Stop),
        Some(Action::EndTurn(kernel)) => ask(kernel, Request::EndTurn),
        None if options.command.is_empty() && options.patches.is_none() && options.mutate.is_none() => {
            Ok(failed(
                "name the command that edits the kernel after `--`, as in `lab auto -- ./edit.sh` (`lab agent-guide`)",
                Exit::Usage,
            ))
        }
        None => run(options),
    }
}

fn ask(kernel: &KernelArg, asked: Request) -> Result<ExitCode> {
    let project = open(kernel.kernel.as_deref())?;
    auto::request(&project, asked)?;
    say(&match asked {
        Request::Pause => format!("the loop on {} pauses after this turn", project.kernel_name),
        Request::Resume => format!("the loop on {} goes on", project.kernel_name),
        Request::Stop => format!("the loop on {} ends after this turn", project.kernel_name),
        Request::EndTurn => {
            format!("this turn of the loop on {} ends, and the loop goes on", project.kernel_name)
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn show_status(options: &StatusArgs) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    let (running, state) = (auto::is_running(&project)?, auto::read_state(&project)?);
    let disk = auto::disk_use(&project)?;
    if options.json.json {
        return Ok(answer(Exit::Passed, StatusAnswer { running, state, disk }));
    }
    let Some(state) = state else {
        say(&format!("no `lab auto` has worked on {} yet", project.kernel_name));
        return Ok(ExitCode::SUCCESS);
    };
    say(&match (running, &state.ended) {
        (true, _) => format!("turn {}: {}", state.turn, phase(state.phase)),
        (false, Some(why)) => format!("ended after turn {}: {why}", state.turn),
        (false, None) => format!("killed in turn {}; the next `lab auto` goes on from there", state.turn),
    });
    say(&format!("  {}", counts(&state)));
    state.last_turn.iter().for_each(|turn| say(&format!("  last: {}", in_words(turn))));
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    say(&format!(
        "  on disk: {:.1} MB in .lab/runs, {:.1} MB of git's objects",
        megabytes(disk.runs_bytes),
        megabytes(disk.git_bytes)
    ));
    where_it_stands(&state).iter().for_each(|line| say(&format!("  {line}")));
    Ok(ExitCode::SUCCESS)
}

/// The best experiment, the floor, kept kernels to go back to, and runs that wait for a person.
fn where_it_stands(state: &State) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(state.best.as_ref().map(|best| {
        let (figure, commit) = (figures::figure(best.value), short(&best.commit));
        format!("best: run {} at {commit}, {} {figure}: {}", best.run, best.objective, best.description)
    }));
    lines.extend(state.bounds.as_ref().map(|bounds| {
        let estimate =
            bounds.of_estimate.map(|percent| format!(", the estimate {percent:.0} %")).unwrap_or_default();
        format!(
            "the floor is {:.1} % of the incumbent's time{estimate} (run {})",
            bounds.of_floor, bounds.run
        )
    }));
    for KeptPoint { run, commit, description } in &state.older_kept {
        let commit = short(commit);
        lines.push(format!(
            "kept before: run {run} '{description}' (`lab auto --from {commit}` starts there)"
        ));
    }
    for LeftRun { run, description, why } in &state.left {
        lines.push(format!("left to you: run {run} '{description}': {why} (`lab restore left/{run}`)"));
    }
    lines
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "between two turns",
        Phase::WaitingForPerson => "waiting: the kernel's file is not the incumbent, so a person edits it",
        Phase::Editing => "the command edits",
        Phase::Judging => "judging",
        Phase::BackingOff => "waiting after a failure",
        Phase::Paused => "paused",
        Phase::Ended => "ended",
    }
}

fn counts(state: &State) -> String {
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
        text += &format!("; plateau: {} turns in a row brought no keep", counts.discards_in_a_row);
    }
    text
}

/// One line about a turn.
fn in_words(turn: &LastTurn) -> String {
    let word = match turn.outcome {
        TurnOutcome::Kept => "kept",
        TurnOutcome::Discarded => "discarded",
        TurnOutcome::Crash => "crash, discarded",
        TurnOutcome::Left => "left undecided",
        TurnOutcome::Known => "known",
        TurnOutcome::Nothing => "nothing changed",
        TurnOutcome::Failed => "failed",
    };
    let run = turn.run.map(|run| format!(" run {run}")).unwrap_or_default();
    let why = if turn.why.is_empty() { String::new() } else { format!(": {}", turn.why) };
    format!("turn {}: {word}{run}{why}", turn.turn)
}

fn run(options: &AutoArgs) -> Result<ExitCode> {
    if let Some(commit) = &options.from {
        say(&auto::start_from(&open(options.kernel.as_deref())?, commit)?);
    }
    // Its files are other ones after a change of the branch.
    let mut project = open(options.kernel.as_deref())?;
    project.config.auto.keep_shorter |= options.keep_shorter;
    let project = project;
    let loop_options = Options {
        editor: match (&options.patches, options.mutate) {
            (Some(folder), _) => Editor::Patches(
                folder.canonicalize().with_context(|| format!("cannot open {}", folder.display()))?,
            ),
            (None, Some(seed)) => Editor::Mutator(seed),
            (None, None) => Editor::Command(command(&options.command)?),
        },
        budget: Budget {
            experiments: options.experiments,
            hours: options.hours,
            cost: options.cost,
            until_floor: options.until_floor,
        },
        turn_limit: Duration::from_secs_f64(options.turn_limit),
        // Only a command mends.
        mend: if options.command.is_empty() { 0 } else { options.mend },
        give_up: options.give_up,
        back_off: Duration::from_secs_f64(options.back_off),
        plateau: options.plateau,
    };
    let control = Arc::new(Control::new()?);
    let ended_by = end_on_signals(control.clone())?;
    let spec = RunSpec {
        device: options.device,
        confinement: confinement::missing,
        ..RunSpec::new(Reason::Command)
    };
    let report = |index: &RunIndex, record: &Record| as_json(&project, index, record);
    let mut shown = 0;
    let mut tell = |state: &State| match (state.phase, &state.last_turn) {
        (Phase::WaitingForPerson, _) => say(&format!(
            "waiting: {} is not the incumbent, so a person edits it (keep or discard it, and the loop goes on)",
            project.kernel_name
        )),
        (Phase::Paused, _) => say("paused: `lab auto resume` lets it go on"),
        (_, Some(turn)) if turn.turn != shown => {
            shown = turn.turn;
            say(&in_words(turn));
            turn.ignored.iter().take(IGNORED_LINES).for_each(|line| say(&format!("  ignored: {line}")));
            turn.answer_error.iter().for_each(|error| say(&format!("  {error}")));
            if let Ok(repo) = Repo::open(&project) {
                super::clean::after_a_decision(&repo);
            }
        }
        (Phase::BackingOff, _) => {
            let why = state.candidate.as_ref().map(|candidate| format!(": {}", candidate.told.why));
            say(&format!("waiting after a failure{}", why.unwrap_or_default()));
        }
        _ => {}
    };
    let mut auto = Auto {
        project: &project,
        options: &loop_options,
        spec: &spec,
        control: &control,
        report: &report,
        tell: &mut tell,
    };
    let ended = auto::run(&mut auto)?;
    if let Some(state) = auto::read_state(&project)? {
        say(&counts(&state));
    }
    Ok(match ended {
        Ended::Done(why) => {
            say(&format!("ended: {why}"));
            ExitCode::SUCCESS
        }
        Ended::GaveUp(why) => {
            complain(&format!("gave up: {why}"));
            ExitCode::from(GAVE_UP)
        }
        Ended::Stopped => {
            let signal = ended_by.load(Ordering::SeqCst);
            say(
                "ended by a signal: a kernel that was taken and not decided is decided by the next `lab auto`",
            );
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
        }
    })
}

/// Lines about ignored changes that a turn prints; all of them are in the state.
const IGNORED_LINES: usize = 5;

/// The command with an absolute program if it is named by a path: it runs in another folder.
fn command(words: &[String]) -> Result<Vec<String>> {
    let mut words = words.to_vec();
    let Some(program) = words.first_mut() else { bail!("the command is empty") };
    if program.contains('/') {
        let path = super::here()?.join(&*program);
        let Some(path) = path.to_str() else { bail!("{} is no UTF-8: rename it", path.display()) };
        *program = path.to_owned();
    }
    Ok(words)
}

/// The first signal ends the turn and the loop, the second one the process.
fn end_on_signals(control: Arc<Control>) -> Result<Arc<AtomicI32>> {
    let first = Arc::new(AtomicI32::new(0));
    let seen = first.clone();
    lifetime::on_signals(&lifetime::TERMINATION, move |signal| {
        if control.is_ended() {
            child_group::kill_all_and(|| std::process::exit(128 + signal));
        }
        seen.store(signal, Ordering::SeqCst);
        control.end();
    })?;
    Ok(first)
}

/// A record with the keys of `lab run --json`.
fn as_json(project: &Project, index: &RunIndex, record: &Record) -> Value {
    let report = record.verdict.as_ref().map(|verdict| RunReport::of(project, index, record, verdict));
    report.and_then(|report| serde_json::to_value(report).ok()).unwrap_or_default()
}
