//! `lab run`: judges the present bytes once. Also the hidden `lab supervise`, the parent of an
//! external harness.

use super::interrupt::controlled;
use super::json::Resumed;
use super::json::answer::{KnownAs, RunAnswer};
use super::json::decision::LastDecision;
use super::live::{HarnessLines, Printed};
use super::verdict::Judged;
use super::{JsonArg, KernelArg, answer, code, complain, decide, failed, is_json, say, shown};
use crate::confinement;
use anyhow::{Context, Result, ensure};
use clap::Args;
use lab_git::Repo;
use lab_history::{JudgedBefore, judged_before};
use lab_project::Project;
use lab_protocol::Exit;
use lab_protocol::Target;
use lab_protocol::report::Asked;
use lab_run::Reason;
use lab_run::experiment::Status;
use lab_run::inputs;
use lab_run::record::Record;
use lab_runner::RunEvent;
use lab_runner::execute::{self, NotRun};
use lab_runner::spec::RunSpec;
use lab_runner::supervise;
use lab_store::RunIndex;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub kernel: KernelArg,
    #[command(flatten)]
    pub json: JsonArg,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    pub device: Option<Target>,
    /// Print the lines of run.log too (`lab help run-log`)
    #[arg(long, conflicts_with = "json")]
    log: bool,
    /// Keep if correct and faster, discard if slower, the same or wrong, else leave it to you
    #[arg(long, requires = "message")]
    decide: bool,
    /// What was tried, in one line, for --decide
    #[arg(short, long, value_name = "TEXT", requires = "decide")]
    message: Option<String>,
    #[command(flatten)]
    learned: decide::LearnedArgs,
}

impl RunArgs {
    /// Whether an option is about a decision.
    pub fn decides(&self) -> bool {
        self.decide || self.learned.trailers().next().is_some()
    }
}

/// The options of `lab run`.
#[derive(Args, Debug)]
pub struct RunOnceArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Do not judge a kernel again that was judged before, comments and blanks aside: tell that
    /// verdict
    #[arg(long, conflicts_with = "decide")]
    unless_known: bool,
    /// After a verdict, profile the kernel and print what ncu itself says, and nothing else, on
    /// stdout
    #[arg(long, conflicts_with_all = ["decide", "unless_known", "json"])]
    pub ncu: bool,
    /// Print the verdict in one line, and nothing else, on stdout
    #[arg(short, long, conflicts_with_all = ["decide", "json", "log", "ncu"])]
    quiet: bool,
}

#[derive(Args, Debug)]
pub struct SuperviseArgs {
    /// The process whose end ends the harness
    #[arg(long)]
    parent: i32,
    command: String,
}

pub fn supervise(options: &SuperviseArgs) -> ExitCode {
    match supervise::main(options.parent, &options.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            complain(&format!("cannot run the harness: {error}"));
            ExitCode::from(127)
        }
    }
}

pub fn main(options: &RunOnceArgs) -> Result<ExitCode> {
    let run = &options.run;
    if options.unless_known
        && let Ok(project) = run.kernel.open()
        && let Some(exit) = tell_known(&project, options)
    {
        return Ok(exit);
    }
    match options.quiet {
        true => Ok(code(in_one_line(&run.kernel.open()?, run, say)?)),
        false => judged(run, confinement::spec(Reason::Command, run.device)),
    }
}

/// Judges the kernel, and tells the line of its verdict alone.
pub fn in_one_line(project: &Project, options: &RunArgs, tell: impl Fn(&str)) -> Result<Exit> {
    go_on(project, options);
    let mut index = RunIndex::new(project);
    let spec = confinement::spec(Reason::Command, options.device);
    let record = judge(project, spec, &mut index, |_| {})?;
    index.refresh();
    let judged = Judged::of(project, None, &index, &record).context(NO_VERDICT)?;
    tell(&judged.line());
    Ok(judged.exit())
}

/// The earlier run that judged this kernel, and whether its bytes are the same too. `None` if there
/// is none, or if the kernel cannot be read: the run says so.
pub fn known(project: &Project, index: &RunIndex, device: Option<Target>) -> Option<JudgedBefore> {
    let target = device.unwrap_or(project.config.device).to_string();
    judged_before(project, index, &inputs::read(project).ok()?, &target)
}

/// Tells the verdict on the same kernel that an earlier run gave, if there is one.
fn tell_known(project: &Project, options: &RunOnceArgs) -> Option<ExitCode> {
    let index = RunIndex::open(project);
    let JudgedBefore { record, same_bytes } = known(project, &index, options.run.device)?;
    let repo = Repo::open(project).ok();
    let judged = Judged::of(project, repo.as_ref(), &index, &record)?;
    let (exit, run) = (judged.verdict.exit(), record.start.id);
    let known_as = KnownAs { run, same_bytes };
    if is_json() {
        let mut known = RunAnswer::of(&judged);
        known.known_as = Some(known_as);
        return Some(answer(exit, known));
    }
    if options.quiet {
        say(&judged.line());
        return Some(code(exit));
    }
    let mut lines = judged.lines();
    if !same_bytes {
        // Only the bytes of that run can be decided.
        lines.truncate(2);
    }
    lines.iter().for_each(|line| say(line));
    let decided = record.decision.as_ref();
    let decided = decided.map(|it| format!(" and was decided ({})", it.status.word()));
    say(&format!(
        "  run {run} judged {}{}: it was not judged again (`lab run` judges it)",
        known_as.same(),
        decided.unwrap_or_default()
    ));
    Some(code(exit))
}

/// Judges the kernel as `spec` says. Reports the verdict, and decides it by rule if that was asked
/// for.
pub fn judged(options: &RunArgs, spec: RunSpec) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    ensure!(
        options.decide || !options.decides(),
        "--hypothesis and --lesson belong to a decision: add --decide -m TEXT"
    );
    if let Some(exit) = go_on(&project, options) {
        return Ok(exit);
    }
    let mut index = RunIndex::open(&project);
    // The verdict repeats why a run stopped.
    let printed = match options.log {
        true => Printed::AllBut("stopped"),
        false => Printed::Text,
    };
    let mut lines = HarnessLines::new(printed).after(Asked::Run, &project, &index);
    let record = judge(&project, spec, &mut index, |event| match event {
        RunEvent::Progress(_, batch) => lines.print(&batch),
        RunEvent::Joined(start) if !is_json() => say(&format!(
            "lab: run {} of a screen is about these bytes: it is followed",
            start.id
        )),
        _ => {}
    })?;
    drop(lines);
    // Opened after the run, which may have taken minutes.
    let repo = Repo::open(&project);
    index.refresh();
    let judged = Judged::of(&project, repo.as_ref().ok(), &index, &record);
    let exit = judged.as_ref().context(NO_VERDICT)?.exit();
    if !is_json() {
        judged.iter().for_each(shown::tell);
    }
    let subject = options.message.as_ref().filter(|_| options.decide);
    let ruling = subject.map(|subject| match &repo {
        Ok(repo) => {
            let learned = &options.learned;
            decide::by_rule(repo, &mut index, &record, subject, learned)
        }
        Err(error) => decide::RulingReport::failed(error),
    });
    let exit = match &ruling {
        // The rule says nothing about a kernel that was not judged.
        Some(ruling) if exit != Exit::Usage => ruling.exit(),
        _ => exit,
    };
    if !is_json() {
        ruling
            .iter()
            .for_each(|ruling| ruling.tell(repo.as_ref().ok(), &project));
        return Ok(code(exit));
    }
    let judged = Judged::of(&project, repo.as_ref().ok(), &index, &record);
    let mut run = RunAnswer::of(&judged.context(NO_VERDICT)?);
    run.notes
        .extend(ruling.iter().flat_map(|ruling| ruling.notes().to_vec()));
    run.decision = ruling.map(|ruling| ruling.as_report(&project, &record));
    Ok(answer(exit, run))
}

/// A run that was executed has a verdict: this is not seen.
const NO_VERDICT: &str = "the run has no verdict";

/// Goes on first with the decision of a lab that was killed, and says so. A run that is to be
/// decided by rule stops there: its exit code is returned.
fn go_on(project: &Project, options: &RunArgs) -> Option<ExitCode> {
    let resumed = match options.decide {
        true => lab_decide::resume_decision(project),
        false => lab_decide::resume(project).map(|text| text.map(|text| (text, None))),
    };
    let (text, status) = match resumed {
        Ok(resumed) => resumed?,
        Err(error) => (format!("{error:#}"), None),
    };
    if !options.decide {
        complain(&text);
        return None;
    }
    let text = format!("{text}; nothing else was done: repeat the command if it is still wanted");
    let exit = match status {
        Some(Status::Keep) => Exit::Kept,
        Some(_) => Exit::Discarded,
        None => return Some(failed(&text, Exit::Left)),
    };
    if is_json() {
        return Some(answer(exit, Resumed::new(&text, LastDecision::of(project))));
    }
    complain(&text);
    Some(code(exit))
}

/// Judges the present bytes on this thread; a signal ends the run.
pub fn judge(
    project: &Project,
    spec: RunSpec,
    index: &mut RunIndex,
    tell: impl FnMut(RunEvent),
) -> Result<Record, NotRun> {
    execute::execute(None, project, &spec, index, &*controlled()?, tell)
}
