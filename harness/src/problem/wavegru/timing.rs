//! Timed launches: like those of the gates, on further runs of the pool, and their tokens checked too.

use super::bench::Bench;
use super::pool::Pool;
use super::verify::first_difference;
use crate::device::Order;
use crate::measure::summarise;
use crate::problem::{Correctness, Stop, Timed, in_digits};
use crate::process::worker::Worker;
use crate::report::{Measure, Writer};
use std::rc::Rc;

/// A kernel set up on a worker. The number of a turn's inputs is the place of a run in the pool.
pub struct Timing {
    pub bench: Bench,
    pub pool: Rc<Pool>,
    /// Those that this worker has not launched yet.
    pub runs: Vec<usize>,
    /// Timed ones so far.
    pub launches: usize,
}

impl Timed for Timing {
    fn inputs(&self) -> Box<dyn Iterator<Item = u64>> {
        Box::new(self.runs.clone().into_iter().map(|i| i as u64))
    }

    fn turn(&mut self, worker: &mut Worker, inputs: u64, out: &mut Writer) -> Result<Option<Vec<f64>>, Stop> {
        let run = &self.pool.runs[inputs as usize % self.pool.runs.len()];
        let launch = self.launches;
        self.launches += 1;
        let (seconds, tokens) = self.bench.time(worker, run, Order::Forward)?;
        let Some((step, words)) = first_difference(run, &tokens) else { return Ok(Some(vec![seconds])) };
        let wrong = run.expected.tokens.iter().zip(&tokens).filter(|(a, b)| a != b).count();
        out.count_gate("sample_mismatches", wrong as u64, 0)?;
        out.line("sample_first_mismatch", step)?;
        out.line("first_failure", format_args!("timed launch {launch}: {words}"))?;
        Ok(None)
    }

    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result<Correctness, Stop> {
        let broken = self.bench.breaches(worker)?;
        let Some(words) = broken.words.first() else { return Ok(Correctness::Pass) };
        out.count_gate("out_of_bounds", broken.out_of_bounds, 0)?;
        out.count_gate("inputs_changed", broken.inputs_changed, 0)?;
        out.line("first_failure", format_args!("a timed launch: {words}"))?;
        Ok(Correctness::Fail)
    }

    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        let steps = self.pool.runs.first()?.expected.tokens.len() as f64;
        let rates: Vec<f64> = turns.iter().flatten().map(|seconds| steps / seconds).collect();
        let rate = summarise(&rates)?;
        let (low, high) = rate.interval.unzip();
        Some(Measure { value: rate.median, low, high })
    }

    fn write(&self, turns: &[Vec<f64>], _last: bool, out: &mut Writer) -> Result<(), Stop> {
        let Some(rate) = self.throughput(turns) else {
            return Err(Stop::Lab("the device gave no time for a launch".into()));
        };
        let us = |rate: f64| 1e6 / rate;
        let each = Measure { value: us(rate.value), low: rate.high.map(us), high: rate.low.map(us) };
        out.line("throughput_sps", in_digits(&rate, 1))?;
        out.line("kernel_us", in_digits(&each, 4))?;
        Ok(())
    }
}
