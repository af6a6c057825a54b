//! A sweep as JSON.

use jiff::Timestamp;
use lab_project::Project;
use lab_protocol::report::Measure;
use lab_run::Fingerprint;
use lab_sweep::record::SweepParameter;
use lab_sweep::summary::{self, Importance, PointCounts};
use lab_sweep::{Ended, PointOutcome, Sweep, SweepId, SweepJobs, SweepPoint, SweepStore};
use schemars::JsonSchema;
use serde::Serialize;

/// `lab sweep`.
#[derive(JsonSchema, Serialize)]
pub struct SweepReport<'a> {
    /// Its number.
    sweep: SweepId,
    /// Path of the kernel, relative to the repository.
    kernel: &'a str,
    /// Hash of everything that a verdict on a point depends on, but for the point's values.
    fingerprint: &'a Fingerprint,
    /// Whether its records are not this user's, or were changed.
    foreign: bool,
    /// The device; null before the first point was judged.
    device: Option<&'a str>,
    /// The devices that were asked for, as in `cuda:0,cuda:1`.
    target: &'a str,
    /// Whether the times say nothing about a GPU.
    emulated: bool,
    /// When it began.
    started: Timestamp,
    ended: SweepEnd,
    /// Why it was not judged; empty otherwise.
    why: &'a str,
    /// The constants and their values, in the order of the tune lines.
    parameters: &'a [SweepParameter],
    /// The conditions of the `lab: require` lines.
    requires: &'a [String],
    /// Points that the tune lines allow.
    points_allowed: usize,
    counts: PointCounts,
    /// The number of the best point; null without one, and on an emulated device.
    best: Option<u32>,
    /// The numbers of the points that passed, the best first; of an emulated device in their order.
    ranked: Vec<u32>,
    /// How much each parameter matters, the most important first; empty of an emulated device.
    importance: Vec<Importance>,
    /// How far its newest array of tasks on a cluster is; null of a sweep on this machine.
    jobs: Option<SweepJobs>,
    /// In the order in which they were recorded.
    points: Vec<SweepPointReport<'a>>,
    /// Path of the sweep's folder.
    folder: String,
}

/// How a sweep ended.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepEnd {
    /// All points are measured.
    Complete,
    /// Points are left, and the budget is spent.
    BudgetSpent,
    Interrupted,
    /// The machine or the problem failed, and no point.
    NotJudged,
    /// It was only shown.
    Shown,
}

impl SweepEnd {
    /// `None` is a sweep that was only shown.
    pub fn of(ended: Option<&Ended>) -> SweepEnd {
        match ended {
            Some(Ended::Complete) => SweepEnd::Complete,
            Some(Ended::BudgetSpent) => SweepEnd::BudgetSpent,
            Some(Ended::Interrupted) => SweepEnd::Interrupted,
            Some(Ended::NotJudged(_)) => SweepEnd::NotJudged,
            None => SweepEnd::Shown,
        }
    }
}

/// One point of a sweep.
#[derive(JsonSchema, Serialize)]
pub struct SweepPointReport<'a> {
    /// Its number within the sweep.
    number: u32,
    /// The value of each parameter, in their order.
    values: &'a [String],
    /// Whether the kernel had these values when the sweep began.
    written: bool,
    /// Git blob id of its bytes.
    blob: &'a str,
    outcome: PointOutcome,
    /// The reason; empty on a pass.
    why: &'a str,
    /// The figure; null unless it is correct and was measured.
    figure: Option<SweepFigure<'a>>,
    /// The ratio of its speed to the incumbent's: 1.02 is 2 % faster; null if the two were not timed in
    /// turns.
    ratio: Option<Measure>,
    /// When its judge was started.
    started: Timestamp,
    /// How long its judge took; 0 if its build failed before.
    seconds: f64,
    caveats: &'a [String],
}

/// What was measured of a point.
#[derive(JsonSchema, Serialize)]
struct SweepFigure<'a> {
    /// The key of its result line.
    objective: &'a str,
    value: f64,
    /// The ends of its 95 % interval; null of a harness that gives none.
    low: Option<f64>,
    high: Option<f64>,
    unit: &'a str,
}

impl<'a> SweepReport<'a> {
    /// `ended` says how measuring ended; `None` if nothing was measured.
    pub fn of(project: &Project, sweep: &'a Sweep, ended: Option<&'a Ended>) -> Self {
        let (start, points) = (&sweep.start, &sweep.points);
        let ranked: Vec<u32> = summary::ranked(points)
            .iter()
            .map(|point| point.number)
            .collect();
        let emulated = sweep.is_emulated();
        let why = match ended {
            Some(Ended::NotJudged(why)) => why.as_str(),
            _ => "",
        };
        let store = SweepStore::of(project);
        SweepReport {
            sweep: start.sweep,
            kernel: &start.kernel,
            fingerprint: &start.fingerprint,
            foreign: !sweep.is_own(),
            device: points.iter().find_map(|point| point.device.as_deref()),
            target: &start.target,
            emulated,
            started: start.started,
            ended: SweepEnd::of(ended),
            why,
            parameters: &start.parameters,
            requires: &start.requires,
            points_allowed: start.points,
            counts: PointCounts::of(points),
            best: ranked.first().copied().filter(|_| !emulated),
            ranked,
            importance: summary::importance(sweep),
            jobs: SweepJobs::read(&store, start.sweep),
            points: points.iter().map(SweepPointReport::of).collect(),
            folder: store.folder(start.sweep).to_string_lossy().into_owned(),
        }
    }
}

impl<'a> SweepPointReport<'a> {
    pub fn of(point: &'a SweepPoint) -> Self {
        SweepPointReport {
            number: point.number,
            values: &point.values,
            written: point.written,
            blob: &point.blob,
            outcome: point.outcome,
            why: &point.why,
            figure: point.figure.as_ref().map(|figure| SweepFigure {
                objective: figure.objective.name(),
                value: figure.measure.value,
                low: figure.measure.low,
                high: figure.measure.high,
                unit: figure.objective.unit(),
            }),
            ratio: point.ratio(),
            started: point.started,
            seconds: point.seconds,
            caveats: &point.caveats,
        }
    }
}
