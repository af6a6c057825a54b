//! What a right kernel computes: the model on the CPU, dot products in f64, states rounded to f32.
//!
//! One run gives both expectations. It samples its tokens, and the probability that it gave each
//! of them is what a teacher-forced kernel must find when it is fed those tokens. Up to four runs
//! go through the weights together, because reading the weights is what takes the time.

mod model;
mod sampling;

pub use model::ReferenceModel;

use super::philox::evenly;

/// Counts up with every change that may alter a result: cached references of others are stale.
pub const VERSION: u32 = 1;

/// What sampling is asked for; the same for every run of a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingParams {
    pub steps: usize,
    pub first_token: usize,
    pub temperature: f32,
    pub min_p: f32,
}

/// Where a run begins.
#[derive(Clone, Debug, PartialEq)]
pub struct StartState {
    pub seed: u64,
    pub h0: Vec<f32>,
    pub h1: Vec<f32>,
}

impl StartState {
    /// StartState states are random, not zero: evenly spread over (−½, ½), drawn from the run's seed.
    pub fn draw(hidden: usize, seed: u64) -> Self {
        let state = |stream| evenly(seed, stream).take(hidden).map(|v| (0.5 * v) as f32).collect();
        StartState { seed, h0: state(1), h1: state(2) }
    }
}

/// A finished run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceOutput {
    pub tokens: Vec<i32>,
    /// The probability of each token under the plain softmax.
    pub teacher_prob: Vec<f64>,
    pub h0: Vec<f32>,
    pub h1: Vec<f32>,
    /// The smallest change of scores that could have changed a token.
    pub margin: f64,
    pub margin_step: u64,
    /// Median over the steps, in bits.
    pub entropy: f64,
    /// TokenComparison that would be others without min-p.
    pub min_p_changed: u64,
}

#[cfg(test)]
mod tests;
