//! Which workloads passed, for a run that does not: a `workload:` line for each, without figures.

use super::spec::{Case, ProblemSpec};
use crate::outcome::{Correctness, Stop};
use lab_protocol::report::Writer;

/// What one workload came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseOutcome {
    Pass,
    Fail,
    /// The kernel crashed or hung in one of its launches.
    Crash,
    /// It was not launched: another workload ended the run.
    NotJudged,
}

impl CaseOutcome {
    /// The word behind `correctness=`.
    pub fn word(self) -> &'static str {
        match self {
            CaseOutcome::Pass => "pass",
            CaseOutcome::Fail => "fail",
            CaseOutcome::Crash => "crash",
            CaseOutcome::NotJudged => "not_judged",
        }
    }
}

/// The outcomes of the cases of a run, in their order.
#[derive(Debug)]
pub struct CaseOutcomes(Vec<(usize, CaseOutcome)>);

impl CaseOutcomes {
    /// No case was judged yet. `cases` are indices into the spec's.
    pub fn new(cases: &[usize]) -> Self {
        CaseOutcomes(
            cases
                .iter()
                .map(|case| (*case, CaseOutcome::NotJudged))
                .collect(),
        )
    }

    /// All of these cases passed so far.
    pub fn passed(cases: impl IntoIterator<Item = usize>) -> Self {
        CaseOutcomes(
            cases
                .into_iter()
                .map(|case| (case, CaseOutcome::Pass))
                .collect(),
        )
    }

    /// Notes what the case at this position came to.
    pub fn set(&mut self, at: usize, outcome: CaseOutcome) {
        if let Some((_, known)) = self.0.get_mut(at) {
            *known = outcome;
        }
    }

    /// The position of a case of the spec.
    pub fn position(&self, spec: &ProblemSpec, case: &Case) -> Option<usize> {
        self.0
            .iter()
            .position(|(index, _)| std::ptr::eq(&spec.cases[*index], case))
    }

    /// Writes the lines of a run that failed.
    pub fn write(&self, spec: &ProblemSpec, out: &mut Writer) -> Result<(), Stop> {
        for (index, outcome) in &self.0 {
            let case = &spec.cases[*index];
            out.line(
                "workload",
                format_args!("{} correctness={}", case.label, outcome.word()),
            )?;
        }
        Ok(())
    }

    /// Writes the lines if the run failed, or if the kernel crashed in the case at this position.
    pub fn write_unless_passed(
        &mut self,
        spec: &ProblemSpec,
        verdict: &Result<Correctness, Stop>,
        at: Option<usize>,
        out: &mut Writer,
    ) -> Result<(), Stop> {
        match verdict {
            Ok(Correctness::Fail) => self.write(spec, out),
            Err(Stop::Crash(_)) => {
                if let Some(at) = at {
                    self.set(at, CaseOutcome::Crash);
                }
                self.write(spec, out)
            }
            Ok(Correctness::Pass) | Err(_) => Ok(()),
        }
    }
}
