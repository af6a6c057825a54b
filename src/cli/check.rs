//! `lab check`: runs the present bytes under tools that watch each memory access.

use super::json::run::RunReport;
use super::live::HarnessLines;
use super::run::judge;
use super::{JsonArg, KernelArg, answer, code, failed, is_json, say};
use anyhow::{Result, bail};
use clap::Args;
use lab_project::Project;
use lab_protocol::Exit;
use lab_protocol::Target;
use lab_protocol::report::Diagnostic;
use lab_protocol::{Tool, tool_names as names};
use lab_run::Reason;
use lab_run::record::Record;
use lab_run::verdict::{Outcome, Verdict};
use lab_runner::RunEvent;
use lab_runner::spec::RunSpec;
use lab_store::RunIndex;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// Only this tool; may be given several times. On cuda: memcheck, racecheck, initcheck,
    /// synccheck; on cpu: address, race
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<Tool>,
    #[command(flatten)]
    json: JsonArg,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    device: Option<Target>,
}

pub fn main(options: &CheckArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    let device = lab_device::resolve(options.device.unwrap_or(project.config.device));
    let mut tools = options.tools.iter();
    if let Some(tool) = tools.find(|tool| !Tool::of(device).contains(tool)) {
        let there = names(Tool::of(device));
        bail!(
            "device {device} has no tool {}: its tools are {there}",
            tool.name()
        );
    }
    let spec = RunSpec {
        device: options.device,
        tools: options.tools.clone(),
        ..RunSpec::new(Reason::Check)
    };
    let mut lines = HarnessLines::new(None);
    let record = judge(&project, spec, &mut RunIndex::new(&project), |event| {
        if let RunEvent::Progress(_, batch) = event {
            lines.print(&batch);
        }
    })?;
    drop(lines);
    Ok(match record.verdict.as_ref() {
        Some(verdict) => report(&project, &record, verdict),
        None => failed("the check ended without a result", Exit::Crashed),
    })
}

fn report(project: &Project, record: &Record, verdict: &Verdict) -> ExitCode {
    let exit = match verdict.outcome {
        Outcome::Pass => Exit::Passed,
        _ => verdict.exit(),
    };
    let report = record.report();
    // The tool's own summary, else how the run ended.
    let says = report.value("check").unwrap_or(&verdict.why);
    if is_json() {
        return answer(exit, CheckAnswer::of(project, record, verdict, says));
    }
    say("");
    let sign = if exit == Exit::Passed { "✓" } else { "✗" };
    // What was not judged has no number.
    let number = match verdict.outcome {
        Outcome::NotJudged => String::new(),
        _ => format!("{} of ", record.start.id),
    };
    say(&format!(
        "{sign} check {number}{}: {says}",
        project.kernel_name
    ));
    code(exit)
}

/// What `lab check` prints with `--json`.
#[derive(Serialize)]
struct CheckAnswer {
    #[serde(flatten)]
    run: RunReport,
    tools: Vec<String>,
    size: Option<String>,
    says: String,
    /// The diagnostics.
    findings: Vec<Diagnostic>,
}

impl CheckAnswer {
    fn of(project: &Project, record: &Record, verdict: &Verdict, says: &str) -> Self {
        let report = record.report();
        let run = RunReport::of(project, &RunIndex::open(project), record, verdict);
        let tools = report
            .value("check_tools")
            .into_iter()
            .flat_map(|tools| tools.split(", "));
        CheckAnswer {
            tools: tools.map(str::to_owned).collect(),
            size: report.value("check_size").map(str::to_owned),
            says: says.to_owned(),
            findings: run.diagnostics().to_vec(),
            run,
        }
    }
}
