//! `lab run`: judges the present bytes once. Also the hidden `lab supervise`, the parent of an
//! external harness.

use super::decide;
use super::interrupt::end_on_signals;
use super::json::Resumed;
use super::json::decision::{DecisionReport, LastDecision};
use super::json::run::RunReport;
use super::peer_lines;
use super::{JsonArg, KernelArg, answer, code, complain, failed, open, say, say_batch_of_run};
use crate::confinement;
use clap::Args;
use lab_core::decide::{NotAllowed, allowed, snapshot};
use lab_core::history::{JudgedBefore, judged_before, last_peers};
use lab_core::inputs;
use lab_core::objective::Objective;
use lab_core::project::Project;
use lab_core::repo::Repo;
use lab_core::run::experiment::Status;
use lab_core::run::record::Record;
use lab_core::run::verdict::{Outcome, Verdict};
use lab_core::run::{Reason, RunId};
use lab_core::runner::RunEvent;
use lab_core::runner::execute::{self, NotRun};
use lab_core::runner::process::Control;
use lab_core::runner::spec::RunSpec;
use lab_core::runner::supervise;
use lab_core::store::{RunIndex, RunSummary};
use lab_core::text::figures;
use lab_protocol::Exit;
use lab_protocol::Target;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub kernel: KernelArg,
    #[command(flatten)]
    json: JsonArg,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    pub device: Option<Target>,
    /// Keep if correct and faster, discard if slower, the same or wrong, else leave undecided
    #[arg(long, requires = "message")]
    decide: bool,
    /// What was tried, in one line, for --decide
    #[arg(short, long, value_name = "TEXT", requires = "decide")]
    message: Option<String>,
    #[command(flatten)]
    learned: decide::LearnedArgs,
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

pub fn main(options: &RunOnceArgs) -> ExitCode {
    let known = if options.unless_known {
        tell_known(&options.run)
    } else {
        None
    };
    known.unwrap_or_else(|| judged(&options.run, Reason::Command.into(), |_| None))
}

/// Tells the verdict on the same kernel that an earlier run gave. `None` if there is none, or if
/// the kernel cannot be read: the run says so.
fn tell_known(options: &RunArgs) -> Option<ExitCode> {
    let project = open(options.kernel.kernel.as_deref()).ok()?;
    let present = inputs::read(&project).ok()?;
    let target = options.device.unwrap_or(project.config.device).to_string();
    let index = RunIndex::open(&project);
    let JudgedBefore { record, same_bytes } = judged_before(&project, &index, &present, &target)?;
    let verdict = record.verdict.as_ref()?;
    let id = record.start.id;
    let exit = verdict.exit();
    if options.json.json {
        let known_as = Some(KnownAs {
            run: id,
            same_bytes,
        });
        let run = RunReport::of(&project, &index, &record, verdict);
        let notes = Vec::new();
        return Some(answer(
            exit,
            RunAnswer {
                run,
                known_as,
                measured: None,
                decision: None,
                notes,
            },
        ));
    }
    let repo = Repo::open(&project).ok();
    let mut lines = as_text(
        repo.as_ref(),
        &project,
        &index,
        &record,
        verdict,
        Vec::new(),
    );
    if !same_bytes {
        // Only the bytes of that run can be decided.
        lines.truncate(2);
    }
    lines.iter().for_each(|line| say(line));
    let same = if same_bytes {
        "these bytes"
    } else {
        "the same kernel, comments and blanks aside"
    };
    say(&format!(
        "  run {id} judged {same}: it was not judged again (`lab run` judges it)"
    ));
    Some(code(exit))
}

/// The earlier run whose verdict is told.
#[derive(Serialize)]
struct KnownAs {
    run: RunId,
    /// The bytes are the same too.
    same_bytes: bool,
}

/// What a command prints beyond the verdict: lines for people, and a JSON value that is `measured`
/// in the answer.
type More = (Vec<String>, Value);

/// What `lab run` and `lab measure` print with `--json`.
#[derive(Serialize)]
struct RunAnswer {
    #[serde(flatten)]
    run: RunReport,
    /// `None` of a kernel that was judged now.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_as: Option<KnownAs>,
    /// `None` of `lab run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Value>,
    /// `None` without `--decide`.
    decision: Option<DecisionReport>,
    notes: Vec<String>,
}

/// Judges the kernel as `spec` says, on the device of the options. Reports the verdict, and decides
/// it by rule if that was asked for.
pub fn judged(
    options: &RunArgs,
    spec: RunSpec,
    more: impl Fn(&Record) -> Option<More>,
) -> ExitCode {
    let project = match open(options.kernel.kernel.as_deref()) {
        Ok(project) => project,
        Err(error) => return failed(&format!("{error:#}"), Exit::Usage),
    };
    if !options.decide && options.learned.trailers().next().is_some() {
        return failed(
            "--hypothesis and --lesson belong to a decision: add --decide -m TEXT",
            Exit::Usage,
        );
    }
    if let Some(exit) = go_on(&project, options) {
        return exit;
    }
    let mut index = RunIndex::new(&project);
    let record = match judge(&project, options, spec, &mut index) {
        Ok(record) => record,
        Err(error) => return failed(&error.to_string(), error.exit()),
    };
    let Some(verdict) = &record.verdict else {
        return failed("the run has no verdict", Exit::Crashed);
    };
    let (lines, measured) = more(&record).unzip();
    // Opened after the run, which may have taken minutes.
    let repo = Repo::open(&project);
    index.refresh();
    if !options.json.json {
        let lines = as_text(
            repo.as_ref().ok(),
            &project,
            &index,
            &record,
            verdict,
            lines.unwrap_or_default(),
        );
        lines.iter().for_each(|line| say(line));
    }
    let subject = options.message.as_ref().filter(|_| options.decide);
    let (learned, json) = (&options.learned, options.json.json);
    let ruling = subject.map(|subject| match &repo {
        Ok(repo) => decide::by_rule(repo, &project, &mut index, &record, subject, learned, json),
        Err(error) => decide::RulingReport::failed(error),
    });
    let exit = match &ruling {
        // The rule says nothing about a kernel that was not judged.
        _ if verdict.exit() == Exit::Usage => Exit::Usage,
        Some(ruling) => ruling.exit(),
        None => verdict.exit(),
    };
    if options.json.json {
        let run = RunReport::of(&project, &index, &record, verdict);
        let notes = ruling
            .as_ref()
            .map(|ruling| ruling.notes().to_vec())
            .unwrap_or_default();
        let decision = ruling.map(|ruling| ruling.as_report(&project, &record));
        return answer(
            exit,
            RunAnswer {
                run,
                known_as: None,
                measured,
                decision,
                notes,
            },
        );
    }
    if let Some(ruling) = ruling {
        ruling.tell(repo.as_ref().ok(), &project);
    }
    code(exit)
}

/// Goes on first with the decision of a lab that was killed, and says so. A run that is to be
/// decided by rule stops there: its exit code is returned.
fn go_on(project: &Project, options: &RunArgs) -> Option<ExitCode> {
    let (text, status) = match lab_core::decide::resume_decision(project) {
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
    if options.json.json {
        return Some(answer(exit, Resumed::new(&text, LastDecision::of(project))));
    }
    complain(&text);
    Some(code(exit))
}

fn judge(
    project: &Project,
    options: &RunArgs,
    spec: RunSpec,
    index: &mut RunIndex,
) -> std::result::Result<Record, NotRun> {
    let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
    end_on_signals(control.clone())?;
    let spec = RunSpec {
        device: options.device,
        confinement: confinement::missing,
        ..spec
    };
    execute::execute(project, &spec, index, &control, |event| match event {
        RunEvent::Progress(_, batch) if !options.json.json => say_batch_of_run(&batch),
        RunEvent::Joined(start) if !options.json.json => {
            say(&format!(
                "lab: run {} of a screen is about these bytes; its lines:",
                start.id
            ));
        }
        _ => {}
    })
}

/// The verdict in one line: its word, the run, the figure and how the kernel compares with the
/// incumbent.
pub fn verdict_line(project: &Project, record: &Record, verdict: &Verdict) -> String {
    // What was not judged has no number.
    let number = match verdict.outcome {
        Outcome::NotJudged => String::new(),
        _ => format!("run {} of ", record.start.id),
    };
    let mut text = format!(
        "{} {}  {number}{}",
        verdict.sign(),
        verdict.word(),
        project.kernel_name
    );
    if !verdict.why.is_empty() {
        text += &format!("  {}", verdict.why);
    }
    if let Some(figure) = verdict.figure(&project.config.objective) {
        // A time that lab.toml names is called by its key, as ever.
        let unit = match (&figure.objective, &verdict.chosen) {
            (Objective::KernelTime, None) => "kernel_us".to_owned(),
            _ => figure.unit().to_string(),
        };
        text += &format!("  {} {unit}", figures::figure(figure.measure.value));
    }
    if let Some(change) = verdict.change {
        text += &format!("  {change} vs {}", change.against());
    }
    if verdict.emulated && verdict.objective.is_some() {
        text += "  (emulated: its times say nothing about a GPU)";
    }
    text
}

/// Returns the lines of the verdict. `more` stands between the verdict and the commands that decide
/// it.
fn as_text(
    repo: Option<&Repo>,
    project: &Project,
    index: &RunIndex,
    record: &Record,
    verdict: &Verdict,
    more: Vec<String>,
) -> Vec<String> {
    let mut lines = vec![String::new(), verdict_line(project, record, verdict)];
    let report = record.report();
    let failure = report
        .value("first_failure")
        .filter(|_| verdict.outcome == Outcome::Fail);
    lines.extend(failure.map(|failure| format!("  {failure}")));
    lines.extend(
        verdict
            .slower_workloads()
            .map(|slower| format!("  {slower}")),
    );
    lines.extend(verdict.left_workloads().map(|left| format!("  {left}")));
    lines.extend(more);
    lines.extend(beside_peers(repo, project, index, record));
    lines.extend(
        verdict
            .caveats
            .iter()
            .map(|caveat| format!("  caveat: {caveat}")),
    );
    let this = project.argument.clone() + &by_number(project, index, record);
    let discard = format!("`lab discard{this} -m TEXT` puts the incumbent back");
    match verdict.outcome {
        Outcome::Pass if verdict.unmeasured().is_some() => {
            lines.push(format!("  so it cannot be kept; {discard}"));
        }
        Outcome::Pass => {
            let prospect = repo
                .map(|repo| prospect(repo, project, index, record))
                .unwrap_or_default();
            let rules = match prospect.rules_changed {
                true => {
                    format!(
                        "the rules are not as in HEAD: `lab rules{} -m TEXT` commits them, then ",
                        project.argument
                    )
                }
                false => String::new(),
            };
            let decide = || format!("{rules}`lab keep{this} -m TEXT` commits it, {discard}");
            lines.push(format!(
                "  {}",
                prospect.kept_already.unwrap_or_else(decide)
            ));
        }
        Outcome::Fail | Outcome::Crash => lines.push(format!("  {discard}")),
        Outcome::Void | Outcome::NotJudged => {}
    }
    lines
}

/// What a keep of a correct run would meet.
#[derive(Default)]
pub struct Prospect {
    /// That an earlier keep holds the bytes of the run, so that there is nothing to decide.
    pub kept_already: Option<String>,
    /// The rules of the problem are not as in HEAD.
    pub rules_changed: bool,
}

/// Looks at what a keep of a correct run would meet now. What cannot be read is left to the keep,
/// which says why.
pub fn prospect(repo: &Repo, project: &Project, index: &RunIndex, record: &Record) -> Prospect {
    let Ok(snapshot) = snapshot(repo, project, index, &inputs::read(project), Some(record)) else {
        return Prospect::default();
    };
    let refusal = allowed(&snapshot).keep.err();
    let kept_already = refusal.filter(|why| matches!(why, NotAllowed::KeptAlready { .. }));
    Prospect {
        kept_already: kept_already.map(|why| why.to_string()),
        rules_changed: snapshot
            .present
            .is_ok_and(|present| !present.rules.changed.is_empty()),
    }
}

/// The lines about the peers: of the run, else of an earlier run of the same bytes, else of the
/// incumbent.
fn beside_peers(
    repo: Option<&Repo>,
    project: &Project,
    index: &RunIndex,
    record: &Record,
) -> Vec<String> {
    if !record.peers.is_empty() {
        return peer_lines::lines(&record.peers);
    }
    let (start, device) = (&record.start, record.device.as_deref());
    let known = last_peers::of(project, index, &start.fingerprint, device);
    if let Some(text) = known.as_ref().and_then(peer_lines::last) {
        return vec![format!("  {text}")];
    }
    let of_incumbent = repo
        .and_then(|repo| last_peers::of_incumbent(repo, project, index, &record.inputs, device));
    let text = of_incumbent.as_ref().and_then(peer_lines::last);
    text.map(|text| format!("  the incumbent: {text}"))
        .into_iter()
        .collect()
}

/// Returns ` --run N` if a newer run judged the same bytes, because an open screen judges each save
/// too. Without it a decision would be about the newer run.
fn by_number(project: &Project, index: &RunIndex, record: &Record) -> String {
    let start = &record.start;
    let newer =
        |b: &RunSummary| b.judges(project) && b.id > start.id && b.fingerprint == start.fingerprint;
    let is_newer = index.newest().take_while(|b| b.id > start.id).any(newer);
    if is_newer {
        format!(" --run {}", start.id)
    } else {
        String::new()
    }
}
