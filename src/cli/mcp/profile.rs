//! The tool `profile`: what `lab profile` does, with an answer of limited size.

use super::answer::Answer;
use super::jobs::Job;
use super::tools::ProfileArguments;
use super::work::{Wrong, follow};
use crate::cli::profile::read;
use crate::confinement;
use anyhow::Result;
use lab_history::profile::digest::digest;
use lab_judge::profile::metrics;
use lab_project::Project;
use lab_protocol::profile::{
    Finding, LaunchShape, LeastWork, Occupancy, Origin, Profile, ProfiledLine, WorkloadDurations,
};
use lab_runner::profiling::{self, Profiled};
use lab_store::RunIndex;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most lines of source in an answer.
const LINES: usize = 12;

/// What a model needs of a profile.
#[derive(JsonSchema, Serialize)]
pub struct ShortProfile<'a> {
    digest: Vec<String>,
    workload: &'a str,
    launch: Option<LaunchShape>,
    metrics: BTreeMap<&'a str, (f64, &'a str)>,
    findings: &'a [Finding],
    hot_lines: Vec<HotLine<'a>>,
    image: ShortImage<'a>,
    least: Option<&'a LeastWork>,
    differences: &'a [String],
    missing: &'a [String],
}

#[derive(JsonSchema, Serialize)]
struct HotLine<'a> {
    file: &'a str,
    line: u32,
    samples: u64,
    stalls: &'a [(String, u64)],
    excess_sectors: Option<u64>,
}

#[derive(JsonSchema, Serialize)]
struct ShortImage<'a> {
    registers: Option<u32>,
    spill_bytes: Option<u32>,
    static_shared_bytes: Option<u32>,
    occupancy: Option<&'a Occupancy>,
    mix: &'a [(String, u64)],
}

/// Profiles the present bytes.
pub fn profile(project: &Project, asked: ProfileArguments, job: &Job) -> Result<Answer> {
    let mut spec = asked.spec().map_err(Wrong)?;
    spec.run.confinement = confinement::missing;
    let mut index = RunIndex::new(project);
    let profiled = profiling::profile(project, &spec, &mut index, &job.control, |run, batch| {
        job.change(|state| state.run = Some(run));
        follow(job, &batch);
    })?;
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
    let metrics =
        metrics.map(|(name, metric)| (name.as_str(), (metric.value, metric.unit.as_str())));
    let sampled = profile.lines.iter().filter(|line| line.samples > 0);
    let mut hot: Vec<&ProfiledLine> = sampled.collect();
    hot.sort_by_key(|line| std::cmp::Reverse(line.samples));
    let hot = hot.into_iter().take(LINES).map(|line| HotLine {
        file: &line.file,
        line: line.line,
        samples: line.samples,
        stalls: &line.stalls[..line.stalls.len().min(3)],
        excess_sectors: line.excess_sectors,
    });
    let image = &profile.image;
    let rest = ShortProfile {
        digest: digest(profile),
        workload: &profile.workload,
        launch: profile.launch,
        metrics: metrics.collect(),
        findings: &profile.findings,
        hot_lines: hot.collect(),
        image: ShortImage {
            registers: image.registers,
            spill_bytes: image.spill_bytes,
            static_shared_bytes: image.static_shared_bytes,
            occupancy: image.occupancy.as_ref(),
            mix: &image.mix,
        },
        least: profile.least.as_ref(),
        differences: &profile.differences,
        missing: &profile.missing,
    };
    Answer::new(&summary, next, rest)
}
