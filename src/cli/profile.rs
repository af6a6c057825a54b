//! `lab profile`: reads the counters of one launch of the present bytes, or times a launch of each
//! workload.

use super::interrupt::end_on_signals;
use super::{JsonArg, KernelArg, answer, code, failed, open, say, say_batch};
use crate::confinement;
use anyhow::{Context, Result};
use clap::Args;
use lab_core::profile::digest::digest;
use lab_core::project::Project;
use lab_core::runner::execute::NotRun;
use lab_core::runner::process::Control;
use lab_core::runner::profiling::{self, ProfileSpec, Profiled};
use lab_core::store::RunIndex;
use lab_protocol::profile::{Profile, ProfileSet, WorkloadDurations};
use lab_protocol::{Exit, Target};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::process::ExitCode;
use std::sync::Arc;

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

pub fn main(options: &ProfileArgs) -> ExitCode {
    let project = match open(options.kernel.kernel.as_deref()) {
        Ok(project) => project,
        Err(error) => return failed(&format!("{error:#}"), Exit::Usage),
    };
    let spec = ProfileSpec {
        workload: options
            .workload
            .clone()
            .or_else(|| options.workloads.clone()),
        device: options.device,
        keeps_report: options.keep_report,
        ..ProfileSpec::new(options.set)
    };
    match make(&project, spec, !options.json.json) {
        Ok(profiled) => report(&project, &profiled, options)
            .unwrap_or_else(|error| failed(&format!("{error:#}"), Exit::NOT_JUDGED)),
        Err(error) => failed(&error.to_string(), error.exit()),
    }
}

/// Makes a profile on this thread; a signal ends it. With `says` prints what the harness prints.
pub fn make(project: &Project, spec: ProfileSpec, says: bool) -> Result<Profiled, NotRun> {
    let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
    end_on_signals(control.clone())?;
    let spec = ProfileSpec {
        confinement: confinement::missing,
        ..spec
    };
    profiling::profile(
        project,
        &spec,
        &mut RunIndex::new(project),
        &control,
        |_, batch| {
            if says {
                say_batch(&batch);
            }
        },
    )
}

fn report(project: &Project, profiled: &Profiled, options: &ProfileArgs) -> Result<ExitCode> {
    let (run, path) = (profiled.run.0, profiled.path.display().to_string());
    if options.workloads.is_some() {
        let durations: WorkloadDurations = read(project, profiled)?;
        if options.json.json {
            return Ok(answer(
                Exit::Passed,
                DurationsAnswer {
                    run,
                    path,
                    durations,
                },
            ));
        }
        say("");
        for workload in &durations.workloads {
            let filter = if workload.used_fallback_filter {
                "  (every kernel of the process)"
            } else {
                ""
            };
            say(&format!(
                "{:>12.3} µs  {}{filter}",
                workload.us, workload.name
            ));
        }
        say(&format!(
            "{:>12.3} µs  arithmetic mean of {}",
            durations.mean_us,
            durations.workloads.len()
        ));
        say(&format!("run {run}: {path}"));
        return Ok(code(Exit::Passed));
    }
    let profile: Profile = read(project, profiled)?;
    if options.json.json {
        let digest = digest(&profile);
        return Ok(answer(
            Exit::Passed,
            ProfileAnswer {
                run,
                path,
                digest,
                profile,
            },
        ));
    }
    say("");
    for line in digest(&profile) {
        say(&line);
    }
    say(&format!("profile of run {run}: {path}"));
    Ok(code(Exit::Passed))
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
#[derive(Serialize)]
struct ProfileAnswer {
    /// The run that judged these bytes.
    run: u64,
    /// profile.json.
    path: String,
    /// The digest's lines.
    digest: Vec<String>,
    profile: Profile,
}

/// What `lab profile --workloads all` prints with `--json`.
#[derive(Serialize)]
struct DurationsAnswer {
    run: u64,
    /// profile-workloads.json.
    path: String,
    #[serde(flatten)]
    durations: WorkloadDurations,
}
