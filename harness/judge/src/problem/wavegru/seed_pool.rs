//! The pool of runs that launches are drawn from.

use super::cache::{self, ReferenceKey};
use super::config::WaveGruConfig;
use super::philox;
use super::reference::{ReferenceModel, ReferenceOutput, SamplingParams, StartState};
use super::weights::Weights;
use crate::outcome::Stop;
use lab_protocol::report::Writer;
use std::path::Path;

/// A start, and what must come of it.
pub struct ReferenceRun {
    pub start: StartState,
    pub expected: ReferenceOutput,
}

/// The runs of a pool, in the order of the seeds in problem.toml.
pub struct SeedPool {
    pub runs: Vec<ReferenceRun>,
}

impl SeedPool {
    /// Loads the references from the cache. Missing ones are computed on every core and stored.
    pub fn load(
        config: &WaveGruConfig,
        weights: &Weights,
        sampling: SamplingParams,
        cache_dir: &Path,
        out: &mut Writer,
    ) -> Result<Self, Stop> {
        let digest = weights.digest();
        let starts: Vec<StartState> =
            config.run_seeds.iter().map(|seed| StartState::draw(config.hidden, *seed)).collect();
        let key = |start: &StartState| ReferenceKey::new(&digest, start, &sampling);
        let mut found: Vec<Option<ReferenceOutput>> =
            starts.iter().map(|start| cache::load(cache_dir, &key(start))).collect();

        let missing: Vec<usize> = (0..starts.len()).filter(|i| found[*i].is_none()).collect();
        if !missing.is_empty() {
            out.text(&format!("computing {} references on the cpu, once", missing.len()))?;
            let wanted: Vec<StartState> = missing.iter().map(|i| starts[*i].clone()).collect();
            let computed = compute(weights, &wanted, sampling, out)?;
            for (i, reference) in missing.into_iter().zip(computed) {
                if let Err(error) = cache::store(cache_dir, &key(&starts[i]), &reference) {
                    let place = cache_dir.display();
                    let text = format!(
                        "the reference cannot be stored in {place}: {error}; the next run computes it again"
                    );
                    out.caveat(text)?;
                }
                found[i] = Some(reference);
            }
        }
        let runs = starts.into_iter().zip(found);
        Ok(SeedPool {
            runs: runs.filter_map(|(start, r)| Some(ReferenceRun { start, expected: r? })).collect(),
        })
    }

    /// The indices of all runs, shuffled by `seed`. No worker of a candidate launches a run twice, so that a kernel
    /// gains nothing from remembering earlier launches.
    pub fn shuffled(&self, seed: u64) -> Vec<usize> {
        let mut runs: Vec<usize> = (0..self.runs.len()).collect();
        for last in (1..runs.len()).rev() {
            let word = philox::philox([last as u32, 0, 0, 0], philox::key(seed))[0];
            runs.swap(last, word as usize % (last + 1));
        }
        runs
    }

    /// The run with the smallest margin.
    pub fn narrowest(&self) -> Option<&ReferenceRun> {
        self.runs.iter().min_by(|a, b| a.expected.margin.total_cmp(&b.expected.margin))
    }
}

fn compute(
    weights: &Weights,
    starts: &[StartState],
    sampling: SamplingParams,
    out: &mut Writer,
) -> Result<Vec<ReferenceOutput>, Stop> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut written, mut percent) = (Ok(()), None);
    let references = ReferenceModel::new(weights).run(starts, sampling, threads, &mut |done, all| {
        let now = Some(100 * done / all);
        if written.is_ok() && percent != now {
            (written, percent) = (out.progress(done, all), now);
        }
    });
    written?;
    Ok(references)
}
