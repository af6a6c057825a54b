//! What a correct kernel computes: the model on the CPU, with dot products in f64 and states
//! rounded to f32.
//!
//! One run gives both expectations. It samples its tokens. The probability that it gave each token
//! is what a teacher-forced kernel must compute when it gets those tokens. Up to four runs are
//! computed together, because reading the weights takes most of the time.

mod dot;
mod model;
mod sampling;

pub use model::ReferenceModel;

use super::run_inputs::{NEUTRAL_TEMPERATURE, RunInputs, SamplingRanges};

/// Increase this number with every change that may alter a result. Cached references of other
/// versions are ignored.
pub const VERSION: u32 = 2;

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceOutput {
    /// The token of each step.
    pub tokens: Vec<i32>,
    /// The probability of each token under the plain softmax, without min-p.
    pub teacher_prob: Vec<f64>,
    /// The final state of layer 0.
    pub h0: Vec<f32>,
    /// The final state of layer 1.
    pub h1: Vec<f32>,
    /// The smallest change of scores that would change a token, and the step of that token.
    pub margin: f64,
    /// The step with the smallest margin.
    pub margin_step: u64,
    /// The median entropy over the steps, in bits.
    pub entropy: f64,
    /// How many tokens would differ without min-p.
    pub min_p_changed: u64,
    /// The interval of min-p, open at its lower end, in which no token differs.
    pub same_min_p: [f64; 2],
    /// How many tokens would differ with temperature 1, each after the tokens of this run.
    pub temperature_changed: u64,
}

/// The smallest median entropy of a judged run, in bits.
const LEAST_ENTROPY: f64 = 1.0;

impl ReferenceOutput {
    /// Returns whether the tokens of this run tell a kernel that ignores the temperature or min-p
    /// from a right one, and depend on the noise at all: at a low temperature some runs end in a
    /// loop of tokens that are nearly certain.
    ///
    /// A run of an even seed changes with every min-p of the upper half of the range, and a run of
    /// an odd seed with every min-p of the lower half. So no fixed min-p gives the tokens of two
    /// such runs.
    pub fn tells(&self, inputs: &RunInputs, ranges: &SamplingRanges) -> bool {
        let ([low, high], middle) = (self.same_min_p, ranges.middle_min_p());
        let min_p = match (ranges.min_p.low == ranges.min_p.high, inputs.seed % 2) {
            (true, _) => low > 0.0,
            (false, 0) => high < middle,
            (false, _) => low >= middle,
        };
        let temperature =
            inputs.sampling.temperature == NEUTRAL_TEMPERATURE || self.temperature_changed > 0;
        min_p && temperature && self.entropy >= LEAST_ENTROPY
    }
}

#[cfg(test)]
mod tests;
