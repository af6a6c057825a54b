//! `problem.toml` of a WaveGRU: which model, which runs, which limits.

use super::reference::SamplingParams;
use crate::outcome::Stop;
use crate::problem::api::toml_error;
use lab_device::DeviceInfo;
use serde::Deserialize;
use std::path::Path;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaveGruConfig {
    #[serde(rename = "kind")]
    _kind: String,
    /// Hidden units of both layers.
    pub hidden: usize,
    /// Samples that one launch generates on a CUDA device, and on the cpu device.
    pub steps: usize,
    pub steps_cpu: usize,
    pub temperature: f32,
    pub min_p: f32,
    pub first_token: usize,
    pub weight_seed: u64,
    /// The pool: a reference each, with its own noise and start states. A judgement launches no run
    /// twice, so there are as many as it launches.
    pub run_seeds: Vec<u64>,
    /// A reference whose sampling margin is smaller is refused.
    pub margin: f64,
    /// Launches that are timed in the worker that was checked, at most. Further ones have the whole pool.
    pub timed_launches: usize,
    /// Orders of execution that a checked launch is repeated in on the cpu device.
    pub orders: usize,
    /// Exchanges between all multiprocessors that must follow one another in a step of the plain
    /// algorithm: what the estimate of a step's time counts. 0: none is made of them.
    #[serde(default)]
    pub exchanges: u32,
    pub limits: GateLimits,
}

/// The largest differences from the reference that still pass.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateLimits {
    pub teacher_prob_max_diff: f64,
    pub teacher_prob_mean_diff: f64,
    pub h0_max_diff: f64,
    pub h1_max_diff: f64,
}

impl WaveGruConfig {
    /// An error names the file and what is wrong in it.
    pub fn read(path: &Path, text: &str) -> Result<Self, Stop> {
        let wrong = |what: &dyn std::fmt::Display| Stop::Problem(format!("{}: {what}", path.display()));
        let config: WaveGruConfig = toml::from_str(text).map_err(|e| toml_error(path, text, &e))?;
        match config.complaint() {
            Some(complaint) => Err(wrong(&complaint)),
            None => Ok(config),
        }
    }

    fn complaint(&self) -> Option<String> {
        let mut seeds = self.run_seeds.clone();
        seeds.sort_unstable();
        seeds.dedup();
        // SamplingParams and taught, then timed: on a GPU, and on the cpu device.
        let launches = (2 + self.timed_launches).max(2 * self.orders + 1).max(4);
        let rules = [
            (
                (256..=4096).contains(&self.hidden) && self.hidden.is_multiple_of(256),
                format!("hidden = {}: a multiple of 256, up to 4096", self.hidden),
            ),
            (
                [self.steps, self.steps_cpu].iter().all(|n| (1..=1 << 20).contains(n)),
                "steps and steps_cpu are at least 1 and at most 1048576".into(),
            ),
            (self.temperature > 0.0, format!("temperature = {}: it is above 0", self.temperature)),
            (
                self.min_p > 0.0 && self.min_p <= 1.0,
                format!("min_p = {}: it is above 0 and at most 1", self.min_p),
            ),
            (self.first_token < 256, format!("first_token = {}: tokens are 0 to 255", self.first_token)),
            (self.timed_launches > 0 && self.orders > 0, "timed_launches and orders are at least 1".into()),
            (
                seeds.len() == self.run_seeds.len() && seeds.len() >= launches,
                format!("run_seeds: at least {launches} seeds, all different: every launch takes another"),
            ),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map(|(_, rule)| rule)
    }

    /// What a launch on this device is asked for.
    pub fn sampling(&self, device: &DeviceInfo) -> SamplingParams {
        SamplingParams {
            steps: if device.emulated { self.steps_cpu } else { self.steps },
            first_token: self.first_token,
            temperature: self.temperature,
            min_p: self.min_p,
        }
    }
}
