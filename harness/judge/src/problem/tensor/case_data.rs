//! The inputs of a case and what is expected of them.

use super::launcher::{self, Inputs, Outputs};
use super::reference::ReferenceKernel;
use super::spec::{Case, ProblemSpec};
use crate::outcome::Stop;
use std::collections::HashMap;
use std::rc::Rc;

/// A case with inputs and what is expected of them.
pub struct PreparedCase<'a> {
    /// Among the spec's.
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

/// Inputs and what is expected of them.
pub struct CaseData {
    pub sets: Vec<Inputs>,
    pub expected: Vec<Outputs>,
}

/// What was drawn before it was asked for, by case and seed.
pub type Ahead = HashMap<(usize, u64), CaseData>;

/// Draws inputs and asks the reference what is expected of them.
pub fn draw(
    spec: &Rc<ProblemSpec>,
    index: usize,
    reference: &mut Option<ReferenceKernel>,
    seed: u64,
) -> Result<CaseData, Stop> {
    let case = &spec.cases[index];
    let reference = reference.as_mut().expect("the judge calls prepare before all that draws");
    let sets: Vec<Inputs> = (0..sets(case)).map(|set| launcher::draw(spec, case, seed, set)).collect();
    let expected = sets.iter().map(|inputs| reference.expect(spec, index, inputs));
    Ok(CaseData { expected: expected.collect::<Result<_, _>>()?, sets })
}

/// The same, or what was drawn ahead.
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

/// Two, so that no launch can know which one it gets; of a huge case one is time enough.
pub fn sets(case: &Case) -> usize {
    if case.cells() > HUGE { 1 } else { 2 }
}

/// More cells than this take the lab itself most of a second to draw, copy and compare.
const HUGE: usize = 8 << 20;
