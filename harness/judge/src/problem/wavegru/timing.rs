//! Timed launches of WaveGRU: sampling launches on further runs, whose tokens and states are
//! checked too. The module is loaded anew before each launch, so that nothing from an earlier
//! launch makes it faster.

use super::config::GateLimits;
use super::judged_runs::JudgedRuns;
use super::launcher::ModelLauncher;
use super::verify::{first_difference, state_difference};
use crate::measure::summarise;
use crate::outcome::{Correctness, Stop};
use crate::probe::bounds::Demand;
use crate::problem::api::{Timed, in_digits};
use crate::worker::Worker;
use lab_device::ExecutionOrder;
use lab_protocol::report::{Measure, Writer};
use std::path::Path;
use std::rc::Rc;

/// A kernel that is set up in a worker. The number of a turn's inputs is the index of a run.
pub struct WaveGruTiming {
    pub launcher: ModelLauncher,
    pub judged: Rc<JudgedRuns>,
    /// The runs that this worker has not launched yet.
    pub runs: Vec<usize>,
    pub limits: GateLimits,
    /// Whether the runs are sealed.
    pub sealed: bool,
    /// Timed launches so far.
    pub launches: usize,
    /// Dependent exchanges in a step of the plain algorithm.
    pub exchanges: u32,
    /// Weights that every step multiplies by, and bytes of the weights that every launch reads.
    pub multiplied: f64,
    pub weight_bytes: f64,
}

impl Timed for WaveGruTiming {
    fn inputs(&self) -> Box<dyn Iterator<Item = u64>> {
        Box::new(self.runs.clone().into_iter().map(|i| i as u64))
    }

    fn turn(
        &mut self,
        worker: &mut Worker,
        inputs: u64,
        out: &mut Writer,
    ) -> Result<Option<Vec<f64>>, Stop> {
        let run = &self.judged.runs[inputs as usize % self.judged.runs.len()];
        let launch = self.launches;
        self.launches += 1;
        self.launcher.reload(worker)?;
        let (seconds, sampled) = self.launcher.time(worker, run, ExecutionOrder::Forward)?;
        let words = if let Some((step, words)) = first_difference(run, &sampled.tokens) {
            let wrong = run
                .expected
                .tokens
                .iter()
                .zip(&sampled.tokens)
                .filter(|(a, b)| a != b)
                .count();
            out.count_gate("sample_mismatches", wrong as u64, 0)?;
            out.line("sample_first_mismatch", step)?;
            words
        } else if let Some(wrong) = state_difference(run, &sampled, &self.limits) {
            let unit = format!("unit {}", wrong.unit);
            out.gate_at(wrong.gate, wrong.value, wrong.limit, Some(&unit))?;
            let state = wrong.gate.strip_suffix("_max_diff").unwrap_or(wrong.gate);
            format!("{state}[{}] is off by {:.2e}", wrong.unit, wrong.value)
        } else {
            return Ok(Some(vec![seconds]));
        };
        if self.sealed {
            out.line("held_out_seed", run.inputs.seed)?;
        }
        out.line(
            "first_failure",
            format_args!("timed launch {launch}: {words}"),
        )?;
        Ok(None)
    }

    fn used_inputs(&self) -> Vec<u64> {
        (0..self.judged.runs.len())
            .filter(|run| !self.runs.contains(run))
            .map(|run| run as u64)
            .collect()
    }

    /// Sealed runs are few. Where their times do not decide, a new process, which knows nothing of
    /// the first one, launches them once more.
    fn fits_further_workers(&self, is_undecided: bool) -> bool {
        !self.sealed || is_undecided
    }

    fn in_same_worker(
        &self,
        worker: &mut Worker,
        image: &Path,
    ) -> Result<Option<Box<dyn Timed>>, Stop> {
        let module = worker.load(image)?;
        Ok(Some(Box::new(WaveGruTiming {
            launcher: self.launcher.of(module),
            judged: self.judged.clone(),
            runs: self.runs.clone(),
            ..*self
        })))
    }

    fn check_memory(&mut self, worker: &mut Worker, out: &mut Writer) -> Result<Correctness, Stop> {
        self.check(worker, out)
    }

    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result<Correctness, Stop> {
        let broken = ModelLauncher::breaches(worker)?;
        let Some(words) = broken.descriptions.first() else {
            return Ok(Correctness::Pass);
        };
        out.count_gate("out_of_bounds", broken.out_of_bounds, 0)?;
        out.count_gate("inputs_changed", broken.inputs_changed, 0)?;
        out.line("first_failure", format_args!("a timed launch: {words}"))?;
        Ok(Correctness::Fail)
    }

    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        let steps = self.judged.runs.first()?.expected.tokens.len() as f64;
        let rates: Vec<f64> = turns
            .iter()
            .flatten()
            .map(|seconds| steps / seconds)
            .collect();
        let rate = summarise(&rates)?;
        let (low, high) = rate.interval.unzip();
        Some(Measure {
            value: rate.median,
            low,
            high,
        })
    }

    /// Every step needs what the step before computed in all units: one trip to the L2 cache at
    /// least. The weights are read once in a launch. Each weight takes one multiply-add in each
    /// step.
    ///
    /// Whether the weights are in the L2 cache when a launch begins makes no visible difference:
    /// they are 30 MB, which memory delivers in 7 µs, and a launch takes 10 ms or more. So the
    /// cache is not flushed between these launches.
    fn demands(&self) -> Vec<Demand> {
        let steps = self
            .judged
            .runs
            .first()
            .map_or(0, |run| run.expected.tokens.len());
        vec![Demand::of_steps(
            self.multiplied,
            self.weight_bytes,
            steps,
            self.exchanges,
        )]
    }

    fn write(&self, turns: &[Vec<f64>], out: &mut Writer) -> Result<(), Stop> {
        let Some(rate) = self.throughput(turns) else {
            return Err(Stop::Lab("the device gave no time for a launch".into()));
        };
        let us = |rate: f64| 1e6 / rate;
        let each = Measure {
            value: us(rate.value),
            low: rate.high.map(us),
            high: rate.low.map(us),
        };
        out.line("throughput_sps", in_digits(&rate, 1))?;
        out.line("kernel_us", in_digits(&each, 4))?;
        Ok(())
    }
}
