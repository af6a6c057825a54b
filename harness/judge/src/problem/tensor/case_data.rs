//! The inputs of a case and what is expected of them.

use super::input_values::InputValues;
use super::launcher::{self, Inputs, Outputs};
use super::planted::{self, Placed, PlantedSets, PlantedTensor};
use super::reference::{Expected, ReferenceKernel};
use super::renewed::{Kept, renew};
use super::spec::{Case, CaseTensor, ProblemSpec, TensorSpec};
use crate::outcome::Stop;
use lab_device::DeviceInfo;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Sets of inputs, and what is expected of each.
pub struct CaseData {
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

/// What the sets of a case hold of extremes.
pub fn planted_sets(
    spec: &ProblemSpec,
    case: &Case,
    device: &DeviceInfo,
    seed: u64,
) -> PlantedSets {
    let most = if device.emulated {
        PLANTED_CELLS_EMULATED
    } else {
        PLANTED_CELLS
    };
    PlantedSets::of(
        &planted_tensors(spec, case),
        most,
        seed_of(case, seed, "planted"),
    )
}

/// The tensors of a case, as far as planting asks.
pub fn planted_tensors<'a>(spec: &'a ProblemSpec, case: &'a Case) -> Vec<PlantedTensor<'a>> {
    let each = spec.tensors.iter().zip(&case.tensors);
    let tensor = |(tensor, shaped): (&'a TensorSpec, &'a CaseTensor)| PlantedTensor {
        name: &tensor.name,
        dtype: shaped.dtype,
        shape: &shaped.shape,
        range: shaped.values.as_ref().and_then(InputValues::range),
        reach: shaped.values.as_ref().map_or(0.0, InputValues::reach),
        planting: shaped.values.is_some().then_some(&shaped.planted),
    };
    each.map(tensor).collect()
}

/// A seed for one use in a case.
fn seed_of(case: &Case, seed: u64, used_for: &str) -> u64 {
    let label = format!("{seed} {} {} {used_for}", case.entry, case.label);
    blake3::hash(label.as_bytes())
        .as_bytes()
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Where a set's extremes lie, and the seed of their values.
fn places(
    case: &Case,
    sets: &PlantedSets,
    tensors: &[PlantedTensor],
    seed: u64,
    which: Set,
) -> (Vec<Placed>, u64) {
    let words = match which {
        Set::Drawn(number) => format!("set {number}"),
        Set::Renewed(_) => "set 0".into(),
        Set::Planted(number) => format!("planted set {number}"),
    };
    let of_set = seed_of(case, seed, &words);
    let placed = match which {
        Set::Drawn(_) | Set::Renewed(_) => sets.places(tensors, of_set),
        Set::Planted(number) => sets.places_in_further(number, tensors, of_set),
    };
    (placed, of_set)
}

/// The sets of a part.
fn sets_of(case: &Case, part: Part, planted: &PlantedSets, device: &DeviceInfo) -> Vec<Set> {
    match part {
        Part::Drawn => (0..sets(case, device)).map(Set::Drawn).collect(),
        Part::Planted => (0..planted.further()).map(Set::Planted).collect(),
        Part::Renewed => vec![Set::Renewed(Kept::FirstHalf), Set::Renewed(Kept::LastHalf)],
    }
}

/// Draws a set of inputs, with what is planted in it.
fn set(
    spec: &ProblemSpec,
    case: &Case,
    sets: &PlantedSets,
    seed: u64,
    which: Set,
) -> (Inputs, Vec<Placed>) {
    let tensors = planted_tensors(spec, case);
    let number = match which {
        Set::Drawn(number) => number,
        Set::Planted(number) => FIRST_PLANTED + number,
        Set::Renewed(_) => 0,
    };
    let (placed, of_set) = places(case, sets, &tensors, seed, which);
    let mut inputs = launcher::draw(spec, case, seed, number);
    planted::plant(&mut inputs, &placed, &tensors, of_set);
    match which {
        Set::Renewed(kept) => (renew(spec, case, seed, &inputs, kept), Vec::new()),
        Set::Drawn(_) | Set::Planted(_) => (inputs, placed),
    }
}

#[derive(Clone, Copy)]
enum Set {
    Drawn(usize),
    Planted(usize),
    Renewed(Kept),
}

/// Draws the first set of a case.
pub fn first_set(spec: &ProblemSpec, case: &Case, device: &DeviceInfo, seed: u64) -> Inputs {
    set(
        spec,
        case,
        &planted_sets(spec, case, device, seed),
        seed,
        Set::Drawn(0),
    )
    .0
}

/// The sets of a part, and what is planted in each.
pub type DrawnSets = (Vec<Inputs>, Vec<Vec<Placed>>);

/// Draws the sets of these parts of cases on all cores. The same seed gives the same values.
pub fn drawn_sets(
    spec: &ProblemSpec,
    parts: &[(usize, Part)],
    device: &DeviceInfo,
    seed: u64,
) -> Vec<DrawnSets> {
    let planted: Vec<PlantedSets> = parts
        .iter()
        .map(|(index, _)| planted_sets(spec, &spec.cases[*index], device, seed))
        .collect();
    let each = parts
        .iter()
        .zip(&planted)
        .enumerate()
        .flat_map(|(at, ((index, part), planted))| {
            sets_of(&spec.cases[*index], *part, planted, device)
                .into_iter()
                .map(move |set| (at, set))
        });
    let mut each: Vec<(usize, Set)> = each.collect();
    // The large ones first, so that no core begins one when the others have nothing left. The sort
    // keeps the order of a part.
    each.sort_by_key(|(at, _)| std::cmp::Reverse(spec.cases[parts[*at].0].cells()));
    let drawn = each_on_a_thread(&each, |(at, which)| {
        set(spec, &spec.cases[parts[*at].0], &planted[*at], seed, *which)
    });
    let mut all: Vec<DrawnSets> = parts.iter().map(|_| DrawnSets::default()).collect();
    for ((at, _), (inputs, placed)) in each.into_iter().zip(drawn) {
        all[at].0.push(inputs);
        all[at].1.push(placed);
    }
    all
}

/// Draws inputs and computes what is expected of them with the reference.
pub fn draw(
    spec: &Rc<ProblemSpec>,
    index: usize,
    part: Part,
    reference: &mut Option<ReferenceKernel>,
    device: &DeviceInfo,
    seed: u64,
) -> Result<CaseData, Stop> {
    let drawn = drawn_sets(spec, &[(index, part)], device, seed)
        .pop()
        .unwrap_or_default();
    with_expected(spec, index, drawn, reference)
}

/// Parts of cases, each named by the case's index, with their data.
type PartsWithData = Vec<((usize, Part), CaseData)>;

/// [`draw`] for several parts, as long as `is_idle` returns true: it is asked before each. While
/// the reference launches on one part, the next is drawn.
pub fn draw_each(
    spec: &Rc<ProblemSpec>,
    parts: &[(usize, Part)],
    reference: &mut Option<ReferenceKernel>,
    device: &DeviceInfo,
    seed: u64,
    is_idle: &mut dyn FnMut() -> bool,
) -> Result<PartsWithData, Stop> {
    let plain_spec: &ProblemSpec = spec;
    std::thread::scope(|scope| {
        let (sender, drawn) = sync_channel(1);
        scope.spawn(move || {
            for part in parts {
                let sets = drawn_sets(plain_spec, std::slice::from_ref(part), device, seed);
                if sender
                    .send(sets.into_iter().next().unwrap_or_default())
                    .is_err()
                {
                    return;
                }
            }
        });
        let mut all = Vec::new();
        // Where this ends early the receiver is dropped, and so the thread ends.
        for (part, drawn) in parts.iter().zip(drawn) {
            if !is_idle() {
                break;
            }
            all.push((*part, with_expected(spec, part.0, drawn, reference)?));
        }
        Ok(all)
    })
}

/// Bytes of a part, of a drawn one with the outputs.
pub fn bytes(
    spec: &ProblemSpec,
    (index, part): (usize, Part),
    device: &DeviceInfo,
    seed: u64,
) -> usize {
    let case = &spec.cases[index];
    let counts = |tensor: &&CaseTensor| part == Part::Drawn || tensor.values.is_some();
    let of_set: usize = case
        .tensors
        .iter()
        .filter(counts)
        .map(CaseTensor::bytes)
        .sum();
    sets_of(case, part, &planted_sets(spec, case, device, seed), device).len() * of_set
}

/// Has the reference say what is expected of drawn sets.
fn with_expected(
    spec: &Rc<ProblemSpec>,
    index: usize,
    (sets, planted): DrawnSets,
    reference: &mut Option<ReferenceKernel>,
) -> Result<CaseData, Stop> {
    let Some(reference) = reference else {
        return Err(Stop::Lab(
            "the tensor problem was not prepared before its launches".into(),
        ));
    };
    let expected = reference.expect(spec, index, &sets)?;
    let reference_seconds = expected
        .iter()
        .map(|of_set| of_set.seconds)
        .max_by(f64::total_cmp);
    let mut data = CaseData {
        sets,
        expected: Vec::new(),
        after_steps: Vec::new(),
        planted,
        reference_seconds,
    };
    for Expected {
        outputs,
        after_steps,
        ..
    } in expected
    {
        data.expected.push(outputs);
        data.after_steps.extend(after_steps);
    }
    Ok(data)
}

/// Calls `make` for each item, on as many threads as the processor runs at once. The results are in
/// the items' order.
fn each_on_a_thread<I: Sync, R: Send>(items: &[I], make: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(items.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return made;
            };
            made.push((at, make(item)));
        }
    };
    let mut made: Vec<(usize, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running
            .into_iter()
            .flat_map(|part| part.join().expect("drawing numbers does not panic"))
            .collect()
    });
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

/// Bytes of a set of a case's inputs.
pub fn bytes_of_inputs(case: &Case) -> usize {
    case.tensors
        .iter()
        .filter(|tensor| tensor.values.is_some())
        .map(CaseTensor::bytes)
        .sum()
}

/// The number of sets of a part.
pub fn sets_in(case: &Case, part: Part, planted: &PlantedSets, device: &DeviceInfo) -> usize {
    sets_of(case, part, planted, device).len()
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
            let none = || Vec::new();
            let data = CaseData {
                sets: none(),
                expected: none(),
                after_steps: none(),
                planted: Vec::new(),
                reference_seconds,
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
