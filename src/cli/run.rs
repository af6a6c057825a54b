//! `lab run`: judges the present bytes once. Also the hidden `lab supervise`, the parent of an external harness.

use super::interrupt::end_on_signals;
use super::{KernelArg, code, complain, failed, open, say, say_batch, say_json};
use clap::Args;
use lab_core::objective::Objective;
use lab_core::project::Project;
use lab_core::run::record::Record;
use lab_core::run::verdict::{Outcome, Verdict};
use lab_core::run::{Reason, RunId};
use lab_core::runner::RunEvent;
use lab_core::runner::execute::{self, NotRun};
use lab_core::runner::process::Control;
use lab_core::runner::spec::RunSpec;
use lab_core::runner::supervise;
use lab_core::store::RunStore;
use lab_core::store::{RunIndex, RunSummary};
use lab_core::text::figures;
use lab_protocol::Exit;
use lab_protocol::Target;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// Print JSON, and nothing else, on stdout
    #[arg(long)]
    json: bool,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    device: Option<Target>,
    /// Keep if correct and faster, discard if slower, the same or wrong, else leave undecided
    #[arg(long, requires = "message", conflicts_with = "json")]
    decide: bool,
    /// What was tried, in one line, for --decide
    #[arg(short, long, value_name = "TEXT", requires = "decide")]
    message: Option<String>,
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

pub fn main(options: &RunArgs) -> ExitCode {
    judged(options, Reason::Command, |_| None)
}

/// Judges the kernel and reports the verdict. `more` adds lines for people and a JSON value for programs.
pub fn judged(
    options: &RunArgs,
    reason: Reason,
    more: impl Fn(&Record) -> Option<(String, Value)>,
) -> ExitCode {
    let project = match open(options.kernel.kernel.as_deref()) {
        Ok(project) => project,
        Err(error) => return failed(options.json, &format!("{error:#}"), Exit::Usage),
    };
    match judge(&project, options, reason) {
        Ok(record) => {
            let exit = report(&project, options, &record, more(&record));
            if let Some(message) = options.message.as_ref().filter(|_| options.decide) {
                super::decide::by_rule(&project, &record, message);
            }
            exit
        }
        Err(error) => failed(options.json, &error.to_string(), error.exit()),
    }
}

fn judge(project: &Project, options: &RunArgs, reason: Reason) -> std::result::Result<Record, NotRun> {
    let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
    end_on_signals(control.clone())?;
    let spec = RunSpec { device: options.device, ..RunSpec::new(reason) };
    execute::execute(project, &spec, &control, |event| {
        if let RunEvent::Progress(_, batch) = event
            && !options.json
        {
            say_batch(&batch);
        }
    })
}

fn report(project: &Project, options: &RunArgs, record: &Record, more: Option<(String, Value)>) -> ExitCode {
    let Some(verdict) = &record.verdict else {
        return failed(options.json, "the run has no verdict", Exit::Crashed);
    };
    let (lines, value) = more.unzip();
    if options.json {
        let mut all = as_json(project, record, verdict);
        if let Some(value) = value {
            all["measured"] = value;
        }
        say_json(&all);
    } else {
        say(&as_text(project, record, verdict, lines.as_deref().unwrap_or_default()));
    }
    code(verdict.exit())
}

/// Returns the verdict as text. `more` stands between the verdict and the commands that decide it.
fn as_text(project: &Project, record: &Record, verdict: &Verdict, more: &str) -> String {
    let mut text = format!(
        "\n{} {}  run {} of {}",
        verdict.sign(),
        verdict.word(),
        record.start.id,
        project.kernel_name
    );
    if !verdict.why.is_empty() {
        text += &format!("  {}", verdict.why);
    }
    if let Some(measure) = verdict.objective {
        let unit = match &project.config.objective {
            Objective::Throughput => "sps",
            other => other.name(),
        };
        text += &format!("  {} {unit}", figures::figure(measure.value));
    }
    if let Some(change) = verdict.change {
        text += &format!("  {change} vs {}", change.against());
    }
    if verdict.emulated && verdict.objective.is_some() {
        text += "  (emulated: its times say nothing about a GPU)";
    }
    text += more;
    for caveat in &verdict.caveats {
        text += &format!("\n  caveat: {caveat}");
    }
    let this = project.argument.clone() + &by_number(project, record);
    let discard = format!("`lab discard{this} -m TEXT` puts the incumbent back");
    match verdict.outcome {
        Outcome::Pass if verdict.unmeasured().is_some() => {
            text += &format!("\n  so it cannot be kept; {discard}");
        }
        Outcome::Pass => {
            text += &format!("\n  `lab keep{this} -m TEXT` commits it, {discard}");
        }
        Outcome::Fail | Outcome::Crash => text += &format!("\n  {discard}"),
        Outcome::Void => {}
    }
    text
}

/// Returns ` --run N` if a newer run judged the same bytes, because an open screen judges each save too. Without it a
/// decision would be about the newer run.
fn by_number(project: &Project, record: &Record) -> String {
    let start = &record.start;
    let newer = |b: &RunSummary| b.judges(project) && b.id > start.id && b.fingerprint == start.fingerprint;
    // Runs are numbered one after the other: usually there is no newer one.
    if !RunStore::new(&project.lab_dir).folder(RunId(start.id.0 + 1)).exists() {
        return String::new();
    }
    let index = RunIndex::open(project);
    let is_newer = index.newest().take_while(|b| b.id > start.id).any(newer);
    if is_newer { format!(" --run {}", start.id) } else { String::new() }
}

/// Returns the verdict as JSON. Latency and throughput are null unless the run is correct.
fn as_json(project: &Project, record: &Record, verdict: &Verdict) -> Value {
    let gates: Vec<Value> = record
        .report()
        .gates()
        .iter()
        .map(|g| json!({ "name": g.name, "value": finite(g.value), "limit": finite(g.limit), "pass": g.passes() }))
        .collect();
    let objective = &project.config.objective;
    let mut value = json!({
        "run": record.start.id,
        "kernel": record.start.kernel,
        "blob": record.start.blob,
        "fingerprint": record.start.fingerprint,
        "external": record.start.external,
        "outcome": verdict.outcome,
        "correctness": if verdict.outcome == Outcome::Pass { "pass" } else { "fail" },
        "why": verdict.why,
        "build_failed": verdict.build_failed,
        "objective": {
            "name": objective,
            "value": verdict.objective.map(|m| m.value),
            "low": verdict.objective.and_then(|m| m.low).and_then(finite),
            "high": verdict.objective.and_then(|m| m.high).and_then(finite),
        },
        "throughput_sps": null,
        "kernel_us": verdict.kernel_us,
        "change": verdict.change,
        "device": record.device,
        "emulated": verdict.emulated,
        "caveats": verdict.caveats,
        "gates": gates,
        "seconds": record.seconds,
        "log": RunStore::new(&project.lab_dir).log(record.start.id),
        "exit_code": verdict.exit() as u8,
    });
    if *objective == Objective::Throughput {
        value["throughput_sps"] = json!(verdict.objective.map(|m| m.value));
    }
    value
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|n| n.is_finite())
}
