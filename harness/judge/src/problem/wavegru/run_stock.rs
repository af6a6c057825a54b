//! The stock of runs with their references, in the user's cache folder. Their seeds are drawn in secret, and no file of
//! a repository holds them.
//!
//! | folder | holds |
//! |---|---|
//! | `fresh` | runs that no judgement has launched; a save takes its runs from here |
//! | `used` | the runs of the last judgements, for a save that finds too few fresh ones |
//! | `sealed` | runs for the check before a keep, which removes them before it launches them |
//!
//! A judge on standby fills the stock while it has nothing else to do.

use super::cache::{self, ReferenceKey};
use super::config::WaveGruConfig;
use super::judged_runs::ReferenceRun;
use super::philox;
use super::reference::{ReferenceModel, VERSION};
use super::run_inputs::RunInputs;
use super::weights::Weights;
use crate::outcome::Stop;
use lab_protocol::report::Writer;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The stock of one model, and the making of its runs.
pub struct RunStock<'a> {
    config: &'a WaveGruConfig,
    weights: &'a Weights,
    digest: [u8; 32],
    steps: usize,
    /// The folder of all models.
    cache_dir: &'a Path,
    /// The folder of this model.
    folder: PathBuf,
}

/// A part of the stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    Fresh,
    Used,
    Sealed,
}

/// A run of the pool. `fresh` is its file if no judgement has launched it.
pub struct PoolRun {
    pub run: ReferenceRun,
    pub fresh: Option<PathBuf>,
}

/// How many runs the stock is for.
#[derive(Clone, Copy)]
pub struct StockSize {
    /// Runs of a judgement on save.
    pub judgement: usize,
    /// Sealed runs of a keep.
    pub keep: usize,
    /// Sealed runs to have in stock.
    pub sealed: usize,
}

/// After this many attempts a run is accepted whose tokens do not tell a kernel that ignores a parameter: a range may be
/// so narrow, or a run so short, that hardly any run does.
const TELLING_ATTEMPTS: usize = 40;

/// The parities of the seeds of `count` runs: even and odd seeds have min-p from different halves of its range.
pub fn parities(count: usize) -> Vec<u64> {
    (0..count as u64).map(|i| i % 2).collect()
}

/// The number of cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl<'a> RunStock<'a> {
    /// `digest` is that of the weights.
    pub fn new(
        config: &'a WaveGruConfig,
        weights: &'a Weights,
        digest: [u8; 32],
        steps: usize,
        cache_dir: &'a Path,
    ) -> Self {
        let model = format!("{VERSION} {} {steps} {:?}", config.hidden, config.ranges());
        let name = blake3::Hasher::new().update(&digest).update(model.as_bytes()).finalize().to_hex();
        let folder = cache_dir.join("wavegru-runs").join(&name[..32]);
        RunStock { config, weights, digest, steps, cache_dir, folder }
    }

    fn shelf(&self, shelf: Shelf) -> PathBuf {
        self.folder.join(match shelf {
            Shelf::Fresh => "fresh",
            Shelf::Used => "used",
            Shelf::Sealed => "sealed",
        })
    }

    fn inputs(&self, seed: u64) -> RunInputs {
        RunInputs::draw(self.config.hidden, self.steps, &self.config.ranges(), seed)
    }

    fn key(&self, inputs: &RunInputs) -> ReferenceKey {
        ReferenceKey::new(&self.digest, inputs)
    }

    /// The runs of a shelf with their files, the one that was written or used longest ago first. A damaged file is left
    /// out.
    pub fn stored(&self, shelf: Shelf) -> Vec<(ReferenceRun, PathBuf)> {
        let entries = fs::read_dir(self.shelf(shelf)).into_iter().flatten().flatten();
        let mut found: Vec<(SystemTime, ReferenceRun, PathBuf)> = entries
            .filter_map(|entry| {
                let seed = u64::from_str_radix(entry.file_name().to_str()?, 16).ok()?;
                let (inputs, path) = (self.inputs(seed), entry.path());
                let expected = cache::read(&path, &self.key(&inputs))?;
                let time = entry.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
                (expected.margin >= self.config.margin).then_some((
                    time,
                    ReferenceRun { inputs, expected },
                    path,
                ))
            })
            .collect();
        found.sort_by_key(|(time, ..)| *time);
        found.into_iter().map(|(_, run, path)| (run, path)).collect()
    }

    /// The parities that a shelf lacks to hold runs of all of `wanted`.
    fn missing(&self, shelf: Shelf, wanted: &[u64]) -> Vec<u64> {
        let mut held: Vec<u64> = self.stored(shelf).iter().map(|(run, _)| run.inputs.seed % 2).collect();
        wanted.iter().copied().filter(|parity| take(&mut held, |held| held == parity).is_none()).collect()
    }

    /// Stores a run. No reader sees half a file.
    pub fn store(&self, shelf: Shelf, run: &ReferenceRun) -> io::Result<()> {
        let path = self.shelf(shelf).join(format!("{:016x}", run.inputs.seed));
        cache::write(&path, &self.key(&run.inputs), &run.expected)
    }

    /// Takes `count` runs for a judgement: fresh ones first, then used ones, and where even these are too few, new ones
    /// that are computed now on every core.
    pub fn pool(&self, count: usize, out: &mut Writer) -> Result<Vec<PoolRun>, Stop> {
        let (mut fresh, mut used) = (self.stored(Shelf::Fresh), self.stored(Shelf::Used));
        let (mut runs, mut missing) = (Vec::new(), Vec::new());
        for parity in parities(count) {
            let of_parity = |(run, _): &(ReferenceRun, PathBuf)| run.inputs.seed % 2 == parity;
            if let Some((run, file)) = take(&mut fresh, of_parity) {
                runs.push(PoolRun { run, fresh: Some(file) });
            } else if let Some((run, _)) = take(&mut used, of_parity) {
                runs.push(PoolRun { run, fresh: None });
            } else {
                missing.push(parity);
            }
        }
        if missing.is_empty() {
            return Ok(runs);
        }
        out.text(&format!("computing {} references on the cpu, once", missing.len()))?;
        for run in self.make_now(missing.clone(), out)? {
            if let Err(error) = self.store(Shelf::Fresh, &run) {
                out.caveat(format_args!(
                    "the reference cannot be stored in {}: {error}; the next run computes it again",
                    self.folder.display()
                ))?;
            }
            if take(&mut missing, |parity| *parity == run.inputs.seed % 2).is_some() {
                let file = self.shelf(Shelf::Fresh).join(format!("{:016x}", run.inputs.seed));
                runs.push(PoolRun { run, fresh: Some(file) });
            }
        }
        Ok(runs)
    }

    /// Notes that a judgement launches this run. `fresh` is its file if no judgement had launched it. Returns false if one
    /// has, in another process too.
    pub fn use_up(&self, run: &ReferenceRun, fresh: Option<&Path>) -> bool {
        let name = format!("{:016x}", run.inputs.seed);
        let used = self.shelf(Shelf::Used);
        // Where the cache folder cannot be written, no other run can have taken this one from there.
        let was_fresh = fresh.is_some_and(|file| {
            fs::create_dir_all(&used).and_then(|()| fs::rename(file, used.join(&name))).is_ok()
                || !self.folder.exists()
        });
        // Only the order of reuse depends on the time.
        let _ = File::options()
            .write(true)
            .open(used.join(name))
            .and_then(|file| file.set_modified(SystemTime::now()));
        was_fresh
    }

    /// Takes `count` sealed runs out of the stock, and their files off the disk: from here on they count as launched.
    /// Where the stock has too few, computes the others now. The second value is how many were computed.
    pub fn sealed(&self, count: usize, out: &mut Writer) -> Result<(Vec<ReferenceRun>, usize), Stop> {
        let mut stored = self.stored(Shelf::Sealed);
        let (mut runs, mut missing) = (Vec::new(), Vec::new());
        for parity in parities(count) {
            loop {
                let of_parity = |(run, _): &(ReferenceRun, PathBuf)| run.inputs.seed % 2 == parity;
                match take(&mut stored, of_parity) {
                    Some((run, file)) => match fs::remove_file(&file) {
                        Ok(()) => runs.push(run),
                        // Another keep took it.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        Err(error) => {
                            return Err(Stop::Lab(format!(
                                "the sealed run {} cannot be removed: {error}",
                                file.display()
                            )));
                        }
                    },
                    None => missing.push(parity),
                }
                break;
            }
        }
        let made = missing.len();
        if made > 0 {
            out.text(&format!(
                "computing a held-out reference on the cpu for each of {made} sealed runs: {}",
                if made == count { "the stock is empty" } else { "the stock has too few" }
            ))?;
            for run in self.make_now(missing.clone(), out)? {
                if take(&mut missing, |parity| *parity == run.inputs.seed % 2).is_some() {
                    runs.push(run);
                } else if let Err(error) = self.store(Shelf::Sealed, &run) {
                    out.text(&format!("a sealed run cannot be stored: {error}"))?;
                }
            }
        }
        Ok((runs, made))
    }

    /// Fills the stock, as long as `is_idle` returns true: runs for one judgement and one keep first, then twice as many.
    /// Then forgets the runs that were used longest ago.
    pub fn make_ahead(&self, size: StockSize, is_idle: &mut dyn FnMut() -> bool) -> io::Result<()> {
        if !is_idle() {
            return Ok(());
        }
        let shelves = [
            (Shelf::Fresh, size.judgement),
            (Shelf::Sealed, size.keep),
            (Shelf::Fresh, 2 * size.judgement),
            (Shelf::Sealed, size.sealed),
        ];
        // Half of the cores stay free for the user, who is editing meanwhile.
        let threads = (cores() / 2).max(1);
        // Four runs together take less time than one after the other. A first single run is there sooner, so that the
        // stock grows even if somebody saves every few seconds.
        let mut together = 1;
        for (shelf, count) in shelves {
            loop {
                let mut missing = self.missing(shelf, &parities(count));
                if missing.is_empty() {
                    break;
                }
                missing.truncate(together);
                together = 4;
                let mut stored = Ok(());
                let mut keep = |run: ReferenceRun| {
                    if stored.is_ok() {
                        stored = self.store(shelf, &run);
                    }
                };
                let finished = self.make(missing, threads, &mut |_, _| is_idle(), &mut keep);
                stored?;
                if !finished {
                    return Ok(());
                }
            }
        }
        self.forget_used(size.judgement)
    }

    /// Removes all used runs but the last ones that a judgement needs.
    fn forget_used(&self, count: usize) -> io::Result<()> {
        let mut wanted = parities(count);
        for (run, file) in self.stored(Shelf::Used).into_iter().rev() {
            if take(&mut wanted, |parity| *parity == run.inputs.seed % 2).is_none() {
                fs::remove_file(file)?;
            }
        }
        Ok(())
    }

    /// Computes runs of these parities on every core, and writes the progress.
    fn make_now(&self, wanted: Vec<u64>, out: &mut Writer) -> Result<Vec<ReferenceRun>, Stop> {
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

    /// Draws secret seeds of these parities until a run of each is accepted, and hands every accepted run to `keep`;
    /// there may be a few more. Calls `go_on` with the steps done and all steps. Returns false if `go_on` did.
    fn make(
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
            let seeds = wanted.iter().cycle().take(together).map(|parity| self.secret_seed(*parity));
            let inputs: Vec<RunInputs> = seeds.map(|seed| self.inputs(seed)).collect();
            let (before, counted) = (all - (wanted.len() * self.steps) as u64, wanted.len().min(together));
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
                let tells = attempt >= TELLING_ATTEMPTS || ranges.are_told_by(&inputs, &expected);
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
            // The standard library takes its hash keys from the system's random numbers.
            let seed = RandomState::new().hash_one("run seed") & !1 | parity;
            if !self.config.run_seeds.contains(&seed) {
                return seed;
            }
        }
    }

    /// The runs that follow from `seed`, which the user has fixed to repeat a judgement. Their references are kept in the
    /// cache.
    pub fn fixed(&self, seed: u64, count: usize, out: &mut Writer) -> Result<Vec<ReferenceRun>, Stop> {
        let ranges = self.config.ranges();
        let mut runs: Vec<Option<ReferenceRun>> = (0..count).map(|_| None).collect();
        for attempt in 0.. {
            let open: Vec<usize> = (0..count).filter(|slot| runs[*slot].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let inputs = open.iter().map(|slot| {
                let [low, high, ..] =
                    philox::philox([*slot as u32, attempt as u32, FIXED_RUNS, 0], philox::key(seed));
                let drawn = u64::from(low) | u64::from(high) << 32;
                self.inputs(drawn & !1 | *slot as u64 % 2)
            });
            for (slot, run) in open.iter().zip(self.references(inputs.collect(), out)?) {
                let tells = attempt >= TELLING_ATTEMPTS || ranges.are_told_by(&run.inputs, &run.expected);
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
    fn references(&self, inputs: Vec<RunInputs>, out: &mut Writer) -> Result<Vec<ReferenceRun>, Stop> {
        let mut found: Vec<_> =
            inputs.iter().map(|inputs| cache::load(self.cache_dir, &self.key(inputs))).collect();
        let missing: Vec<usize> = (0..inputs.len()).filter(|i| found[*i].is_none()).collect();
        if !missing.is_empty() {
            out.text(&format!("computing {} references on the cpu, once", missing.len()))?;
            let wanted: Vec<RunInputs> = missing.iter().map(|i| inputs[*i].clone()).collect();
            let (mut written, mut percent) = (Ok(()), None);
            let computed = ReferenceModel::new(self.weights).run(&wanted, cores(), &mut |done, all| {
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
        Ok(runs.filter_map(|(inputs, expected)| Some(ReferenceRun { inputs, expected: expected? })).collect())
    }
}

/// The random stream from which [`RunStock::fixed`] draws run seeds.
const FIXED_RUNS: u32 = 0x6669_7865;

/// Removes and returns the first element for which `wanted` is true.
fn take<T>(all: &mut Vec<T>, wanted: impl Fn(&T) -> bool) -> Option<T> {
    all.iter().position(wanted).map(|at| all.remove(at))
}
