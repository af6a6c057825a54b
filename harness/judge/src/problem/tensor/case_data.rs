//! The inputs of a case and what is expected of them.

use super::input_values::InputValues;
use super::launcher::{self, Inputs, Outputs};
use super::planted::{self, Placed, PlantedSets, PlantedTensor};
use super::reference::{Expected, ReferenceKernel};
use super::renewed::{Kept, renew};
use super::spec::{Case, CaseTensor, TensorRole};
use crate::outcome::Stop;
use crate::parallel::each_on_a_thread;
use crate::problem::api::ProblemContext;
use lab_device::DeviceInfo;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Sets of a case's inputs, and what is expected of each.
pub struct CaseData {
    pub case: Arc<Case>,
    pub sets: Vec<Inputs>,
    /// After one launch on a set.
    pub expected: Vec<Outputs>,
    /// After the problem's number of launches in a row on a set; empty if it is 1.
    pub after_steps: Vec<Outputs>,
    /// For each set, what is planted in it.
    pub planted: Vec<Vec<Placed>>,
    /// The longest launch of the reference, in seconds. `None` if what is expected was computed by
    /// an earlier run.
    pub reference_seconds: Option<f64>,
}

impl CaseData {
    /// Of a case without sets.
    pub fn new(case: &Arc<Case>) -> Self {
        CaseData {
            case: case.clone(),
            sets: Vec::new(),
            expected: Vec::new(),
            after_steps: Vec::new(),
            planted: Vec::new(),
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

    /// Has the reference say what is expected of the sets.
    pub fn expect_of(&mut self, reference: &mut Option<ReferenceKernel>) -> Result<(), Stop> {
        let Some(reference) = reference else {
            return Err(Stop::Lab(
                "the tensor problem was not prepared before its launches".into(),
            ));
        };
        for Expected {
            outputs,
            after_steps,
            seconds,
        } in reference.expect(&self.case, &self.sets)?
        {
            self.expected.push(outputs);
            self.after_steps.extend(after_steps);
            let longest = self
                .reference_seconds
                .map_or(seconds, |known| known.max(seconds));
            self.reference_seconds = Some(longest);
        }
        Ok(())
    }
}

/// Sets of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Those of its workload, which are timed too.
    Drawn,
    /// Further ones, which hold extremes and are only checked.
    Planted,
    /// The first of the drawn ones with other values in half of its cells, twice. They are only
    /// checked.
    Renewed,
}

/// Data that was drawn before it was needed, by the index of the case.
pub type Ahead = HashMap<(usize, Part), CaseData>;

/// The tensors of a case, as far as planting asks.
pub fn planted_tensors(case: &Case) -> Vec<PlantedTensor<'_>> {
    case.tensors.iter().map(planted_tensor).collect()
}

fn planted_tensor(tensor: &CaseTensor) -> PlantedTensor<'_> {
    PlantedTensor {
        name: &tensor.name,
        dtype: tensor.dtype,
        shape: &tensor.shape,
        range: tensor.values.as_ref().and_then(InputValues::range),
        reach: tensor.values.as_ref().map_or(0.0, InputValues::reach),
        planting: &tensor.planted,
    }
}

#[derive(Clone, Copy)]
enum Set {
    Drawn(usize),
    Planted(usize),
    Renewed(Kept),
}

/// What decides which sets a case has, and their values: the same seed gives the same values.
#[derive(Clone, Copy)]
pub struct Drawing<'a> {
    pub device: &'a DeviceInfo,
    pub seed: u64,
}

impl<'a> Drawing<'a> {
    /// As a run draws.
    pub fn of(cx: &ProblemContext<'a>) -> Self {
        Drawing {
            device: cx.device,
            seed: cx.seed,
        }
    }

    /// What the sets of a case hold of extremes.
    pub fn planted_sets(self, case: &Case) -> PlantedSets {
        let most = if self.device.emulated {
            PLANTED_CELLS_EMULATED
        } else {
            PLANTED_CELLS
        };
        let seed = case.seed(self.seed, "planted");
        PlantedSets::of(&planted_tensors(case), most, seed)
    }

    /// The sets of a part.
    fn sets_of(self, case: &Case, part: Part, planted: &PlantedSets) -> Vec<Set> {
        match part {
            Part::Drawn => (0..sets(case, self.device)).map(Set::Drawn).collect(),
            Part::Planted => (0..planted.further()).map(Set::Planted).collect(),
            Part::Renewed => vec![Set::Renewed(Kept::FirstHalf), Set::Renewed(Kept::LastHalf)],
        }
    }

    /// The number of sets of a part.
    pub fn sets_in(self, case: &Case, part: Part) -> usize {
        self.sets_of(case, part, &self.planted_sets(case)).len()
    }

    /// Draws a set of inputs, with what is planted in it.
    fn set(self, case: &Case, sets: &PlantedSets, which: Set) -> (Inputs, Vec<Placed>) {
        let tensors = planted_tensors(case);
        let (name, number) = match which {
            Set::Drawn(number) => (format!("set {number}"), number),
            Set::Planted(number) => (format!("planted set {number}"), FIRST_PLANTED + number),
            Set::Renewed(_) => ("set 0".into(), 0),
        };
        let seed = case.seed(self.seed, &name);
        let placed = match which {
            Set::Drawn(_) | Set::Renewed(_) => sets.places(&tensors, seed),
            Set::Planted(number) => sets.places_in_further(number, &tensors, seed),
        };
        let mut inputs = launcher::draw(case, self.seed, number);
        planted::plant(&mut inputs, &placed, &tensors, seed);
        match which {
            Set::Renewed(kept) => (renew(case, self.seed, &inputs, kept), Vec::new()),
            Set::Drawn(_) | Set::Planted(_) => (inputs, placed),
        }
    }

    /// Draws the first set of a case, without what is expected of it.
    pub fn first_set(self, case: &Arc<Case>) -> CaseData {
        let mut data = CaseData::new(case);
        let (inputs, placed) = self.set(case, &self.planted_sets(case), Set::Drawn(0));
        data.sets.push(inputs);
        data.planted.push(placed);
        data
    }

    /// Draws the sets of these parts of cases on all cores, without what is expected of them.
    pub fn sets_of_parts(self, parts: &[(Arc<Case>, Part)]) -> Vec<CaseData> {
        let planted: Vec<PlantedSets> = parts
            .iter()
            .map(|(case, _)| self.planted_sets(case))
            .collect();
        let numbered = parts.iter().zip(&planted).enumerate();
        let mut each: Vec<(usize, Set)> = numbered
            .flat_map(|(at, ((case, part), planted))| {
                let sets = self.sets_of(case, *part, planted);
                sets.into_iter().map(move |set| (at, set))
            })
            .collect();
        // The large ones first, so that no core begins one when the others have nothing left. The
        // sort keeps the order of a part.
        each.sort_by_key(|(at, _)| std::cmp::Reverse(parts[*at].0.cells()));
        let drawn = each_on_a_thread(&each, |(at, which)| {
            self.set(&parts[*at].0, &planted[*at], *which)
        });
        let mut all: Vec<CaseData> = parts.iter().map(|(case, _)| CaseData::new(case)).collect();
        for ((at, _), (inputs, placed)) in each.into_iter().zip(drawn) {
            all[at].sets.push(inputs);
            all[at].planted.push(placed);
        }
        all
    }

    /// Draws the sets of a part, and computes what is expected of them with the reference.
    pub fn draw(
        self,
        case: &Arc<Case>,
        part: Part,
        reference: &mut Option<ReferenceKernel>,
    ) -> Result<CaseData, Stop> {
        let drawn = self.sets_of_parts(&[(case.clone(), part)]).pop();
        let mut drawn = drawn.unwrap_or_else(|| CaseData::new(case));
        drawn.expect_of(reference)?;
        Ok(drawn)
    }

    /// [`Drawing::draw`] for several parts, as long as `is_idle` returns true: it is asked before
    /// each. While the reference launches on one part, the next is drawn. Returns those that were
    /// drawn.
    pub fn draw_each(
        self,
        parts: &[(Arc<Case>, Part)],
        reference: &mut Option<ReferenceKernel>,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<Ahead, Stop> {
        std::thread::scope(|scope| {
            let (sender, drawn) = sync_channel(1);
            scope.spawn(move || {
                parts
                    .chunks(1)
                    .flat_map(|part| self.sets_of_parts(part))
                    .try_for_each(|data| sender.send(data))
            });
            let mut all = Ahead::new();
            // Where this ends early the receiver is dropped, and so the thread ends.
            for ((case, part), mut drawn) in parts.iter().zip(drawn) {
                if !is_idle() {
                    break;
                }
                drawn.expect_of(reference)?;
                all.insert((case.index, *part), drawn);
            }
            Ok(all)
        })
    }

    /// Bytes of a part, of a drawn one with the outputs.
    pub fn bytes(self, case: &Case, part: Part) -> usize {
        let is_counted =
            |tensor: &CaseTensor| part == Part::Drawn || tensor.role != TensorRole::Out;
        self.sets_in(case, part) * case.bytes_of(is_counted)
    }
}

/// The number of input sets. A timed window launches each set once at most, so a case with short
/// launches gets as many as make the window long enough for the device's clock. A huge case has one
/// set, to save time. A case that is not timed has two, so that no launch can know which one it
/// gets.
pub fn sets(case: &Case, device: &DeviceInfo) -> usize {
    let timed = !device.emulated && !case.held_out;
    match case.cells() {
        cells if cells > HUGE => 1,
        cells if timed => (WINDOW_CELLS / cells.max(1)).clamp(2, MOST_SETS),
        _ => 2,
    }
}

/// Most cells of all further sets of a case together. The cpu device is slow.
const PLANTED_CELLS: usize = 4 << 20;
const PLANTED_CELLS_EMULATED: usize = 1 << 19;

/// Makes the values of a further set others than those of any other set.
const FIRST_PLANTED: usize = 1 << 32;

/// Cells of a case from which on drawing, copying and comparing it takes the lab most of a second.
const HUGE: usize = 8 << 20;

/// Cells of all sets of a case together, where the number of sets is not at one of its limits. Of
/// 2048 × 512 in and out a window then has seven launches: with two of 5 µs each, its time spread
/// by 2.3 % on an H200, more than that of any other shape.
const WINDOW_CELLS: usize = 16 << 20;

/// Launches of 2 µs then fill a window of more than 30 µs.
const MOST_SETS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_may_take_seconds_and_a_thousand_times_as_long_as_the_reference() {
        let limit = |reference_seconds, emulated| {
            let data = CaseData {
                reference_seconds,
                ..CaseData::new(&Arc::new(Case::default()))
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
