//! The weights of a model, drawn from a seed.
//!
//! Values are distributed uniformly. That needs no logarithm, so they are the same on every
//! machine.

use crate::problem::philox::evenly;
use half::bf16;

/// The number of tokens, which are 8-bit µ-law samples.
pub const VOCAB: usize = 256;

/// The cells of a tensor, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum WeightValues {
    /// bf16 cells, of matrices.
    Bf16(Vec<bf16>),
    /// f32 cells, of vectors.
    F32(Vec<f32>),
}

impl WeightValues {
    /// The bytes as the kernel gets them.
    pub fn bytes(&self) -> &[u8] {
        match self {
            WeightValues::Bf16(v) => bytemuck::cast_slice(v),
            WeightValues::F32(v) => bytemuck::cast_slice(v),
        }
    }

    /// The cells as f32, which holds every bf16 exactly.
    pub fn widened(&self) -> Vec<f32> {
        match self {
            WeightValues::Bf16(v) => v.iter().map(|x| x.to_f32()).collect(),
            WeightValues::F32(v) => v.clone(),
        }
    }
}

/// A weight tensor.
#[derive(Clone, Debug)]
pub struct WeightTensor {
    /// The name of the kernel's parameter.
    pub name: &'static str,
    /// Rows and columns, or the length of a vector.
    pub shape: Vec<usize>,
    /// The cells, row-major.
    pub values: WeightValues,
}

/// Every weight tensor, in the order of the kernel's parameters.
pub struct Weights {
    /// Hidden units of each layer.
    pub hidden: usize,
    /// In the order of the kernel's parameters.
    pub tensors: Vec<WeightTensor>,
}

/// Name, rows, columns (`None` for a vector), mean and standard deviation of a tensor.
struct WeightSpec {
    name: &'static str,
    rows: usize,
    columns: Option<usize>,
    mean: f64,
    deviation: f64,
}

fn recipes(hidden: usize) -> Vec<WeightSpec> {
    let (h, root) = (hidden, (hidden as f64).sqrt());
    let matrix = |name, rows, deviation| WeightSpec {
        name,
        rows,
        columns: Some(h),
        mean: 0.0,
        deviation,
    };
    let vector = |name, rows, mean| WeightSpec {
        name,
        rows,
        columns: None,
        mean,
        deviation: 0.1,
    };
    vec![
        matrix("embed", VOCAB, 0.003),
        vector("rms_gain0", h, 1.0),
        vector("rms_gain1", h, 1.0),
        matrix("w_ih0", 3 * h, 1.0 / root),
        matrix("w_hh0", 3 * h, 1.0 / root),
        matrix("w_ih1", 3 * h, 1.0 / root),
        matrix("w_hh1", 3 * h, 1.0 / root),
        vector("b_ih0", 3 * h, 0.0),
        vector("b_hh0", 3 * h, 0.0),
        vector("b_ih1", 3 * h, 0.0),
        vector("b_hh1", 3 * h, 0.0),
        matrix("w_glu", 2 * h, 1.0 / root),
        vector("b_glu", 2 * h, 0.0),
        matrix("w_out", VOCAB, 12.0 / root),
        vector("b_out", VOCAB, 0.0),
    ]
}

impl Weights {
    /// Draws the weights, each tensor on its own thread with its own random stream.
    pub fn draw(hidden: usize, seed: u64) -> Self {
        let draw = |stream: u32, r: WeightSpec| {
            let half_width = r.deviation * 3f64.sqrt();
            let count = r.rows * r.columns.unwrap_or(1);
            let values = evenly(seed, stream)
                .take(count)
                .map(|v| (r.mean + half_width * v) as f32);
            match r.columns {
                Some(columns) => WeightTensor {
                    name: r.name,
                    shape: vec![r.rows, columns],
                    values: WeightValues::Bf16(values.map(bf16::from_f32).collect()),
                },
                None => WeightTensor {
                    name: r.name,
                    shape: vec![r.rows],
                    values: WeightValues::F32(values.collect()),
                },
            }
        };
        let tensors = std::thread::scope(|scope| {
            let drawing: Vec<_> = (1..)
                .zip(recipes(hidden))
                .map(|(stream, r)| scope.spawn(move || draw(stream, r)))
                .collect();
            let drawn = drawing.into_iter().map(std::thread::ScopedJoinHandle::join);
            drawn
                .map(|t| t.expect("drawing numbers does not panic"))
                .collect()
        });
        Weights { hidden, tensors }
    }

    /// The values of the tensor with this name, which must be one of the model's.
    pub fn get(&self, name: &str) -> &WeightValues {
        let found = self.tensors.iter().find(|t| t.name == name);
        &found
            .expect("every name asked for is one of the recipes")
            .values
    }

    /// The work that no kernel can avoid: the number of weights that each step multiplies by, and
    /// the bytes that every launch reads. `embed` and `w_ih0` do not count as multiplied, because
    /// layer 0 has only 256 different inputs, for which a kernel may multiply ahead. Of `embed`,
    /// only the rows of the launch's tokens are read, so it does not count as read.
    pub fn work(&self) -> (f64, f64) {
        Self::work_of(self.hidden)
    }

    /// [`Weights::work`] of a model with so many hidden units, without its weights.
    pub fn work_of(hidden: usize) -> (f64, f64) {
        let (mut multiplied, mut read) = (0.0, 0.0);
        for recipe in recipes(hidden) {
            let cells = (recipe.rows * recipe.columns.unwrap_or(1)) as f64;
            if recipe.columns.is_some() && !matches!(recipe.name, "embed" | "w_ih0") {
                multiplied += cells;
            }
            if recipe.name != "embed" {
                // Matrices are bf16, vectors f32.
                read += cells * if recipe.columns.is_some() { 2.0 } else { 4.0 };
            }
        }
        (multiplied, read)
    }

    /// A digest of all values.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for tensor in &self.tensors {
            hasher.update(tensor.name.as_bytes());
            hasher.update(tensor.values.bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_those_of_the_design() {
        let weights = Weights::draw(256, 1);
        for (name, expected) in [
            ("embed", 0.003),
            ("w_hh1", 1.0 / 16.0),
            ("w_out", 0.75),
            ("b_glu", 0.1),
        ] {
            let values = weights.get(name).widened();
            let square: f64 = values.iter().map(|v| f64::from(*v).powi(2)).sum();
            let deviation = (square / values.len() as f64).sqrt();
            assert!(
                (deviation / expected - 1.0).abs() < 0.06,
                "{name}: {deviation}, not {expected}"
            );
        }
    }

    #[test]
    fn the_work_of_a_step_is_that_of_the_matrices() {
        let (multiplied, bytes) = Weights::draw(256, 1).work();
        let h = 256.0f64;
        assert_eq!(multiplied, (9.0 + 2.0) * h * h + 256.0 * h);
        assert_eq!(
            bytes,
            2.0 * ((12.0 + 2.0) * h * h + 256.0 * h) + 4.0 * (2.0 * h + 12.0 * h + 2.0 * h + 256.0)
        );
    }

    #[test]
    fn a_seed_gives_the_same_model_again_and_another_seed_another() {
        assert_eq!(Weights::draw(64, 5).digest(), Weights::draw(64, 5).digest());
        assert_ne!(Weights::draw(64, 5).digest(), Weights::draw(64, 6).digest());
    }
}
