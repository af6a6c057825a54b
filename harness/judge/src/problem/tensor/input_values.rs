//! The values that inputs are filled with.

use crate::dtype::Dtype;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Normal, StandardNormal, Uniform};
use serde::Deserialize;

/// How a tensor's values are distributed, as in `values = { normal = { std = 0.5 } }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum InputValues {
    Normal(NormalRange),
    Uniform(UniformRange),
    /// Whole numbers, both ends included.
    Integers(IntegerRange),
    Constant(f64),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalRange {
    #[serde(default)]
    mean: f64,
    #[serde(default = "one")]
    std: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UniformRange {
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegerRange {
    low: i32,
    high: i32,
}

impl InputValues {
    /// Returns what is wrong with the numbers, for tensors of this type.
    pub fn check(&self, dtype: Dtype) -> Result<(), String> {
        let finite = |numbers: &[f64]| numbers.iter().all(|n| n.is_finite());
        let right = match self {
            InputValues::Normal(n) if !(finite(&[n.mean, n.std]) && n.std >= 0.0) => {
                Err("normal needs a finite mean and a std that is not negative")
            }
            InputValues::Uniform(r) if !(finite(&[r.low, r.high]) && r.low < r.high) => {
                Err("uniform needs low < high")
            }
            // A range that is too wide for its type has no sampler.
            InputValues::Uniform(r) if Uniform::new(r.low, r.high).is_err() => {
                Err("uniform needs a range high - low that is finite")
            }
            InputValues::Integers(r) if r.low > r.high => Err("integers needs low ≤ high"),
            InputValues::Constant(c) if !c.is_finite() => Err("constant needs a finite number"),
            InputValues::Normal(_) | InputValues::Uniform(_) if dtype.integers().is_some() => {
                return Err(format!("an {dtype} tensor takes integers or a constant"));
            }
            InputValues::Normal(_)
            | InputValues::Uniform(_)
            | InputValues::Integers(_)
            | InputValues::Constant(_) => Ok(()),
        };
        right.map_err(str::to_owned)
    }

    /// The range that the values never leave; `None` for a normal distribution.
    pub fn range(&self) -> Option<(f64, f64)> {
        match self {
            InputValues::Normal(_) => None,
            InputValues::Uniform(UniformRange { low, high }) => Some((*low, *high)),
            InputValues::Integers(IntegerRange { low, high }) => Some((f64::from(*low), f64::from(*high))),
            InputValues::Constant(value) => Some((*value, *value)),
        }
    }

    /// Fills `cells` cells and returns their bytes. The same seed gives the same bytes on any number of cores,
    /// because each stretch of cells has its own random stream.
    pub fn fill(&self, dtype: Dtype, cells: usize, seed: u64) -> Vec<u8> {
        const STRETCH: usize = 1 << 13;
        let mut bytes = vec![0; cells * dtype.size()];
        let mut stretches: Vec<(usize, &mut [u8])> =
            bytes.chunks_mut(STRETCH * dtype.size()).enumerate().collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = stretches.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            for part in stretches.chunks_mut(share) {
                scope.spawn(move || {
                    for (stream, stretch) in part {
                        let mut rng = ChaCha8Rng::seed_from_u64(seed);
                        rng.set_stream(*stream as u64);
                        self.fill_stretch(dtype, stretch, &mut rng);
                    }
                });
            }
        });
        bytes
    }

    fn fill_stretch(&self, dtype: Dtype, stretch: &mut [u8], rng: &mut ChaCha8Rng) {
        let mut cell = Vec::with_capacity(4);
        let mut each = |mut draw: Box<dyn FnMut() -> f64 + '_>| {
            for to in stretch.chunks_exact_mut(dtype.size()) {
                cell.clear();
                dtype.encode(draw(), &mut cell);
                to.copy_from_slice(&cell);
            }
        };
        // `check` has refused every range without a sampler, so the errors below cannot happen.
        match *self {
            InputValues::Constant(c) => each(Box::new(|| c)),
            InputValues::Normal(NormalRange { mean, std }) => match Normal::new(mean, std) {
                Ok(normal) => each(Box::new(|| normal.sample(rng))),
                Err(_) => each(Box::new(|| StandardNormal.sample(rng))),
            },
            InputValues::Uniform(UniformRange { low, high }) => match Uniform::new(low, high) {
                Ok(uniform) => each(Box::new(|| uniform.sample(rng))),
                Err(_) => each(Box::new(|| low)),
            },
            InputValues::Integers(IntegerRange { low, high }) => match Uniform::new_inclusive(low, high) {
                Ok(uniform) => each(Box::new(|| uniform.sample(rng).into())),
                Err(_) => each(Box::new(|| low.into())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &InputValues, dtype: Dtype, cells: usize, seed: u64) -> Vec<f64> {
        values.fill(dtype, cells, seed).chunks(dtype.size()).map(|c| dtype.decode(c)).collect()
    }

    #[test]
    fn a_seed_fixes_every_value_and_another_changes_them() {
        let normal = InputValues::Normal(NormalRange { mean: 0.0, std: 1.0 });
        let first = normal.fill(Dtype::F16, 200_000, 7);
        assert_eq!(first, normal.fill(Dtype::F16, 200_000, 7));
        assert_ne!(first, normal.fill(Dtype::F16, 200_000, 8));
        assert_ne!(first[..1000], first[2 * 65536..][..1000], "stretches differ");
        assert_eq!(first[..1000], normal.fill(Dtype::F16, 500, 7), "a shorter tensor is a beginning");
    }

    #[test]
    fn a_range_that_overflows_is_refused() {
        let wide = InputValues::Uniform(UniformRange { low: -1.5e308, high: 1.5e308 });
        assert!(wide.check(Dtype::F32).is_err_and(|e| e.contains("finite")));
    }

    #[test]
    fn moments_are_those_asked_for() {
        let drawn =
            numbers(&InputValues::Normal(NormalRange { mean: 3.0, std: 0.5 }), Dtype::F32, 100_000, 1);
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 3.0).abs() < 0.01 && (variance - 0.25).abs() < 0.01, "{mean} {variance}");
    }

    #[test]
    fn ranges_are_kept_and_reached() {
        let drawn = numbers(&InputValues::Integers(IntegerRange { low: -2, high: 2 }), Dtype::I32, 1000, 1);
        for value in -2..=2 {
            assert!(drawn.contains(&f64::from(value)));
        }
        assert!(drawn.iter().all(|v| (-2.0..=2.0).contains(v)));
        let uniform =
            numbers(&InputValues::Uniform(UniformRange { low: 1.0, high: 2.0 }), Dtype::F32, 1000, 1);
        assert!(uniform.iter().all(|v| (1.0..=2.0).contains(v)));
        assert_eq!(numbers(&InputValues::Constant(0.5), Dtype::Bf16, 3, 1), [0.5; 3]);
    }
}
