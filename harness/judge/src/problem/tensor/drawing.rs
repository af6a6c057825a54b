//! Drawing the sets of a case's inputs, and having the reference say what is expected of them.

use super::case_data::{CaseData, CaseSet, Contents, draw, draw_there, seed_of};
use super::input_sets::sets;
use super::plant::{PlantedSets, SentLines, plant};
use super::reference::{ReferenceKernel, WantedSets};
use super::renewed::{Kept, renew};
use super::spec::{Case, CaseTensor, TensorRole};
use crate::outcome::{OrLab, Result, Stop};
use crate::parallel::each_on_a_thread;
use crate::problem::api::ProblemContext;
use crate::worker::JudgeMemory;
use itertools::Itertools as _;
use lab_device::DeviceInfo;
use lab_system::threads;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

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

/// Draws the sets of cases. The same device and seed give the same sets.
#[derive(Clone, Copy)]
pub struct Drawing<'a> {
    pub device: &'a DeviceInfo,
    pub seed: u64,
    /// Where the sets are held; `None` for the judge's own memory.
    pub memory: Option<&'a Arc<JudgeMemory>>,
}

impl<'a> Drawing<'a> {
    /// Draws with the seed and the device of the run.
    pub fn of(cx: &ProblemContext<'a>) -> Self {
        Drawing {
            device: cx.device,
            seed: cx.seed,
            memory: cx.memory,
        }
    }

    /// The extremes that are planted in the sets of a case.
    pub fn planted_sets(self, case: &Case) -> PlantedSets {
        let most = if self.device.emulated {
            PLANTED_CELLS_EMULATED
        } else {
            PLANTED_CELLS
        };
        let seed = case.seed(self.seed, "planted");
        PlantedSets::of(&case.tensors, most, seed).with_joint(case, self.seed)
    }

    /// The number of sets of a part. `planted` says what the sets hold of extremes.
    fn count(self, case: &Case, part: Part, planted: &PlantedSets) -> usize {
        match part {
            Part::Drawn => sets(case, self.device),
            Part::Planted => planted.further(),
            Part::Renewed => 2,
        }
    }

    /// The number of sets of a part.
    pub fn sets_in(self, case: &Case, part: Part) -> usize {
        self.count(case, part, &self.planted_sets(case))
    }

    /// The name of a set of a part, and the number that its values are drawn with.
    fn drawn_as(part: Part, number: usize, attempt: u32) -> (String, usize) {
        let (name, drawn) = match part {
            Part::Drawn => (format!("set {number}"), number),
            Part::Planted => (format!("planted set {number}"), FIRST_PLANTED + number),
            Part::Renewed => ("set 0".into(), 0),
        };
        (name, drawn + ((attempt as usize) << ATTEMPT))
    }

    /// Draws a set of a part. `contents` are the inputs that were drawn already. Also returns what
    /// is to be sent to the card.
    fn set(
        self,
        (case, part): (&Case, Part),
        planted: &PlantedSets,
        (number, attempt): (usize, u32),
        contents: Contents,
    ) -> Result<(CaseSet, SentLines)> {
        let (name, drawn) = Self::drawn_as(part, number, attempt);
        let seed = case.seed(self.seed, &name);
        let further = (part == Part::Planted).then_some(number);
        let is_joint = further.is_some_and(|number| planted.is_joint(number));
        let mut set = CaseSet {
            inputs: draw(case, self.seed, drawn, self.memory, contents)?,
            scalars: case.draw_scalars(self.seed, drawn),
            attempt,
            is_joint,
            planted: planted.places(further, &case.tensors, seed),
            ..CaseSet::default()
        };
        set.bear(case, self.seed);
        let seeds = case.tensors.iter();
        let seeds = seeds
            .map(|tensor| seed_of(case, self.seed, drawn, tensor))
            .collect_vec();
        let tensors = &case.tensors;
        let sent = plant(
            &mut set.inputs,
            &set.planted,
            tensors,
            seed,
            &seeds,
            MOST_SENT,
        )?;
        if part == Part::Renewed {
            let kept = [Kept::FirstHalf, Kept::LastHalf][number % 2];
            renew(case, self.seed, &mut set.inputs, kept)?;
            set.planted.clear();
        }
        Ok((set, sent))
    }

    /// Sends planted lines to the card.
    fn send(self, lines: SentLines) -> Result {
        self.memory.map_or(Ok(()), |memory| lines.send(memory))
    }

    /// Draws the first set of a case, without what is expected of it.
    pub fn first_set(self, case: &Arc<Case>) -> Result<CaseData> {
        let set = self.draw_again(case, Part::Drawn, 0, 0)?;
        Ok(CaseData::new(case, vec![set]))
    }

    /// Draws the sets of these parts of cases on all cores or on the device, without what is
    /// expected of them.
    pub fn sets_of_parts(self, parts: &[(Arc<Case>, Part)]) -> Result<Vec<CaseData>> {
        let planted = parts.iter().map(|(case, _)| self.planted_sets(case));
        let planted = planted.collect_vec();
        let numbered = parts.iter().zip(&planted).enumerate();
        let mut each = numbered
            .flat_map(|(at, ((case, part), planted))| {
                let sets = 0..self.count(case, *part, planted);
                sets.map(move |number| (at, number, Contents::new()))
            })
            .collect_vec();
        // The large ones first, so that no core begins one when the others have nothing left. The
        // sort keeps the order of a part.
        each.sort_by_key(|(at, ..)| std::cmp::Reverse(parts[*at].0.cells()));
        self.draw_there(parts, &mut each)?;
        let drawn = each_on_a_thread(&each, |(at, number, contents)| {
            let (case, part) = &parts[*at];
            let set = (*number, 0);
            self.set((case, *part), &planted[*at], set, contents.clone())
        });
        let empty = parts
            .iter()
            .map(|(case, _)| CaseData::new(case, Vec::new()));
        let mut all = empty.collect_vec();
        let mut sent = SentLines::default();
        for ((at, ..), drawn) in each.into_iter().zip(drawn) {
            let (set, lines) = drawn?;
            all[at].sets.push(set);
            sent.join(lines);
        }
        self.send(sent)?;
        Ok(all)
    }

    /// Draws on the device what it can draw of these sets: each of a part, with its number.
    fn draw_there(
        self,
        parts: &[(Arc<Case>, Part)],
        each: &mut [(usize, usize, Contents)],
    ) -> Result {
        let Some(memory) = self.memory else {
            return Ok(());
        };
        let held = each.iter_mut().map(|(at, number, contents)| {
            let (case, part) = &parts[*at];
            let (_, drawn) = Self::drawn_as(*part, *number, 0);
            ((&**case, drawn), contents)
        });
        let (sets, places): (Vec<(&Case, usize)>, Vec<&mut Contents>) = held.unzip();
        for (place, drawn) in places
            .into_iter()
            .zip(draw_there(&sets, self.seed, memory)?)
        {
            *place = drawn;
        }
        Ok(())
    }

    /// Draws the sets of a part, and computes what is expected of them with the reference.
    pub fn draw(
        self,
        case: &Arc<Case>,
        part: Part,
        reference: &mut Option<ReferenceKernel>,
    ) -> Result<CaseData> {
        let drawn = self.draw_each(&[(case.clone(), part)], reference, &mut || true)?;
        let drawn = drawn.into_values().next();
        Ok(drawn.unwrap_or_else(|| CaseData::new(case, Vec::new())))
    }

    /// Draws the set of a part with this number again.
    pub fn draw_again(
        self,
        case: &Case,
        part: Part,
        number: usize,
        attempt: u32,
    ) -> Result<CaseSet> {
        let planted = self.planted_sets(case);
        let set = (number, attempt);
        let (set, sent) = self.set((case, part), &planted, set, Contents::new())?;
        self.send(sent)?;
        Ok(set)
    }

    /// Has the reference say what is expected of the sets. Draws those again that it does not
    /// accept.
    pub fn expect(
        self,
        all: &mut [(Part, CaseData)],
        reference: &mut Option<ReferenceKernel>,
    ) -> Result {
        let reference = reference.as_mut().ok_or_else(|| {
            Stop::Lab("the tensor problem was not prepared before its launches".into())
        })?;
        let (parts, data): (Vec<Part>, Vec<&mut CaseData>) =
            all.iter_mut().map(|(part, data)| (*part, data)).unzip();
        let wanted = data.into_iter().map(|data| WantedSets {
            sets: (0..data.sets.len()).collect(),
            data,
        });
        let mut wanted = wanted.collect_vec();
        while wanted.iter().any(|wanted| !wanted.sets.is_empty()) {
            reference.expect(&mut wanted)?;
            for (WantedSets { data, sets }, part) in wanted.iter_mut().zip(&parts) {
                for number in &*sets {
                    let attempt = data.sets[*number].attempt + 1;
                    data.sets[*number] = self.draw_again(&data.case, *part, *number, attempt)?;
                }
            }
        }
        Ok(())
    }

    /// [`Drawing::draw`] for several parts, as long as `is_idle` returns true: it is asked before
    /// each. While the reference launches on some, the next are drawn. Returns those that were
    /// drawn.
    pub fn draw_each(
        self,
        parts: &[(Arc<Case>, Part)],
        reference: &mut Option<ReferenceKernel>,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<Ahead> {
        let groups = self.groups(parts, |(case, part)| self.bytes(case, *part));
        let groups = &groups;
        std::thread::scope(|scope| {
            let (sender, drawn) = sync_channel(1);
            let draw = move || {
                groups
                    .iter()
                    .try_for_each(|group| sender.send(self.sets_of_parts(group)))
            };
            threads::start_in(scope, draw).or_lab(|| "no inputs are drawn ahead".into())?;
            let mut all = Ahead::new();
            // Where this ends early the receiver is dropped, and so the thread ends.
            for (group, drawn) in groups.iter().zip(drawn) {
                if !is_idle() {
                    break;
                }
                let of_parts = group.iter().map(|(_, part)| *part);
                let mut drawn = of_parts.zip(drawn?).collect_vec();
                self.expect(&mut drawn, reference)?;
                all.extend(
                    drawn
                        .into_iter()
                        .map(|(part, data)| ((data.case.index, part), data)),
                );
            }
            Ok(all)
        })
    }

    /// Splits what follows one another into groups that are worked on together: where the device
    /// holds the sets, in as few steps as its memory allows, and elsewhere one by one.
    pub fn groups<T>(self, all: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
        let part = (self.device.memory_bytes / PART_TOGETHER) as usize;
        let most = match self.memory {
            Some(_) => part.max(LEAST_TOGETHER),
            None => 0,
        };
        let (mut sum, mut groups, mut first) = (0, Vec::new(), 0);
        for (at, one) in all.iter().enumerate() {
            let bytes = bytes(one);
            if at > first && sum + bytes > most {
                groups.push(&all[first..at]);
                (first, sum) = (at, 0);
            }
            sum += bytes;
        }
        groups.extend((first < all.len()).then(|| &all[first..]));
        groups
    }

    /// Bytes of a part, of a drawn one with the outputs.
    pub fn bytes(self, case: &Case, part: Part) -> usize {
        let is_counted = |tensor: &CaseTensor| {
            tensor.is_of_a_set() && (part == Part::Drawn || tensor.role != TensorRole::Out)
        };
        self.sets_in(case, part) * case.bytes_of(is_counted)
    }
}

/// Most cells of the other further sets of a case together.
const PLANTED_CELLS: usize = 4 << 20;
const PLANTED_CELLS_EMULATED: usize = 1 << 19;

/// The part of a device's memory that sets may have that are worked on together, as its inverse, and
/// bytes that any device has. The reference needs room for copies of them, and each step takes some
/// milliseconds.
const PART_TOGETHER: u64 = 64;
const LEAST_TOGETHER: usize = 512 << 20;

/// Most cells of a planted line that the judge writes and sends to the card. The card changes a
/// longer line itself. A request takes 0.1 ms, and a set may have hundreds of short lines.
const MOST_SENT: usize = 1 << 15;

/// The first bit of a set's number that says how often the set was drawn again.
const ATTEMPT: usize = 40;

/// Gives a further set other values than any other set has.
const FIRST_PLANTED: usize = 1 << 32;
