//! The inputs of a case and what is expected of them.

use super::launcher::{self, Inputs, Outputs};
use super::reference::{Expected, ReferenceKernel};
use super::spec::{Case, ProblemSpec};
use crate::outcome::Stop;
use lab_device::DeviceInfo;
use std::collections::HashMap;
use std::rc::Rc;

/// Sets of inputs, and what is expected of each.
pub struct CaseData {
    pub sets: Vec<Inputs>,
    /// After one launch on a set.
    pub expected: Vec<Outputs>,
    /// After the problem's number of launches in a row on a set; empty if it is 1.
    pub after_steps: Vec<Outputs>,
}

/// Data that was drawn before it was needed, by the index of the case.
pub type Ahead = HashMap<usize, CaseData>;

/// Draws inputs and computes what is expected of them with the reference.
pub fn draw(
    spec: &Rc<ProblemSpec>,
    index: usize,
    reference: &mut Option<ReferenceKernel>,
    device: &DeviceInfo,
    seed: u64,
) -> Result<CaseData, Stop> {
    let case = &spec.cases[index];
    let Some(reference) = reference else {
        return Err(Stop::Lab("the tensor problem was not prepared before its launches".into()));
    };
    let sets: Vec<Inputs> =
        (0..sets(case, device)).map(|set| launcher::draw(spec, case, seed, set)).collect();
    let mut data = CaseData { sets, expected: Vec::new(), after_steps: Vec::new() };
    for inputs in &data.sets {
        let Expected { outputs, after_steps } = reference.expect(spec, index, inputs)?;
        data.expected.push(outputs);
        data.after_steps.extend(after_steps);
    }
    Ok(data)
}

/// The number of input sets. A timed window launches each set once at most, so a case with short launches gets as many as
/// make the window long enough for the device's clock. A huge case has one set, to save time. A case that is not timed
/// has two, so that no launch can know which one it gets.
pub fn sets(case: &Case, device: &DeviceInfo) -> usize {
    let timed = !device.emulated && !case.held_out;
    match case.cells() {
        cells if cells > HUGE => 1,
        cells if timed => (WINDOW_CELLS / cells.max(1)).clamp(2, MOST_SETS),
        _ => 2,
    }
}

/// Cells of a case from which on drawing, copying and comparing it takes the lab most of a second.
const HUGE: usize = 8 << 20;

/// Cells of all sets of a case together, where the number of sets is not at one of its limits.
const WINDOW_CELLS: usize = 6 << 20;

/// Launches of 2 µs then fill a window of more than 30 µs.
const MOST_SETS: usize = 16;
