//! The tool `profile`: what `lab profile` does, with an answer of limited size.

use super::answer::Answer;
use super::jobs::Job;
use super::work::{AS_TOOLS, follow};
use crate::cli::profile::read;
use crate::confinement;
use anyhow::Result;
use lab_core::profile::digest::digest;
use lab_core::project::Project;
use lab_core::runner::execute::NotRun;
use lab_core::runner::profiling::{self, ProfileSpec, Profiled};
use lab_core::store::RunIndex;
use lab_judge::profile::metrics;
use lab_protocol::profile::{Origin, Profile, ProfiledLine, WorkloadDurations};
use serde_json::{Value, json};

/// Most lines of source in an answer.
const LINES: usize = 12;

/// Profiles the present bytes.
pub fn profile(project: &Project, spec: ProfileSpec, job: &Job) -> Result<Answer> {
    let spec = ProfileSpec {
        confinement: confinement::missing,
        ..spec
    };
    let mut index = RunIndex::new(project);
    let made = profiling::profile(project, &spec, &mut index, &job.control, |run, batch| {
        job.set_run(run);
        follow(job, &batch);
    });
    let profiled = match made {
        Ok(profiled) => profiled,
        Err(NotRun::NeedsTrust(request)) => {
            let next = "A person must run `lab trust` in a terminal there. No tool can do that.";
            return Ok(Answer::error(&request.to_string(), next));
        }
        Err(error) => return Ok(Answer::error(&error.to_string(), AS_TOOLS)),
    };
    if spec.is_of_all_workloads() {
        durations(project, &profiled)
    } else {
        counters(project, &profiled)
    }
}

fn durations(project: &Project, profiled: &Profiled) -> Result<Answer> {
    let durations: WorkloadDurations = read(project, profiled)?;
    let summary = format!(
        "one launch of each of {} workloads under {}: {:.3} us in the mean",
        durations.workloads.len(),
        durations.tool,
        durations.mean_us
    );
    let next = "Call profile with the workload that is far from what it should be.";
    Ok(Answer::new(&summary, next, &durations)
        .with("run", profiled.run.0)
        .with("path", shown(profiled)))
}

fn counters(project: &Project, profiled: &Profiled) -> Result<Answer> {
    let profile: Profile = read(project, profiled)?;
    let run = profiled.run.0;
    let (summary, next) = match &profile.origin {
        Origin::Counters {
            tool, set, took_ms, ..
        } => (
            format!(
                "run {run}: counters of {} on {}, by {tool}, set {}, in {:.1} s",
                profile.entry,
                profile.workload,
                set.name(),
                *took_ms as f64 / 1000.0
            ),
            "Change what the counters point at, then call judge: a profile is no verdict.",
        ),
        Origin::Image { why } => (
            format!("run {run}: no counters, only the built image: {why}"),
            "The text says what a person can do to get counters.",
        ),
    };
    let known = metrics::quick();
    let metrics: serde_json::Map<String, Value> = profile
        .metrics
        .iter()
        .filter(|(name, _)| known.contains(name))
        .map(|(name, metric)| (name.clone(), json!([metric.value, metric.unit])))
        .collect();
    let mut hot: Vec<&ProfiledLine> = profile
        .lines
        .iter()
        .filter(|line| line.samples > 0)
        .collect();
    hot.sort_by_key(|line| std::cmp::Reverse(line.samples));
    let hot: Vec<Value> = hot
        .into_iter()
        .take(LINES)
        .map(|line| {
            json!({
                "file": line.file, "line": line.line, "samples": line.samples,
                "stalls": line.stalls.iter().take(3).collect::<Vec<_>>(), "excess_sectors": line.excess_sectors,
            })
        })
        .collect();
    let image = &profile.image;
    Ok(Answer::new(&summary, next, json!({ "run": run, "path": shown(profiled) }))
        .with("digest", digest(&profile))
        .with("workload", &profile.workload)
        .with("launch", profile.launch)
        .with("metrics", metrics)
        .with("findings", &profile.findings)
        .with("hot_lines", hot)
        .with("image", json!({
            "registers": image.registers, "spill_bytes": image.spill_bytes,
            "static_shared_bytes": image.static_shared_bytes, "occupancy": image.occupancy, "mix": image.mix,
        }))
        .with("least", &profile.least)
        .with("differences", &profile.differences)
        .with("missing", &profile.missing))
}

fn shown(profiled: &Profiled) -> String {
    profiled.path.display().to_string()
}
