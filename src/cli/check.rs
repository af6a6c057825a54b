//! `lab check`: runs the present bytes under tools that watch each memory access.

use super::interrupt::end_on_signals;
use super::json::run::RunReport;
use super::{JsonArg, KernelArg, answer, code, failed, open, say, say_batch};
use crate::confinement;
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
use lab_runner::execute::{self, NotRun};
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_store::RunIndex;
use serde::Serialize;
use std::process::ExitCode;
use std::sync::Arc;

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

pub fn main(options: &CheckArgs) -> ExitCode {
    let project = match open(options.kernel.kernel.as_deref()) {
        Ok(project) => project,
        Err(error) => return failed(&format!("{error:#}"), Exit::Usage),
    };
    let device = lab_device::resolve(options.device.unwrap_or(project.config.device));
    if let Some(tool) = options
        .tools
        .iter()
        .find(|tool| !Tool::of(device).contains(tool))
    {
        let there = names(Tool::of(device));
        return failed(
            &format!(
                "device {device} has no tool {}: its tools are {there}",
                tool.name()
            ),
            Exit::Usage,
        );
    }
    match check(&project, options) {
        Ok(record) => match record.verdict.as_ref() {
            Some(verdict) => report(&project, options, &record, verdict),
            None => failed("the check ended without a result", Exit::Crashed),
        },
        Err(error) => failed(&error.to_string(), error.exit()),
    }
}

fn check(project: &Project, options: &CheckArgs) -> Result<Record, NotRun> {
    let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
    end_on_signals(control.clone())?;
    let spec = RunSpec {
        device: options.device,
        tools: options.tools.clone(),
        confinement: confinement::missing,
        ..RunSpec::new(Reason::Check)
    };
    execute::execute(
        project,
        &spec,
        &mut RunIndex::new(project),
        &control,
        |event| {
            if let RunEvent::Progress(_, batch) = event
                && !options.json.json
            {
                say_batch(&batch);
            }
        },
    )
}

fn report(project: &Project, options: &CheckArgs, record: &Record, verdict: &Verdict) -> ExitCode {
    let exit = match verdict.outcome {
        Outcome::Pass => Exit::Passed,
        _ => verdict.exit(),
    };
    let report = record.report();
    // The tool's own summary, else how the run ended.
    let says = report.value("check").unwrap_or(&verdict.why);
    if options.json.json {
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
