//! The `problem.toml` of a WaveGRU problem: which model, which runs, which limits.

use super::reference::SamplingParams;
use crate::outcome::Stop;
use crate::problem::api::toml_error;
use lab_device::DeviceInfo;
use serde::Deserialize;
use std::path::Path;

/// A WaveGRU problem.toml.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaveGruConfig {
    #[serde(rename = "kind")]
    _kind: String,
    /// Hidden units of each layer.
    pub hidden: usize,
    /// Samples that one launch generates, on a CUDA device and on the cpu device.
    pub steps: usize,
    /// Samples of a launch on the cpu device.
    pub steps_cpu: usize,
    /// Divides the logits before sampling. Above 0.
    pub temperature: f32,
    /// Tokens below this fraction of the largest probability are dropped. Above 0, at most 1.
    pub min_p: f32,
    /// The input of step 0.
    pub first_token: usize,
    /// The seed of the weights.
    pub weight_seed: u64,
    /// The seeds of the pool. Each has a reference, with its own noise and start states. A judgement launches no run
    /// twice, so the pool has as many runs as a judgement launches.
    pub run_seeds: Vec<u64>,
    /// Smallest sampling margin of a reference. A reference below it is refused.
    pub margin: f64,
    /// Most timed launches in the worker in which the kernel was verified. Further workers have the whole pool.
    pub timed_launches: usize,
    /// On the cpu device, the number of execution orders in which a verified launch is repeated.
    pub orders: usize,
    /// Exchanges between all multiprocessors that must follow one another in a step of the plain algorithm, for the
    /// estimate of a step's time. 0 leaves them out.
    #[serde(default)]
    pub exchanges: u32,
    /// The limits of the gates.
    pub limits: GateLimits,
}

/// The largest differences from the reference that still pass.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateLimits {
    /// Largest difference of a probability.
    pub teacher_prob_max_diff: f64,
    /// Largest mean difference of the probabilities.
    pub teacher_prob_mean_diff: f64,
    /// Largest difference in the final state of layer 0.
    pub h0_max_diff: f64,
    /// Largest difference in the final state of layer 1.
    pub h1_max_diff: f64,
}

impl WaveGruConfig {
    /// Reads and checks a problem.toml. An error names the file and what is wrong in it.
    pub fn read(path: &Path, text: &str) -> Result<Self, Stop> {
        let wrong = |what: &dyn std::fmt::Display| Stop::Problem(format!("{}: {what}", path.display()));
        let config: WaveGruConfig = toml::from_str(text).map_err(|e| toml_error(path, text, &e))?;
        match config.error() {
            Some(error) => Err(wrong(&error)),
            None => Ok(config),
        }
    }

    fn error(&self) -> Option<String> {
        let mut seeds = self.run_seeds.clone();
        seeds.sort_unstable();
        seeds.dedup();
        // Sampling and teacher-forced launches, then timed ones: on a GPU, and on the cpu device.
        let launches = (2 + self.timed_launches).max(2 * self.orders + 1).max(4);
        let rules = [
            (
                (256..=4096).contains(&self.hidden) && self.hidden.is_multiple_of(256),
                format!("hidden = {}: it must be a multiple of 256, at most 4096", self.hidden),
            ),
            (
                [self.steps, self.steps_cpu].iter().all(|n| (1..=1 << 20).contains(n)),
                "steps and steps_cpu must be from 1 to 1048576".into(),
            ),
            (self.temperature > 0.0, format!("temperature = {}: it must be above 0", self.temperature)),
            (
                self.min_p > 0.0 && self.min_p <= 1.0,
                format!("min_p = {}: it must be above 0 and at most 1", self.min_p),
            ),
            (self.first_token < 256, format!("first_token = {}: it must be from 0 to 255", self.first_token)),
            (
                self.timed_launches > 0 && self.orders > 0,
                "timed_launches and orders must be at least 1".into(),
            ),
            (
                seeds.len() == self.run_seeds.len() && seeds.len() >= launches,
                format!(
                    "run_seeds: give at least {launches} different seeds, because every launch takes another one"
                ),
            ),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map(|(_, rule)| rule)
    }

    /// The sampling parameters of a launch on this device.
    pub fn sampling(&self, device: &DeviceInfo) -> SamplingParams {
        SamplingParams {
            steps: if device.emulated { self.steps_cpu } else { self.steps },
            first_token: self.first_token,
            temperature: self.temperature,
            min_p: self.min_p,
        }
    }
}
