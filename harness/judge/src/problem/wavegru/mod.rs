//! The WaveGRU 1024×2 generator, a problem written in Rust.
//!
//! [`reference`](mod@reference) defines what a correct kernel computes, from [`weights`] and [`philox`] noise.
//! `seed_pool` holds the runs that launches are drawn from, which `cache` stores on disk; `held_out` makes the run
//! for the check before a keep. `launcher` launches the kernel, `verify` compares, `timing` measures, `dump` writes
//! every tensor.

mod cache;
pub mod config;
mod dump;
pub(crate) mod held_out;
pub(crate) mod launcher;
pub mod philox;
pub mod reference;
mod seed_pool;
mod timing;
mod verify;
pub mod weights;
mod worker_group;

use crate::outcome::{Correctness, Stop};
use crate::problem::api::{BuildNeeds, Problem, ProblemContext, Timed, WorkerRole};
use crate::worker::{BufferId, ModuleId, Worker};
use config::WaveGruConfig;
use held_out::HeldOutRuns;
use lab_device::{DeviceInfo, ExecutionOrder};
use launcher::ModelLauncher;
use reference::{ReferenceOutput, SamplingParams, StartState};
use seed_pool::{ReferenceRun, SeedPool};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use timing::WaveGruTiming;
use weights::Weights;

/// Opens the problem whose problem.toml at `path` has this text.
pub fn open(path: &Path, text: &str) -> Result<Box<dyn Problem>, Stop> {
    let config = WaveGruConfig::read(path, text)?;
    Ok(Box::new(WaveGruProblem { path: path.to_owned(), config, held_out: false, prepared: None }))
}

/// Hidden units of the smallest model, and steps of a launch under a tool of `lab check`.
const SMALLEST: usize = 256;
const WATCHED_STEPS: usize = 3;

struct WaveGruProblem {
    /// The path of problem.toml.
    path: PathBuf,
    config: WaveGruConfig,
    /// Whether only the held-out run is used.
    held_out: bool,
    prepared: Option<PreparedModel>,
}

/// What [`Problem::prepare`] makes. Every kernel that is set up for timed launches shares it.
struct PreparedModel {
    sampling: SamplingParams,
    weights: Weights,
    /// The weights on the candidate's worker.
    uploaded: Vec<BufferId>,
    /// The candidate's buffers there, once it is verified. Timed launches use them again, because the driver takes
    /// milliseconds to free and allocate memory.
    launcher: Option<ModelLauncher>,
    pool: Rc<SeedPool>,
    /// The file of the held-out run, if it was made ahead.
    file: Option<PathBuf>,
}

impl WaveGruProblem {
    fn prepared(&self) -> Result<&PreparedModel, Stop> {
        self.prepared.as_ref().ok_or_else(|| Stop::Lab("wavegru was not prepared before its launches".into()))
    }

    /// The held-out run that is stored, with its file, or a run that is made now.
    fn held_out(
        &self,
        weights: &Weights,
        sampling: SamplingParams,
        cx: &mut ProblemContext,
    ) -> Result<(ReferenceRun, Option<PathBuf>), Stop> {
        let held_out = HeldOutRuns::new(&self.config, weights, sampling, cx.cache_dir);
        let (run, file) = match held_out.ready() {
            Some((run, file)) => (run, Some(file)),
            None => {
                cx.out.text("computing a held-out reference on the cpu: none was made ahead")?;
                let (mut written, mut percent) = (Ok(()), None);
                let all = sampling.steps as u64;
                let made = held_out.make(held_out::cores(), &mut |done| {
                    let now = Some(100 * done / all);
                    if written.is_ok() && percent != now {
                        (written, percent) = (cx.out.progress(done, all), now);
                    }
                    written.is_ok()
                });
                written?;
                (made.ok_or_else(|| Stop::Lab("no held-out reference was made".into()))?, None)
            }
        };
        cx.out.line("held_out_seed", run.start.seed)?;
        Ok((run, file))
    }

    /// The execution orders of verified launches on the cpu device. A GPU has its own order.
    fn orders(&self, device: &DeviceInfo, seed: u64) -> Vec<ExecutionOrder> {
        let count = if device.emulated { self.config.orders } else { 1 };
        let order = |turn: u64| match turn {
            0 => ExecutionOrder::Shuffled(seed),
            1 => ExecutionOrder::Reverse,
            2 => ExecutionOrder::Forward,
            more => ExecutionOrder::Shuffled(seed.wrapping_add(more)),
        };
        (0..count as u64).map(order).collect()
    }

    /// Refuses a pool with a run in which a rounding could change a token: comparing tokens exactly would then be
    /// unfair.
    fn require_margin(&self, pool: &SeedPool) -> Result<(), Stop> {
        let Some(run) = pool.narrowest().filter(|run| run.expected.margin < self.config.margin) else {
            return Ok(());
        };
        Err(Stop::Problem(format!(
            "{}: run seed {} comes within {:.1e} of another token at step {}, which is nearer than margin = {:.1e}: \
             take another seed (cargo run --release -p lab-judge --example wavegru_seeds -- {} finds some)",
            self.path.display(),
            run.start.seed,
            run.expected.margin,
            run.expected.margin_step,
            self.config.margin,
            self.path.display(),
        )))
    }
}

impl Problem for WaveGruProblem {
    fn name(&self) -> &str {
        let folder = self.path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        folder.unwrap_or(launcher::ENTRY)
    }

    fn build_needs(&self, _: &DeviceInfo) -> BuildNeeds {
        BuildNeeds {
            defines: vec![("LAB_HIDDEN".into(), self.config.hidden.to_string())],
            problem_header: launcher::HEADER.into(),
        }
    }

    fn prepare(&mut self, cx: &mut ProblemContext, worker: &mut Worker) -> Result<(), Stop> {
        let sampling = self.config.sampling(cx.device);
        let weights = Weights::draw(self.config.hidden, self.config.weight_seed);
        let (pool, file) = if self.held_out {
            let (run, file) = self.held_out(&weights, sampling, cx)?;
            (SeedPool { runs: vec![run] }, file)
        } else {
            (SeedPool::load(&self.config, &weights, sampling, cx.cache_dir, cx.out)?, None)
        };
        self.require_margin(&pool)?;
        if let Some(run) = pool.narrowest() {
            let (margin, seed, step) = (run.expected.margin, run.start.seed, run.expected.margin_step);
            let line = format!("{margin:.2e} run_seed={seed} step={step}");
            cx.out.line("sample_margin", line)?;
        }
        let uploaded = launcher::upload(&weights, worker)?;
        self.prepared =
            Some(PreparedModel { sampling, weights, uploaded, launcher: None, pool: Rc::new(pool), file });
        Ok(())
    }

    fn use_held_out_inputs(&mut self, _seed: u64) -> Result<(), Stop> {
        self.held_out = true;
        Ok(())
    }

    fn prepare_held_out(
        &mut self,
        cx: &mut ProblemContext,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        let PreparedModel { sampling, weights, .. } = self.prepared()?;
        HeldOutRuns::new(&self.config, weights, *sampling, cx.cache_dir).make_ahead(is_idle)
    }

    fn verify(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop> {
        let PreparedModel { sampling, weights, uploaded, pool, file, .. } = self.prepared()?;
        let launcher = ModelLauncher::new(worker, module, uploaded, weights.hidden, *sampling)?;
        let orders = self.orders(cx.device, cx.seed);
        if let ([run], true) = (&pool.runs[..], self.held_out) {
            // Removed before the launch: from here on the run counts as shown.
            file.as_deref().map_or(Ok(()), std::fs::remove_file).map_err(|e| {
                Stop::Lab(format!(
                    "the held-out run cannot be removed ({e}): another run may have used it; try again"
                ))
            })?;
            let launch = [(run, orders[0])];
            let verdict = verify::verify(&launcher, worker, &self.config.limits, &launch, &launch, cx)?;
            launcher.close(worker)?;
            return Ok(verdict);
        }
        let runs: Vec<&ReferenceRun> = pool.shuffled(cx.seed).into_iter().map(|i| &pool.runs[i]).collect();
        let sampling: Vec<(&ReferenceRun, ExecutionOrder)> =
            runs.iter().copied().zip(orders.iter().copied()).collect();
        let rest = runs.iter().copied().skip(orders.len());
        let taught: Vec<(&ReferenceRun, ExecutionOrder)> = rest.zip(orders.iter().copied()).collect();
        let verdict = verify::verify(&launcher, worker, &self.config.limits, &sampling, &taught, cx)?;
        if let Some(prepared) = &mut self.prepared {
            prepared.launcher = Some(launcher);
        }
        Ok(verdict)
    }

    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>, Stop> {
        let verified =
            self.prepared.as_mut().filter(|_| place == WorkerRole::Verified).and_then(|p| p.launcher.take());
        let PreparedModel { sampling, weights, uploaded, pool, .. } = self.prepared()?;
        let mut runs = pool.shuffled(cx.seed ^ place.salt());
        let uploaded = match place {
            WorkerRole::Verified => {
                runs.drain(..2 * self.orders(cx.device, cx.seed).len());
                runs.truncate(self.config.timed_launches);
                uploaded.clone()
            }
            WorkerRole::Fresh(_) | WorkerRole::Incumbent => launcher::upload(weights, worker)?,
        };
        let launcher = match verified {
            Some(launcher) => launcher.of(module),
            None => ModelLauncher::new(worker, module, &uploaded, weights.hidden, *sampling)?,
        };
        let (multiplied, weight_bytes) = weights.work();
        let (pool, exchanges) = (pool.clone(), self.config.exchanges);
        Ok(Box::new(WaveGruTiming { launcher, pool, runs, launches: 0, exchanges, multiplied, weight_bytes }))
    }

    /// On the emulated device the model is made as small as possible. On a GPU it keeps its size, because a kernel
    /// may be written for it.
    fn shrink_for_check(&mut self, device: &DeviceInfo) -> Result<String, Stop> {
        if device.emulated {
            self.config.hidden = SMALLEST;
        }
        (self.config.steps, self.config.steps_cpu) = (WATCHED_STEPS, WATCHED_STEPS);
        Ok(format!("hidden={} steps={WATCHED_STEPS}, sampling and taught", self.config.hidden))
    }

    fn launch_for_check(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        let sampling = self.config.sampling(cx.device);
        let weights = Weights::draw(self.config.hidden, self.config.weight_seed);
        let uploaded = launcher::upload(&weights, worker)?;
        let start = StartState::draw(self.config.hidden, cx.seed);
        // Any tokens will do, because nothing is compared.
        let tokens = (0..sampling.steps).map(|step| (step * 37 % 256) as i32).collect();
        let run = ReferenceRun { start, expected: ReferenceOutput { tokens, ..ReferenceOutput::default() } };
        for teacher in [false, true] {
            let launcher = ModelLauncher::new(worker, module, &uploaded, weights.hidden, sampling)?;
            launcher.launch_for_check(worker, &run, teacher, ExecutionOrder::Shuffled(cx.seed))?;
            launcher.close(worker)?;
        }
        Ok(())
    }

    fn dump(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop> {
        let PreparedModel { sampling, weights, uploaded, pool, .. } = self.prepared()?;
        let launcher = ModelLauncher::new(worker, module, uploaded, weights.hidden, *sampling)?;
        let Some(run) = pool.shuffled(cx.seed).first().map(|i| &pool.runs[*i]) else { return Ok(()) };
        let sampled = launcher.sample(worker, run, ExecutionOrder::Forward)?;
        let taught = launcher.teach(worker, run, ExecutionOrder::Forward)?;
        launcher.close(worker)?;
        dump::dump(folder, weights, *sampling, run, &sampled, &taught)
    }
}

#[cfg(test)]
mod kernel_tests;
#[cfg(test)]
pub(crate) mod tests;
