//! Shapes that no run has shown: `[[keep]]` of a problem.toml says how they are drawn at each `lab keep`.

use crate::dtype::Dtype;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;
use std::collections::BTreeMap;

/// An extent for each dimension, by name.
pub type Extents = BTreeMap<String, i64>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnShapes {
    dims: BTreeMap<String, ExtentChoice>,
    pub types: Option<Vec<Dtype>>,
    /// How many shapes.
    #[serde(default = "three")]
    draws: usize,
}

fn three() -> usize {
    3
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "an extent is a number, or { from = 1, to = 100 }, or the same with a step")]
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

/// A shape that is among `shown` is drawn again, so often at most: there may be no other.
const PATIENCE: usize = 100;

/// Each shape is a case of its own, which the reference is asked about and the kernel launched on.
const MOST: usize = 1000;

impl DrawnShapes {
    /// What is wrong with it, apart from the names.
    pub fn complaint(&self) -> Option<String> {
        if !(1..=MOST).contains(&self.draws) {
            return Some(format!("draws = {}: it is at least 1 and at most {MOST}", self.draws));
        }
        let wrong = |(name, choice): (&String, &ExtentChoice)| match choice {
            ExtentChoice::ExtentRange(ExtentRange { from, to, step })
                if *from < 1 || to < from || *step < 1 =>
            {
                Some(format!(
                    "{name}: from = {from}, to = {to}, step = {step}: from is at least 1, to at least from"
                ))
            }
            _ => None,
        };
        self.dims.iter().find_map(wrong)
    }

    /// The smallest shape that can come, and the largest.
    pub fn ends(&self) -> [Extents; 2] {
        [0, u64::MAX].map(|which| self.shape(&mut || which))
    }

    /// Shapes that are not among `shown`, nor twice, as far as there are others.
    pub fn draw(&self, shown: &mut Vec<Extents>, rng: &mut ChaCha8Rng) {
        for _ in 0..self.draws {
            let draw = std::iter::repeat_with(|| self.shape(&mut || rng.next_u64()));
            let drawn: Vec<Extents> = draw.take(PATIENCE).collect();
            let new = drawn.iter().find(|shape| !shown.contains(shape)).or(drawn.first());
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
        self.dims.iter().map(|(name, choice)| (name.clone(), extent(choice))).collect()
    }
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed ^ 0x6865_6c64_5f6f_7574)
}
