//! `lab run`: judge the present bytes once. And the hidden `lab supervise`.

use super::{Kernel, code, complain, open, say, say_json};
use anyhow::Result;
use clap::Args;
use lab_core::project::Project;
use lab_core::run::Reason;
use lab_core::run::record::Record;
use lab_core::run::verdict::{Outcome, Verdict};
use lab_core::runner::RunEvent;
use lab_core::runner::execute::{self, NotRun};
use lab_core::runner::follow::Batch;
use lab_core::runner::process::Control;
use lab_core::runner::spec::RunSpec;
use lab_core::runner::supervise as supervisor;
use lab_core::store::RunStore;
use lab_core::store::{RunIndex, RunSummary};
use lab_core::text::figures;
use lab_protocol::Exit;
use lab_protocol::Target;
use lab_protocol::report::parse;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    kernel: Kernel,
    /// Print JSON, and nothing else, on stdout
    #[arg(long)]
    json: bool,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    device: Option<Target>,
    /// Keep what is correct and faster, discard what is slower, the same or wrong; anything else is left undecided
    #[arg(long, requires = "message", conflicts_with = "json")]
    decide: bool,
    /// What was tried, in one line, for --decide
    #[arg(short, long, value_name = "TEXT", requires = "decide")]
    message: Option<String>,
}

#[derive(Args, Debug)]
pub struct Supervise {
    /// The process that must live
    #[arg(long)]
    parent: i32,
    command: String,
}

pub fn supervise(options: &Supervise) -> ExitCode {
    match supervisor::main(options.parent, &options.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            complain(&format!("cannot run the harness: {error}"));
            ExitCode::from(127)
        }
    }
}

pub fn main(options: &Options) -> ExitCode {
    judged(options, Reason::Command, |_| None)
}

/// Judges, and reports with what `more` has to say of the record: lines for people, a value for programs.
pub fn judged(
    options: &Options,
    reason: Reason,
    more: impl Fn(&Record) -> Option<(String, Value)>,
) -> ExitCode {
    let project = match open(options.kernel.kernel.as_deref()) {
        Ok(project) => project,
        Err(error) => return failed(options, &format!("{error:#}"), Exit::Usage),
    };
    match judge(&project, options, reason) {
        Ok(record) => {
            let exit = report(&project, options, &record, more(&record));
            if let Some(message) = options.message.as_ref().filter(|_| options.decide) {
                super::decide::by_rule(&project, &record, message);
            }
            exit
        }
        Err(error) => failed(options, &error.to_string(), error.exit()),
    }
}

fn judge(project: &Project, options: &Options, reason: Reason) -> std::result::Result<Record, NotRun> {
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

/// What a harness prints, as it comes.
pub fn say_batch(batch: &Batch) {
    if batch.skipped > 0 {
        say(&format!("… {} lines are in run.log alone", batch.skipped));
    }
    // Series and histograms are for drawing; they are in run.log.
    let is_drawn = |key: &str| key.ends_with("_series") || key.ends_with("_histogram");
    let drawn = |text: &str| parse(text).is_some_and(|entry| is_drawn(entry.key));
    batch.lines.iter().filter(|line| !drawn(&line.text)).for_each(|line| say(&line.text));
}

/// The harness is in a group of its own: Ctrl-C reaches the lab alone, and the lab ends the run.
pub fn end_on_signals(control: Arc<Control>) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            control.end();
        }
    })?;
    Ok(())
}

fn failed(options: &Options, why: &str, exit: Exit) -> ExitCode {
    if options.json {
        say_json(&json!({ "error": why, "exit_code": exit as u8 }));
    }
    complain(why);
    code(exit)
}

fn report(project: &Project, options: &Options, record: &Record, more: Option<(String, Value)>) -> ExitCode {
    let Some(verdict) = &record.verdict else {
        return failed(options, "the run has no verdict", Exit::Crashed);
    };
    let (lines, value) = more.unzip();
    if options.json {
        let mut all = as_json(project, record, verdict);
        if let Some(value) = value {
            all["measured"] = value;
        }
        say_json(&all);
    } else {
        say(&in_words(project, record, verdict, lines.as_deref().unwrap_or_default()));
    }
    code(verdict.exit())
}

/// `more` comes between the verdict and what can be done with it.
fn in_words(project: &Project, record: &Record, verdict: &Verdict, more: &str) -> String {
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
        let unit = match project.config.objective.as_str() {
            "throughput_sps" => "sps",
            other => other,
        };
        text += &format!("  {} {unit}", figures::figure(measure.value));
    }
    if let Some(change) = verdict.change {
        text += &format!("  {} vs {}", change.words(), change.against());
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

/// What names the run where a decision could be about a newer one of the same bytes: a screen that is open beside judges
/// what is saved too.
fn by_number(project: &Project, record: &Record) -> String {
    let start = &record.start;
    let newer = |b: &RunSummary| b.judges(project) && b.id > start.id && b.fingerprint == start.fingerprint;
    if RunIndex::search(project, newer).is_empty() { String::new() } else { format!(" --run {}", start.id) }
}

/// A latency or a throughput is null unless the run is correct.
fn as_json(project: &Project, record: &Record, verdict: &Verdict) -> Value {
    let gates: Vec<Value> = record
        .report()
        .gates()
        .iter()
        .map(|g| json!({ "name": g.name, "value": finite(g.value), "limit": finite(g.limit), "pass": g.passes() }))
        .collect();
    let objective = project.config.objective.as_str();
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
    if objective == "throughput_sps" {
        value["throughput_sps"] = json!(verdict.objective.map(|m| m.value));
    }
    value
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|n| n.is_finite())
}
