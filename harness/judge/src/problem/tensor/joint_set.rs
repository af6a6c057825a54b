//! What a joint set of inputs bears, and its scalars. Nobody asked for extremes of all inputs to meet.
//! So a set for which the reference has a result that is not finite is drawn again, without zeros in
//! it, and then without anything that is planted.

use super::case_data::CaseSet;
use super::spec::{Case, CaseScalar};
use crate::outcome::Result;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

impl CaseSet {
    /// Takes out of a joint set what an earlier attempt showed the problem not to bear, and varies the
    /// scalars. `seed` is that of the run: a compiler may build the kernel for each value.
    pub fn bear(&mut self, case: &Case, seed: u64) {
        if !self.is_joint {
            return;
        }
        match self.attempt {
            0 => {}
            1 => self.planted.retain(|placed| !placed.has_zeros()),
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
    pub fn is_defined(&self, case: &Case) -> Result<bool> {
        if !self.is_joint || self.attempt > 1 {
            return Ok(true);
        }
        for (tensor, cells) in case.tensors.iter().zip(&self.expected) {
            let floats = cells.as_ref().filter(|_| tensor.dtype.integers().is_none());
            if let Some(cells) = floats
                && !tensor.dtype.are_finite(&cells.to_host()?)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Names the scalars that have another value than the problem's, as in
    /// `eps is 3.100e-7 there, for a test`; `None` if none has.
    pub fn other_scalars(&self, case: &Case) -> Option<String> {
        let each = case.scalars.iter().zip(&self.scalars);
        let other = each.filter(|(scalar, bytes)| scalar.varies && scalar.bytes != **bytes);
        let other = other.map(|(scalar, bytes)| {
            let value = scalar.dtype.decode(bytes);
            format!("{} is {value:.3e}", scalar.name)
        });
        let other: Vec<String> = other.collect();
        let other = Some(other).filter(|other| !other.is_empty())?;
        let other = other.join(", ");
        Some(format!(
            "{other} there, for a test (fixed = true of the scalar says no)"
        ))
    }
}

impl CaseScalar {
    /// The bytes of a value between a quarter and three quarters of the problem's.
    fn varied(&self, seed: u64) -> Vec<u8> {
        let word = ChaCha8Rng::seed_from_u64(seed ^ VARIED).next_u64();
        let factor = 0.25 + 0.5 * (word >> 11) as f64 / (1u64 << 53) as f64;
        self.dtype.cell(self.dtype.decode(&self.bytes) * factor)
    }
}

/// Makes the random number differ from those of the drawn values.
const VARIED: u64 = 0x7661_7269_6564_2121;
