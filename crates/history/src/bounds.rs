//! The time of a run beside the time that the device cannot beat, and beside the estimate of a good implementation.

use lab_run::RunId;
use lab_run::record::Record;
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
