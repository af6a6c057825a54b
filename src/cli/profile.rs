//! `lab profile`: reads the counters of one launch of the present bytes, or times a launch of each
//! workload.

use super::interrupt::controlled;
use super::live::{HarnessLines, Printed};
use super::{JsonArg, KernelArg, say, told, told_with};
use crate::confinement;
use anyhow::{Context, Result};
use clap::Args;
use lab_history::profile::digest::digest;
use lab_project::Project;
use lab_protocol::profile::{Origin, Profile, ProfileSet, WorkloadDurations};
use lab_protocol::{Exit, Target};
use lab_runner::Batch;
use lab_runner::execute::NotRun;
use lab_runner::profiling::{self, ProfileSpec, Profiled};
use lab_store::RunIndex;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct ProfileArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// The counters: quick (about 50), source (also lines of source), full (all, with ncu's
    /// findings)
    #[arg(long, value_name = "SET", default_value = "quick")]
    set: ProfileSet,
    /// The workload, by the problem's words or by its number [default: the largest timed one]
    #[arg(long, value_name = "W", conflicts_with = "workloads")]
    workload: Option<String>,
    /// `all`: only time one launch of each workload, with the mean
    #[arg(long, value_name = "WHICH", value_parser = ["all"])]
    workloads: Option<String>,
    /// Also keep ncu's report (.ncu-rep) beside profile.json
    #[arg(long, conflicts_with = "workloads")]
    keep_report: bool,
    #[command(flatten)]
    json: JsonArg,
    /// auto, cpu, cuda, cuda:1; overrides lab.toml
    #[arg(long)]
    device: Option<Target>,
}

pub fn main(options: &ProfileArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    let mut spec = ProfileSpec {
        workload: options
            .workload
            .clone()
            .or_else(|| options.workloads.clone()),
        keeps_report: options.keep_report,
        ..ProfileSpec::new(options.set)
    };
    spec.run.device = options.device;
    let mut lines = HarnessLines::new(Printed::Text);
    let profiled = make(&project, spec, |batch| lines.print(batch))?;
    drop(lines);
    Ok(report(&project, &profiled, options).map_err(NotRun::Failed)?)
}

/// Makes a profile on this thread; a signal ends it. `tell` gets what the harness prints.
pub fn make(
    project: &Project,
    mut spec: ProfileSpec,
    mut tell: impl FnMut(&Batch),
) -> Result<Profiled, NotRun> {
    spec.run.confinement = confinement::missing;
    profiling::profile(
        project,
        &spec,
        &mut RunIndex::new(project),
        &*controlled()?,
        |_, batch| tell(&batch),
    )
}

fn report(project: &Project, profiled: &Profiled, options: &ProfileArgs) -> Result<ExitCode> {
    let (run, path) = (profiled.run.0, profiled.path.display().to_string());
    if options.workloads.is_some() {
        let made = DurationsAnswer {
            run,
            path,
            durations: read(project, profiled)?,
        };
        return Ok(told(&made, || made.tell()));
    }
    let profile: Profile = read(project, profiled)?;
    let made = ProfileAnswer {
        run,
        path,
        digest: digest(&profile),
        profile,
    };
    let exit = match made.profile.origin {
        Origin::Counters { .. } => Exit::Passed,
        // The image alone: nothing was measured.
        Origin::Image { .. } => Exit::Crashed,
    };
    Ok(told_with(exit, &made, || {
        say("");
        made.digest.iter().for_each(|line| say(line));
        say(&format!("profile of run {run}: {}", made.path));
    }))
}

impl DurationsAnswer {
    fn tell(&self) {
        let durations = &self.durations;
        say("");
        let line = |us: f64, what: &str| say(&format!("{us:>12.3} µs  {what}"));
        for workload in &durations.workloads {
            let filter = if workload.used_fallback_filter {
                "  (every kernel of the process)"
            } else {
                ""
            };
            line(workload.us, &format!("{}{filter}", workload.name));
        }
        let count = durations.workloads.len();
        line(durations.mean_us, &format!("arithmetic mean of {count}"));
        say(&format!("run {}: {}", self.run, self.path));
    }
}

/// Most bytes of a file that are read.
const LIMIT: u64 = 64 << 20;

/// Reads the file of a profile that was just made.
pub fn read<T: DeserializeOwned>(project: &Project, profiled: &Profiled) -> Result<T> {
    let path = &profiled.path;
    let failed = || format!("{} cannot be read", path.display());
    let text = project.files().read(path, LIMIT).with_context(failed)?;
    serde_json::from_slice(&text).with_context(failed)
}

/// What `lab profile` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct ProfileAnswer {
    /// The run that judged these bytes.
    run: u64,
    /// The file in that run's folder.
    path: String,
    /// At most 30 lines for a person.
    digest: Vec<String>,
    profile: Profile,
}

/// What `lab profile --workloads all` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct DurationsAnswer {
    /// The run that judged these bytes.
    run: u64,
    /// The file in that run's folder.
    path: String,
    #[serde(flatten)]
    durations: WorkloadDurations,
}
