//! `lab check`: runs the present bytes under tools that watch each memory access.

use super::json::run::RunReport;
use super::live::{HarnessLines, Printed};
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
use schemars::JsonSchema;
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
    let spec = spec(&project, options.device, options.tools.clone())?;
    let mut lines = HarnessLines::new(Printed::All);
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

/// How a check runs. An error names a tool that the device lacks.
pub fn spec(project: &Project, device: Option<Target>, tools: Vec<Tool>) -> Result<RunSpec> {
    let on = lab_device::resolve(device.unwrap_or(project.config.device));
    if let Some(tool) = tools.iter().find(|tool| !Tool::of(on).contains(tool)) {
        let there = names(Tool::of(on));
        bail!(
            "device {on} has no tool {}: its tools are {there}",
            tool.name()
        );
    }
    Ok(RunSpec {
        device,
        tools,
        ..RunSpec::new(Reason::Check)
    })
}

fn report(project: &Project, record: &Record, verdict: &Verdict) -> ExitCode {
    let exit = match verdict.outcome {
        Outcome::Pass => Exit::Passed,
        _ => verdict.exit(),
    };
    let checked = CheckAnswer::of(project, record, verdict);
    if is_json() {
        return answer(exit, checked);
    }
    say("");
    say(&checked.line(project, record, verdict));
    code(exit)
}

/// What `lab check` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct CheckAnswer {
    #[serde(flatten)]
    run: RunReport,
    /// The tools that ran.
    pub tools: Vec<String>,
    /// The workload of the check.
    pub size: Option<String>,
    /// The result in words.
    says: String,
    /// The same list as `diagnostics`.
    pub findings: Vec<Diagnostic>,
}

impl CheckAnswer {
    /// Reads the run's log.
    pub fn of(project: &Project, record: &Record, verdict: &Verdict) -> Self {
        let report = record.report();
        // The tool's own summary, else how the run ended.
        let says = report.value("check").unwrap_or(&verdict.why);
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

    /// The result in one line.
    pub fn line(&self, project: &Project, record: &Record, verdict: &Verdict) -> String {
        let sign = if verdict.outcome == Outcome::Pass {
            "✓"
        } else {
            "✗"
        };
        // What was not judged has no number.
        let number = match verdict.outcome {
            Outcome::NotJudged => String::new(),
            _ => format!("{} of ", record.start.id),
        };
        format!(
            "{sign} check {number}{}: {}",
            project.kernel_name, self.says
        )
    }
}
