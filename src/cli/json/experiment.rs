//! An experiment of `lab log` as JSON: its row, and what its record adds.

use super::decision::{TrailerReport, trailers};
use super::run::ComparisonReport;
use jiff::Timestamp;
use lab_project::config::Config;
use lab_protocol::report::Measure;
use lab_run::RunId;
use lab_run::experiment::{Correctness, Experiment, Status};
use lab_run::message::Trailer;
use lab_run::peers::{self, PeerFigure};
use schemars::JsonSchema;
use serde::Serialize;

/// An experiment. Figures are `None` unless it was correct.
#[derive(JsonSchema, Serialize)]
pub struct ExperimentReport {
    /// Short id.
    commit: String,
    /// How it was decided.
    status: Status,
    /// Whether the result was correct; `-` of a change of the rules, which judged nothing.
    correctness: Correctness,
    /// What was tried.
    description: String,
    /// Samples per second; null unless the run was correct, and if lab.toml named another objective
    /// then.
    throughput_sps: Option<f64>,
    /// Null unless it was correct.
    kernel_us: Option<f64>,
    /// The key of the result line of `objective`: the measure of problem.toml, else the objective of
    /// lab.toml when it was judged.
    objective_name: String,
    /// Its figure with the interval; null without a record.
    objective: Option<Measure>,
    #[serde(flatten)]
    comparison: ComparisonReport,
    /// The verdict has caveats.
    caveated: bool,
    /// Null if its record is not here.
    run: Option<RunId>,
    /// As it is called today; null if neither a record nor a commit tells.
    kernel: Option<String>,
    /// What the kernel was called then, if its folder was renamed since.
    renamed_from: Option<String>,
    /// Null if it is not known.
    device: Option<String>,
    /// Measured on an emulated device.
    emulated: bool,
    /// No record of this user's lab says what the row says: there is none here, another user's lab
    /// wrote it, or it was changed.
    foreign: bool,
    /// Time in UTC.
    decided: Option<Timestamp>,
    /// The trailers of its commit.
    trailers: Vec<TrailerReport>,
    /// What its kernel was timed beside: by its run, or as its trailers tell.
    peers: Vec<PeerFigure>,
}

impl ExperimentReport {
    /// `of_commit` are the trailers of the experiment's commit, for one without a record.
    pub fn of(experiment: &Experiment, config: &Config, of_commit: &[Trailer]) -> Self {
        let row = &experiment.row;
        let correct = row.correctness.passed();
        let measured = experiment.measured;
        let change = measured.change.filter(|_| correct);
        let of_trailers = || peers::of_trailers(of_commit);
        let mut figures = Some(experiment.peers.clone())
            .filter(|own| !own.is_empty())
            .unwrap_or_else(of_trailers);
        peers::forget_emulated(&mut figures, experiment.emulated);
        ExperimentReport {
            commit: row.commit.clone(),
            status: row.status,
            correctness: match row.status {
                Status::Rules => Correctness::Unjudged,
                _ => row.correctness,
            },
            description: row.description.clone(),
            throughput_sps: Some(row.throughput_sps).filter(|samples| correct && *samples > 0.0),
            kernel_us: row.time().filter(|_| correct),
            objective_name: experiment.objective(&config.objective).to_string(),
            objective: measured.shown().filter(|_| correct),
            comparison: ComparisonReport::of(change.as_ref(), None, config),
            caveated: measured.caveated,
            run: experiment.run,
            kernel: experiment.kernel.clone(),
            renamed_from: experiment.renamed_from.clone(),
            device: experiment.device.clone(),
            emulated: experiment.emulated,
            foreign: experiment.foreign,
            decided: experiment.decided,
            trailers: trailers(of_commit),
            peers: figures,
        }
    }
}
