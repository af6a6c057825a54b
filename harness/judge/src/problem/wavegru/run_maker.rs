//! Draws runs and computes their references: with secret seeds, or with those that follow from a
//! number.

use super::cache::{self, ReferenceKey};
use super::config::WaveGruConfig;
use super::judged_runs::ReferenceRun;
use super::reference::ReferenceModel;
use super::run_inputs::RunInputs;
use super::weights::Weights;
use crate::outcome::Stop;
use crate::problem::philox;
use lab_protocol::report::Writer;
use lab_system::random;
use std::path::Path;

/// Makes the runs of one model.
pub struct RunMaker<'a> {
    pub config: &'a WaveGruConfig,
    pub weights: &'a Weights,
    /// The digest of the weights.
    pub digest: [u8; 32],
    /// Samples of each run.
    pub steps: usize,
    /// The folder of references whose seeds are not secret.
    pub cache_dir: &'a Path,
}

/// After this many attempts a run is accepted whose tokens do not tell a kernel that ignores a
/// parameter: a range may be so narrow, or a run so short, that hardly any run does.
const TELLING_ATTEMPTS: usize = 40;

/// The parities of the seeds of `count` runs: even and odd seeds have min-p from different halves
/// of its range.
pub fn parities(count: usize) -> Vec<u64> {
    (0..count as u64).map(|i| i % 2).collect()
}

/// The number of cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl RunMaker<'_> {
    pub fn inputs(&self, seed: u64) -> RunInputs {
        RunInputs::draw(self.config.hidden, self.steps, &self.config.ranges(), seed)
    }

    pub fn key(&self, inputs: &RunInputs) -> ReferenceKey {
        ReferenceKey::new(&self.digest, inputs)
    }

    /// Computes runs of these parities on every core, and writes the progress.
    pub fn make_now(&self, wanted: Vec<u64>, out: &mut Writer) -> Result<Vec<ReferenceRun>, Stop> {
        let (mut written, mut percent, mut made) = (Ok(()), 0, Vec::new());
        let mut go_on = |done: u64, all: u64| {
            let now = 100 * done / all;
            if written.is_ok() && now > percent {
                (written, percent) = (out.progress(done, all), now);
            }
            written.is_ok()
        };
        self.make(wanted, cores(), &mut go_on, &mut |run| made.push(run));
        written?;
        Ok(made)
    }

    /// Draws secret seeds of these parities until a run of each is accepted, and hands every
    /// accepted run to `keep`; there may be a few more. Calls `go_on` with the steps done and all
    /// steps. Returns false if `go_on` did.
    pub fn make(
        &self,
        mut wanted: Vec<u64>,
        threads: usize,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
        keep: &mut dyn FnMut(ReferenceRun),
    ) -> bool {
        let model = ReferenceModel::new(self.weights);
        let all = (wanted.len() * self.steps) as u64;
        let ranges = self.config.ranges();
        for attempt in 0.. {
            if wanted.is_empty() {
                break;
            }
            let together = if wanted.len() == 1 { 1 } else { 4 };
            let seeds = wanted
                .iter()
                .cycle()
                .take(together)
                .map(|parity| self.secret_seed(*parity));
            let inputs: Vec<RunInputs> = seeds.map(|seed| self.inputs(seed)).collect();
            let (before, counted) = (
                all - (wanted.len() * self.steps) as u64,
                wanted.len().min(together),
            );
            let mut told_to_end = false;
            let expected = model.run_while(&inputs, threads, &mut |done, best_margin| {
                told_to_end = !go_on(before + done * counted as u64, all);
                // Runs that all come too near to a tie are given up at once.
                !told_to_end && best_margin >= self.config.margin
            });
            if told_to_end {
                return false;
            }
            for (inputs, expected) in inputs.into_iter().zip(expected.into_iter().flatten()) {
                let tells = attempt >= TELLING_ATTEMPTS || expected.tells(&inputs, &ranges);
                if tells && expected.margin >= self.config.margin {
                    take(&mut wanted, |parity| *parity == inputs.seed % 2);
                    keep(ReferenceRun { inputs, expected });
                }
            }
        }
        true
    }

    /// A random seed of this parity, which no file holds.
    fn secret_seed(&self, parity: u64) -> u64 {
        loop {
            let seed = (random::number() & !1) | parity;
            if !self.config.run_seeds.contains(&seed) {
                return seed;
            }
        }
    }

    /// The runs that follow from `seed`, which the user has fixed to repeat a judgement. Their
    /// references are kept in the cache.
    pub fn fixed(
        &self,
        seed: u64,
        count: usize,
        out: &mut Writer,
    ) -> Result<Vec<ReferenceRun>, Stop> {
        let ranges = self.config.ranges();
        let mut runs: Vec<Option<ReferenceRun>> = (0..count).map(|_| None).collect();
        for attempt in 0.. {
            let open: Vec<usize> = (0..count).filter(|slot| runs[*slot].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let inputs = open.iter().map(|slot| {
                let [low, high, ..] = philox::philox(
                    [*slot as u32, attempt as u32, FIXED_RUNS, 0],
                    philox::key(seed),
                );
                let drawn = u64::from(low) | u64::from(high) << 32;
                self.inputs((drawn & !1) | (*slot as u64 % 2))
            });
            for (slot, run) in open.iter().zip(self.references(inputs.collect(), out)?) {
                let tells = attempt >= TELLING_ATTEMPTS || run.expected.tells(&run.inputs, &ranges);
                if tells && run.expected.margin >= self.config.margin {
                    runs[*slot] = Some(run);
                }
            }
        }
        Ok(runs.into_iter().flatten().collect())
    }

    /// A published run: that of the first seed in problem.toml.
    pub fn published(&self, out: &mut Writer) -> Result<Option<ReferenceRun>, Stop> {
        let seed = self.config.run_seeds.first().copied().unwrap_or(1);
        Ok(self.references(vec![self.inputs(seed)], out)?.pop())
    }

    /// The references of these inputs, from the cache or computed now on every core.
    fn references(
        &self,
        inputs: Vec<RunInputs>,
        out: &mut Writer,
    ) -> Result<Vec<ReferenceRun>, Stop> {
        let mut found: Vec<_> = inputs
            .iter()
            .map(|inputs| cache::load(self.cache_dir, &self.key(inputs)))
            .collect();
        let missing: Vec<usize> = (0..inputs.len()).filter(|i| found[*i].is_none()).collect();
        if !missing.is_empty() {
            out.text(&format!(
                "computing {} references on the cpu, once",
                missing.len()
            ))?;
            let wanted: Vec<RunInputs> = missing.iter().map(|i| inputs[*i].clone()).collect();
            let (mut written, mut percent) = (Ok(()), None);
            let computed =
                ReferenceModel::new(self.weights).run(&wanted, cores(), &mut |done, all| {
                    let now = Some(100 * done / all);
                    if written.is_ok() && percent != now {
                        (written, percent) = (out.progress(done, all), now);
                    }
                });
            written?;
            for (i, expected) in missing.into_iter().zip(computed) {
                if let Err(error) = cache::store(self.cache_dir, &self.key(&inputs[i]), &expected) {
                    out.caveat(format_args!(
                        "the reference cannot be stored in {}: {error}; the next run computes it again",
                        self.cache_dir.display()
                    ))?;
                }
                found[i] = Some(expected);
            }
        }
        let runs = inputs.into_iter().zip(found);
        Ok(runs
            .filter_map(|(inputs, expected)| {
                Some(ReferenceRun {
                    inputs,
                    expected: expected?,
                })
            })
            .collect())
    }
}

/// The random stream from which [`RunMaker::fixed`] draws run seeds.
const FIXED_RUNS: u32 = 0x6669_7865;

/// Removes and returns the first element for which `wanted` is true.
pub fn take<T>(all: &mut Vec<T>, wanted: impl Fn(&T) -> bool) -> Option<T> {
    all.iter().position(wanted).map(|at| all.remove(at))
}
