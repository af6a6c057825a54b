//! The held-out run, which no judgement has shown, for the check before a keep.
//!
//! The seeds of the pool are in problem.toml, where the author of a kernel can read them. The held-out seed is drawn
//! at random. Its run is computed while nobody waits, stored in the cache folder, which only the judge reads, and
//! removed once it was launched.

use super::cache::{self, ReferenceKey};
use super::config::WaveGruConfig;
use super::reference::{ReferenceModel, SamplingParams, StartState};
use super::seed_pool::ReferenceRun;
use super::weights::Weights;
use crate::outcome::Stop;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// Makes and stores the held-out runs of one model.
pub struct HeldOutRuns<'a> {
    config: &'a WaveGruConfig,
    weights: &'a Weights,
    digest: [u8; 32],
    sampling: SamplingParams,
    folder: PathBuf,
}

impl<'a> HeldOutRuns<'a> {
    pub fn new(
        config: &'a WaveGruConfig,
        weights: &'a Weights,
        sampling: SamplingParams,
        cache_dir: &Path,
    ) -> Self {
        let digest = weights.digest();
        // The key without a start: what all runs of the model have in common.
        let none = StartState { seed: 0, h0: Vec::new(), h1: Vec::new() };
        let folder = cache_dir.join("held-out").join(ReferenceKey::new(&digest, &none, &sampling).hex());
        HeldOutRuns { config, weights, digest, sampling, folder }
    }

    /// A run that is stored, with its file.
    pub fn ready(&self) -> Option<(ReferenceRun, PathBuf)> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).find_map(|path| {
            let seed = u64::from_str_radix(path.file_name()?.to_str()?, 16).ok()?;
            let start = StartState::draw(self.config.hidden, seed);
            let key = ReferenceKey::new(&self.digest, &start, &self.sampling);
            let expected = cache::read(&path, &key).filter(|r| r.margin >= self.config.margin)?;
            Some((ReferenceRun { start, expected }, path))
        })
    }

    /// Draws seeds until one keeps the margin, and computes its run. Calls `go_on` after each step with the number of
    /// steps done. `None` if it returned false.
    pub fn make(&self, threads: usize, go_on: &mut dyn FnMut(u64) -> bool) -> Option<ReferenceRun> {
        let model = ReferenceModel::new(self.weights);
        loop {
            let seed = RandomState::new().hash_one("held-out");
            if self.config.run_seeds.contains(&seed) {
                continue;
            }
            let start = StartState::draw(self.config.hidden, seed);
            let mut told_to_end = false;
            let expected = model.run_while(&start, self.sampling, threads, &mut |done, margin| {
                told_to_end = !go_on(done);
                // A seed that comes too near to a tie is given up at once.
                !told_to_end && margin >= self.config.margin
            });
            match expected {
                Some(expected) if expected.margin >= self.config.margin => {
                    return Some(ReferenceRun { start, expected });
                }
                _ if told_to_end => return None,
                _ => {}
            }
        }
    }

    /// Makes and stores a run, unless one is stored or `is_idle` returns false.
    pub fn make_ahead(&self, is_idle: &mut dyn FnMut() -> bool) -> Result<(), Stop> {
        if self.ready().is_some() {
            return Ok(());
        }
        // Half of the cores stay free for the user, who is editing meanwhile.
        let threads = (cores() / 2).max(1);
        let Some(run) = self.make(threads, &mut |_| is_idle()) else { return Ok(()) };
        let path = self.folder.join(format!("{:016x}", run.start.seed));
        let key = ReferenceKey::new(&self.digest, &run.start, &self.sampling);
        cache::write(&path, &key, &run.expected).map_err(|e| {
            Stop::Lab(format!("the held-out run cannot be kept in {}: {e}", self.folder.display()))
        })
    }
}

/// The number of cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
