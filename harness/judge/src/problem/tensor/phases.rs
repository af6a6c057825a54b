//! The phases of a problem after it was opened: [`Prepared`] for a run, [`Watched`] for a tool.

use super::drawing::{Drawing, Part};
use super::launcher::{self, CaseLauncher};
use super::objective::Figure;
use super::parameters::require_entry;
use super::random::told;
use super::reference::ReferenceKernel;
use super::resident::Resident;
use super::spec::Case;
use super::tally::{CaseOutcome, GateTally};
use super::timing::TensorTiming;
use super::{Problem, dump};
use crate::outcome::{Result, Stop};
use crate::problem::api::{
    BuildNeeds, LeftOut, ProblemContext, SetsUp, StockUse, Timed, WorkerFor, WorkerRole,
};
use crate::worker::{ModuleId, Worker};
use lab_device::{DeviceInfo, ExecutionOrder, ILLEGAL_ADDRESS};
use lab_protocol::is_from_outside;
use lab_protocol::report::{JudgedWorkloads, Log};
use lab_system::memory;
use std::ops::Deref;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Most bytes that are drawn ahead in the judge's own memory.
const MOST_AHEAD: usize = 1 << 30;

/// The part of the device's memory that what is drawn ahead there may have, as its inverse. Other
/// judges stand by too, and other programs may need the device's memory meanwhile.
const PART_AHEAD: u64 = 8;

/// A problem whose workloads are chosen and whose reference has started, or whose results are there.
/// The judge verifies the candidate with it, and times kernels.
pub struct Prepared(pub(super) Problem);

impl Deref for Prepared {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        &self.0
    }
}

impl Prepared {
    /// Forgets what was found out about a candidate that passed. The next one is judged on the same
    /// inputs.
    pub fn forget_candidate(&mut self) {
        self.0.judged = None;
        self.0.accepted[0].borrow_mut().clear();
        if let Some(resident) = &self.0.resident {
            resident.forget_times();
        }
    }

    /// How many workloads [`Prepared::verify`] judged; `None` if it ended before the last one.
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
    ) -> Result<Vec<LeftOut>> {
        let mut failed = Vec::new();
        for case in &self.0.chosen {
            let data = Drawing::of(cx).first_set(case)?;
            let launcher = CaseLauncher::set_up(&data, worker)?;
            let launched = require_entry(case, worker, module);
            let launched = launched
                .and_then(|()| launcher.launch(worker, module, &data, 0, ExecutionOrder::Forward));
            if let Err(stop) = launched {
                if is_from_outside(&stop.first_line()) {
                    return Err(stop);
                }
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
    ) -> Result {
        self.0.fill_stock(cx, is_idle)
    }

    /// Prepares on standby what the checks need, in the candidate's worker too, as long as `is_idle`
    /// returns true.
    pub fn draw_ahead(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        is_idle: &mut dyn FnMut() -> bool,
    ) -> Result {
        // The timed cases first: they are also the first that are checked.
        let mut cases = self.0.chosen.clone();
        cases.sort_by_key(|case| case.held_out);
        let of = |part| cases.iter().map(move |case| (case.clone(), part));
        let parts = [Part::Drawn, Part::Planted, Part::Renewed];
        let mut parts: Vec<(Arc<Case>, Part)> = parts.into_iter().flat_map(of).collect();
        parts.retain(|(case, part)| *part != Part::Renewed || self.0.renewed.contains(&case.index));
        let (all, drawing, mut bytes) = (parts.len(), Drawing::of(cx), 0);
        let most = match cx.memory {
            Some(_) => (cx.device.memory_bytes / PART_AHEAD) as usize,
            None => MOST_AHEAD,
        };
        let exceeds = |(case, part): &(Arc<Case>, Part)| {
            bytes += drawing.bytes(case, *part);
            bytes > most
        };
        parts.truncate(parts.iter().position(exceeds).unwrap_or(all));
        let drawn = drawing.draw_each(&parts, &mut self.0.reference, is_idle)?;
        let are_all_drawn = drawn.len() == all;
        self.0.ahead.extend(drawn);
        self.0.keeps_ahead = cx.is_swept;
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
    ) -> Result {
        self.0.require_entries(worker, module)?;
        // Without this line the measure is throughput_sps, as lab.toml has it.
        if self.0.spec.objective.figure != Figure::Samples {
            cx.out
                .line("objective", self.0.spec.objective.figure.key())?;
        }
        let mut tally = GateTally::new(&self.0.spec, &self.0.chosen, CaseOutcome::NotJudged);
        let verdict = self.0.verify_cases(cx, worker, module, &mut tally);
        match &verdict {
            Err(Stop::Wrong) => tally.write_outcomes(cx.out)?,
            Err(Stop::Crash(why)) => {
                let may_be_an_input = worker.only_reads_inputs() && why.contains(ILLEGAL_ADDRESS);
                let explained =
                    may_be_an_input.then(|| self.fails_on_inputs_of_its_own(cx, worker, module));
                // Whatever goes wrong with the explanation, the kernel has crashed.
                if let Some(Ok(true)) = explained {
                    return Err(Stop::Wrong);
                }
                tally.crash(None, cx.out)?;
            }
            Ok(()) | Err(_) => {}
        }
        verdict
    }

    /// Whether a kernel that ended with an illegal address fails in another worker, where it can
    /// store into its inputs: then it writes which input, and which cell.
    fn fails_on_inputs_of_its_own(
        &mut self,
        cx: &mut ProblemContext,
        crashed: &Worker,
        module: ModuleId,
    ) -> Result<bool> {
        let mut worker = (cx.spawn_worker)(WorkerFor::Candidate)?.writing_inputs();
        worker.load_as(crashed)?;
        self.0.resident = None;
        let mut tally = GateTally::new(&self.0.spec, &self.0.chosen, CaseOutcome::NotJudged);
        let log = Log::default();
        let out = std::mem::replace(cx.out, log.writer());
        let verdict = self.0.verify_cases(cx, &mut worker, module, &mut tally);
        *cx.out = out;
        self.0.resident = None;
        let fails = matches!(verdict, Err(Stop::Wrong));
        if fails {
            cx.out.append(&log.text())?;
            tally.write_outcomes(cx.out)?;
        }
        Ok(fails)
    }

    /// Frees what the problem holds on the worker of its check. It is not used after that.
    pub fn take_down(&mut self, worker: &mut Worker) -> Result {
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
    ) -> Result {
        if self.is_from_stock() == Some(true) && self.0.reference.is_none() {
            self.0.reference = Some(ReferenceKernel::start(&self.0.spec, &self.0.folder, cx)?);
        }
        for case in &self.0.chosen {
            let mut drawn = [(Part::Drawn, Drawing::of(cx).first_set(case)?)];
            Drawing::of(cx).expect(&mut drawn, &mut self.0.reference)?;
            let [(_, drawn)] = drawn;
            let launcher = CaseLauncher::set_up(&drawn, worker)?;
            launcher.launch(worker, module, &drawn, 0, ExecutionOrder::Forward)?;
            let written = launcher.written(worker, 0, Worker::look_at)?;
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
    ) -> Result<Box<dyn Timed>> {
        self.0.require_entries(worker, module)?;
        let resident = match place {
            WorkerRole::Verified => self.0.resident(cx, worker)?,
            WorkerRole::Fresh(_) | WorkerRole::Incumbent | WorkerRole::Peer => {
                let timed = self.0.timed(cx)?;
                let verified = self.0.resident.as_ref();
                let lent = verified.and_then(|resident| resident.inputs.clone());
                let how = (cx.seed, lent);
                Rc::new(Resident::set_up(&self.0.spec, &timed, worker, how)?)
            }
        };
        let mut accepted = self.0.accepted.clone();
        if place.is_beside() {
            accepted.reverse();
        }
        let mut timing = TensorTiming::new(resident, module, accepted, place, cx.seed);
        if place == WorkerRole::Verified {
            timing.renewed.clone_from(&self.0.renewed);
        }
        Ok(Box::new(timing))
    }

    fn fits_twice(&self, device: &DeviceInfo) -> bool {
        let timed = self.0.timed.iter().flat_map(|timed| timed.iter());
        let bytes = timed.map(|data| data.sets.len() * data.case.bytes_of(|_| true));
        (bytes.sum::<usize>() as u64) < device.memory_bytes / PART_AHEAD
    }
}

/// A problem that is small enough for a tool that watches every access. It is only launched.
pub struct Watched {
    pub(super) problem: Problem,
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
    pub fn require_memory_for_races(&self, device: &DeviceInfo, beside_a_run: bool) -> Result {
        let of_run = if beside_a_run {
            self.problem.spec.cases_of(self.problem.when, device)
        } else {
            Vec::new()
        };
        match self
            .problem
            .held(&of_run, device, false)
            .too_large_to_watch(&self.problem.chosen, memory::usable())
        {
            Some(why) => Err(Stop::Lab(why)),
            None => Ok(()),
        }
    }

    /// Describes a place outside of a buffer of a launch. `None` of a buffer that is no tensor's.
    pub fn describe_outside(&self, buffer: &str, offset: i64) -> Option<String> {
        launcher::describe_outside(&self.problem.chosen, buffer, offset)
    }

    /// Makes every launch once, without looking at the results.
    pub fn launch_for_check(
        &self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result {
        self.problem.require_entries(worker, module)?;
        let order = ExecutionOrder::Shuffled(told(cx.seed, "the order of threads"));
        let mut chosen = self.problem.chosen.iter();
        chosen.try_for_each(|case| launch_once(cx, worker, module, case, order))
    }
}

/// Launches a case on the first set of its inputs.
pub fn launch_once(
    cx: &ProblemContext,
    worker: &mut Worker,
    module: ModuleId,
    case: &Arc<Case>,
    order: ExecutionOrder,
) -> Result {
    let data = Drawing::of(cx).first_set(case)?;
    let launcher = CaseLauncher::set_up(&data, worker)?;
    launcher.launch(worker, module, &data, 0, order)?;
    launcher.take_down(worker)
}
