//! What the judge asks of a tensor problem.

use super::device_memory::HeldMemory;
use super::drawing::{Drawing, Part};
use super::launcher::CaseLauncher;
use super::objective::Figure;
use super::parameters::{self, parameters};
use super::reference::{self, ReferenceKernel};
use super::renewed::cases_to_renew;
use super::resident::Resident;
use super::spec::Case;
use super::tally::{CaseOutcome, GateTally};
use super::timing::TensorTiming;
use super::{Problem, dump};
use crate::outcome::{Correctness, Stop};
use crate::problem::api::{
    BuildNeeds, LeftOut, ProblemCase, ProblemContext, SetsUp, StockUse, Timed, WorkerRole,
};
use crate::problem::key_error::KeyError;
use crate::problem::peer::PeerSpec;
use crate::profile::workload::ProfileCase;
use crate::worker::compile_ahead::Call;
use crate::worker::{ModuleId, Worker};
use lab_device::{DeviceInfo, ExecutionOrder};
use lab_protocol::report::JudgedWorkloads;
use lab_protocol::{Language, When};
use lab_system::memory;
use std::ops::Deref;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Cells that make a workload large enough for a check: a single cell races with nothing.
const ENOUGH: usize = 4096;

impl Problem {
    /// The problem's name, for the line `problem:`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the compiler needs besides the source.
    pub fn build_needs(&self, device: &DeviceInfo) -> BuildNeeds {
        let chosen = self.chosen.first().map(|case| &**case);
        let case = chosen.or_else(|| self.spec.any_case(device));
        BuildNeeds {
            problem_header: self.spec.header(case),
        }
    }

    /// Why the problem judges no kernel in this language; `None` if it does.
    pub fn refuses(&self, language: Language) -> Option<String> {
        let name = self.spec.scalar_struct.as_ref()?;
        (language == Language::Python).then(|| {
            format!(
                "{} judges kernels in CUDA C++ (kernel.cu): problem.toml has struct = \"{name}\", which a function in Python cannot take",
                self.name
            )
        })
    }

    /// The language of the reference.
    pub fn reference(&self) -> Option<Language> {
        Some(reference::language(&self.folder))
    }

    /// Selects the workloads of this occasion and of the ones before it; without a call, those of a
    /// save.
    pub fn use_workloads(&mut self, when: When) {
        self.when = when;
    }

    /// Other implementations of the problem that the candidate may be timed beside.
    pub fn peers(&self) -> &[PeerSpec] {
        &self.spec.peers
    }

    /// The cases that are judged; before that is known, all of problem.toml.
    pub fn cases(&self) -> Vec<ProblemCase> {
        let cases = match self.chosen.is_empty() {
            true => &self.spec.cases,
            false => &self.chosen,
        };
        let case = |case: &Arc<Case>| ProblemCase {
            label: case.label.clone(),
            is_held_out: case.held_out,
        };
        cases.iter().map(case).collect()
    }

    /// The calls that [`Problem::verify`] makes of a kernel in Python, one for each workload.
    pub fn calls(&self, device: &DeviceInfo) -> Vec<Call> {
        let cases = self.spec.cases_of(self.when, device);
        cases.iter().map(|case| parameters::call(case)).collect()
    }

    /// The inputs of the other cases stay what they are: they are drawn by the label.
    pub fn leave_out(&mut self, labels: &[String]) {
        let spec = Rc::make_mut(&mut self.spec);
        spec.cases.retain(|case| !labels.contains(&case.label));
    }

    /// Returns [`Stop::Build`] if a loaded source lacks a kernel of the problem, or has it with other
    /// parameters where that is known before a launch.
    pub fn require_entries(&self, worker: &mut Worker, module: ModuleId) -> Result<(), Stop> {
        parameters::require_entries(&self.spec, worker, module)
    }

    /// Makes the timed launches run as one CUDA graph, or one after the other.
    pub fn use_graph(&mut self, graph: bool) {
        Rc::make_mut(&mut self.spec).graph = graph;
    }

    /// Values are drawn anew in every run. Every workload is checked, whatever its `when`, and so
    /// are the shapes that problem.toml says how to draw. The run's workloads are timed.
    pub fn use_held_out_inputs(&mut self, seed: u64) -> Result<(), Stop> {
        self.timed_when = self.when;
        self.when = When::Keep;
        self.spec = self.spec_of_keep(seed)?;
        Ok(())
    }

    /// Lets the problem keep inputs that no run has launched in the cache folder, which the kernel
    /// cannot read.
    pub fn use_stock(&mut self, stock: StockUse) {
        self.stock_use = Some(stock);
    }

    /// Whether [`Problem::prepare_held_out`] launches something on the device.
    pub fn launches_for_stock(&self) -> bool {
        self.stock_use == Some(StockUse::Makes)
    }

    /// The timed workloads that a profile may be about on this device.
    pub fn profile_cases(&self, device: &DeviceInfo) -> Vec<ProfileCase> {
        let of = |case: &Arc<Case>| ProfileCase {
            label: case.label.clone(),
            entry: case.entry.clone(),
            cells: case.cells(),
            demand: case.demand(self.spec.cache),
            // The cpu device has no graphs.
            runs_as_graph: self.spec.graph && !device.emulated,
        };
        self.cases_to_profile(device).iter().map(of).collect()
    }

    /// Launches the workload with this place in [`Problem::profile_cases`] once, as timed launches do.
    pub fn launch_for_profile(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        case: usize,
    ) -> Result<(), Stop> {
        let cases = self.cases_to_profile(cx.device);
        let case = cases
            .get(case)
            .ok_or_else(|| Stop::Lab(format!("there is no workload {case} to profile")))?;
        self.require_entries(worker, module)?;
        launch_once(cx, worker, module, case, ExecutionOrder::Forward)
    }

    /// Selects the workloads of this device, and starts the reference or takes its results out of the
    /// stock.
    pub fn prepare(
        mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<Prepared, Stop> {
        let is_from_stock = self.take_from_stock(cx)?;
        let cases = self.spec.cases.iter();
        let asked = cases.filter(|case| case.when <= self.when && case.is_for(cx.device));
        let asked = asked.count();
        self.chosen = self.spec.cases_of(self.when, cx.device);
        // No kernel knows whether launches with other null pointers were before or come later.
        if self
            .chosen
            .windows(2)
            .any(|two| two[0].has_other_pointers(&two[1]))
            && self.seed(cx) & 1 == 1
        {
            self.chosen.reverse();
        }
        if self.chosen.is_empty() {
            let what = "cpu_max_cells leaves no workload for the emulated device: raise it";
            let error = KeyError::at("cpu_max_cells", what);
            return Err(error.stop(&self.path(), &self.text));
        }
        if self.chosen.len() < asked {
            cx.out.caveat(format_args!(
                "the emulated device runs {} of {asked} workloads: cpu_max_cells leaves out the large ones",
                self.chosen.len(),
            ))?;
        }
        if worker.is_python() {
            self.renewed = cases_to_renew(self.timed_cases(), self.when, self.seed(cx));
        }
        self.held(&self.chosen, cx.device)
            .check(memory::usable())
            .map_err(|error| error.stop(&self.path(), &self.text))?;
        if !is_from_stock {
            self.reference = Some(ReferenceKernel::start(&self.spec, &self.folder, cx)?);
        }
        for fixed in self.fixed_inputs() {
            cx.out.caveat(format_args!("{fixed}"))?;
        }
        Ok(Prepared(self))
    }

    /// Chooses the workloads of `[[check]]`; without any, for each entry the smallest workload with
    /// at least [`ENOUGH`] cells, or else the largest.
    pub fn watched(mut self, device: &DeviceInfo) -> Watched {
        let checks = self.spec.checks.iter().filter(|case| case.is_for(device));
        self.chosen.extend(checks.cloned());
        let entries = match self.chosen.is_empty() {
            true => self.spec.case_of_each_entry(),
            false => Vec::new(),
        };
        for Case { entry, .. } in entries {
            let cases = self.spec.cases.iter();
            let cases = cases.filter(|case| case.entry == *entry && case.is_for(device));
            let size = |case: &&Arc<Case>| {
                let cells = case.cells();
                (cells < ENOUGH, cells.abs_diff(ENOUGH))
            };
            self.chosen.extend(cases.min_by_key(size).cloned());
        }
        let labels = self.chosen.iter().map(|case| case.label.as_str());
        let size = labels.collect::<Vec<_>>().join("; ");
        Watched {
            problem: self,
            size,
        }
    }
}

impl Problem {
    /// What a run of these cases holds.
    fn held<'a>(&'a self, chosen: &'a [Arc<Case>], device: &'a DeviceInfo) -> HeldMemory<'a> {
        HeldMemory {
            chosen,
            renewed: &self.renewed,
            device,
        }
    }
}

/// Most bytes that are drawn ahead.
const MOST_AHEAD: usize = 1 << 30;

/// Launches a case on the first set of its inputs.
fn launch_once(
    cx: &ProblemContext,
    worker: &mut Worker,
    module: ModuleId,
    case: &Arc<Case>,
    order: ExecutionOrder,
) -> Result<(), Stop> {
    let data = Drawing::of(cx).first_set(case);
    let launcher = CaseLauncher::set_up(&data, worker)?;
    launcher.launch(worker, module, &data, 0, order)?;
    launcher.take_down(worker)
}

/// A problem whose workloads are chosen and whose reference has started, or whose results are there.
/// The judge verifies the candidate with it, and times kernels.
pub struct Prepared(Problem);

impl Deref for Prepared {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        &self.0
    }
}

impl Prepared {
    /// How many workloads [`Problem::verify`] judged; `None` if it ended before the last one.
    pub fn judged_workloads(&self) -> Option<JudgedWorkloads> {
        self.0.judged
    }

    /// Launches each workload once, without looking at the results, and returns those whose launch
    /// failed. Ends with a failure after which the worker is not what it was.
    pub fn launch_each(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Vec<LeftOut>, Stop> {
        let mut failed = Vec::new();
        for case in &self.0.chosen {
            let data = Drawing::of(cx).first_set(case);
            let launcher = CaseLauncher::set_up(&data, worker)?;
            let launched = worker.require_entry(module, &case.entry, parameters(case));
            let launched = launched
                .and_then(|()| launcher.launch(worker, module, &data, 0, ExecutionOrder::Forward));
            if let Err(stop) = launched {
                failed.push(LeftOut {
                    label: case.label.clone(),
                    why: stop.to_string(),
                });
                // A kernel in CUDA C++ that crashed leaves nothing that could be used.
                if !(worker.is_python() && worker.is_alive()) {
                    return Ok(failed);
                }
            }
            launcher.take_down(worker)?;
        }
        Ok(failed)
    }

    /// Whether [`Problem::prepare`] took its sealed inputs out of the stock; `None` if it did not try.
    pub fn is_from_stock(&self) -> Option<bool> {
        let takes = self.0.stock_use == Some(StockUse::Takes);
        takes.then_some(self.0.sealed_seed.is_some())
    }

    /// Prepares what the next check on held-out inputs needs, unless it is there, as long as
    /// `is_idle` returns true.
    pub fn prepare_held_out(
        &mut self,
        cx: &mut ProblemContext,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        self.0.fill_stock(cx, is_idle)
    }

    /// Prepares on standby what the checks need, in the candidate's worker too, as long as `is_idle`
    /// returns true.
    pub fn draw_ahead(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        // The timed cases first: they are also the first that are checked.
        let mut cases = self.0.chosen.clone();
        cases.sort_by_key(|case| case.held_out);
        let of = |part| cases.iter().map(move |case| (case.clone(), part));
        let parts = [Part::Drawn, Part::Planted, Part::Renewed];
        let mut parts: Vec<(Arc<Case>, Part)> = parts.into_iter().flat_map(of).collect();
        parts.retain(|(case, part)| *part != Part::Renewed || self.0.renewed.contains(&case.index));
        let (all, drawing, mut bytes) = (parts.len(), Drawing::of(cx), 0);
        let exceeds = |(case, part): &(Arc<Case>, Part)| {
            bytes += drawing.bytes(case, *part);
            bytes > MOST_AHEAD
        };
        parts.truncate(parts.iter().position(exceeds).unwrap_or(all));
        let drawn = drawing.draw_each(&parts, &mut self.0.reference, is_idle)?;
        let are_all_drawn = drawn.len() == all;
        self.0.ahead.extend(drawn);
        if are_all_drawn && is_idle() {
            self.0.resident(cx, worker)?;
        }
        Ok(())
    }

    /// Whether a kernel can be set up before the start signal.
    pub fn can_set_up_early(&self) -> bool {
        self.0.timed.is_some()
    }

    /// Launches every case on all sets of its inputs, and then on further ones that hold extremes.
    pub fn verify(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop> {
        self.0.require_entries(worker, module)?;
        // Without this line the measure is throughput_sps, as lab.toml has it.
        if self.0.spec.objective.figure != Figure::Samples {
            cx.out
                .line("objective", self.0.spec.objective.figure.key())?;
        }
        let mut tally = GateTally::new(&self.0.spec, &self.0.chosen, CaseOutcome::NotJudged);
        let verdict = self.0.verify_cases(cx, worker, module, &mut tally);
        match verdict {
            Ok(Correctness::Fail) => tally.write_outcomes(cx.out)?,
            Err(Stop::Crash(_)) => tally.crash(None, cx.out)?,
            Ok(Correctness::Pass) | Err(_) => {}
        }
        verdict
    }

    /// Frees what the problem holds on the worker of its check. It is not used after that.
    pub fn take_down(&mut self, worker: &mut Worker) -> Result<(), Stop> {
        let resident = self.0.resident.take().and_then(Rc::into_inner);
        resident.map_or(Ok(()), |resident| resident.take_down(worker))
    }

    /// Writes every tensor of one set of each workload as .npy into `folder`, which exists.
    pub fn dump(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop> {
        if self.is_from_stock() == Some(true) && self.0.reference.is_none() {
            self.0.reference = Some(ReferenceKernel::start(&self.0.spec, &self.0.folder, cx)?);
        }
        for case in &self.0.chosen {
            let mut drawn = Drawing::of(cx).first_set(case);
            Drawing::of(cx).expect(&mut drawn, Part::Drawn, &mut self.0.reference)?;
            let launcher = CaseLauncher::set_up(&drawn, worker)?;
            launcher.launch(worker, module, &drawn, 0, ExecutionOrder::Forward)?;
            let written = launcher.written(worker, 0)?;
            launcher.take_down(worker)?;
            dump::write(folder, &drawn, &written.outputs)?;
        }
        Ok(())
    }
}

impl SetsUp for Prepared {
    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>, Stop> {
        self.0.require_entries(worker, module)?;
        let resident = match place {
            WorkerRole::Verified => self.0.resident(cx, worker)?,
            WorkerRole::Fresh(_) | WorkerRole::Incumbent => {
                let timed = self.0.timed(cx)?;
                Rc::new(Resident::set_up(&self.0.spec, &timed, worker, cx.seed)?)
            }
        };
        let mut accepted = self.0.accepted.clone();
        if place == WorkerRole::Incumbent {
            accepted.reverse();
        }
        let mut timing = TensorTiming::new(resident, module, accepted, place, cx.seed);
        if place == WorkerRole::Verified {
            timing.renewed.clone_from(&self.0.renewed);
        }
        Ok(Box::new(timing))
    }
}

/// A problem that is small enough for a tool that watches every access. It is only launched.
pub struct Watched {
    problem: Problem,
    /// What is left of the problem, in words.
    pub size: String,
}

impl Watched {
    /// What the compiler needs besides the source.
    pub fn build_needs(&self, device: &DeviceInfo) -> BuildNeeds {
        self.problem.build_needs(device)
    }

    /// Fails if the race detector would need more memory for the launches than there is, with the
    /// other things that a run holds where it watches beside one.
    pub fn require_memory_for_races(
        &self,
        device: &DeviceInfo,
        beside_a_run: bool,
    ) -> Result<(), Stop> {
        let of_run = if beside_a_run {
            self.problem.spec.cases_of(self.problem.when, device)
        } else {
            Vec::new()
        };
        match self
            .problem
            .held(&of_run, device)
            .too_large_to_watch(&self.problem.chosen, memory::usable())
        {
            Some(why) => Err(Stop::Lab(why)),
            None => Ok(()),
        }
    }

    /// Makes every launch once, without looking at the results.
    pub fn launch_for_check(
        &self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        self.problem.require_entries(worker, module)?;
        let order = ExecutionOrder::Shuffled(cx.seed);
        let mut chosen = self.problem.chosen.iter();
        chosen.try_for_each(|case| launch_once(cx, worker, module, case, order))
    }
}
