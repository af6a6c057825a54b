//! The `problem.toml` of a WaveGRU problem: which model, which runs, which limits.

use super::run_inputs::{NEUTRAL_TEMPERATURE, SamplingRanges, ValueRange};
use crate::outcome::Stop;
use crate::problem::key_error::{KeyError, toml_error};
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
    /// Divides the logits before sampling. Above 0. Each run draws its own, like the next two.
    pub temperature: ValueRange<f32>,
    /// Tokens below this fraction of the largest probability are dropped. Above 0, at most 1.
    pub min_p: ValueRange<f32>,
    /// The input of step 0.
    pub first_token: ValueRange<usize>,
    /// The seed of the weights.
    pub weight_seed: u64,
    /// Seeds of published runs, for tests and for `--dump`. No judgement takes its runs from here:
    /// see the run stock.
    #[serde(default)]
    pub run_seeds: Vec<u64>,
    /// Smallest sampling margin of a reference. A reference below it is refused.
    pub margin: f64,
    /// Most timed launches in the worker in which the kernel was verified. Further workers have the
    /// whole pool.
    pub timed_launches: usize,
    /// On the cpu device, the number of execution orders in which a verified launch is repeated.
    pub orders: usize,
    /// Exchanges between all multiprocessors that must follow one another in a step of the plain
    /// algorithm, for the estimate of a step's time. 0 leaves them out.
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
    /// Largest difference of the logarithm of a probability, which is a score up to a constant. A
    /// problem.toml of an earlier version has no such limit: then it is the margin.
    #[serde(default)]
    pub teacher_score_diff: Option<f64>,
}

impl WaveGruConfig {
    /// Reads and checks a problem.toml. An error names the file and what is wrong in it.
    pub fn read(path: &Path, text: &str) -> Result<Self, Stop> {
        let config: WaveGruConfig = toml::from_str(text).map_err(|e| toml_error(path, text, &e))?;
        if let Some(error) = config.error() {
            return Err(error.stop(path, text));
        }
        let score = config.limits.teacher_score_diff.unwrap_or(config.margin);
        Ok(WaveGruConfig {
            limits: GateLimits {
                teacher_score_diff: Some(score),
                ..config.limits
            },
            ..config
        })
    }

    fn error(&self) -> Option<KeyError> {
        let mut seeds = self.run_seeds.clone();
        seeds.sort_unstable();
        seeds.dedup();
        let (temperature, min_p, token) = (self.temperature, self.min_p, self.first_token);
        let steps_are_right = |n: usize| (1..=1 << 20).contains(&n);
        let steps_wrong = || "steps and steps_cpu must be from 1 to 1048576".to_owned();
        let at_least_one = || "timed_launches and orders must be at least 1".to_owned();
        let rules = [
            (
                "hidden",
                (256..=4096).contains(&self.hidden) && self.hidden.is_multiple_of(256),
                format!(
                    "hidden = {}: it must be a multiple of 256, at most 4096",
                    self.hidden
                ),
            ),
            ("steps", steps_are_right(self.steps), steps_wrong()),
            ("steps_cpu", steps_are_right(self.steps_cpu), steps_wrong()),
            (
                "temperature",
                0.0 < temperature.low
                    && temperature.low <= temperature.high
                    && temperature.high.is_finite(),
                format!(
                    "temperature = {}: it must be above 0, and no range may end before it begins",
                    written(temperature)
                ),
            ),
            (
                "min_p",
                0.0 < min_p.low && min_p.low <= min_p.high && min_p.high <= 1.0,
                format!(
                    "min_p = {}: it must be above 0 and at most 1",
                    written(min_p)
                ),
            ),
            (
                "first_token",
                token.low <= token.high && token.high < 256,
                format!("first_token = {}: it must be from 0 to 255", written(token)),
            ),
            ("timed_launches", self.timed_launches > 0, at_least_one()),
            ("orders", self.orders > 0, at_least_one()),
            (
                "run_seeds",
                seeds.len() == self.run_seeds.len(),
                "run_seeds: a seed is in the list twice".into(),
            ),
        ];
        let broken = rules.into_iter().find(|(_, holds, _)| !holds);
        broken.map(|(key, _, what)| KeyError::new(what).within(key))
    }

    /// Samples of a launch on this device.
    pub fn steps(&self, device: &DeviceInfo) -> usize {
        if device.emulated {
            self.steps_cpu
        } else {
            self.steps
        }
    }

    /// What each run draws its sampling parameters from.
    pub fn ranges(&self) -> SamplingRanges {
        SamplingRanges {
            temperature: self.temperature,
            min_p: self.min_p,
            first_token: self.first_token,
        }
    }

    /// What a kernel may ignore without being found, as text for a caveat; `None` if every
    /// parameter counts.
    pub fn ignorable(&self) -> Option<String> {
        let always = |range: ValueRange<f32>, value| range.low == value && range.high == value;
        always(self.temperature, NEUTRAL_TEMPERATURE).then(|| {
            "problem.toml fixes temperature = 1, so a kernel that ignores the temperature passes: \
             give a range, as in temperature = [0.7, 1.4]"
                .to_owned()
        })
    }
}

fn written<T: std::fmt::Display + PartialEq>(range: ValueRange<T>) -> String {
    let ValueRange { low, high } = range;
    if low == high {
        low.to_string()
    } else {
        format!("[{low}, {high}]")
    }
}
