//! Declarative tensor problems: a `problem.toml` and a `reference.cu` or `reference.py`, without
//! Rust code. Every key of problem.toml is explained in kernels/README.md.

mod case_data;
mod checked_cases;
mod device_memory;
mod drawn_shapes;
mod dump;
pub mod export;
mod expression;
mod file;
mod input_values;
mod launcher;
mod npy;
mod number;
mod objective;
mod outcomes;
mod parameters;
mod part;
mod planted;
mod reference;
mod renewed;
mod resident;
mod same_time;
mod sealed_stock;
mod sealing;
mod single_launches;
mod spec;
mod suggest;
mod tally;
mod timing;
mod turn_order;
mod values_text;
mod verify;

use crate::outcome::{Correctness, Stop};
use crate::problem::api::{
    BuildNeeds, HeldOutUse, LeftOut, Problem, ProblemCase, ProblemContext, StockUse, Timed,
    WorkerRole,
};
use crate::problem::key_error::KeyError;
use crate::problem::peer::PeerSpec;
use crate::profile::workload::ProfileCase;
use crate::worker::compile_ahead::Call;
use crate::worker::{ModuleId, Worker};
use case_data::{Ahead, Part};
use device_memory::HeldMemory;
use lab_device::DeviceInfo;
use lab_protocol::report::JudgedWorkloads;
use lab_protocol::{Language, When};
use lab_system::memory;
use objective::Figure;
use outcomes::CaseOutcomes;
use reference::ReferenceKernel;
use renewed::cases_to_renew;
use resident::{AcceptedOutputs, Resident, TimedCases};
use sealing::Stocking;
use spec::ProblemSpec;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use timing::TensorTiming;

/// Opens the problem whose problem.toml at `path` has this text.
pub fn open(path: &Path, text: &str) -> Result<Box<dyn Problem>, Stop> {
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let spec = file::parse(path, text, None)?;
    let folder_name = folder.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = spec
        .name
        .clone()
        .or(folder_name)
        .unwrap_or_else(|| "tensor".into());
    Ok(Box::new(TensorProblem {
        name,
        folder,
        text: text.to_owned(),
        spec: Rc::new(spec),
        when: When::default(),
        timed_when: When::default(),
        judged: None,
        reference: None,
        chosen: Vec::new(),
        ahead: Ahead::default(),
        timed: None,
        resident: None,
        accepted: AcceptedOutputs::default(),
        accepted_of_incumbent: AcceptedOutputs::default(),
        stocking: Stocking::None,
        renewed: Vec::new(),
    }))
}

struct TensorProblem {
    name: String,
    folder: PathBuf,
    /// The text of problem.toml.
    text: String,
    spec: Rc<ProblemSpec>,
    /// The occasion whose workloads are judged.
    when: When,
    /// In the check before a keep, the occasion whose workloads are timed.
    timed_when: When,
    /// How many were judged, once all were.
    judged: Option<JudgedWorkloads>,
    reference: Option<ReferenceKernel>,
    /// The cases that this device runs, as indices into the spec's.
    chosen: Vec<usize>,
    ahead: Ahead,
    /// The data of the timed cases, once drawn. Every timed kernel shares it.
    timed: Option<TimedCases>,
    /// The timed cases on the candidate's worker, once set up.
    resident: Option<Rc<Resident>>,
    /// The outputs of the candidate that are known to be right, and those of the incumbent.
    accepted: AcceptedOutputs,
    accepted_of_incumbent: AcceptedOutputs,
    stocking: Stocking,
    /// The timed cases that get new inputs where others have lain, as indices into the spec's. None
    /// of a kernel in CUDA.
    renewed: Vec<usize>,
}

impl Problem for TensorProblem {
    fn name(&self) -> &str {
        &self.name
    }

    fn build_needs(&self, _device: &DeviceInfo) -> BuildNeeds {
        BuildNeeds {
            defines: Vec::new(),
            problem_header: self.spec.header(),
        }
    }

    fn reference(&self) -> Option<Language> {
        Some(reference::language(&self.folder))
    }

    fn use_workloads(&mut self, when: When) {
        self.when = when;
    }

    fn judged_workloads(&self) -> Option<JudgedWorkloads> {
        self.judged
    }

    fn peers(&self) -> &[PeerSpec] {
        &self.spec.peers
    }

    fn cases(&self) -> Vec<ProblemCase> {
        self.judged_cases()
    }

    fn calls(&self, device: &DeviceInfo) -> Vec<Call> {
        let cases = self.cases_of(&self.spec, self.when, device).into_iter();
        cases
            .map(|index| parameters::call(&self.spec, &self.spec.cases[index]))
            .collect()
    }

    fn leave_out(&mut self, labels: &[String]) {
        self.without_cases(labels);
    }

    fn launch_each(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Vec<LeftOut>, Stop> {
        self.launch_each_case(cx, worker, module)
    }

    fn require_entries(&self, worker: &mut Worker, module: ModuleId) -> Result<(), Stop> {
        parameters::require_entries(&self.spec, worker, module)
    }

    fn use_graph(&mut self, graph: bool) {
        self.spec = Rc::new(ProblemSpec {
            graph,
            ..(*self.spec).clone()
        });
    }

    /// Values are drawn anew in every run. Every workload is checked, whatever its `when`, and so
    /// are the shapes that problem.toml says how to draw. The run's workloads are timed.
    fn use_held_out_inputs(&mut self, seed: u64, _sealed: usize) -> Result<HeldOutUse, Stop> {
        self.timed_when = self.when;
        self.when = When::Keep;
        self.spec = self.spec_of_keep(seed)?;
        Ok(HeldOutUse {
            sets_in_a_check: 1,
            counts_them: false,
        })
    }

    fn use_stock(&mut self, stock: StockUse) {
        self.stocking = match stock {
            StockUse::Makes => Stocking::Makes,
            StockUse::Takes => Stocking::Takes(None),
        };
    }

    fn is_from_stock(&self) -> Option<bool> {
        match self.stocking {
            Stocking::Takes(seed) => Some(seed.is_some()),
            Stocking::None | Stocking::Makes => None,
        }
    }

    fn launches_for_stock(&self) -> bool {
        self.stocking == Stocking::Makes
    }

    fn prepare_held_out(
        &mut self,
        cx: &mut ProblemContext,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        self.fill_stock(cx, is_idle)
    }

    fn prepare(&mut self, cx: &mut ProblemContext, worker: &mut Worker) -> Result<(), Stop> {
        let is_from_stock = self.take_from_stock(cx)?;
        let asked = self
            .spec
            .cases
            .iter()
            .filter(|case| case.when <= self.when)
            .count();
        self.chosen = self.cases_of(&self.spec, self.when, cx.device);
        if self.chosen.is_empty() {
            let what = "cpu_max_cells leaves no workload for the emulated device: raise it";
            return Err(KeyError::new(what)
                .within("cpu_max_cells")
                .stop(&self.path(), &self.text));
        }
        if self.chosen.len() < asked {
            cx.out.caveat(format_args!(
                "the emulated device runs {} of {asked} workloads: cpu_max_cells leaves out the large ones",
                self.chosen.len(),
            ))?;
        }
        if worker.is_python() {
            self.renewed = cases_to_renew(&self.spec, self.timed_cases(), self.when, self.seed(cx));
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
        Ok(())
    }

    fn draw_ahead(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        let of = |part: Part| move |index: usize| (index, part);
        // The timed cases first: they are also the first that are checked.
        let drawn = self
            .timed_cases()
            .into_iter()
            .chain(self.untimed_cases())
            .map(of(Part::Drawn));
        let planted = self.chosen.iter().copied().map(of(Part::Planted));
        let renewed = self.renewed.iter().copied().map(of(Part::Renewed));
        let all: Vec<(usize, Part)> = drawn.chain(planted).chain(renewed).collect();
        let mut bytes = 0;
        let fits = |part: &&(usize, Part)| {
            bytes += case_data::bytes(&self.spec, **part, cx.device, cx.seed);
            bytes <= MOST_AHEAD
        };
        let parts: Vec<(usize, Part)> = all.iter().take_while(fits).copied().collect();
        let drawn = case_data::draw_each(
            &self.spec,
            &parts,
            &mut self.reference,
            cx.device,
            cx.seed,
            is_idle,
        )?;
        let are_all_drawn = drawn.len() == all.len();
        self.ahead.extend(drawn);
        if are_all_drawn && is_idle() {
            self.resident(cx, worker)?;
        }
        Ok(())
    }

    fn can_set_up_early(&self) -> bool {
        self.timed.is_some()
    }

    /// Launches every case on all sets of its inputs, and then on further ones that hold extremes.
    fn verify(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop> {
        self.require_entries(worker, module)?;
        // Without this line the measure is throughput_sps, as lab.toml has it.
        if self.spec.objective.figure != Figure::Samples {
            cx.out.line("objective", self.spec.objective.figure.key())?;
        }
        let mut outcomes = CaseOutcomes::new(&self.chosen);
        let mut present = None;
        let verdict = self.verify_cases(cx, worker, module, &mut outcomes, &mut present);
        outcomes.write_unless_passed(&self.spec, &verdict, present, cx.out)?;
        verdict
    }

    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>, Stop> {
        self.require_entries(worker, module)?;
        let resident = match place {
            WorkerRole::Verified => self.resident(cx, worker)?,
            WorkerRole::Fresh(_) | WorkerRole::Incumbent => {
                let timed = self.timed(cx)?;
                Rc::new(Resident::set_up(&self.spec, &timed, worker, cx.seed)?)
            }
        };
        let (candidate, incumbent) = (self.accepted.clone(), self.accepted_of_incumbent.clone());
        let accepted = match place {
            WorkerRole::Incumbent => [incumbent, candidate],
            WorkerRole::Verified | WorkerRole::Fresh(_) => [candidate, incumbent],
        };
        let mut timing = TensorTiming::new(resident, module, accepted, place, cx.seed);
        if place == WorkerRole::Verified {
            timing.renewed.clone_from(&self.renewed);
        }
        Ok(Box::new(timing))
    }

    fn take_down(&mut self, worker: &mut Worker) -> Result<(), Stop> {
        match self.resident.take().and_then(Rc::into_inner) {
            Some(resident) => resident.take_down(worker),
            None => Ok(()),
        }
    }

    fn shrink_for_check(&mut self, _: &DeviceInfo) -> Result<String, Stop> {
        Ok(self.choose_for_check())
    }

    fn require_memory_for_races(
        &self,
        device: &DeviceInfo,
        beside_a_run: bool,
    ) -> Result<(), Stop> {
        let of_run = if beside_a_run {
            self.cases_of(&self.spec, self.when, device)
        } else {
            Vec::new()
        };
        match self
            .held(&of_run, device)
            .too_large_to_watch(&self.chosen, memory::usable())
        {
            Some(why) => Err(Stop::Lab(why)),
            None => Ok(()),
        }
    }

    fn launch_for_check(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        self.launch_chosen_once(cx, worker, module)
    }

    fn profile_cases(&self, device: &DeviceInfo) -> Vec<ProfileCase> {
        self.cases_to_profile(device)
            .into_iter()
            .map(|index| self.profile_case(index, device))
            .collect()
    }

    fn launch_for_profile(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        case: usize,
    ) -> Result<(), Stop> {
        self.launch_profiled(cx, worker, module, case)
    }

    fn dump(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop> {
        self.dump_chosen(cx, worker, module, folder)
    }
}

impl TensorProblem {
    /// What a run of these cases holds.
    fn held<'a>(&'a self, chosen: &'a [usize], device: &'a DeviceInfo) -> HeldMemory<'a> {
        HeldMemory {
            spec: &self.spec,
            chosen,
            renewed: &self.renewed,
            device,
        }
    }
}

/// Most bytes that are drawn ahead.
const MOST_AHEAD: usize = 1 << 30;
