//! What a launch wrote, beside what is expected.

use super::super::case_data::Contents;
use super::super::launcher::Written;
use super::super::named_gates::Differences;
use super::super::spec::{Case, CaseTensor};
use crate::cells::{self, Pair};
use crate::gates::TensorComparison;
use crate::outcome::Result;
use itertools::Itertools as _;
use lab_protocol::report::wrong_cells::{WrongMap, WrongTile};

/// The comparison of each output of a launch with the expected one; `None` for pure inputs.
pub struct ComparedOutputs(pub Vec<Option<ComparedOutput>>);

/// A launch of a case, another launch on the same inputs, and what is expected.
pub type ComparedLaunch<'a> = (&'a Case, &'a Written, Option<&'a Written>, &'a Contents);

/// The comparison of one output of a launch.
pub struct ComparedOutput {
    pub cells: TensorComparison,
    /// For its named gates.
    pub(super) differences: Option<Differences>,
    /// Of an output beyond its tolerance, if it is the largest so far.
    pub(super) picture: Option<(WrongMap, WrongTile)>,
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
    pub(super) fn passes(&self, tensor: &CaseTensor) -> bool {
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
