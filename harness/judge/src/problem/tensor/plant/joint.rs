//! Joint sets: further sets of inputs in which extremes of all inputs meet, and in which the scalars of
//! f32 that problem.toml gives one value have another one. A kernel that leaves out an ε, or that
//! takes a row of zeros for granted, is wrong there.
//!
//! The inputs about which problem.toml says nothing have extremes in these sets alone. The kinds of
//! each input take turns: together, the cases of a run have every kind of every input, and a case
//! has as few sets as that needs.
//!
//! Nobody asked for them to meet. So a set for which the reference has a result that is not finite
//! is drawn again, without zeros in it, and then without anything that is planted.

use super::super::case_data::CaseSet;
use super::super::random::shuffle;
use super::super::spec::{Case, CaseScalar};
use super::{Group, PlantedSets};
use crate::dtype::Dtype;
use crate::outcome::Stop;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// Which of a run's joint sets are a case's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The place of the case among those that have joint sets.
    at: usize,
    /// The number of these cases.
    of: usize,
    /// Most joint sets of the case: as many as have `most_cells` together.
    most: usize,
}

/// Gives the cases of a run their turns. If each has more than `most_cells`, the smallest one has a
/// single joint set.
pub fn take_turns(cases: &mut [Arc<Case>], most_cells: usize) {
    let most: Vec<usize> = cases
        .iter()
        .map(|case| most_cells / case.cells().max(1))
        .collect();
    let of = most.iter().filter(|most| **most > 0).count();
    let few = cases.iter_mut().zip(most).filter(|(_, most)| *most > 0);
    for (at, (case, most)) in few.enumerate() {
        Arc::make_mut(case).turn = Turn { at, of, most };
    }
    let smallest = cases.iter_mut().min_by_key(|case| case.cells());
    if let (0, Some(case)) = (of, smallest) {
        Arc::make_mut(case).turn = Turn {
            at: 0,
            of: 1,
            most: 1,
        };
    }
}

impl PlantedSets {
    /// Adds the joint sets of a case. `seed` is that of the run, so that each kind has its turn.
    #[must_use]
    pub fn with_joint(mut self, case: &Case, seed: u64) -> PlantedSets {
        let each = case.tensors.iter().enumerate();
        let parts = each.filter_map(|(number, tensor)| {
            let axis = *tensor.planted.along.first()?;
            let [mut patterns, _] = tensor.patterns(axis);
            let mut rng = ChaCha8Rng::seed_from_u64(seed ^ TURNS ^ number as u64);
            shuffle(&mut rng, &mut patterns);
            let room = (tensor.lines(axis) / 2).max(1);
            let parts = patterns.chunks(room).map(|patterns| Group {
                tensor: number,
                axis,
                patterns: patterns.to_vec(),
            });
            let parts: Vec<Group> = parts.collect();
            (!parts.is_empty()).then_some(parts)
        });
        let parts: Vec<Vec<Group>> = parts.collect();
        let is_by_default = case.tensors.iter().any(|tensor| tensor.planted.by_default);
        let varies = case.scalars.iter().any(|scalar| scalar.varies);
        if parts.len() < 2 && !is_by_default && !varies {
            return self;
        }
        let turns = parts.iter().map(Vec::len).max().unwrap_or(1);
        let Turn { at, of, most } = case.turn;
        let own = turns.div_ceil(of.max(1)).min(most);
        self.joint = (0..own)
            .map(|set| {
                let turn = at * own + set;
                let of_turn = |parts: &Vec<Group>| parts[turn % parts.len()].clone();
                parts.iter().map(of_turn).collect()
            })
            .collect();
        self
    }
}

impl CaseSet {
    /// Takes out of a joint set what an earlier attempt showed the problem not to bear, and varies the
    /// scalars. `seed` is that of the run: a compiler may build the kernel for each value.
    pub fn bear(&mut self, case: &Case, seed: u64) {
        if !self.is_joint {
            return;
        }
        match self.attempt {
            0 => {}
            1 => self
                .planted
                .retain(|placed| !placed.pattern.kind.has_zeros()),
            _ => self.planted.clear(),
        }
        if self.attempt > 1 {
            return;
        }
        for (scalar, bytes) in case.scalars.iter().zip(&mut self.scalars) {
            if scalar.varies {
                *bytes = scalar.varied(seed);
            }
        }
    }

    /// Whether the reference has finite results for a joint set. The others may have any.
    pub fn is_defined(&self, case: &Case) -> Result<bool, Stop> {
        if !self.is_joint || self.attempt > 1 {
            return Ok(true);
        }
        for (tensor, cells) in case.tensors.iter().zip(&self.expected) {
            let (true, Some(cells)) = (tensor.dtype.integers().is_none(), cells) else {
                continue;
            };
            let bytes = cells.to_host()?;
            let mut each = bytes.chunks_exact(tensor.dtype.size());
            if !each.all(|cell| tensor.dtype.decode(cell).is_finite()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Names the scalars that have another value than the problem's, as in
    /// `eps is 3.1e-6 there (fixed = true forbids that)`; `None` if none has.
    pub fn other_scalars(&self, case: &Case) -> Option<String> {
        let each = case.scalars.iter().zip(&self.scalars);
        let other = each.filter(|(scalar, bytes)| scalar.varies && scalar.bytes != **bytes);
        let other = other.map(|(scalar, bytes)| {
            let value = Dtype::F32.decode(bytes);
            format!("{} is {value:.3e}", scalar.name)
        });
        let other: Vec<String> = other.collect();
        let other = Some(other).filter(|other| !other.is_empty())?;
        Some(format!("{} there, for a test", other.join(", ")))
    }
}

impl CaseScalar {
    /// The bytes of a value between a quarter and three quarters of the problem's.
    fn varied(&self, seed: u64) -> Vec<u8> {
        let word = ChaCha8Rng::seed_from_u64(seed ^ VARIED).next_u64();
        let factor = 0.25 + 0.5 * (word >> 11) as f64 / (1u64 << 53) as f64;
        let mut bytes = Vec::new();
        self.dtype
            .encode(self.dtype.decode(&self.bytes) * factor, &mut bytes);
        bytes
    }
}

/// Make the random numbers differ from those of the drawn values.
const TURNS: u64 = 0x7475_726e_735f_6f66;
const VARIED: u64 = 0x7661_7269_6564_2121;

#[cfg(test)]
mod tests;
