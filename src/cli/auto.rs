//! `lab auto`: lets a command edit the kernel again and again, and judges and decides each edit.

use super::auto_status::{self, LoopArg, StatusArgs, counts, turn_line};
use super::json::run::RunReport;
use super::verdict::Judged;
use super::{complain, failed, open, say};
use crate::confinement;
use anyhow::Result;
use clap::{Args, Subcommand};
use lab_auto::{Auto, Budget, Editor, Ended, Options, Phase, Request, State};
use lab_git::Repo;
use lab_project::Project;
use lab_protocol::{Exit, Target};
use lab_run::record::Record;
use lab_run::{Reason, RunId};
use lab_runner::process::Control;
use lab_store::RunIndex;
use lab_system::failure::Failure;
use lab_system::threads;
use lab_system::{child_group, lifetime};
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
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
    /// Loops side by side, one for each of these devices: cuda:0,cuda:1. Each has a work tree and a
    /// branch of its own
    #[arg(long, value_name = "DEVICES", value_delimiter = ',', conflicts_with_all = ["device", "patches", "from"])]
    lanes: Vec<Target>,
    /// End after so many experiments; a kernel that was judged before counts
    #[arg(long, value_name = "N")]
    experiments: Option<u64>,
    /// End after so many hours; the turn that runs is completed
    #[arg(long, value_name = "H", value_parser = positive)]
    hours: Option<f64>,
    /// End once the costs that the command reports reach this sum
    #[arg(long, value_name = "SUM", value_parser = positive)]
    cost: Option<f64>,
    /// End once the floor is this percentage of the incumbent's time, by the incumbent's newest run
    /// with a floor
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
    /// Keep a kernel that is as fast as the incumbent and has fewer tokens, as
    /// `keep_shorter = true` in lab.toml
    #[arg(long)]
    keep_shorter: bool,
    /// Keep what is correct on the cpu device, whose times say nothing, as `keep_correct = true` in
    /// lab.toml
    #[arg(long)]
    keep_correct: bool,
    /// Seconds to wait after the first failure; doubled by each further one
    #[arg(long, value_name = "S", default_value = "1", value_parser = positive, hide = true)]
    back_off: f64,
    /// Apply the *.patch files of this folder to the kernel in HEAD, one a turn, by name
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    patches: Option<std::path::PathBuf>,
    /// The program that edits the kernel, and its arguments (`lab agent-guide`)
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl AutoArgs {
    /// What the options ask for besides lab.toml.
    fn set_rule(&self, project: &mut Project) {
        let auto = &mut project.config.auto;
        auto.keep_shorter |= self.keep_shorter;
        auto.keep_correct |= self.keep_correct;
    }
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show what the loop does and what it has brought
    Status(StatusArgs),
    /// Let the loop wait after the present turn
    Pause(LoopArg),
    /// Let a paused loop go on
    Resume(LoopArg),
    /// End the loop after the present turn
    Stop(LoopArg),
    /// End the present turn at once; the loop goes on
    EndTurn(LoopArg),
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
    match positive(text)? {
        percent if percent <= 100.0 => Ok(percent),
        _ => Err("it must be at most 100".to_owned()),
    }
}

pub fn main(options: &AutoArgs) -> Result<ExitCode> {
    match &options.action {
        Some(Action::Status(status)) => auto_status::main(status),
        Some(Action::Pause(kernel)) => ask(kernel, Request::Pause),
        Some(Action::Resume(kernel)) => ask(kernel, Request::Resume),
        Some(Action::Stop(kernel)) => ask(kernel, Request::Stop),
        Some(Action::EndTurn(kernel)) => ask(kernel, Request::EndTurn),
        None if options.command.is_empty() && options.patches.is_none() => Ok(failed(
            "name the command that edits the kernel after `--`, as in `lab auto -- ./edit.sh` (`lab agent-guide`)",
            Exit::Usage,
        )),
        None => run(options),
    }
}

fn ask(kernel: &LoopArg, asked: Request) -> Result<ExitCode> {
    let project = kernel.open()?;
    for refused in lab_auto::request_everywhere(&project, asked)? {
        complain(&refused);
    }
    let (what, does) = match asked {
        Request::Pause => ("the loop", "pauses after this turn"),
        Request::Resume => ("the loop", "goes on"),
        Request::Stop => ("the loop", "ends after this turn"),
        Request::EndTurn => ("this turn of the loop", "ends, and the loop goes on"),
    };
    say(&format!("{what} on {} {does}", project.kernel_name));
    Ok(ExitCode::SUCCESS)
}

fn run(options: &AutoArgs) -> Result<ExitCode> {
    let command = match command(&options.command) {
        Ok(command) => command,
        Err(why) => return Ok(failed(&why, Exit::Usage)),
    };
    if let Some(commit) = &options.from {
        say(&lab_auto::start_from(
            &open(options.kernel.as_deref())?,
            commit,
        )?);
    }
    // Its files are other ones after a change of the branch.
    let mut project = open(options.kernel.as_deref())?;
    let loop_options = Options {
        editor: match &options.patches {
            Some(folder) => Editor::Patches(folder.canonicalize().cannot("open", folder)?),
            None => Editor::Command(command),
        },
        budget: Budget {
            experiments: options.experiments,
            hours: options.hours,
            cost: options.cost,
            until_floor: options.until_floor,
        },
        turn_limit: Duration::from_secs_f64(options.turn_limit),
        // Only a command mends.
        mend: if options.command.is_empty() {
            0
        } else {
            options.mend
        },
        give_up: options.give_up,
        back_off: Duration::from_secs_f64(options.back_off),
        plateau: options.plateau,
    };
    if let Some(why) = missing_device(&project, options) {
        return Ok(failed(&why, Exit::Usage));
    }
    let control = Arc::new(Control::new()?);
    let ended_by = end_on_signals(control.clone())?;
    let cut = Mutex::new(RunId(0));
    let running = Running {
        options: &loop_options,
        control: &control,
        ended_by: &ended_by,
        cut: &cut,
    };
    if options.lanes.is_empty() {
        options.set_rule(&mut project);
        return running
            .run(&project, options.device, "")
            .map(ExitCode::from);
    }
    if let Some(twice) = options
        .lanes
        .iter()
        .enumerate()
        .find(|(at, lane)| options.lanes[..*at].contains(lane))
    {
        return Ok(failed(
            &format!(
                "--lanes names {} twice: one lane works on a device",
                lab_auto::device_name(*twice.1)
            ),
            Exit::Usage,
        ));
    }
    let open = |device: &Target| {
        let mut lane = lab_auto::open_lane(&project, *device)?;
        options.set_rule(&mut lane);
        Ok((*device, lane))
    };
    let lanes = options.lanes.iter().map(open);
    let lanes: Vec<(Target, Project)> = lanes.collect::<Result<_>>()?;
    for (device, lane) in &lanes {
        say(&format!(
            "{}: in {}, on the branch lane/{}",
            lab_auto::device_name(*device),
            lane.root.display(),
            lane.lane.as_deref().unwrap_or_default()
        ));
    }
    Ok(std::thread::scope(|scope| {
        let work = |(device, lane): (Target, Project)| running.lane(&lane, device);
        let lanes: Vec<_> = lanes
            .into_iter()
            .map(|lane| threads::start_in(scope, move || work(lane)))
            .collect();
        // A lane that has no thread, or panics, ends as one that cannot write its files.
        let codes = lanes.into_iter().map(|lane| match lane {
            Ok(lane) => lane.join().unwrap_or(1),
            Err(error) => {
                complain(&format!("a lane cannot start: {error}"));
                1
            }
        });
        ExitCode::from(codes.max().unwrap_or(0))
    }))
}

/// What all loops of a command share.
#[derive(Clone, Copy)]
struct Running<'a> {
    options: &'a Options,
    control: &'a Control,
    ended_by: &'a AtomicI32,
    cut: &'a Mutex<RunId>,
}

impl Running<'_> {
    /// Runs the loop of a lane to its end. Returns its exit code.
    fn lane(&self, project: &Project, device: Target) -> u8 {
        let name = lab_auto::device_name(device);
        self.run(project, Some(device), &format!("{name}: "))
            .unwrap_or_else(|error| {
                complain(&format!("{name}: {error:#}"));
                1
            })
    }

    /// Runs a loop to its end. `lane` goes before each line. Returns the exit code.
    fn run(&self, project: &Project, device: Option<Target>, lane: &str) -> Result<u8> {
        let say = |text: &str| say(&format!("{lane}{text}"));
        let spec = confinement::spec(Reason::Command, device);
        let report = |index: &RunIndex, record: &Record| as_json(project, index, record);
        // The last turn of an earlier loop was told by that loop.
        let earlier = lab_auto::read_state(project)
            .ok()
            .flatten()
            .and_then(|state| state.last_turn);
        let mut shown = earlier.map_or(0, |turn| turn.turn);
        let mut tell = |state: &State| match (state.phase, &state.last_turn) {
            (Phase::WaitingForPerson, _) => say(&format!(
                "waiting: {} is not the incumbent, so a person edits it (keep or discard it, and the loop goes on)",
                project.kernel_name
            )),
            (Phase::Paused, _) => say(&format!(
                "paused: `lab auto resume{}` lets it go on",
                project.argument
            )),
            (_, Some(turn)) if turn.turn != shown => {
                shown = turn.turn;
                say(&turn_line(project, turn));
                let ignored = turn.ignored.iter().take(IGNORED_LINES);
                let ignored = ignored.map(|line| format!("ignored: {line}"));
                let others = turn.noticed.iter().chain(&turn.answer_error).cloned();
                ignored
                    .chain(others)
                    .for_each(|line| say(&format!("  {line}")));
                if let Ok(repo) = Repo::open(project) {
                    super::clean::after_a_decision(&repo);
                }
            }
            (Phase::BackingOff, _) => {
                say(&match &state.trouble {
                    Some(why) => format!("waiting after a failure: {why}"),
                    None => "waiting before the next turn, because this one brought no new kernel"
                        .to_owned(),
                });
            }
            _ => {}
        };
        let (options, control, cut) = (self.options, self.control, self.cut);
        let ended = lab_auto::run(Auto {
            project,
            options,
            spec: &spec,
            control,
            cut,
            report: &report,
            tell: &mut tell,
        })?;
        if let Some(state) = lab_auto::read_state(project)? {
            say(&counts(&state));
        }
        Ok(match ended {
            Ended::Done(why) => {
                say(&format!("ended: {why}"));
                0
            }
            Ended::GaveUp(why) => {
                complain(&format!("{lane}gave up: {why}"));
                GAVE_UP
            }
            Ended::Stopped => {
                let signal = self.ended_by.load(Ordering::SeqCst);
                say(
                    "ended by a signal: a kernel that was taken and not decided is decided by the next `lab auto`",
                );
                u8::try_from(128 + signal).unwrap_or(u8::MAX)
            }
        })
    }
}

/// Lines about ignored changes that a turn prints; all of them are in the state.
const IGNORED_LINES: usize = 5;

/// The command with an absolute program if it is named by a path: it runs in another folder. The
/// error says why it cannot be started. No command where patches edit.
fn command(words: &[String]) -> Result<Vec<String>, String> {
    let mut words = words.to_vec();
    let Some(program) = words.first_mut() else {
        return Ok(words);
    };
    let Ok(found) = which::which(&*program) else {
        let why = match Path::new(program).is_file() {
            true => "nobody may execute it: `chmod +x` allows it",
            false => "there is no such program",
        };
        return Err(format!("cannot start {program}: {why}"));
    };
    if program.contains('/') {
        let path = found.to_str();
        *program = path
            .ok_or_else(|| format!("{} is no UTF-8: rename it", found.display()))?
            .to_owned();
    }
    Ok(words)
}

/// Why one of the devices cannot judge a kernel at all. A harness of the user's own finds its device
/// itself.
fn missing_device(project: &Project, options: &AutoArgs) -> Option<String> {
    let one = [options.device.unwrap_or(project.config.device)];
    let devices = match options.lanes.as_slice() {
        [] => one.as_slice(),
        lanes => lanes,
    };
    let mut devices = devices.iter().filter(|_| !project.external());
    devices.find_map(|device| lab_device::missing(*device))
}

/// The first signal ends the turn and the loop, the second one the process.
fn end_on_signals(control: Arc<Control>) -> Result<Arc<AtomicI32>> {
    let first = Arc::new(AtomicI32::new(0));
    let seen = first.clone();
    lifetime::end_on_signals(move |signal| {
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
    let judged = Judged::of(project, None, index, record);
    serde_json::to_value(judged.as_ref().map(RunReport::of)).unwrap_or_default()
}
