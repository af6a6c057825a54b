//! What the judge asks of a problem before it is prepared.

use super::Problem;
use super::device_memory::HeldMemory;
use super::parameters;
use super::phases::{Prepared, Watched, launch_once};
use super::reference::ReferenceKernel;
use super::reference_source;
use super::renewed::cases_to_renew;
use super::spec::Case;
use crate::outcome::{Result, Stop};
use crate::problem::api::{BuildNeeds, ProblemCase, ProblemContext, StockUse};
use crate::problem::key_error::KeyError;
use crate::problem::peer::PeerSpec;
use crate::profile::workload::ProfileCase;
use crate::worker::compile_ahead::Call;
use crate::worker::{ModuleId, Worker};
use itertools::Itertools as _;
use lab_device::{DeviceInfo, ExecutionOrder};
use lab_protocol::{Language, Target, When};
use lab_system::memory;
use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Cells that make a workload large enough for a check: a single cell races with nothing.
const ENOUGH: usize = 4096;
/// Cells of a workload that a detector looks at in any case, and cells of all of them together.
const FEW: usize = 16 * ENOUGH;
const MOST: usize = 32 * ENOUGH;
/// Cells of all larger workloads together of which a detector looks at a part.
const MOST_IN_PART: usize = 256 * ENOUGH;

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
            targets: self.spec.targets.clone(),
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
    pub fn reference(&self) -> Language {
        reference_source::language(&self.folder)
    }

    /// The device that the reference computes on where the candidate's is `target`.
    pub fn reference_target(&self, target: Target) -> Target {
        match reference_source::is_on_host(&self.folder) {
            true => Target::Cpu,
            false => target,
        }
    }

    /// Selects the workloads of this occasion and of the ones before it; without a call, those of a
    /// save.
    pub fn use_workloads(&mut self, when: When) {
        self.when = when;
    }

    /// Writes all cells of each output that gets a picture into a file of its name in this folder.
    pub fn keep_cells(&self, folder: &Path) {
        let tensors = self.spec.cases.iter().flat_map(|case| &case.tensors);
        tensors.for_each(|tensor| tensor.pictured.keep_cells(folder.join(&tensor.name)));
    }

    /// Other implementations of the problem that the candidate may be timed beside.
    pub fn peers(&self) -> &[PeerSpec] {
        &self.spec.peers
    }

    /// The cases that are judged; before that is known, all of problem.toml.
    pub fn cases(&self) -> Vec<ProblemCase> {
        let cases = if self.chosen.is_empty() {
            &self.spec.cases
        } else {
            &self.chosen
        };
        let case = |case: &Arc<Case>| ProblemCase {
            label: case.label.clone(),
            is_held_out: case.held_out,
            is_ragged: case.hint.is_some(),
        };
        cases.iter().map(case).collect()
    }

    /// The calls that `Prepared::verify` makes of a kernel in Python, one for each workload.
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
    pub fn require_entries(&self, worker: &mut Worker, module: ModuleId) -> Result {
        parameters::require_entries(&self.spec, worker, module)
    }

    /// Judges a peer, whose timed launches run as one CUDA graph or one after the other. Leaves out
    /// the extents that no workload has, because a peer may be made for those of the workloads, and
    /// does not look for remembered results, which make only the peer faster.
    pub fn judge_peer(&mut self, graph: bool) {
        self.is_peer = true;
        let spec = Rc::make_mut(&mut self.spec);
        spec.graph = graph;
        spec.cases.retain(|case| case.hint.is_none());
    }

    /// Values are drawn anew in every run. Every workload is checked, whatever its `when`, and so
    /// are the shapes that problem.toml says how to draw. The run's workloads are timed.
    pub fn use_held_out_inputs(&mut self, seed: u64) -> Result {
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

    /// Whether `Prepared::prepare_held_out` launches something on the device.
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
    ) -> Result {
        let cases = self.cases_to_profile(cx.device);
        let case = cases
            .get(case)
            .ok_or_else(|| Stop::Lab(format!("there is no workload {case} to profile")))?;
        self.require_entries(worker, module)?;
        launch_once(cx, worker, module, case, ExecutionOrder::Forward)
    }

    /// Selects the workloads of this device, and starts the reference or takes its results out of the
    /// stock.
    pub fn prepare(mut self, cx: &mut ProblemContext, worker: &mut Worker) -> Result<Prepared> {
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
        // Where nothing is timed, nothing could be measured.
        if self.chosen.iter().all(|case| case.held_out) {
            let what = if self.chosen.is_empty() {
                "cpu_max_cells leaves no workload for the emulated device: raise it"
            } else {
                "cpu_max_cells leaves the emulated device no [[workload]], and [[held_out]] is never timed: raise it, or add \
                          a smaller [[workload]]"
            };
            let error = KeyError::at("cpu_max_cells", what);
            return Err(error.stop(&self.path(), &self.text));
        }
        if self.chosen.len() < asked {
            let runs = format_args!("{} of={asked} limit_of=cpu_max_cells", self.chosen.len());
            cx.out.line("emulated_workloads", runs)?;
        }
        if worker.is_python() && !self.is_peer {
            self.renewed = cases_to_renew(self.timed_cases(), self.when, self.seed(cx));
        }
        self.held(&self.chosen, cx.device, cx.memory.is_some())
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
    /// at least `ENOUGH` cells, or else the largest, and with it all of at most `FEW` cells, the
    /// smaller ones first, as long as they have `MOST` cells together: a path that only some shapes
    /// take may race too.
    pub fn watched(mut self, device: &DeviceInfo) -> Watched {
        self.chosen = self.small_cases(device);
        self.into_watched()
    }

    /// Chooses the first workload of each entry that [`Problem::watched`] chooses.
    pub fn watched_briefly(mut self, device: &DeviceInfo) -> Watched {
        self.chosen = self.small_cases(device);
        let mut entries = HashSet::new();
        self.chosen
            .retain(|case| entries.insert(case.entry.clone()));
        self.into_watched()
    }

    /// Chooses of the run's workloads that [`Problem::watched`] leaves out the smaller ones, of at
    /// most `MOST_IN_PART` cells together: a path that only long rows take may race too. Where
    /// `[[check]]` says what to watch, none of them. With `is_rest` it chooses all the others.
    /// `None` if there is none.
    pub fn watched_in_part(mut self, device: &DeviceInfo, is_rest: bool) -> Option<Watched> {
        let most = if self.spec.checks.iter().any(|case| case.is_for(device)) {
            0
        } else {
            MOST_IN_PART
        };
        let small = self.small_cases(device);
        let is_small = |case: &Arc<Case>| small.iter().any(|small| small.label == case.label);
        self.chosen = self.spec.cases_of(self.when, device);
        self.chosen.retain(|case| !is_small(case));
        self.chosen.sort_by_key(|case| case.cells());
        let mut cells = 0;
        self.chosen.retain(|case| {
            cells += case.cells();
            (cells > most) == is_rest
        });
        (!self.chosen.is_empty()).then(|| self.into_watched())
    }

    fn small_cases(&self, device: &DeviceInfo) -> Vec<Arc<Case>> {
        let checks = self.spec.checks.iter().filter(|case| case.is_for(device));
        let mut all = checks.cloned().collect_vec();
        let entries = if all.is_empty() {
            self.spec.case_of_each_entry()
        } else {
            Vec::new()
        };
        for Case { entry, .. } in entries {
            let cases = self.spec.cases.iter();
            let cases = cases.filter(|case| case.entry == *entry && case.is_for(device));
            let size = |case: &&Arc<Case>| {
                let cells = case.cells();
                (cells < ENOUGH, cells.abs_diff(ENOUGH))
            };
            let chosen = cases.clone().min_by_key(size);
            let mut small = cases.filter(|case| case.cells() <= FEW).collect_vec();
            small.sort_by_key(|case| case.cells());
            let mut cells = 0;
            small.retain(|case| {
                cells += case.cells();
                cells <= MOST
            });
            small.retain(|case| chosen.is_none_or(|chosen| !Arc::ptr_eq(chosen, case)));
            all.extend(chosen.into_iter().chain(small).cloned());
        }
        all
    }

    fn into_watched(self) -> Watched {
        let size = self.chosen.iter().map(|case| &case.label).join("; ");
        Watched {
            problem: self,
            size,
        }
    }
}

impl Problem {
    /// What a run of these cases holds.
    pub(super) fn held<'a>(
        &'a self,
        chosen: &'a [Arc<Case>],
        device: &'a DeviceInfo,
        has_copies: bool,
    ) -> HeldMemory<'a> {
        HeldMemory {
            chosen,
            renewed: &self.renewed,
            device,
            has_copies,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::{problem, testing};
    use std::path::Path;

    #[test]
    fn before_a_keep_one_workload_of_each_entry_is_watched() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/rmsnorm");
        let device = testing::device();
        let all = problem::open(&folder).unwrap().watched(&device);
        let briefly = problem::open(&folder).unwrap().watched_briefly(&device);
        assert!(all.size.split("; ").count() > 2, "{}", all.size);
        let entries = briefly.size.split("; ");
        let entries = entries.map(|label| label.rsplit(' ').next().unwrap());
        assert_eq!(entries.collect::<Vec<_>>(), ["T=f32", "T=f16"]);
        let first = briefly.size.split("; ").next().unwrap();
        assert!(all.size.starts_with(first), "{}", all.size);
    }
}
