//! Joint sets: further sets of inputs in which extremes of all inputs meet, and in which the scalars of
//! f32 that problem.toml gives one value have another one. A kernel that leaves out an ε, or that
//! takes a row of zeros for granted, is wrong there.
//!
//! The inputs about which problem.toml says nothing have extremes in these sets alone. The kinds of
//! each input take turns: together, the cases of a run have every kind of every input, and a case
//! has as few sets as that needs. One more set holds large numbers in all inputs for which
//! problem.toml asks for them.

use super::super::planted::{Axis, Extreme};
use super::super::random::shuffle;
use super::super::spec::Case;
use super::pattern::Pattern;
use super::{Group, PlantedSets};
use itertools::Itertools as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

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
            let parts = parts.collect_vec();
            (!parts.is_empty()).then_some(parts)
        });
        let parts = parts.collect_vec();
        let is_by_default = case.tensors.iter().any(|tensor| tensor.planted.by_default);
        let varies = case.scalars.iter().any(|scalar| scalar.varies);
        if parts.len() < 2 && !is_by_default && !varies {
            return self;
        }
        let turns = parts.iter().map(Vec::len).max().unwrap_or(1);
        let large = all_large(case);
        self.joint = case
            .turn
            .numbers(turns + usize::from(large.is_some()))
            .map(|turn| match &large {
                Some(large) if turn == turns => large.clone(),
                _ => {
                    let of_turn = |parts: &Vec<Group>| parts[turn % parts.len()].clone();
                    parts.iter().map(of_turn).collect()
                }
            })
            .collect();
        self
    }
}

/// Large numbers in every cell of each input for which problem.toml asks for them: a product or a
/// sum of numbers at the same place is the largest then. `None` for fewer than two such inputs.
fn all_large(case: &Case) -> Option<Vec<Group>> {
    let axis = Axis::All;
    let groups = case.tensors.iter().enumerate().filter_map(|(number, t)| {
        let is_asked_for =
            !t.planted.by_default && t.planted.kinds.contains(&Extreme::LargePositive);
        let patterns = if is_asked_for {
            Pattern::of(Extreme::LargePositive, t.length(axis), t)
        } else {
            Vec::new()
        };
        (!patterns.is_empty()).then_some(Group {
            tensor: number,
            axis,
            patterns,
        })
    });
    let groups = groups.collect_vec();
    (groups.len() > 1).then_some(groups)
}

/// Makes the random numbers differ from those of the drawn values.
const TURNS: u64 = 0x7475_726e_735f_6f66;

#[cfg(test)]
mod tests;
