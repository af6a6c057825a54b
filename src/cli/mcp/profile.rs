//! The tool `profile`: what `lab profile` does, with an answer of limited size.

use super::answer::Answer;
use super::jobs::Job;
use super::tools::ProfileArguments;
use super::work::{follow, not_run};
use crate::cli::profile::read;
use crate::confinement;
use anyhow::Result;
use lab_history::profile::digest::digest;
use lab_judge::profile::metrics;
use lab_project::Project;
use lab_protocol::profile::{Origin, Profile, ProfiledLine, WorkloadDurations};
use lab_runner::profiling::{self, ProfileSpec, Profiled};
use lab_store::RunIndex;
use serde_json::{Map, Value, json};

/// Most lines of source in an answer.
const LINES: usize = 12;

/// Profiles the present bytes.
pub fn profile(project: &Project, asked: ProfileArguments, job: &Job) -> Result<Answer> {
    let spec = match asked.spec() {
        Ok(spec) => spec,
        Err(why) => return Ok(Answer::wrong(&why)),
    };
    let spec = ProfileSpec {
        confinement: confinement::missing,
        ..spec
    };
    let mut index = RunIndex::new(project);
    let made = profiling::profile(project, &spec, &mut index, &job.control, |run, batch| {
        job.change(|state| state.run = Some(run));
        follow(job, &batch);
    });
    let profiled = match made {
        Ok(profiled) => profiled,
        Err(why) => return Ok(not_run(&why)),
    };
    let answer = if spec.is_of_all_workloads() {
        durations(&read(project, &profiled)?)
    } else {
        counters(&read(project, &profiled)?, &profiled)
    };
    let path = profiled.path.display().to_string();
    Ok(answer.with("run", profiled.run.0).with("path", path))
}

fn durations(durations: &WorkloadDurations) -> Answer {
    let summary = format!(
        "one launch of each of {} workloads under {}: {:.3} us in the mean",
        durations.workloads.len(),
        durations.tool,
        durations.mean_us
    );
    let next = "Call profile with the workload that is far from what it should be.";
    Answer::new(&summary, next, durations)
}

fn counters(profile: &Profile, profiled: &Profiled) -> Answer {
    let run = profiled.run;
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
    let metrics = profile
        .metrics
        .iter()
        .filter(|(name, _)| known.contains(name));
    let metrics: Map<String, Value> = metrics
        .map(|(name, metric)| (name.clone(), json!([metric.value, metric.unit])))
        .collect();
    let sampled = profile.lines.iter().filter(|line| line.samples > 0);
    let mut hot: Vec<&ProfiledLine> = sampled.collect();
    hot.sort_by_key(|line| std::cmp::Reverse(line.samples));
    let hot = hot.into_iter().take(LINES).map(|line| {
        json!({
            "file": line.file, "line": line.line, "samples": line.samples,
            "stalls": line.stalls.iter().take(3).collect::<Vec<_>>(), "excess_sectors": line.excess_sectors,
        })
    });
    let image = &profile.image;
    let rest = json!({
        "digest": digest(profile),
        "workload": profile.workload,
        "launch": profile.launch,
        "metrics": metrics,
        "findings": profile.findings,
        "hot_lines": hot.collect::<Vec<_>>(),
        "image": {
            "registers": image.registers, "spill_bytes": image.spill_bytes,
            "static_shared_bytes": image.static_shared_bytes, "occupancy": image.occupancy, "mix": image.mix,
        },
        "least": profile.least,
        "differences": profile.differences,
        "missing": profile.missing,
    });
    Answer::new(&summary, next, rest)
}
