//! The time of a run beside the time that the device cannot beat, and beside the estimate of a good implementation.

use lab_project::objective::Objective;
use lab_protocol::report::{Report, Workload};
use lab_run::RunId;
use lab_run::record::Record;
use lab_text::figures::short;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The incumbent's time beside the time that the device cannot beat, and beside the estimate of a
/// good implementation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Bounds {
    pub run: RunId,
    pub kernel_us: f64,
    pub floor_us: f64,
    /// The floor in percent of the time; 100 cannot be reached.
    pub of_floor: f64,
    pub estimate_us: Option<f64>,
    /// The estimate in percent of the time.
    pub of_estimate: Option<f64>,
}

impl Bounds {
    /// `None` of a run that was not timed, or tells no floor.
    pub fn of(record: &Record) -> Option<Self> {
        let report = record.report();
        if !has_floor(&report) {
            return None;
        }
        let positive = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
        let kernel_us = record.verdict.as_ref()?.kernel_us.and_then(positive)?;
        let floor_us = report.number("floor_us").and_then(positive)?;
        let estimate_us = report.number("estimate_us").and_then(positive);
        let of = |time: f64| time / kernel_us * 100.0;
        Some(Bounds {
            run: record.start.id,
            kernel_us,
            floor_us,
            of_floor: of(floor_us),
            estimate_us,
            of_estimate: estimate_us.map(of),
        })
    }
}

/// Whether the floors of a run say how far its kernel has come. Early built-in harnesses also told
/// floors that follow from four times the measured rate of arithmetic: those of problems whose figure
/// is TFLOP/s.
fn has_floor(report: &Report) -> bool {
    let is_built_in = report.value("problem").is_some();
    let is_arithmetic = || report.value("objective") == Some(Objective::Tflops.name());
    !(is_built_in && is_arithmetic())
}

/// The workloads of a run, with the floors that say how far its kernel has come.
pub fn workloads_of(report: &Report) -> Vec<Workload> {
    let mut all = report.workload_figures();
    if !has_floor(report) {
        all.iter_mut().for_each(|workload| workload.of_floor = None);
    }
    all
}

/// Floor and estimate in the unit of the objective, with their names. Empty unless the objective is
/// the throughput or the kernel's time, and of several workloads, each of which has its own. An
/// estimate that the kernel beats is no limit.
pub fn reference_lines(report: &Report, objective: &Objective) -> Vec<(f64, String)> {
    if has_several(report) {
        return Vec::new();
    }
    let level = |key: &str, name: &str| {
        let time = report.number("kernel_us").unwrap_or(f64::INFINITY);
        let bound = report.number(key).filter(|us| *us > 0.0 && *us <= time)?;
        let at = match objective {
            Objective::KernelTime => bound,
            // A launch does the same amount of work in both, so the throughputs are in the inverse
            // ratio of the times.
            Objective::Throughput | Objective::Tflops | Objective::Gbps => {
                report.number(objective.name())? * report.number("kernel_us")? / bound
            }
            Objective::Other(_) => return None,
        };
        at.is_finite()
            .then(|| (at, format!("{name} {}", short(at))))
    };
    [level("floor_us", "floor"), level("estimate_us", "estimate")]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether the run judged several workloads: the pane Workloads has the bounds of each.
pub fn has_several(report: &Report) -> bool {
    report.workloads().len() > 1
}
