//! Shapes that no run has shown: `[[keep]]` in problem.toml says how they are drawn at each
//! `lab keep`.

use super::planted::PlantedText;
use super::values_text::ValuesText;
use crate::dtype::Dtype;
use crate::problem::key_error::{InKey, Result, wrong};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;
use std::collections::BTreeMap;

/// An extent for each dimension, by name.
pub type Extents = BTreeMap<String, i64>;

/// A `[[keep]]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnShapes {
    dims: BTreeMap<String, ExtentChoice>,
    /// Extents on the cpu device, in place of those that are drawn.
    #[serde(default)]
    pub cpu: Extents,
    pub types: Option<Vec<Dtype>>,
    /// The values of these tensors, in place of their own.
    #[serde(default)]
    pub values: BTreeMap<String, ValuesText>,
    /// What is planted into an input, by its name, in place of what the tensor says.
    #[serde(default)]
    pub planted: BTreeMap<String, PlantedText>,
    /// How many shapes to draw.
    #[serde(default = "three")]
    draws: usize,
}

fn three() -> usize {
    3
}

#[derive(Clone, Copy, Deserialize)]
#[serde(
    untagged,
    expecting = "an extent is a number, or { from = 1, to = 100 }, or the same with a step"
)]
enum ExtentChoice {
    One(i64),
    ExtentRange(ExtentRange),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtentRange {
    from: i64,
    to: i64,
    #[serde(default = "one")]
    step: i64,
}

fn one() -> i64 {
    1
}

/// How often a shape is drawn again if it was shown already. There may be no other shape.
const MOST_REDRAWS: usize = 100;

/// Most shapes of a table. Each is a case of its own, which the reference computes and the kernel
/// is launched on.
const MOST: usize = 1000;

impl DrawnShapes {
    /// Returns what is wrong with the numbers. Names are checked elsewhere.
    pub fn check(&self) -> Result {
        if !(1..=MOST).contains(&self.draws) {
            let what = format!("draws = {}: it must be from 1 to {MOST}", self.draws);
            return wrong("draws", what);
        }
        for (name, choice) in &self.dims {
            if let ExtentChoice::ExtentRange(ExtentRange { from, to, step }) = choice
                && (*from < 1 || to < from || *step < 1)
            {
                let what = format!(
                    "{name}: from = {from}, to = {to}, step = {step}: from must be at least 1, to at least from, step at least 1"
                );
                return wrong(name.as_str(), what).within("dims");
            }
        }
        Ok(())
    }

    /// The smallest shape that can be drawn, the one a step above it, and the largest.
    pub fn ends(&self) -> [Extents; 3] {
        [0, 1, u64::MAX].map(|which| self.shape(&mut || which))
    }

    /// Draws shapes and adds them to `shown`. Avoids shapes that are in `shown` already, as far as
    /// there are others.
    pub fn draw(&self, shown: &mut Vec<Extents>, rng: &mut ChaCha8Rng) {
        for _ in 0..self.draws {
            let draw = std::iter::repeat_with(|| self.shape(&mut || rng.next_u64()));
            let drawn: Vec<Extents> = draw.take(MOST_REDRAWS).collect();
            let new = drawn
                .iter()
                .find(|shape| !shown.contains(shape))
                .or(drawn.first());
            shown.extend(new.cloned());
        }
    }

    fn shape(&self, random: &mut dyn FnMut() -> u64) -> Extents {
        let mut extent = |choice: &ExtentChoice| match *choice {
            ExtentChoice::One(extent) => extent,
            ExtentChoice::ExtentRange(ExtentRange { from, to, step }) => {
                let last = (to - from) / step;
                let which = match random() {
                    u64::MAX => last,
                    number => (number % (last as u64 + 1)) as i64,
                };
                from + which * step
            }
        };
        self.dims
            .iter()
            .map(|(name, choice)| (name.clone(), extent(choice)))
            .collect()
    }
}

/// The random numbers of the held-out shapes for this seed.
pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed ^ 0x6865_6c64_5f6f_7574)
}
