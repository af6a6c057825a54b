//! Inputs that the process of a Python kernel has not launched before, at addresses where it had
//! others: a kernel that remembers results instead of computing them is wrong there, or slower.
//!
//! What a CUDA kernel keeps is in its module, which each turn loads anew. What a Python kernel
//! keeps may be anywhere in its process.

use super::case_data::{Contents, draw};
use super::input_values::InputValues;
use super::random::shuffle;
use super::spec::{Case, CaseTensor};
use crate::outcome::Result;
use crate::worker::Cells;
use lab_protocol::When;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Gives renewed sets other values than any other set has.
const FIRST_RENEWED: usize = 1 << 33;

/// Cells that get new values in one save, in all its cases together. To draw, copy and compare more
/// would delay the verdict.
const MOST_CELLS: usize = 4 << 20;

/// The indices of the cases that get new inputs: before a keep all; else chance selects as many as
/// fit, and at least one, so that no case is safe for a kernel that remembers results.
pub fn cases_to_renew(mut timed: Vec<Arc<Case>>, when: When, seed: u64) -> BTreeSet<usize> {
    if when != When::Keep {
        shuffle(&mut ChaCha8Rng::seed_from_u64(seed ^ SALT), &mut timed);
        let mut cells = 0;
        timed.retain(|case| {
            let fits = cells == 0 || cells + case.cells() <= MOST_CELLS;
            cells += if fits { case.cells().max(1) } else { 0 };
            fits
        });
    }
    timed.iter().map(|case| case.index).collect()
}

/// Makes the selection differ from the other uses of the seed.
const SALT: u64 = 0x7265_6e65_7765_6421;

/// Which cells of a set a renewed one keeps. A kernel may know inputs by some of their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    FirstHalf,
    LastHalf,
    /// All values are new. The number selects them.
    Nothing(usize),
}

/// A set with other values in the cells that it does not keep.
pub fn renew(case: &Case, seed: u64, set: &Contents, kept: Kept) -> Result<Contents> {
    let number = match kept {
        Kept::FirstHalf => 0,
        Kept::LastHalf => 1,
        Kept::Nothing(number) => 2 + number,
    };
    let fresh = draw(case, seed, FIRST_RENEWED + number, None, Contents::new())?;
    let tensors = case.tensors.iter().zip(set).zip(fresh);
    let renew = |((tensor, old), fresh): ((&CaseTensor, &Option<Cells>), Option<Cells>)| {
        let (Some(old), Some(Cells::Host(fresh))) = (old, fresh) else {
            return Ok(None);
        };
        Ok(Some(Cells::Host(mixed(
            tensor,
            &old.to_host()?,
            fresh,
            kept,
        ))))
    };
    tensors.map(renew).collect()
}

fn mixed(tensor: &CaseTensor, old: &[u8], mut fresh: Vec<u8>, kept: Kept) -> Vec<u8> {
    let row = match tensor.values {
        // Only whole rows are ascending, or hold each number once.
        Some(InputValues::Ascending { .. } | InputValues::Permutation) => {
            tensor.shape.last().copied().unwrap_or(1)
        }
        _ => 1,
    };
    let half = tensor.cells() / row.max(1) / 2 * row * tensor.dtype.size();
    let kept = match kept {
        Kept::FirstHalf => 0..half,
        Kept::LastHalf => old.len() - half..old.len(),
        Kept::Nothing(_) => 0..0,
    };
    if let (Some(target), Some(source)) = (fresh.get_mut(kept.clone()), old.get(kept)) {
        target.copy_from_slice(source);
    }
    fresh
}

#[cfg(test)]
mod tests;
