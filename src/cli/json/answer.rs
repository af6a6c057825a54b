//! The answer about a run that has ended.

use super::decision::DecisionReport;
use super::run::RunReport;
use crate::cli::measured::Measured;
use crate::cli::verdict::Judged;
use lab_run::RunId;
use lab_run::sweep::AttachedSweep;
use schemars::JsonSchema;
use serde::Serialize;

/// The earlier run whose verdict is told.
#[derive(JsonSchema, Serialize)]
pub struct KnownAs {
    /// The run whose verdict this is.
    pub run: RunId,
    /// False if comments or blanks of the kernel differ.
    pub same_bytes: bool,
}

impl KnownAs {
    /// What both runs judged, in words.
    pub fn same(&self) -> &'static str {
        if self.same_bytes {
            "these bytes"
        } else {
            "the same kernel, comments and blanks aside"
        }
    }
}

/// `lab run`, `lab bench --verdict`.
#[derive(JsonSchema, Serialize)]
pub struct RunAnswer {
    #[serde(flatten)]
    run: RunReport,
    /// Only for `lab run --unless-known`, and only if the kernel was judged before: the run whose
    /// verdict this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_as: Option<KnownAs>,
    /// Only of `lab bench --verdict`, and only of a run that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
    /// Null if nothing was decided.
    pub decision: Option<DecisionReport>,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// `lab show`.
#[derive(JsonSchema, Serialize)]
pub struct ShowAnswer<'a> {
    #[serde(flatten)]
    pub run: RunAnswer,
    /// The points of the sweep that found the kernel of an experiment; null of any other.
    pub sweep: Option<&'a AttachedSweep>,
}

impl RunAnswer {
    /// Reads the run's log.
    pub fn of(judged: &Judged) -> Self {
        RunAnswer {
            run: RunReport::of(judged),
            known_as: None,
            measured: Measured::of(judged.record),
            decision: DecisionReport::recorded(judged.record),
            notes: Vec::new(),
        }
    }
}
