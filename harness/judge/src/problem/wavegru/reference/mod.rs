//! What a correct kernel computes: the model on the CPU, with dot products in f64 and states rounded to f32.
//!
//! One run gives both expectations. It samples its tokens. The probability that it gave each token is what a
//! teacher-forced kernel must compute when it gets those tokens. Up to four runs are computed together, because
//! reading the weights takes most of the time.

mod model;
mod sampling;

pub use model::ReferenceModel;

use super::philox::evenly;

/// Increase this number with every change that may alter a result. Cached references of other versions are ignored.
pub const VERSION: u32 = 1;

/// The sampling parameters of a launch. All runs of a pool have the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingParams {
    /// Tokens to generate.
    pub steps: usize,
    /// The input of step 0.
    pub first_token: usize,
    /// Divides the logits.
    pub temperature: f32,
    /// Tokens below this fraction of the largest probability are dropped.
    pub min_p: f32,
}

/// The start of a run: the seed of its noise, and the states of both layers.
#[derive(Clone, Debug, PartialEq)]
pub struct StartState {
    /// The seed of the noise.
    pub seed: u64,
    /// The state of layer 0.
    pub h0: Vec<f32>,
    /// The state of layer 1.
    pub h1: Vec<f32>,
}

impl StartState {
    /// Draws start states from the run's seed, distributed uniformly over (−½, ½).
    pub fn draw(hidden: usize, seed: u64) -> Self {
        let state = |stream| evenly(seed, stream).take(hidden).map(|v| (0.5 * v) as f32).collect();
        StartState { seed, h0: state(1), h1: state(2) }
    }
}

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
}

#[cfg(test)]
mod tests;
