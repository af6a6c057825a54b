//! The inputs of a case and what is expected of them.

use super::launcher::{self, Inputs, Outputs};
use super::reference::ReferenceKernel;
use super::spec::{Case, ProblemSpec};
use crate::outcome::Stop;
use std::collections::HashMap;
use std::rc::Rc;

/// A case with its data.
pub struct PreparedCase<'a> {
    /// The index of the case among the spec's.
    pub index: usize,
    pub case: &'a Case,
    pub drawn: CaseData,
}

impl std::ops::Deref for PreparedCase<'_> {
    type Target = CaseData;
    fn deref(&self) -> &CaseData {
        &self.drawn
    }
}

/// Sets of inputs, and what is expected of each.
pub struct CaseData {
    pub sets: Vec<Inputs>,
    pub expected: Vec<Outputs>,
}

/// Data that was drawn before it was needed, by case and seed.
pub type Ahead = HashMap<(usize, u64), CaseData>;

/// Draws inputs and computes what is expected of them with the reference.
pub fn draw(
    spec: &Rc<ProblemSpec>,
    index: usize,
    reference: &mut Option<ReferenceKernel>,
    seed: u64,
) -> Result<CaseData, Stop> {
    let case = &spec.cases[index];
    let Some(reference) = reference else {
        return Err(Stop::Lab("the tensor problem was not prepared before its launches".into()));
    };
    let sets: Vec<Inputs> = (0..sets(case)).map(|set| launcher::draw(spec, case, seed, set)).collect();
    let expected = sets.iter().map(|inputs| reference.expect(spec, index, inputs));
    Ok(CaseData { expected: expected.collect::<Result<_, _>>()?, sets })
}

/// Takes the data that was drawn ahead, or draws it.
pub fn prepare_case<'a>(
    spec: &'a Rc<ProblemSpec>,
    index: usize,
    reference: &mut Option<ReferenceKernel>,
    ahead: &mut Ahead,
    seed: u64,
) -> Result<PreparedCase<'a>, Stop> {
    let case = &spec.cases[index];
    let drawn = ahead.remove(&(index, seed)).map_or_else(|| draw(spec, index, reference, seed), Ok)?;
    Ok(PreparedCase { index, case, drawn })
}

/// The number of input sets: two, so that no launch can know which one it gets, and one for a huge case to save time.
pub fn sets(case: &Case) -> usize {
    if case.cells() > HUGE { 1 } else { 2 }
}

/// Cells of a case from which on drawing, copying and comparing it takes the lab most of a second.
const HUGE: usize = 8 << 20;
