//! Which workloads passed, for a run that does not: a `workload:` line for each, without figures.

use super::spec::Case;
use crate::outcome::{Correctness, Stop};
use lab_protocol::report::Writer;
use std::sync::Arc;

/// What one workload came to. Its text stands behind `correctness=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum CaseOutcome {
    Pass,
    Fail,
    /// The kernel crashed or hung in one of its launches.
    Crash,
    /// It was not launched: another workload ended the run.
    NotJudged,
}

/// The outcomes of the cases of a run, in their order.
#[derive(Debug)]
pub struct CaseOutcomes(Vec<(Arc<Case>, CaseOutcome)>);

impl CaseOutcomes {
    /// What all of these cases came to so far.
    pub fn new<'a>(cases: impl IntoIterator<Item = &'a Arc<Case>>, so_far: CaseOutcome) -> Self {
        let each = cases.into_iter().map(|case| (case.clone(), so_far));
        CaseOutcomes(each.collect())
    }

    /// Notes what the case at this position came to.
    pub fn set(&mut self, at: usize, outcome: CaseOutcome) {
        if let Some((_, known)) = self.0.get_mut(at) {
            *known = outcome;
        }
    }

    /// The position of a case.
    pub fn position(&self, case: &Case) -> Option<usize> {
        self.0
            .iter()
            .position(|(known, _)| known.index == case.index)
    }

    /// Writes the lines of a run that failed.
    pub fn write(&self, out: &mut Writer) -> Result<(), Stop> {
        for (case, outcome) in &self.0 {
            let label = &case.label;
            out.line("workload", format_args!("{label} correctness={outcome}"))?;
        }
        Ok(())
    }

    /// Writes the lines if the run failed, or if the kernel crashed in the case at this position.
    pub fn write_unless_passed(
        &mut self,
        verdict: &Result<Correctness, Stop>,
        at: Option<usize>,
        out: &mut Writer,
    ) -> Result<(), Stop> {
        match verdict {
            Ok(Correctness::Fail) => self.write(out),
            Err(Stop::Crash(_)) => {
                if let Some(at) = at {
                    self.set(at, CaseOutcome::Crash);
                }
                self.write(out)
            }
            Ok(Correctness::Pass) | Err(_) => Ok(()),
        }
    }
}
