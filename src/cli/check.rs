//! `lab check`: runs the present bytes under tools that watch each memory access.

use super::interrupt::end_on_signals;
use super::{KernelArg, code, failed, open, say, say_batch, say_json};
use clap::Args;
use lab_core::project::Project;
use lab_core::run::Reason;
use lab_core::run::record::Record;
use lab_core::run::verdict::{Outcome, Verdict};
use lab_core::runner::RunEvent;
use lab_core::runner::execute::{self, NotRun};
use lab_core::runner::process::Control;
use lab_core::runner::spec::RunSpec;
use lab_core::store::RunStore;
use lab_protocol::Exit;
use lab_protocol::Target;
use lab_protocol::report::Report;
use lab_protocol::{Tool, tool_names as names};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// Only this tool; may be given several times. On cuda: memcheck, racecheck, initcheck, synccheck; on cpu: address, race
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<Tool>,
    /// Print JSON, and nothing else, on stdout
    #[arg(long)]
    json: bool,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    device: Option<Target>,
}

pub fn main(options: &CheckArgs) -> ExitCode {
    let project = match open(options.kernel.kernel.as_deref()) {
        Ok(project) => project,
        Err(error) => return failed(options.json, &format!("{error:#}"), Exit::Usage),
    };
    let device = lab_device::resolve(options.device.unwrap_or(project.config.device));
    if let Some(tool) = options.tools.iter().find(|tool| !Tool::of(device).contains(tool)) {
        let there = names(Tool::of(device));
        return failed(
            options.json,
            &format!("device {device} has no tool {}: its tools are {there}", tool.name()),
            Exit::Usage,
        );
    }
    match check(&project, options) {
        Ok(record) => match record.verdict.as_ref() {
            Some(verdict) => report(&project, options, &record, verdict),
            None => failed(options.json, "the check ended without a result", Exit::Crashed),
        },
        Err(error) => failed(options.json, &error.to_string(), error.exit()),
    }
}

fn check(project: &Project, options: &CheckArgs) -> Result<Record, NotRun> {
    let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
    end_on_signals(control.clone())?;
    let spec =
        RunSpec { device: options.device, tools: options.tools.clone(), ..RunSpec::new(Reason::Check) };
    execute::execute(project, &spec, &control, |event| {
        if let RunEvent::Progress(_, batch) = event
            && !options.json
        {
            say_batch(&batch);
        }
    })
}

fn report(project: &Project, options: &CheckArgs, record: &Record, verdict: &Verdict) -> ExitCode {
    let exit = match verdict.outcome {
        Outcome::Pass => Exit::Passed,
        _ => verdict.exit(),
    };
    let report = record.report();
    // The tool's own summary, else how the run ended.
    let says = report.value("check").unwrap_or(&verdict.why);
    if options.json {
        say_json(&as_json(project, record, &report, exit));
    } else {
        let sign = if exit == Exit::Passed { "✓" } else { "✗" };
        // What was not judged has no number.
        let number = match verdict.outcome {
            Outcome::NotJudged => String::new(),
            _ => format!("{} of ", record.start.id),
        };
        say(&format!("\n{sign} check {number}{}: {says}", project.kernel_name));
    }
    code(exit)
}

fn as_json(project: &Project, record: &Record, report: &Report, exit: Exit) -> Value {
    let verdict = record.verdict.as_ref();
    let is_judged = verdict.is_none_or(|verdict| verdict.outcome != Outcome::NotJudged);
    let log = RunStore::new(&project.lab_dir).log_of(record.start.id, verdict);
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let found: Vec<Value> = Report::read(&text)
        .diagnostics()
        .iter()
        .map(|d| json!({ "file": d.file, "line": d.line, "severity": d.severity, "message": d.message }))
        .collect();
    let tools: Vec<&str> = report.value("check_tools").unwrap_or("").split(", ").collect();
    json!({
        "run": Some(record.start.id).filter(|_| is_judged),
        "kernel": record.start.kernel,
        "fingerprint": record.start.fingerprint,
        "device": record.device,
        "tools": tools,
        "size": report.value("check_size"),
        "says": report.value("check").or(record.verdict.as_ref().map(|v| v.why.as_str())),
        "findings": found,
        "log": log,
        "exit_code": exit as u8,
    })
}
