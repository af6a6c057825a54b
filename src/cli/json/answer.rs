//! The answer about a run that has ended.

use super::decision::DecisionReport;
use super::run::RunReport;
use crate::cli::verdict::{Judged, Measured};
use lab_run::RunId;
use serde::Serialize;

/// The earlier run whose verdict is told.
#[derive(Serialize)]
pub struct KnownAs {
    pub run: RunId,
    /// The bytes are the same too.
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

/// A run that has ended, with what was decided about it: the answer of `lab run`, of `lab bench
/// --verdict` and of the tools that judge.
#[derive(Serialize)]
pub struct RunAnswer {
    #[serde(flatten)]
    run: RunReport,
    /// `None` of a kernel that was judged now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_as: Option<KnownAs>,
    /// Only of a long measurement that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
    /// `None` if nothing was decided.
    pub decision: Option<DecisionReport>,
    pub notes: Vec<String>,
}

impl RunAnswer {
    /// Reads the run's log.
    pub fn of(judged: &Judged) -> Self {
        let Judged {
            project,
            index,
            record,
            verdict,
            ..
        } = *judged;
        RunAnswer {
            run: RunReport::of(project, index, record, verdict),
            known_as: None,
            measured: Measured::of(record),
            decision: DecisionReport::recorded(record),
            notes: Vec::new(),
        }
    }
}
