//! The gates of a tensor problem: what was found over all cases, and its result lines. Also which
//! workloads passed, for a run that does not: a `workload:` line for each, without figures.

mod compared;
mod output;

pub use compared::ComparedOutputs;

use super::case_data::CaseData;
use super::named_gates::NamedTally;
use super::plant;
use super::spec::{Case, CaseTensor, ProblemSpec};
use crate::outcome::{Result, verdict_of};
use crate::worker::Breach;
use lab_protocol::report::Writer;
use output::{OutputTally, first_wrong, is_mostly_wrong};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The outcome of one workload. Its text stands behind `correctness=`.
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

/// The results of all launches so far.
pub struct GateTally {
    /// The outcome of each case of the run so far, in their order.
    outcomes: Vec<(Arc<Case>, CaseOutcome)>,
    /// The position of the case that is checked.
    present: Option<usize>,
    /// In the order of the problem's tensors; `None` for pure inputs.
    tensors: Vec<Option<OutputTally>>,
    breaches: BreachCounts,
    written: Option<BreachCounts>,
    /// When the series were last written.
    drawn: Option<Instant>,
    /// The smallest and the largest of each number that the reference wrote about inputs.
    accepts: Vec<(String, f64, f64)>,
    failures: u64,
    /// Whether a launch of the present case got most of an output wrong.
    mostly_wrong: bool,
}

/// Shortest time between two writings of the series. They grow with every case and are written
/// whole.
const SERIES_EVERY: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Default, PartialEq)]
struct BreachCounts {
    out_of_bounds: u64,
    inputs_changed: u64,
}

impl GateTally {
    /// `so_far` is the outcome of these cases before any launch.
    pub fn new<'a>(
        spec: &ProblemSpec,
        cases: impl IntoIterator<Item = &'a Arc<Case>>,
        so_far: CaseOutcome,
    ) -> Self {
        let found = |tensor: &CaseTensor| {
            (tensor.is_output() && !tensor.is_workspace).then(|| OutputTally {
                name: tensor.name.clone(),
                named: NamedTally::new(&tensor.gates),
                ..OutputTally::default()
            })
        };
        let outcomes = cases.into_iter().map(|case| (case.clone(), so_far));
        GateTally {
            outcomes: outcomes.collect(),
            present: None,
            tensors: spec.tensors().iter().map(found).collect(),
            breaches: BreachCounts::default(),
            written: None,
            drawn: None,
            accepts: Vec::new(),
            failures: 0,
            mostly_wrong: false,
        }
    }

    /// [`Stop::Wrong`](crate::outcome::Stop::Wrong) after a failure.
    pub fn verdict(&self) -> Result {
        verdict_of(self.failures == 0)
    }

    /// Begins the case at this position, which gets a point in each series. It passes unless a
    /// failure follows.
    pub fn begin_case(&mut self, at: usize) {
        let found = self.tensors.iter_mut().flatten();
        found.for_each(|found| found.errors.push(0.0));
        self.mostly_wrong = false;
        self.present = Some(at);
        self.set_outcome(at, CaseOutcome::Pass);
    }

    fn set_outcome(&mut self, at: usize, outcome: CaseOutcome) {
        if let Some((_, known)) = self.outcomes.get_mut(at) {
            *known = outcome;
        }
    }

    /// Counts a failure of a case, and writes it.
    fn fail(&mut self, case: &Case, how: &str, what: &str, out: &mut Writer) -> Result {
        /// Further ones are only counted.
        const SHOWN: u64 = 20;
        self.failures += 1;
        let mut outcomes = self.outcomes.iter();
        if let Some(at) = outcomes.position(|(known, _)| known.index == case.index) {
            self.set_outcome(at, CaseOutcome::Fail);
        }
        let (number, label) = (self.failures, &case.label);
        let hint = case.hint.iter().map(|hint| format!("; {hint}"));
        let how = std::iter::once(how.to_owned())
            .chain(hint)
            .collect::<String>();
        match number {
            1 => out.line("first_failure", format_args!("{what}; {label}, {how}"))?,
            2..=SHOWN => out.text(&format!("failure {number}: {what}; {label}, {how}"))?,
            _ => {}
        }
        Ok(())
    }

    /// Notes that the kernel crashed in the case at this position, or else in the one that is
    /// checked, and writes the outcome of each case.
    pub fn crash(&mut self, at: Option<usize>, out: &mut Writer) -> Result {
        if let Some(at) = at.or(self.present) {
            self.set_outcome(at, CaseOutcome::Crash);
        }
        self.write_outcomes(out)
    }

    /// Writes the outcome of each case, for a run that does not pass.
    pub fn write_outcomes(&self, out: &mut Writer) -> Result {
        for (case, outcome) in &self.outcomes {
            let label = &case.label;
            out.line("workload", format_args!("{label} correctness={outcome}"))?;
        }
        Ok(())
    }

    /// Adds what a launch on a set wrote, and returns whether it is right. `how` names the launch.
    pub fn add(
        &mut self,
        drawn: &CaseData,
        set: usize,
        how: &str,
        compared: ComparedOutputs,
        out: &mut Writer,
    ) -> Result<bool> {
        let (before, case) = (self.failures, &*drawn.case);
        for (i, (tensor, compared)) in case.tensors.iter().zip(compared.0).enumerate() {
            let (Some(found), Some(compared)) = (&mut self.tensors[i], compared) else {
                continue;
            };
            found.add(&compared, tensor, &case.label);
            found.note_other_zeros(&compared.cells, tensor, &case.label, out)?;
            if compared.passes(tensor) {
                continue;
            }
            found.write_picture(compared.picture.as_ref(), out)?;
            let differences = compared.differences;
            let compared = compared.cells;
            self.mostly_wrong |= is_mostly_wrong(&compared);
            let mut what = if compared.passes(&tensor.tolerance) {
                differences
                    .and_then(|found| found.failure(&tensor.gates))
                    .unwrap_or_default()
            } else {
                first_wrong(&compared, tensor)
            };
            let near = compared.first_wrong().and_then(|cell| {
                let place = tensor.place(cell.index);
                plant::describe(&drawn.sets[set].planted, &case.tensors, &place)
            });
            let near = near.into_iter().chain(drawn.sets[set].other_scalars(case));
            what.extend(near.map(|near| format!("; {near}")));
            self.fail(case, how, &what, out)?;
        }
        Ok(self.failures == before)
    }

    /// Records a rule that a launch broke. `what` describes the breach.
    pub fn breach(
        &mut self,
        case: &Case,
        how: &str,
        what: &str,
        breach: &Breach,
        out: &mut Writer,
    ) -> Result {
        match breach {
            Breach::InputChanged { .. } => self.breaches.inputs_changed += 1,
            Breach::OutOfBounds { .. } | Breach::StrayStore { .. } | Breach::LateStore { .. } => {
                self.breaches.out_of_bounds += 1;
            }
        }
        self.fail(case, how, what, out)
    }

    /// Whether further launches of the present case would show nothing new: one got most of an
    /// output wrong, or a store out of bounds may have damaged the worker.
    pub fn has_seen_enough(&self) -> bool {
        self.mostly_wrong || self.breached()
    }

    /// Notes what the reference wrote about the inputs of these sets.
    pub fn note_accepts(&mut self, drawn: &CaseData) {
        for (at, accept) in drawn.case.accepts.iter().enumerate() {
            for value in drawn.sets.iter().filter_map(|set| set.accepts.get(at)) {
                let mut known = self.accepts.iter_mut();
                let Some((_, least, most)) = known.find(|(name, ..)| *name == accept.name) else {
                    self.accepts.push((accept.name.clone(), *value, *value));
                    continue;
                };
                (*least, *most) = (least.min(*value), most.max(*value));
            }
        }
    }

    /// Writes the smallest and the largest of each number that the reference wrote about inputs.
    pub fn write_accepts(&self, out: &mut Writer) -> Result {
        for (name, least, most) in &self.accepts {
            out.line(name, format_args!("{least:.2e} most={most:.2e}"))?;
        }
        Ok(())
    }

    pub fn breached(&self) -> bool {
        self.breaches.out_of_bounds > 0
    }

    /// Writes the gates' lines that changed since they were last written. The gravest come first,
    /// because the first failing gate is shown as the reason. With `last`, also writes the series.
    pub fn write(&mut self, last: bool, out: &mut Writer) -> Result {
        let series = last || self.drawn.is_none_or(|at| at.elapsed() >= SERIES_EVERY);
        if self.written.replace(self.breaches) != Some(self.breaches) {
            out.count_gate("out_of_bounds", self.breaches.out_of_bounds, 0)?;
            out.count_gate("inputs_changed", self.breaches.inputs_changed, 0)?;
        }
        for found in self.tensors.iter_mut().flatten() {
            let is_new = found.written.replace(found.worst) != Some(found.worst);
            let is_named = !found.named.is_empty();
            if is_new {
                found.worst.write_cells(&found.name, out)?;
            }
            if is_named {
                found.named.write(series, out)?;
            } else if is_new {
                found
                    .worst
                    .write(&found.name, found.place.as_deref(), out)?;
            }
            if series && !is_named {
                let name = format!("{}_error", found.name);
                out.series(&name, &found.errors)?;
                out.histogram(&name, &found.counts)?;
            }
        }
        if series {
            self.drawn = Some(Instant::now());
        }
        Ok(())
    }
}
