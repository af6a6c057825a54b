//! The gates of a tensor problem: what was found over all cases, and its result lines. Also which
//! workloads passed, for a run that does not: a `workload:` line for each, without figures.

use super::case_data::{CaseData, Contents};
use super::launcher::Written;
use super::named_gates::{Differences, NamedTally};
use super::plant;
use super::spec::{Case, CaseTensor, ProblemSpec};
use crate::cells::{self, Pair};
use crate::dtype::CellValue;
use crate::gates::{self, CellMismatch, TensorComparison};
use crate::outcome::{Result, verdict_of};
use crate::worker::Breach;
use itertools::Itertools as _;
use lab_protocol::report::wrong_cells::{WrongMap, WrongTile};
use lab_protocol::report::{self, Histogram, Writer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The comparison of each output of a launch with the expected one; `None` for pure inputs.
pub struct ComparedOutputs(pub Vec<Option<ComparedOutput>>);

/// A launch of a case, another launch on the same inputs, and what is expected.
pub type ComparedLaunch<'a> = (&'a Case, &'a Written, Option<&'a Written>, &'a Contents);

/// The comparison of one output of a launch.
pub struct ComparedOutput {
    pub cells: TensorComparison,
    /// For its named gates.
    differences: Option<Differences>,
    /// Of an output beyond its tolerance, if it is the largest so far.
    picture: Option<(WrongMap, WrongTile)>,
}

impl ComparedOutput {
    fn of(case: &Case, tensor: &CaseTensor, pair: &Pair, cells: TensorComparison) -> Result<Self> {
        let is_pictured = !cells.passes(&tensor.tolerance) && pair.got.bytes() == pair.want.bytes();
        Ok(ComparedOutput {
            cells,
            differences: Differences::of(tensor, pair.got, pair.want)?,
            picture: if is_pictured {
                tensor.pictured.picture(pair, &tensor.shape, &case.label)?
            } else {
                None
            },
        })
    }

    /// Whether the output is right.
    fn passes(&self, tensor: &CaseTensor) -> bool {
        let failure = self
            .differences
            .as_ref()
            .and_then(|found| found.failure(&tensor.gates));
        self.cells.passes(&tensor.tolerance) && failure.is_none()
    }
}

impl ComparedOutputs {
    /// Compares what a launch wrote with what is expected. `other` is another launch on the same
    /// inputs.
    pub fn of(
        case: &Case,
        written: &Written,
        other: Option<&Written>,
        want: &Contents,
    ) -> Result<Self> {
        let mut compared = Self::of_each(&[(case, written, other, want)])?;
        Ok(compared.pop().unwrap_or(ComparedOutputs(Vec::new())))
    }

    /// [`ComparedOutputs::of`] for several launches: on the device in one request.
    pub fn of_each(launches: &[ComparedLaunch]) -> Result<Vec<Self>> {
        let pairs = launches.iter().map(|(case, written, other, want)| {
            let outputs = written.outputs.iter().zip(*want).zip(&case.tensors);
            let pairs = outputs.enumerate().map(|(i, ((got, want), tensor))| {
                Some(Pair {
                    dtype: tensor.dtype,
                    got: got.as_ref()?,
                    want: want.as_ref()?,
                    tolerance: Some(&tensor.tolerance),
                    unwritten: written.unwritten(i, tensor.dtype, *other),
                })
            });
            pairs.collect()
        });
        let pairs: Vec<Vec<Option<Pair>>> = pairs.collect();
        let there = pairs.iter().flatten().flatten().collect_vec();
        let mut compared = cells::compare(&there)?.into_iter();
        let mut found = Vec::with_capacity(launches.len());
        for ((case, ..), pairs) in launches.iter().zip(&pairs) {
            let mut outputs = Vec::with_capacity(pairs.len());
            for (tensor, pair) in case.tensors.iter().zip(pairs) {
                let cells = pair
                    .as_ref()
                    .and_then(|pair| Some((pair, compared.next()?)));
                outputs.push(match cells {
                    Some((pair, cells)) => Some(ComparedOutput::of(case, tensor, pair, cells)?),
                    None => None,
                });
            }
            found.push(ComparedOutputs::with_order(case, outputs));
        }
        Ok(found)
    }

    /// Whether all outputs are right.
    pub fn pass(&self, case: &Case) -> bool {
        let each = case.tensors.iter().zip(&self.0);
        each.into_iter()
            .all(|(tensor, compared)| compared.as_ref().is_none_or(|found| found.passes(tensor)))
    }

    /// Leaves out what counts only where other outputs are right.
    fn with_order(case: &Case, mut each: Vec<Option<ComparedOutput>>) -> Self {
        let tensors = case.tensors.iter().zip(&each);
        let right: Vec<bool> = tensors
            .map(|(tensor, compared)| compared.as_ref().is_none_or(|found| found.passes(tensor)))
            .collect();
        for (tensor, compared) in case.tensors.iter().zip(&mut each) {
            if tensor.after.iter().any(|before| !right[*before]) {
                *compared = None;
            }
        }
        ComparedOutputs(each)
    }
}

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

/// The results for one output.
#[derive(Default)]
struct OutputTally {
    name: String,
    worst: WorstError,
    /// The values in the gates' lines that were last written.
    written: Option<WorstError>,
    /// Each case's largest error, in order.
    errors: Vec<f64>,
    /// The cell and the workload with the largest error of all.
    place: Option<String>,
    counts: Histogram,
    /// Whether it was written that zeros have the other sign.
    has_other_zeros: bool,
    /// The gates that problem.toml names, in place of those on error and mismatches.
    named: NamedTally,
}

#[derive(Clone, Copy, Default, PartialEq)]
struct WorstError {
    error: f64,
    /// The largest fraction of mismatched cells in a launch, and the fraction that was allowed
    /// there.
    mismatched: f64,
    allowed: f64,
    not_finite: u64,
    unwritten: u64,
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

impl OutputTally {
    fn add(&mut self, compared: &ComparedOutput, tensor: &CaseTensor, label: &str) {
        let differences = compared.differences.as_ref();
        let compared = &compared.cells;
        self.named.add(compared, differences, tensor, label);
        let allowed = gates::allowed_mismatch(&tensor.tolerance);
        if let Some(cell) = compared.worst.filter(|_| compared.error > self.worst.error) {
            self.place = Some(format!("{} {label}", tensor.cell(cell)));
        }
        if let Some(last) = self.errors.last_mut() {
            *last = last.max(compared.error);
        }
        self.counts.join(&compared.counts);
        let worst = &mut self.worst;
        worst.error = worst.error.max(compared.error);
        // Types may have different limits: the line shows the pair that is nearest to failing.
        let fraction = compared.mismatched_fraction();
        if fraction - allowed >= worst.mismatched - worst.allowed {
            (worst.mismatched, worst.allowed) = (fraction, allowed);
        }
        worst.not_finite += compared.not_finite as u64;
        worst.unwritten += compared.unwritten as u64;
    }

    /// Writes which cells are wrong, and the values around the first.
    fn write_picture(&self, picture: Option<&(WrongMap, WrongTile)>, out: &mut Writer) -> Result {
        let Some((map, tile)) = picture else {
            return Ok(());
        };
        out.line(&format!("{}_wrong_map", self.name), map)?;
        Ok(out.line(&format!("{}_wrong_tile", self.name), tile)?)
    }

    /// Writes, once, that a cell is −0 where +0 is expected, or the other way round. The tolerance of
    /// zero says so by [`gates::OTHER_ZERO`].
    fn note_other_zeros(
        &mut self,
        compared: &TensorComparison,
        tensor: &CaseTensor,
        label: &str,
        out: &mut Writer,
    ) -> Result {
        let is_other_zero = compared.error == gates::OTHER_ZERO && tensor.tolerance.is_exact();
        let Some(cell) = compared.worst.filter(|_| is_other_zero) else {
            return Ok(());
        };
        if std::mem::replace(&mut self.has_other_zeros, true) {
            return Ok(());
        }
        Ok(out.caveat(format_args!(
            "{} is a zero of the other sign than the reference's, {label}: at a tolerance of zero that may be wrong. An atol \
             above zero allows it",
            tensor.cell(cell)
        ))?)
    }
}

impl WorstError {
    fn write_cells(&self, name: &str, out: &mut Writer) -> Result {
        out.count_gate(&format!("{name}_unwritten"), self.unwritten, 0)?;
        out.count_gate(&format!("{name}_not_finite"), self.not_finite, 0)?;
        Ok(())
    }

    fn write(&self, name: &str, place: Option<&str>, out: &mut Writer) -> Result {
        if self.allowed == 0.0 {
            out.gate_at(&format!("{name}_error"), self.error, 1.0, place)?;
        } else {
            out.line(
                &format!("{name}_error"),
                format_args!("{:e}{}", self.error, report::at(place)),
            )?;
        }
        out.gate(&format!("{name}_mismatched"), self.mismatched, self.allowed)?;
        Ok(())
    }
}

/// Whether more than half of many cells are wrong. If there are few cells, a set with other
/// extremes may get
/// others wrong.
fn is_mostly_wrong(compared: &TensorComparison) -> bool {
    const MANY: usize = 64;
    compared.mismatched > (compared.cells / 2).max(MANY)
}

/// Describes the first wrong cell of the gravest kind.
fn first_wrong(compared: &TensorComparison, tensor: &CaseTensor) -> String {
    let Some(&CellMismatch { index, got, want }) = compared.first_wrong() else {
        return "no cell is wrong".into();
    };
    let at = tensor.cell(index);
    let (got, want) = in_few_digits(got, want);
    let (n, all, error) = (compared.mismatched, compared.cells, compared.error);
    if compared.unwritten > 0 {
        let n = compared.unwritten;
        return format!("never wrote {at}, expected {want} ({n} cells unwritten)");
    }
    if compared.not_finite > 0 {
        let n = compared.not_finite;
        return format!("{at} is {got}, expected {want} ({n} cells not finite)");
    }
    // Without a tolerance an error has no size.
    if error.is_infinite() {
        return format!("{at} is {got}, expected {want} ({n} of {all} cells differ)");
    }
    let decimals = if error < 100.0 { 3 } else { 0 };
    format!(
        "{at} is {got}, expected {want} ({n} of {all} cells off, at worst {error:.decimals$} times the tolerance)"
    )
}

/// Two numbers with nine digits, which tell any two f32 apart; with all digits if they would read the
/// same.
fn in_few_digits(got: CellValue, want: CellValue) -> (String, String) {
    let shown = |value: CellValue| match value {
        CellValue::Float(number) if number.is_finite() => {
            let short: f64 = format!("{number:.8e}").parse().unwrap_or(number);
            short.to_string()
        }
        other => other.to_string(),
    };
    match (shown(got), shown(want)) {
        (short, like) if short == like => (got.to_string(), want.to_string()),
        both => both,
    }
}
