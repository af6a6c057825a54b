//! The stock of runs with their references, in the user's cache folder. Their seeds are drawn in
//! secret, and no file of a repository holds them.
//!
//! | folder | holds |
//! |---|---|
//! | `fresh` | runs that no judgement has launched; a save takes its runs from here |
//! | `used` | the runs of the last judgements, for a save that finds too few fresh ones |
//! | `sealed` | runs for the check before a keep, which removes them before it launches them |
//!
//! A judge on standby fills the stock while it has nothing else to do.

use super::cache;
use super::config::WaveGruConfig;
use super::judged_runs::ReferenceRun;
use super::reference::VERSION;
use super::run_maker::{RunMaker, cores, parities, take};
use super::weights::Weights;
use crate::outcome::Stop;
use lab_protocol::report::Writer;
use lab_system::file_lock::LockedFile;
use lab_system::root::{Access, Root};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The stock of one model, and the making of its runs.
pub struct RunStock<'a> {
    maker: RunMaker<'a>,
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

/// The file whose lock a process has that makes runs of the model.
const MAKING: &str = "making.lock";

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
        let name = blake3::Hasher::new()
            .update(&digest)
            .update(model.as_bytes())
            .finalize()
            .to_hex();
        let folder = cache_dir.join("wavegru-runs").join(&name[..32]);
        RunStock {
            maker: RunMaker {
                config,
                weights,
                digest,
                steps,
                cache_dir,
            },
            folder,
        }
    }

    /// The maker of this model's runs.
    pub fn maker(&self) -> &RunMaker<'a> {
        &self.maker
    }

    fn shelf(&self, shelf: Shelf) -> PathBuf {
        self.folder.join(match shelf {
            Shelf::Fresh => "fresh",
            Shelf::Used => "used",
            Shelf::Sealed => "sealed",
        })
    }

    /// The runs of a shelf with their files, the one that was written or used longest ago first. A
    /// damaged file is left out.
    pub fn stored(&self, shelf: Shelf) -> Vec<(ReferenceRun, PathBuf)> {
        let entries = fs::read_dir(self.shelf(shelf))
            .into_iter()
            .flatten()
            .flatten();
        let mut found: Vec<(SystemTime, ReferenceRun, PathBuf)> = entries
            .filter_map(|entry| {
                let seed = u64::from_str_radix(entry.file_name().to_str()?, 16).ok()?;
                let (inputs, path) = (self.maker.inputs(seed), entry.path());
                let expected = cache::read(&path, &self.maker.key(&inputs))?;
                let time = entry
                    .metadata()
                    .and_then(|m| m.modified())
                    .unwrap_or(SystemTime::UNIX_EPOCH);
                (expected.margin >= self.maker.config.margin).then_some((
                    time,
                    ReferenceRun { inputs, expected },
                    path,
                ))
            })
            .collect();
        found.sort_by_key(|(time, ..)| *time);
        found
            .into_iter()
            .map(|(_, run, path)| (run, path))
            .collect()
    }

    /// The parities that a shelf lacks to hold runs of all of `wanted`.
    fn missing(&self, shelf: Shelf, wanted: &[u64]) -> Vec<u64> {
        let mut held: Vec<u64> = self
            .stored(shelf)
            .iter()
            .map(|(run, _)| run.inputs.seed % 2)
            .collect();
        wanted
            .iter()
            .copied()
            .filter(|parity| take(&mut held, |held| held == parity).is_none())
            .collect()
    }

    /// Stores a run. No reader sees half a file.
    pub fn store(&self, shelf: Shelf, run: &ReferenceRun) -> io::Result<()> {
        let path = self.shelf(shelf).join(format!("{:016x}", run.inputs.seed));
        cache::write(&path, &self.maker.key(&run.inputs), &run.expected)
    }

    /// Takes `count` runs for a judgement: fresh ones first, then used ones, and where even these
    /// are too few, new ones that are computed now on every core.
    pub fn pool(&self, count: usize, out: &mut Writer) -> Result<Vec<PoolRun>, Stop> {
        let (runs, missing) = self.on_shelves(count);
        if missing.is_empty() {
            return Ok(runs);
        }
        let _making = self.wait_to_make(out)?;
        // Another judge may have made them meanwhile.
        let (mut runs, mut missing) = self.on_shelves(count);
        if missing.is_empty() {
            return Ok(runs);
        }
        out.text(&format!(
            "computing {} references on the cpu, once",
            missing.len()
        ))?;
        for run in self.maker.make_now(missing.clone(), out)? {
            if let Err(error) = self.store(Shelf::Fresh, &run) {
                out.caveat(format_args!(
                    "the reference cannot be stored in {}: {error}; the next run computes it again",
                    self.folder.display()
                ))?;
            }
            if take(&mut missing, |parity| *parity == run.inputs.seed % 2).is_some() {
                let file = self
                    .shelf(Shelf::Fresh)
                    .join(format!("{:016x}", run.inputs.seed));
                runs.push(PoolRun {
                    run,
                    fresh: Some(file),
                });
            }
        }
        Ok(runs)
    }

    /// Runs of these shelves, fresh ones first, and the parities of which there are too few.
    fn on_shelves(&self, count: usize) -> (Vec<PoolRun>, Vec<u64>) {
        let (mut fresh, mut used) = (self.stored(Shelf::Fresh), self.stored(Shelf::Used));
        let (mut runs, mut missing) = (Vec::new(), Vec::new());
        for parity in parities(count) {
            let of_parity = |(run, _): &(ReferenceRun, PathBuf)| run.inputs.seed % 2 == parity;
            if let Some((run, file)) = take(&mut fresh, of_parity) {
                runs.push(PoolRun {
                    run,
                    fresh: Some(file),
                });
            } else if let Some((run, _)) = take(&mut used, of_parity) {
                runs.push(PoolRun { run, fresh: None });
            } else {
                missing.push(parity);
            }
        }
        (runs, missing)
    }

    /// The lock of those who make runs of this model, each on all cores. `None` where it is another
    /// process's, or where the cache folder cannot be written.
    fn try_to_make(&self) -> Option<LockedFile> {
        fs::create_dir_all(&self.folder).ok()?;
        let files = Root::new(&self.folder);
        files.take_lock(MAKING.as_ref(), Access::ReadAppend).ok()?
    }

    /// [`RunStock::try_to_make`], once the other process is done. Somebody waits for this judge.
    fn wait_to_make(&self, out: &mut Writer) -> Result<Option<LockedFile>, Stop> {
        if let Some(own) = self.try_to_make() {
            return Ok(Some(own));
        }
        let files = Root::new(&self.folder);
        if !files.is_locked(MAKING.as_ref()) {
            return Ok(None);
        }
        out.text("another judge computes references of this model: waiting for it")?;
        let waited = files.wait_for_lock(MAKING.as_ref(), Access::ReadAppend);
        Ok(waited.ok())
    }

    /// Notes that a judgement launches this run. `fresh` is its file if no judgement had launched
    /// it. Returns false if one has, in another process too.
    pub fn use_up(&self, run: &ReferenceRun, fresh: Option<&Path>) -> bool {
        let name = format!("{:016x}", run.inputs.seed);
        let used = self.shelf(Shelf::Used);
        // Where the cache folder cannot be written, no other run can have taken this one from
        // there.
        let was_fresh = fresh.is_some_and(|file| {
            fs::create_dir_all(&used)
                .and_then(|()| fs::rename(file, used.join(&name)))
                .is_ok()
                || !self.folder.exists()
        });
        // Only the order of reuse depends on the time.
        let _ = File::options()
            .write(true)
            .open(used.join(name))
            .and_then(|file| file.set_modified(SystemTime::now()));
        was_fresh
    }

    /// Takes `count` sealed runs out of the stock, and their files off the disk: from here on they
    /// count as launched. Where the stock has too few, computes the others now. The second value is
    /// how many were computed.
    pub fn sealed(
        &self,
        count: usize,
        out: &mut Writer,
    ) -> Result<(Vec<ReferenceRun>, usize), Stop> {
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
                if made == count {
                    "the stock is empty"
                } else {
                    "the stock has too few"
                }
            ))?;
            for run in self.maker.make_now(missing.clone(), out)? {
                if take(&mut missing, |parity| *parity == run.inputs.seed % 2).is_some() {
                    runs.push(run);
                } else if let Err(error) = self.store(Shelf::Sealed, &run) {
                    out.text(&format!("a sealed run cannot be stored: {error}"))?;
                }
            }
        }
        Ok((runs, made))
    }

    /// Fills the stock, as long as `is_idle` returns true and no other process makes runs of this
    /// model: sealed runs for one keep and fresh ones for one judgement first, then twice as many.
    /// Then forgets the runs that were used longest ago.
    ///
    /// Sealed runs come first: a save may use runs again and says so, but without sealed runs a
    /// keep has to wait for them.
    pub fn make_ahead(&self, size: StockSize, is_idle: &mut dyn FnMut() -> bool) -> io::Result<()> {
        if !is_idle() {
            return Ok(());
        }
        // Where the folder cannot be written, storing the first run says so.
        let making = self.try_to_make();
        if making.is_none() && Root::new(&self.folder).is_locked(MAKING.as_ref()) {
            return Ok(());
        }
        let shelves = [
            (Shelf::Sealed, size.keep),
            (Shelf::Fresh, size.judgement),
            (Shelf::Sealed, size.sealed),
            (Shelf::Fresh, 2 * size.judgement),
        ];
        // Half of the cores stay free for the user, who is editing meanwhile.
        let threads = (cores() / 2).max(1);
        // Four runs together take less time than one after the other. A first single run is there
        // sooner, so that the stock grows even if somebody saves every few seconds.
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
                let finished = self
                    .maker
                    .make(missing, threads, &mut |_, _| is_idle(), &mut keep);
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
}
