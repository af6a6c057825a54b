//! The inputs of a case and what is expected of them.

use super::input_values::InputValues;
use super::plant::Placed;
use super::spec::{Case, CaseTensor};
use crate::outcome::Result;
use crate::worker::Cells;
use crate::worker::JudgeMemory;
use crate::worker::cell_work::DrawCells;
use std::sync::Arc;
use std::time::Duration;

/// The cells of a case's tensors, in their order; `None` for a tensor that is left out.
pub type Contents = Vec<Option<Cells>>;

/// A set of a case's inputs, and what is expected of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseSet {
    /// Without pure outputs and fixed inputs.
    pub inputs: Contents,
    /// The bytes of each scalar.
    pub scalars: Vec<Vec<u8>>,
    /// How often the set was drawn again.
    pub attempt: u32,
    /// What is planted in the inputs.
    pub planted: Vec<Placed>,
    /// Extremes are planted in all inputs, and scalars have other values than the problem's.
    pub is_joint: bool,
    /// What the reference wrote about the inputs, in the order of the case's `accepts`.
    pub accepts: Vec<f64>,
    /// After one launch, without pure inputs. Empty until the reference has launched.
    pub expected: Contents,
    /// After the problem's number of launches in a row; empty if it is 1.
    pub after_steps: Contents,
}

impl CaseSet {
    /// Holds what is expected on the device.
    pub fn hold_results(&mut self, memory: &Arc<JudgeMemory>) -> Result {
        let each = self.expected.iter_mut().chain(&mut self.after_steps);
        for cells in each.flatten() {
            *cells = cells.held(memory)?;
        }
        Ok(())
    }
}

/// Sets of a case.
#[derive(Clone)]
pub struct CaseData {
    pub case: Arc<Case>,
    pub sets: Vec<CaseSet>,
    /// The longest launch of the reference, in seconds. `None` if what is expected was computed by
    /// an earlier run.
    pub reference_seconds: Option<f64>,
}

impl CaseData {
    /// Sets that the reference has not launched on.
    pub fn new(case: &Arc<Case>, sets: Vec<CaseSet>) -> Self {
        CaseData {
            case: case.clone(),
            sets,
            reference_seconds: None,
        }
    }

    /// How long a kernel may take for a launch: a thousand times as long as the reference, and at
    /// least a time in which no launch of a device ends that is only busy. A kernel that hangs is
    /// so known in seconds, where `time_limit_s` is a minute.
    pub fn launch_limit(&self, is_emulated: bool) -> Option<Duration> {
        const LEAST: f64 = 3.0;
        const LEAST_EMULATED: f64 = 30.0;
        const TIMES: f64 = 1000.0;
        let least = if is_emulated { LEAST_EMULATED } else { LEAST };
        let tenths = (10.0 * (least + TIMES * self.reference_seconds?)).round();
        Duration::try_from_secs_f64(tenths / 10.0).ok()
    }
}

/// The seed of a tensor in a set.
pub fn seed_of(case: &Case, seed: u64, set: usize, tensor: &CaseTensor) -> u64 {
    case.seed(seed, &format!("{set} {}", tensor.name))
}

/// Draws the inputs of sets, each of a case and with a number, as far as the device can draw them:
/// in one request. `None` stands for other tensors.
pub fn draw_there(
    sets: &[(&Case, usize)],
    seed: u64,
    memory: &Arc<JudgeMemory>,
) -> Result<Vec<Contents>> {
    let mut all: Vec<Contents> = Vec::with_capacity(sets.len());
    let (mut places, mut wanted) = (Vec::new(), Vec::new());
    for (number, (case, set)) in sets.iter().enumerate() {
        all.push(case.tensors.iter().map(|_| None).collect());
        for (at, tensor) in case.tensors.iter().enumerate() {
            let values = tensor.values.as_ref().filter(|_| tensor.is_of_a_set());
            let Some(numbers) = values.and_then(InputValues::numbers) else {
                continue;
            };
            places.push((number, at));
            wanted.push(DrawCells {
                dtype: tensor.dtype,
                cells: tensor.cells(),
                seed: seed_of(case, seed, *set, tensor),
                numbers,
            });
        }
    }
    if !wanted.is_empty() {
        for ((number, at), cells) in places.into_iter().zip(memory.draw(wanted)?) {
            all[number][at] = Some(cells);
        }
    }
    Ok(all)
}

/// Draws the inputs of a set that are not among `contents` yet, and holds them on the device if the
/// judge's own worker holds inputs. The device draws what it can, if `contents` is empty. The same
/// seed and set number give the same inputs.
pub fn draw(
    case: &Case,
    seed: u64,
    set: usize,
    memory: Option<&Arc<JudgeMemory>>,
    mut contents: Contents,
) -> Result<Contents> {
    if let Some(memory) = memory.filter(|_| contents.is_empty()) {
        contents = draw_there(&[(case, set)], seed, memory)?.remove(0);
    }
    contents.resize(case.tensors.len(), None);
    for (tensor, content) in case.tensors.iter().zip(&mut contents) {
        let values = tensor.values.as_ref().filter(|_| tensor.is_of_a_set());
        let Some(values) = values.filter(|_| content.is_none()) else {
            continue;
        };
        let bytes = values.fill(
            tensor.dtype,
            &tensor.shape,
            seed_of(case, seed, set, tensor),
        );
        *content = Some(match memory {
            Some(memory) => memory.hold(&bytes)?,
            None => Cells::Host(bytes),
        });
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_may_take_seconds_and_a_thousand_times_as_long_as_the_reference() {
        let limit = |reference_seconds, emulated| {
            let data = CaseData {
                reference_seconds,
                ..CaseData::new(&Arc::new(Case::default()), Vec::new())
            };
            data.launch_limit(emulated).map(|limit| limit.as_secs_f64())
        };
        assert_eq!(limit(Some(10e-6), false), Some(3.0));
        assert_eq!(limit(Some(0.02), false), Some(23.0));
        assert_eq!(limit(Some(0.02), true), Some(50.0));
        assert_eq!(
            limit(None, false),
            None,
            "then the limit of all launches counts"
        );
        assert_eq!(limit(Some(f64::NAN), false), None);
    }
}
