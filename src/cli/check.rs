//! `lab check`: runs the present bytes under tools that watch each memory access.

use super::json::run::RunReport;
use super::live::{HarnessLines, Printed};
use super::run::judge;
use super::verdict::Judged;
use super::{JsonArg, KernelArg, failed, say, told_with};
use crate::confinement;
use anyhow::{Result, bail};
use clap::Args;
use lab_project::Project;
use lab_protocol::Exit;
use lab_protocol::Target;
use lab_protocol::report::{Asked, Diagnostic};
use lab_protocol::{Tool, tool_names as names};
use lab_run::Reason;
use lab_run::verdict::Outcome;
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
    let mut index = RunIndex::open(&project);
    let mut lines = HarnessLines::new(Printed::All).after(Asked::Check, &project, &index);
    let record = judge(&project, spec, &mut index, |event| {
        if let RunEvent::Progress(_, batch) = event {
            lines.print(&batch);
        }
    })?;
    drop(lines);
    index.refresh();
    let Some(judged) = Judged::of(&project, None, &index, &record) else {
        return Ok(failed("the check ended without a result", Exit::Crashed));
    };
    let exit = match judged.verdict.outcome {
        Outcome::Pass => Exit::Passed,
        _ => judged.verdict.exit(),
    };
    let checked = CheckAnswer::of(&judged);
    Ok(told_with(exit, &checked, || {
        say("");
        say(&checked.line(&judged));
    }))
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
        tools,
        ..confinement::spec(Reason::Check, device)
    })
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
    pub fn of(judged: &Judged) -> Self {
        let report = judged.record.report();
        // The tool's own summary, else how the run ended.
        let says = report.value("check").unwrap_or(&judged.verdict.why);
        let run = RunReport::of(judged);
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
    pub fn line(&self, judged: &Judged) -> String {
        let sign = match judged.verdict.outcome {
            Outcome::Pass => "✓",
            _ => "✗",
        };
        // What was not judged has no number.
        let number = match judged.verdict.outcome {
            Outcome::NotJudged => String::new(),
            _ => format!("{} of ", judged.record.start.id),
        };
        let (kernel, says) = (&judged.project.kernel_name, &self.says);
        format!("{sign} check {number}{kernel}: {says}")
    }
}
