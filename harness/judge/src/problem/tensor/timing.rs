//! Timed launches of a tensor problem: each timed case once in a turn, and the lines of the measures.

use super::case_data::CaseData;
use super::launcher::CaseLauncher;
use super::spec::{Case, ProblemSpec, TensorRole};
use super::tally::GateTally;
use crate::measure::{self, TimingSummary};
use crate::outcome::{Correctness, Stop};
use crate::probe::bounds::Demand;
use crate::problem::api::{Timed, WorkerRole, in_digits};
use crate::worker::{Breach, Worker};
use lab_device::ExecutionOrder;
use lab_protocol::report::{Measure, Writer};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::rc::Rc;

/// A kernel that is set up in a worker, with the buffers of every timed case.
pub struct TensorTiming {
    spec: Rc<ProblemSpec>,
    drawn: Rc<Vec<(usize, CaseData)>>,
    /// In the order of `drawn`.
    launchers: Vec<CaseLauncher>,
    tally: GateTally,
    /// The set of inputs that each case's outputs belong to, since the last turn.
    left: Vec<usize>,
    place: WorkerRole,
    seed: u64,
    rng: ChaCha8Rng,
    turns: usize,
}

impl TensorTiming {
    /// `seed` is the run's seed.
    pub fn new(
        spec: Rc<ProblemSpec>,
        drawn: Rc<Vec<(usize, CaseData)>>,
        launchers: Vec<CaseLauncher>,
        place: WorkerRole,
        seed: u64,
    ) -> Self {
        let seed = seed ^ place.salt();
        let mut tally = GateTally::new(&spec);
        tally.begin_case();
        let rng = ChaCha8Rng::seed_from_u64(seed);
        TensorTiming { spec, drawn, launchers, tally, left: Vec::new(), place, seed, rng, turns: 0 }
    }

    fn compare(&mut self, worker: &mut Worker, at: usize, out: &mut Writer) -> Result<(), Stop> {
        let (index, drawn) = &self.drawn[at];
        let got = self.launchers[at].outputs(worker)?;
        let how = format!("timed launch {}", self.turns);
        let case = &self.spec.cases[*index];
        self.tally.compare(&self.spec, case, &how, &got, &drawn.expected[self.left[at]], out)
    }

    fn reload_and_warm_up(&self, worker: &mut Worker, inputs: u64) -> Result<(), Stop> {
        let Some(launcher) = self.launchers.first() else { return Ok(()) };
        launcher.reload(worker)?;
        for (at, (launcher, (_, drawn))) in self.launchers.iter().zip(self.drawn.iter()).enumerate() {
            let other = (set_of(inputs, at, drawn) + 1) % drawn.sets.len();
            if drawn.sets.len() > 1 {
                launcher.launch(worker, other, &drawn.sets[other], ExecutionOrder::Forward)?;
            }
        }
        Ok(())
    }

    fn verdict(&mut self, out: &mut Writer) -> Result<Correctness, Stop> {
        let verdict = self.tally.verdict();
        if verdict == Correctness::Fail {
            self.tally.write(&self.spec, true, out)?;
        }
        Ok(verdict)
    }

    fn cases(&self) -> impl Iterator<Item = &Case> {
        self.drawn.iter().map(|(index, _)| &self.spec.cases[*index])
    }

    /// Summary of each case's times over all turns.
    fn summaries(&self, turns: &[Vec<f64>]) -> Option<Vec<TimingSummary>> {
        let of = |at: usize| {
            let seconds: Vec<f64> = turns.iter().filter_map(|turn| turn.get(at).copied()).collect();
            measure::summarise(&seconds)
        };
        (0..self.drawn.len()).map(of).collect()
    }
}

/// The set of inputs that the case number `at` gets in a turn.
fn set_of(inputs: u64, at: usize, drawn: &CaseData) -> usize {
    (inputs >> (at % 64)) as usize % drawn.sets.len()
}

impl Timed for TensorTiming {
    /// The numbers have no end: each number selects a set of inputs for every case.
    fn inputs(&self) -> Box<dyn Iterator<Item = u64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        Box::new(std::iter::repeat_with(move || rng.next_u64()))
    }

    /// The first turn uses the module as verification left it: that finds a kernel which does its work in other
    /// launches only. Before each further turn the module is loaded anew and warmed up on the inputs that the turn
    /// does not time, so that a remembered result is of no use.
    ///
    /// Outputs are poisoned before each launch. Comparing all of them would take longer than the launches. So each
    /// turn compares one case, which the kernel cannot predict, and a large case only sometimes; at the end all are
    /// compared.
    fn turn(&mut self, worker: &mut Worker, inputs: u64, out: &mut Writer) -> Result<Option<Vec<f64>>, Stop> {
        self.turns += 1;
        self.left.clear();
        let mut seconds = Vec::new();
        if self.turns > 1 {
            self.reload_and_warm_up(worker, inputs)?;
        }
        for (at, (launcher, (_, drawn))) in self.launchers.iter().zip(self.drawn.iter()).enumerate() {
            let set = set_of(inputs, at, drawn);
            seconds.push(launcher.launch(worker, set, &drawn.sets[set], ExecutionOrder::Forward)?);
            self.left.push(set);
        }
        let checked = self.rng.next_u32() as usize % self.launchers.len().max(1);
        let large = self.launchers.get(checked).is_some_and(|launcher| launcher.case().cells() > LARGE);
        if self.place != WorkerRole::Incumbent && (!large || self.rng.next_u32().is_multiple_of(LARGE_ONE_IN))
        {
            self.compare(worker, checked, out)?;
        }
        let right = self.verdict(out)? == Correctness::Pass;
        Ok(right.then_some(seconds))
    }

    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result<Correctness, Stop> {
        for at in 0..self.left.len() {
            self.compare(worker, at, out)?;
        }
        for breach in worker.breaches()? {
            let owner = self.launchers.iter().find(|launcher| launcher.owns(&breach));
            let Some(launcher) = owner.or(self.launchers.first()) else { continue };
            let input = matches!(breach, Breach::InputChanged { .. });
            self.tally.breach(launcher.case(), "timed launches", &launcher.describe(&breach), input, out)?;
        }
        self.verdict(out)
    }

    /// Geometric means over the cases, so that each case has the same weight.
    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure> {
        let summaries = self.summaries(turns)?;
        let rates = |seconds: &dyn Fn(&TimingSummary) -> Option<f64>| {
            let each = self.cases().zip(&summaries);
            let rates: Option<Vec<f64>> = each.map(|(case, s)| Some(case.samples / seconds(s)?)).collect();
            rates.and_then(measure::geometric_mean)
        };
        Some(Measure {
            value: rates(&|s| Some(s.median))?,
            low: rates(&|s| s.interval.map(|(_, high)| high)),
            high: rates(&|s| s.interval.map(|(low, _)| low)),
        })
    }

    /// What the problem's `bytes` leaves out need not be moved. Reads count before writes.
    fn demands(&self) -> Vec<Demand> {
        let demand = |case: &Case| {
            let bytes = |reads: bool| {
                let tensors = self.spec.tensors.iter().zip(&case.tensors);
                let moved =
                    tensors.filter(|(t, _)| t.role != if reads { TensorRole::Out } else { TensorRole::In });
                moved.map(|(_, shaped)| shaped.bytes() as f64).sum::<f64>()
            };
            let reads = bytes(true).min(case.bytes);
            let writes = bytes(false).min(case.bytes - reads);
            let flops = case.flops.unwrap_or(0.0);
            let (label, cache) = (case.label.clone(), self.spec.cache);
            Demand { label, reads, writes, flops, cache, ..Demand::default() }
        };
        self.cases().map(demand).collect()
    }

    fn write(&self, turns: &[Vec<f64>], last: bool, out: &mut Writer) -> Result<(), Stop> {
        let (Some(summaries), Some(rate)) = (self.summaries(turns), self.throughput(turns)) else {
            return Err(Stop::Lab("the device gave no time for a launch".into()));
        };
        if last {
            for (case, seconds) in self.cases().zip(&summaries) {
                write_workload(case, seconds, out)?;
            }
        }
        let us = |seconds: &dyn Fn(&TimingSummary) -> Option<f64>| {
            let each: Option<Vec<f64>> = summaries.iter().map(seconds).collect();
            each.and_then(measure::geometric_mean).map(|mean| mean * 1e6)
        };
        let each = Measure {
            value: us(&|s| Some(s.median)).unwrap_or(f64::NAN),
            low: us(&|s| s.interval.map(|(low, _)| low)),
            high: us(&|s| s.interval.map(|(_, high)| high)),
        };
        out.line("throughput_sps", in_digits(&rate, 3))?;
        out.line("kernel_us", in_digits(&each, 3))?;
        Ok(())
    }
}

/// Cells of a case from which on comparing takes longer than computing.
const LARGE: usize = 1 << 20;
const LARGE_ONE_IN: u32 = 8;

fn write_workload(case: &Case, seconds: &TimingSummary, out: &mut Writer) -> Result<(), Stop> {
    let mut line = format!("{} kernel_us={:.3}", case.label, seconds.median * 1e6);
    line += &format!(" mad_us={:.3} n={}", seconds.mad * 1e6, seconds.n);
    line += &format!(" gbps={:.2}", case.bytes / seconds.median / 1e9);
    if let Some(flops) = case.flops {
        line += &format!(" gflops={:.2}", flops / seconds.median / 1e9);
    }
    Ok(out.line("workload", line + " correctness=pass")?)
}
