//! An experiment: a run that was decided, kept or discarded.

use crate::RunId;
use crate::chosen::{Chosen, ChosenMeasure};
use crate::kernel_blob::KernelBlob;
use crate::message::{TAGS, Trailer};
use crate::peers::PeerFigure;
use crate::verdict::{Change, Verdict};
use itertools::Itertools;
use jiff::Timestamp;
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::{JudgedWorkloads, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a row of the ledger is about: how a run was decided, or that the rules changed. Its word
/// stands in results.tsv.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = unknown_status)]
pub enum Status {
    Keep,
    Discard,
    /// Discarded, and the run had crashed.
    Crash,
    /// No run: the rules changed, by which the runs after it are judged.
    Rules,
}

impl Status {
    /// The word in results.tsv.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

fn unknown_status(_: &str) -> UnknownWord {
    UnknownWord("none of keep, discard, crash, rules")
}

/// Whether a result was correct; its word stands in results.tsv.
///
/// ```
/// use lab_run::experiment::Correctness;
///
/// assert_eq!("pass".parse(), Ok(Correctness::Pass));
/// assert_eq!(Correctness::Fail.to_string(), "fail");
/// assert!("ok".parse::<Correctness>().is_err());
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = unknown_correctness)]
pub enum Correctness {
    Pass,
    Fail,
    /// Nothing was judged: the row is about a change of the rules.
    #[serde(rename = "-")]
    #[strum(serialize = "-")]
    Unjudged,
}

impl Correctness {
    /// The word in results.tsv.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Whether the result was correct.
    pub fn passed(self) -> bool {
        self == Correctness::Pass
    }
}

impl From<bool> for Correctness {
    fn from(passed: bool) -> Self {
        if passed {
            Correctness::Pass
        } else {
            Correctness::Fail
        }
    }
}

fn unknown_correctness(_: &str) -> UnknownWord {
    UnknownWord("none of pass, fail, -")
}

/// A word of a row that is not one of those it may be. Reads `none of keep, discard, crash, rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownWord(&'static str);

/// One row of results.tsv: the six columns, in their order.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Row {
    /// Short id of the commit that holds the bytes.
    pub commit: String,
    /// Samples per second; 0.0 if they were not measured, or lab.toml names another objective.
    pub throughput_sps: f64,
    /// Microseconds of one launch; 0.0 if they were not measured.
    pub kernel_us: f64,
    /// `-` of a change of the rules, which judged nothing.
    pub correctness: Correctness,
    pub status: Status,
    /// What was tried: the subject of the commit's message.
    pub description: String,
}

impl Row {
    /// Microseconds of one launch; `None` if they were not measured.
    pub fn time(&self) -> Option<f64> {
        Some(self.kernel_us).filter(|us| *us > 0.0)
    }
}

/// Names one experiment. The commit alone does not: one that was kept twice has two rows, and an
/// old row has no run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExperimentKey {
    /// The short id that the row has; empty of a run that nobody decided.
    pub commit: String,
    pub run: Option<RunId>,
    pub decided: Option<Timestamp>,
}

impl fmt::Display for ExperimentKey {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.run.filter(|_| self.commit.is_empty()) {
            Some(run) => write!(f, "run {run}"),
            None => f.write_str(&self.commit),
        }
    }
}

/// An experiment in the history: its row, and what its record adds if that is still here.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    pub row: Row,
    /// `None` if the record is not here.
    pub run: Option<RunId>,
    /// Repository-relative path of the kernel as it is called today, if known.
    pub kernel: Option<String>,
    /// What the kernel was called then, if its folder was renamed since.
    pub renamed_from: Option<String>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    /// No record of this user's lab says what the row says: there is none here, somebody else's lab
    /// wrote it, or it was changed since.
    pub foreign: bool,
    /// Measured on an emulated device.
    pub emulated: bool,
    pub decided: Option<Timestamp>,
    /// The trailers of the commit's message, from the record.
    pub trailers: Vec<Trailer>,
    pub measured: Measured,
    /// What its kernel was timed beside: its own run's peers, else those that its trailers name.
    /// Emulated ones have no ratio.
    pub peers: Vec<PeerFigure>,
}

/// The figures of an experiment that its record adds to the row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// The objective with its interval.
    pub objective: Option<Measure>,
    /// The change against the incumbent of that time.
    pub change: Option<Change>,
    /// The verdict has caveats: the device was in a bad state, or something was not measured.
    pub caveated: bool,
    /// The number of judged workloads, if the run left some to later occasions. Such a figure is
    /// compared only with figures over as many workloads: a mean over others is another figure.
    /// `None` if all were judged, or nothing tells.
    pub part: Option<usize>,
    /// The figure that stands in place of the objective.
    pub chosen: Option<Chosen>,
    /// The kernel that was measured. `None` if its record is not here.
    pub blob: Option<KernelBlob>,
}

impl From<&Verdict> for Measured {
    fn from(verdict: &Verdict) -> Self {
        Measured {
            objective: verdict.objective,
            change: verdict.change,
            caveated: !verdict.caveats.is_empty(),
            part: verdict.judged.and_then(JudgedWorkloads::part),
            chosen: verdict.chosen.as_ref().and_then(Chosen::from_figure),
            blob: None,
        }
    }
}

/// What results must have in common to be compared: how many workloads were judged, if some were
/// left to later occasions, and which measure the problem chose.
pub type Alike = (Option<usize>, Option<ChosenMeasure>);

impl Measured {
    /// What another result must have in common with this one to be compared with it.
    pub fn alike(&self) -> Alike {
        (self.part, self.chosen.map(|chosen| chosen.of))
    }

    /// The figure that is shown, with its interval: the one that the problem chose, else the
    /// objective.
    pub fn shown(&self) -> Option<Measure> {
        self.chosen.map(|chosen| chosen.measure).or(self.objective)
    }
}

impl Experiment {
    /// Its tags in words, `#warp #smem`: the parts of its trailer `Tags`. Empty without any.
    pub fn tags(&self) -> String {
        let is_tags = |(key, _): &&Trailer| key.word().eq_ignore_ascii_case(TAGS);
        let tags = self.trailers.iter().filter(is_tags);
        let tags = tags.flat_map(|(_, text)| text.split(','));
        let tags = tags.map(str::trim).filter(|tag| !tag.is_empty());
        tags.map(|tag| format!("#{tag}")).join(" ")
    }

    /// Whether its figure counts: the result was correct and no crash.
    pub fn counts(&self) -> bool {
        matches!(self.row.status, Status::Keep | Status::Discard) && self.row.correctness.passed()
    }

    /// The figure that is shown, if it counts: the one that the problem chose, else the objective.
    pub fn figure(&self) -> Option<f64> {
        self.figure_of(self.measure())
    }

    /// Which measure the problem chose in place of the objective.
    pub fn measure(&self) -> Option<ChosenMeasure> {
        self.measured.chosen.map(|chosen| chosen.of)
    }

    /// Its figure of this measure, if it counts; `None` is the objective, which the row has if it is
    /// samples per second, else the record. A row has samples per second and the time of a launch,
    /// whatever the problem chose; nothing else is known of a problem that did not choose it.
    pub fn figure_of(&self, measure: Option<ChosenMeasure>) -> Option<f64> {
        let time = self.row.time();
        let figure = match (measure, self.measured.chosen) {
            (None, _) => {
                let recorded = self.measured.objective.map(|objective| objective.value);
                let samples = Some(self.row.throughput_sps);
                samples.filter(|samples| *samples > 0.0).or(recorded)
            }
            (Some(measure), Some(chosen)) if chosen.of == measure => Some(chosen.measure.value),
            (Some(ChosenMeasure::Samples), _) => {
                Some(self.row.throughput_sps).filter(|samples| *samples > 0.0)
            }
            (Some(ChosenMeasure::Time), _) => time,
            (Some(ChosenMeasure::Tflops | ChosenMeasure::Gbps), _) => None,
        };
        figure.filter(|_| self.counts())
    }

    /// The objective of [`Experiment::figure`], where lab.toml names `configured`.
    pub fn objective(&self, configured: &Objective) -> Objective {
        self.measure()
            .map_or_else(|| configured.clone(), ChosenMeasure::objective)
    }

    /// Which of two such figures is better, where lab.toml says `configured`.
    pub fn goal(&self, configured: Goal) -> Goal {
        self.measure().map_or(configured, ChosenMeasure::goal)
    }

    /// Whether a branch holds its commit: the run was kept, or it is a change of the rules, which
    /// has no figure.
    pub fn is_kept(&self) -> bool {
        matches!(self.row.status, Status::Keep | Status::Rules)
    }

    /// Whether it is about this kernel. A change of the rules of no known kernel, as in lab.toml,
    /// is about each.
    pub fn is_about(&self, kernel: &str) -> bool {
        match &self.kernel {
            Some(own) => own == kernel,
            None => self.row.status == Status::Rules,
        }
    }

    /// The name of this experiment.
    pub fn key(&self) -> ExperimentKey {
        ExperimentKey {
            commit: self.row.commit.clone(),
            run: self.run,
            decided: self.decided,
        }
    }

    /// Whether `key` names this experiment.
    pub fn is(&self, key: &ExperimentKey) -> bool {
        self.row.commit == key.commit && self.run == key.run && self.decided == key.decided
    }
}
