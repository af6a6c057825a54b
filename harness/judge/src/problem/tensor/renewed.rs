//! Inputs that the process of a Python kernel has not launched before, at addresses where it had
//! others: a kernel that remembers results instead of computing them is wrong there, or slower.
//!
//! What a CUDA kernel keeps is in its module, which each turn loads anew. What a Python kernel
//! keeps may be anywhere in its process.

use super::case_data::{Contents, draw, seed_of};
use super::input_values::InputValues;
use super::random::shuffle;
use super::spec::{Case, CaseTensor};
use crate::outcome::Result;
use crate::worker::Cells;
use crate::worker::cell_work::{CellLine, LineChange};
use lab_protocol::When;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeSet;
use std::ops::Range;
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
}

/// Gives the cells of a set that are not kept other values, where the set lies.
pub fn renew(case: &Case, seed: u64, set: &mut Contents, kept: Kept) -> Result {
    let number = FIRST_RENEWED + kept as usize;
    for (tensor, cells) in case.tensors.iter().zip(set) {
        let (Some(values), Some(cells)) = (&tensor.values, cells) else {
            continue;
        };
        let (new, seed) = (
            cells_to_renew(tensor, kept),
            seed_of(case, seed, number, tensor),
        );
        match (&*cells, values.numbers()) {
            (Cells::Held(held), Some(numbers)) => {
                let line = CellLine {
                    buffer: held.id,
                    dtype: tensor.dtype,
                    first: new.start,
                    stride: 1,
                    cells: new.len(),
                };
                let change = LineChange::Draw { numbers, seed };
                held.memory.change_line(line, vec![change])?;
            }
            _ => {
                let fresh = values.fill(tensor.dtype, &tensor.shape, seed);
                let size = tensor.dtype.size();
                let new = new.start * size..new.end * size;
                let mut all = cells.to_host()?.into_owned();
                all[new.clone()].copy_from_slice(&fresh[new]);
                *cells = match &*cells {
                    Cells::Held(held) => held.memory.hold(&all)?,
                    Cells::Host(_) => Cells::Host(all),
                };
            }
        }
    }
    Ok(())
}

/// Inputs without any value of another set, held where `known` is. The number selects them.
pub fn fresh(case: &Case, seed: u64, known: &Contents, number: usize) -> Result<Contents> {
    let memory = known.iter().flatten().find_map(|cells| match cells {
        Cells::Held(held) => Some(&held.memory),
        Cells::Host(_) => None,
    });
    let number = FIRST_RENEWED + 2 + number;
    draw(case, seed, number, memory, Contents::new())
}

fn cells_to_renew(tensor: &CaseTensor, kept: Kept) -> Range<usize> {
    let row = match tensor.values {
        // Only whole rows are ascending, or hold each number once.
        Some(InputValues::Ascending { .. } | InputValues::Permutation) => {
            tensor.shape.last().copied().unwrap_or(1).max(1)
        }
        _ => 1,
    };
    let all = tensor.cells();
    let half = all / row / 2 * row;
    match kept {
        Kept::FirstHalf => half..all,
        Kept::LastHalf => 0..all - half,
    }
}

#[cfg(test)]
mod tests;
