//! The WaveGRU 1024×2 generator, a problem written in Rust.
//!
//! [`reference`](mod@reference) defines what a correct kernel computes, from [`weights`],
//! [`run_inputs`] and [`philox`](crate::problem::philox) noise. `run_maker` draws and computes the runs that launches use,
//! `run_stock` keeps them, `judged_runs` orders those of one judgement, and `cache` reads and
//! writes references. `launcher` launches the kernel, `verify` compares, `timing` measures,
//! `single_launches` launches under the tools and the profiler, `dump` writes every tensor.

mod cache;
pub mod config;
mod dump;
pub(crate) mod judged_runs;
pub(crate) mod launcher;
pub mod reference;
pub mod run_inputs;
mod run_maker;
pub(crate) mod run_stock;
mod single_launches;
mod timing;
mod verify;
pub mod weights;
mod worker_group;

use crate::outcome::{Correctness, Stop};
use crate::problem::api::{BuildNeeds, HeldOutUse, Problem, ProblemContext, Timed, WorkerRole};
use crate::profile::workload::ProfileCase;
use crate::worker::{BufferId, ModuleId, Worker};
use config::WaveGruConfig;
use judged_runs::{JudgedRuns, ReferenceRun, launch_order, teaches_first};
use lab_device::{DeviceInfo, ExecutionOrder};
use lab_protocol::Language;
use launcher::ModelLauncher;
use run_stock::{PoolRun, RunStock, StockSize};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use timing::WaveGruTiming;
use verify::CheckedLaunch;
use weights::Weights;

/// Opens the problem whose problem.toml at `path` has this text.
pub fn open(path: &Path, text: &str) -> Result<Box<dyn Problem>, Stop> {
    let config = WaveGruConfig::read(path, text)?;
    Ok(Box::new(WaveGruProblem {
        path: path.to_owned(),
        config,
        sealed: None,
        prepared: None,
    }))
}

/// Steps of a launch under a tool of `lab check`.
const WATCHED_STEPS: usize = 3;
/// Steps of a launch under the race detector beside a run. The second step reads what the first has
/// written.
const RACE_STEPS: usize = 2;

/// Sealed runs that a keep checks after a refusal. The stock has as many.
const AFTER_REFUSAL: usize = 8;

struct WaveGruProblem {
    /// The path of problem.toml.
    path: PathBuf,
    config: WaveGruConfig,
    /// How many sealed runs the check must pass; `None` on save.
    sealed: Option<usize>,
    prepared: Option<PreparedModel>,
}

/// What [`Problem::prepare`] makes. Every kernel that is set up for timed launches shares it.
struct PreparedModel {
    steps: usize,
    weights: Weights,
    /// The digest of the weights.
    digest: [u8; 32],
    /// The weights on the candidate's worker.
    uploaded: Vec<BufferId>,
    /// The candidate's buffers there, once it is verified. Timed launches use them again, because
    /// the driver takes milliseconds to free and allocate memory.
    launcher: Option<ModelLauncher>,
    judged: Rc<JudgedRuns>,
    source: RunSource,
}

/// Where the runs of a judgement come from.
enum RunSource {
    /// The pool. For each run, its file if no judgement had launched it.
    Pool(Vec<Option<PathBuf>>),
    /// The seed that the user fixed.
    FixedSeed,
    /// The sealed runs. Their number includes the timed ones.
    Sealed,
}

impl WaveGruProblem {
    fn prepared(&self) -> Result<&PreparedModel, Stop> {
        self.prepared
            .as_ref()
            .ok_or_else(|| Stop::Lab("wavegru was not prepared before its launches".into()))
    }

    /// The stock of the model's runs.
    fn stock<'a>(&'a self, cache_dir: &'a Path) -> Result<RunStock<'a>, Stop> {
        let PreparedModel {
            weights,
            digest,
            steps,
            ..
        } = self.prepared()?;
        Ok(RunStock::new(
            &self.config,
            weights,
            *digest,
            *steps,
            cache_dir,
        ))
    }

    /// Launches of either kind in the check on save. A GPU has one order.
    fn orders_of(&self, device: &DeviceInfo) -> usize {
        if device.emulated {
            self.config.orders
        } else {
            1
        }
    }

    /// Launches of either kind in the check: on save one for each order, on sealed runs half of
    /// them each.
    fn checked(&self, device: &DeviceInfo) -> usize {
        self.sealed
            .map_or(self.orders_of(device), |sealed| sealed.div_ceil(2))
    }

    /// Runs that a check on `sealed` sealed runs launches. The cpu device is not timed then.
    fn sealed_runs(&self, device: &DeviceInfo, sealed: usize) -> usize {
        2 * sealed.div_ceil(2)
            + if device.emulated {
                0
            } else {
                self.config.timed_launches
            }
    }

    /// Runs that a judgement on save launches in the worker in which it checks. The cpu device
    /// times one launch.
    fn runs_on_save(&self, device: &DeviceInfo) -> usize {
        2 * self.orders_of(device)
            + if device.emulated {
                1
            } else {
                self.config.timed_launches
            }
    }

    fn stock_size(&self, device: &DeviceInfo) -> StockSize {
        let keep = self.sealed_runs(device, 1);
        let sealed = (2 * keep).max(self.sealed_runs(device, AFTER_REFUSAL));
        StockSize {
            judgement: self.runs_on_save(device),
            keep,
            sealed,
        }
    }

    /// Takes the runs of this judgement, in the order of their launches.
    fn take_runs(
        &self,
        stock: &RunStock,
        cx: &mut ProblemContext,
    ) -> Result<(Vec<ReferenceRun>, RunSource), Stop> {
        let count = self.runs_on_save(cx.device);
        let pool = |runs: Vec<_>| {
            runs.into_iter()
                .map(|run| PoolRun { run, fresh: None })
                .collect::<Vec<_>>()
        };
        let (runs, source) = match self.sealed {
            Some(sealed) => {
                let count = self.sealed_runs(cx.device, sealed);
                let (runs, made) = stock.sealed(count, cx.out)?;
                cx.out.line(
                    "sealed_runs",
                    format_args!("{count} from_stock={}", count - made),
                )?;
                (pool(runs), RunSource::Sealed)
            }
            None if cx.seed_is_fixed => (
                pool(stock.maker().fixed(cx.seed, count, cx.out)?),
                RunSource::FixedSeed,
            ),
            None => (stock.pool(count, cx.out)?, RunSource::Pool(Vec::new())),
        };
        let seeds: Vec<u64> = runs.iter().map(|run| run.run.inputs.seed).collect();
        let mut runs: Vec<Option<PoolRun>> = runs.into_iter().map(Some).collect();
        let ordered = launch_order(&seeds, cx.seed)
            .into_iter()
            .filter_map(|i| runs[i].take());
        let (runs, files): (Vec<_>, Vec<_>) = ordered.map(|run| (run.run, run.fresh)).unzip();
        let source = if let RunSource::Pool(_) = source {
            RunSource::Pool(files)
        } else {
            source
        };
        Ok((runs, source))
    }

    /// The launches of the check. The launches of one kind follow one another, and chance decides
    /// which kind begins.
    ///
    /// Between launches of different kind the module is loaded anew, so that a kernel does not know
    /// in a launch that samples that it was taught before. On the cpu device the launches of one
    /// kind share the module: that finds a kernel which relies on what an earlier launch left.
    fn checked_launches<'a>(judged: &'a JudgedRuns, cx: &ProblemContext) -> Vec<CheckedLaunch<'a>> {
        let orders = |runs: &'a [ReferenceRun], taught: bool| {
            let orders = Self::orders(cx.seed, runs.len());
            runs.iter()
                .zip(orders)
                .map(move |(run, order)| (run, order, taught))
                .collect::<Vec<_>>()
        };
        let (sampled, taught) = (
            orders(judged.sampled(), false),
            orders(judged.taught(), true),
        );
        let both = if teaches_first(cx.seed) {
            [taught, sampled]
        } else {
            [sampled, taught]
        };
        let launches = both.into_iter().flatten().enumerate();
        let reloads = |i: usize| i > 0 && (!cx.device.emulated || i == judged.checked);
        launches
            .map(|(i, (run, order, taught))| CheckedLaunch {
                run,
                order,
                taught,
                reloads: reloads(i),
            })
            .collect()
    }

    /// The execution orders of verified launches on the cpu device. A GPU has its own order.
    fn orders(seed: u64, count: usize) -> Vec<ExecutionOrder> {
        let order = |turn: u64| match turn {
            0 => ExecutionOrder::Shuffled(seed),
            1 => ExecutionOrder::Reverse,
            2 => ExecutionOrder::Forward,
            more => ExecutionOrder::Shuffled(seed.wrapping_add(more)),
        };
        (0..count as u64).map(order).collect()
    }

    /// Writes which runs are launched, and notes in the stock that they are used.
    fn announce_runs(&self, stock: &RunStock, cx: &mut ProblemContext) -> Result<(), Stop> {
        let PreparedModel { judged, source, .. } = self.prepared()?;
        if let Some(run) = judged.narrowest() {
            let (margin, seed, step) = (
                run.expected.margin,
                run.inputs.seed,
                run.expected.margin_step,
            );
            let line = format!("{margin:.2e} run_seed={seed} step={step}");
            cx.out.line("sample_margin", line)?;
        }
        if let RunSource::Pool(files) = source {
            let fresh = judged
                .runs
                .iter()
                .zip(files)
                .filter(|(run, file)| stock.use_up(run, file.as_deref()));
            let reused = judged.runs.len() - fresh.count();
            cx.out.line("reused_runs", reused)?;
        }
        if let Some(text) = self.config.ignorable() {
            cx.out.caveat(text)?;
        }
        Ok(())
    }
}

impl Problem for WaveGruProblem {
    fn name(&self) -> &str {
        let folder = self
            .path
            .parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str());
        folder.unwrap_or(launcher::ENTRY)
    }

    fn require_entries(&self, worker: &mut Worker, module: ModuleId) -> Result<(), Stop> {
        worker.require_entry(module, launcher::ENTRY, Vec::new())
    }

    fn refuses(&self, language: Language) -> Option<String> {
        (language == Language::Python).then(|| {
            "wavegru judges kernels in CUDA C++ (kernel.cu): write the Python kernel for a problem of the kind tensor, or judge it with \
             a harness.py of your own"
                .into()
        })
    }

    fn build_needs(&self, _: &DeviceInfo) -> BuildNeeds {
        BuildNeeds {
            defines: vec![("LAB_HIDDEN".into(), self.config.hidden.to_string())],
            problem_header: launcher::HEADER.into(),
        }
    }

    fn prepare(&mut self, cx: &mut ProblemContext, worker: &mut Worker) -> Result<(), Stop> {
        let steps = self.config.steps(cx.device);
        let weights = Weights::draw(self.config.hidden, self.config.weight_seed);
        let digest = weights.digest();
        let stock = RunStock::new(&self.config, &weights, digest, steps, cx.cache_dir);
        let (runs, source) = self.take_runs(&stock, cx)?;
        let judged = Rc::new(JudgedRuns {
            runs,
            checked: self.checked(cx.device),
        });
        let uploaded = launcher::upload(&weights, worker)?;
        self.prepared = Some(PreparedModel {
            steps,
            weights,
            digest,
            uploaded,
            launcher: None,
            judged,
            source,
        });
        Ok(())
    }

    fn use_held_out_inputs(&mut self, _seed: u64, sealed: usize) -> Result<HeldOutUse, Stop> {
        self.sealed = Some(sealed.max(1));
        Ok(HeldOutUse {
            sets_in_a_check: sealed,
            counts_them: true,
        })
    }

    fn prepare_held_out(
        &mut self,
        cx: &mut ProblemContext,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        let source = &self.prepared()?.source;
        let stock = self.stock(cx.cache_dir)?;
        if let Err(error) = stock.make_ahead(self.stock_size(cx.device), is_idle) {
            cx.out.text(&format!(
                "no runs could be made ahead in {}: {error}",
                cx.cache_dir.display()
            ))?;
        }
        // This judge may have been started before there were enough fresh runs.
        if matches!(source, RunSource::Pool(files) if files.iter().any(Option::is_none)) {
            let (runs, source) = self.take_runs(&stock, cx)?;
            let checked = self.checked(cx.device);
            if let Some(prepared) = &mut self.prepared {
                (prepared.judged, prepared.source) =
                    (Rc::new(JudgedRuns { runs, checked }), source);
            }
        }
        Ok(())
    }

    fn verify(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop> {
        let PreparedModel {
            steps,
            weights,
            uploaded,
            judged,
            ..
        } = self.prepared()?;
        let launcher = ModelLauncher::new(worker, module, uploaded, weights.hidden, *steps)?;
        self.announce_runs(&self.stock(cx.cache_dir)?, cx)?;
        let launches = Self::checked_launches(judged, cx);
        let (verdict, failed) =
            verify::verify(&launcher, worker, &self.config.limits, &launches, cx)?;
        if self.sealed.is_some() {
            let seed = failed.or_else(|| judged.runs.first().map(|run| run.inputs.seed));
            cx.out.line("held_out_seed", seed.unwrap_or(0))?;
        }
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
        let verified = self
            .prepared
            .as_mut()
            .filter(|_| place == WorkerRole::Verified)
            .and_then(|p| p.launcher.take());
        let PreparedModel {
            steps,
            weights,
            uploaded,
            judged,
            source,
            ..
        } = self.prepared()?;
        let runs = match place {
            WorkerRole::Verified => judged.timed().collect(),
            WorkerRole::Fresh(_) | WorkerRole::Incumbent => {
                let seeds: Vec<u64> = judged.runs.iter().map(|run| run.inputs.seed).collect();
                launch_order(&seeds, cx.seed ^ place.salt())
            }
        };
        let uploaded = match place {
            WorkerRole::Verified => uploaded.clone(),
            WorkerRole::Fresh(_) | WorkerRole::Incumbent => launcher::upload(weights, worker)?,
        };
        let launcher = match verified {
            Some(launcher) => launcher.of(module),
            None => ModelLauncher::new(worker, module, &uploaded, weights.hidden, *steps)?,
        };
        let (multiplied, weight_bytes) = weights.work();
        Ok(Box::new(WaveGruTiming {
            launcher,
            judged: judged.clone(),
            runs,
            limits: self.config.limits,
            sealed: matches!(source, RunSource::Sealed),
            launches: 0,
            exchanges: self.config.exchanges,
            multiplied,
            weight_bytes,
        }))
    }

    fn shrink_for_check(&mut self, device: &DeviceInfo) -> Result<String, Stop> {
        Ok(self.shrink_to(WATCHED_STEPS, device) + ", sampling and taught")
    }

    fn shrink_for_races(&mut self, device: &DeviceInfo) -> Result<String, Stop> {
        Ok(self.shrink_to(RACE_STEPS, device))
    }

    fn launch_for_check(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        self.launch_each_kind(cx, worker, module)
    }

    fn profile_cases(&self, device: &DeviceInfo) -> Vec<ProfileCase> {
        vec![self.profile_case(device)]
    }

    fn launch_for_profile(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        _case: usize,
    ) -> Result<(), Stop> {
        self.launch_profiled(cx, worker, module)
    }

    /// The run of the first seed in problem.toml, so that no file holds a run of the pool.
    fn dump(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop> {
        let PreparedModel {
            weights, launcher, ..
        } = self.prepared()?;
        let stock = self.stock(cx.cache_dir)?;
        let (Some(run), Some(launcher)) = (stock.maker().published(cx.out)?, launcher) else {
            return Ok(());
        };
        // The same buffers as before, so that timed launches find nothing else beside them.
        let launcher = launcher.of(module);
        let sampled = launcher.sample(worker, &run, ExecutionOrder::Forward)?;
        let taught = launcher.teach(worker, &run, ExecutionOrder::Forward)?;
        dump::dump(folder, weights, &run, &sampled, &taught)
    }
}

#[cfg(test)]
mod kernel_tests;
#[cfg(test)]
pub(crate) mod tests;
