//! Declarative tensor problems: a `problem.toml` and a `reference.cu`, without Rust code. Every key of problem.toml
//! is explained in kernels/README.md.

mod case_data;
mod drawn_shapes;
mod dump;
mod expression;
mod file;
mod input_values;
mod launcher;
mod reference;
mod spec;
mod suggest;
mod tally;
mod timing;
mod verify;

use crate::outcome::{Correctness, Stop};
use crate::problem::api::{BuildNeeds, HeldOutUse, Problem, ProblemContext, Timed, WorkerRole, toml_error};
use crate::worker::{ModuleId, Worker};
use case_data::{Ahead, CaseData, draw, prepare_case, sets};
use file::ProblemFileError;
use lab_device::{DeviceInfo, ExecutionOrder};
use launcher::CaseLauncher;
use reference::ReferenceKernel;
use spec::{Case, CaseTensor, ProblemSpec};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tally::GateTally;
use timing::TensorTiming;
use verify::verify_case;

/// Opens the problem whose problem.toml at `path` has this text.
pub fn open(path: &Path, text: &str) -> Result<Box<dyn Problem>, Stop> {
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let spec = parse(path, text, None)?;
    let folder_name = folder.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = spec.name.clone().or(folder_name).unwrap_or_else(|| "tensor".into());
    Ok(Box::new(TensorProblem {
        name,
        folder,
        text: text.to_owned(),
        spec: Rc::new(spec),
        reference: None,
        chosen: Vec::new(),
        ahead: Ahead::default(),
        timed: None,
    }))
}

/// Parses problem.toml; see [`file::parse`].
fn parse(path: &Path, text: &str, held_out: Option<u64>) -> Result<ProblemSpec, Stop> {
    file::parse(text, held_out).map_err(|wrong| match wrong {
        ProblemFileError::Toml(error) => toml_error(path, text, &error),
        ProblemFileError::Sense(what) => Stop::Problem(format!("{}: {what}", path.display())),
    })
}

struct TensorProblem {
    name: String,
    folder: PathBuf,
    /// The text of problem.toml.
    text: String,
    spec: Rc<ProblemSpec>,
    reference: Option<ReferenceKernel>,
    /// The cases that this device runs, as indices into the spec's.
    chosen: Vec<usize>,
    ahead: Ahead,
    /// The data of the timed cases, once drawn. Every timed kernel shares it.
    timed: Option<Rc<Vec<(usize, CaseData)>>>,
}

impl Problem for TensorProblem {
    fn name(&self) -> &str {
        &self.name
    }

    fn build_needs(&self, _device: &DeviceInfo) -> BuildNeeds {
        BuildNeeds { defines: Vec::new(), problem_header: self.spec.header() }
    }

    /// Values are drawn anew in every run. If problem.toml says how to draw shapes, these replace the workloads.
    fn use_held_out_inputs(&mut self, seed: u64, _sealed: usize) -> Result<HeldOutUse, Stop> {
        self.spec = Rc::new(parse(&self.folder.join("problem.toml"), &self.text, Some(seed))?);
        Ok(HeldOutUse { sets_in_a_check: 1, times_them: false })
    }

    fn prepare(&mut self, cx: &mut ProblemContext, _worker: &mut Worker) -> Result<(), Stop> {
        self.reference = Some(ReferenceKernel::start(&self.spec, &self.folder, cx)?);
        let limit = if cx.device.emulated { self.spec.cpu_max_cells } else { None };
        let small = |case: &Case| limit.is_none_or(|limit| case.cells() <= limit);
        self.chosen = (0..self.spec.cases.len()).filter(|i| small(&self.spec.cases[*i])).collect();
        let left_out = self.spec.cases.len() - self.chosen.len();
        if self.chosen.is_empty() {
            return Err(Stop::Problem(
                "cpu_max_cells in problem.toml leaves no workload for the emulated device: raise it".into(),
            ));
        }
        if left_out > 0 {
            cx.out.caveat(format_args!(
                "the emulated device runs {} of {} workloads: cpu_max_cells leaves out the large ones",
                self.chosen.len(),
                self.spec.cases.len()
            ))?;
        }
        Ok(())
    }

    fn draw_ahead(&mut self, cx: &mut ProblemContext, is_idle: &mut dyn FnMut() -> bool) -> Result<(), Stop> {
        let verified = self.chosen.iter().map(|index| (*index, cx.seed));
        let timed = self.timed_cases().into_iter().map(|index| (index, cx.seed ^ TIMED));
        let mut bytes = 0;
        for (index, seed) in verified.chain(timed) {
            let case = &self.spec.cases[index];
            bytes += sets(case) * case.tensors.iter().map(CaseTensor::bytes).sum::<usize>();
            if bytes > MOST_AHEAD || !is_idle() {
                return Ok(());
            }
            let drawn = draw(&self.spec, index, &mut self.reference, seed)?;
            self.ahead.insert((index, seed), drawn);
        }
        self.timed_inputs(cx.seed).map(|_| ())
    }

    fn can_set_up_early(&self) -> bool {
        self.timed.is_some()
    }

    fn verify(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop> {
        for entry in self.spec.entries() {
            worker.require_entry(module, entry)?;
        }
        let mut tally = GateTally::new(&self.spec);
        for (done, index) in self.chosen.iter().enumerate() {
            cx.out.progress(done as u64, self.chosen.len() as u64)?;
            let prepared = prepare_case(&self.spec, *index, &mut self.reference, &mut self.ahead, cx.seed)?;
            tally.begin_case();
            verify_case(&self.spec, &prepared, &mut tally, cx, worker, module)?;
            // After each case, so that the gates of a long problem show while it runs.
            let last = tally.breached() || done + 1 == self.chosen.len();
            tally.write(&self.spec, last, cx.out)?;
            if tally.breached() {
                // On the emulated device the store may have damaged the worker itself.
                cx.out.text("a store out of bounds may have damaged the worker: verification stops")?;
                return Ok(Correctness::Fail);
            }
        }
        cx.out.progress(self.chosen.len() as u64, self.chosen.len() as u64)?;
        Ok(tally.verdict())
    }

    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>, Stop> {
        for entry in self.spec.entries() {
            worker.require_entry(module, entry)?;
        }
        let drawn = self.timed_inputs(cx.seed)?;
        let scratch = launcher::scratch(&self.spec, worker)?;
        let set_up = |(index, drawn): &(usize, CaseData)| {
            CaseLauncher::set_up(&self.spec, *index, worker, module, &drawn.sets)?.timed(
                worker,
                &drawn.sets,
                scratch,
            )
        };
        let launchers = drawn.iter().map(set_up).collect::<Result<_, Stop>>()?;
        Ok(Box::new(TensorTiming::new(self.spec.clone(), drawn, launchers, place, cx.seed)))
    }

    /// For each entry, takes the smallest workload with at least [`ENOUGH`] cells, or else the largest.
    fn shrink_for_check(&mut self, _: &DeviceInfo) -> Result<String, Stop> {
        for entry in self.spec.entries() {
            let of_entry = |index: &usize| self.spec.cases[*index].entry == entry;
            let cases = (0..self.spec.cases.len()).filter(of_entry);
            let size = |index: &usize| {
                let cells = self.spec.cases[*index].cells();
                (cells < ENOUGH, cells.abs_diff(ENOUGH))
            };
            self.chosen.extend(cases.min_by_key(size));
        }
        let labels = self.chosen.iter().map(|index| self.spec.cases[*index].label.as_str());
        Ok(labels.collect::<Vec<_>>().join("; "))
    }

    fn launch_for_check(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        for entry in self.spec.entries() {
            worker.require_entry(module, entry)?;
        }
        for index in &self.chosen {
            let case = &self.spec.cases[*index];
            let sets = [launcher::draw(&self.spec, case, cx.seed, 0)];
            let launcher = CaseLauncher::set_up(&self.spec, *index, worker, module, &sets)?;
            launcher.launch(worker, 0, &sets[0], ExecutionOrder::Shuffled(cx.seed))?;
            launcher.take_down(worker)?;
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
        for index in &self.chosen {
            let prepared = prepare_case(&self.spec, *index, &mut self.reference, &mut self.ahead, cx.seed)?;
            let launcher =
                CaseLauncher::set_up(&self.spec, prepared.index, worker, module, &prepared.sets[..1])?;
            launcher.launch(worker, 0, &prepared.sets[0], ExecutionOrder::Forward)?;
            let got = launcher.outputs(worker)?;
            launcher.take_down(worker)?;
            dump::write(folder, &self.spec, &prepared, &got)?;
        }
        Ok(())
    }
}

impl TensorProblem {
    fn timed_cases(&self) -> Vec<usize> {
        self.chosen.iter().copied().filter(|index| !self.spec.cases[*index].held_out).collect()
    }

    /// The data of the timed cases. The inputs differ from those that are verified.
    fn timed_inputs(&mut self, seed: u64) -> Result<Rc<Vec<(usize, CaseData)>>, Stop> {
        if let Some(drawn) = &self.timed {
            return Ok(drawn.clone());
        }
        let mut all = Vec::new();
        for index in self.timed_cases() {
            let prepared =
                prepare_case(&self.spec, index, &mut self.reference, &mut self.ahead, seed ^ TIMED)?;
            all.push((index, prepared.drawn));
        }
        Ok(self.timed.insert(Rc::new(all)).clone())
    }
}

/// Cells that make a workload large enough for a check: a single cell races with nothing.
const ENOUGH: usize = 4096;

/// Most bytes that are drawn ahead.
const MOST_AHEAD: usize = 1 << 30;

/// Changes the seed, so that timed launches get other inputs than verified ones.
const TIMED: u64 = 0x7469_6d65_645f_7365;
