//! The cases of a run: which ones a device can judge, their data, and the check of all of them one
//! after the other.

use super::Problem;
use super::case_data::CaseData;
use super::drawing::{Drawing, Part};
use super::input_values::InputValues;
use super::launcher::CaseLauncher;
use super::resident::{Resident, TimedCases};
use super::spec::Case;
use super::tally::GateTally;
use super::verify::{CaseCheck, CheckedSets};
use crate::outcome::{Correctness, Stop};
use crate::problem::api::ProblemContext;
use crate::worker::{ModuleId, Worker};
use lab_device::DeviceInfo;
use lab_protocol::When;
use lab_protocol::report::JudgedWorkloads;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

impl Problem {
    /// Notes how many of the workloads that this device can judge, each in each of its types, were
    /// judged, and writes how many extremes their inputs held.
    pub(super) fn note_judged(&mut self, cx: &mut ProblemContext) -> Result<(), Stop> {
        let count = |cases: &[Arc<Case>]| {
            let is_workload =
                |case: &&Arc<Case>| case.table.0 == "workload" && self.spec.fits(case, cx.device);
            cases.iter().filter(is_workload).count()
        };
        self.judged = Some(JudgedWorkloads {
            judged: count(&self.chosen),
            of: count(&self.spec.cases),
            when: self.when,
        });
        let (device, seed) = (cx.device, self.seed(cx));
        let drawing = Drawing {
            device,
            seed,
            memory: None,
        };
        let (mut planted, mut left_out) = (0, 0);
        for case in &self.chosen {
            let sets = drawing.planted_sets(case);
            planted += sets.patterns();
            left_out += sets.left_out;
        }
        if planted > 0 {
            let counts = format_args!("{planted} left_out={left_out}");
            cx.out.line("planted", counts)?;
        }
        Ok(())
    }

    /// The path of problem.toml.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("problem.toml")
    }

    /// [`Problem::verify`] after the entries were found.
    pub(super) fn verify_cases(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        tally: &mut GateTally,
    ) -> Result<Correctness, Stop> {
        let resident = self.resident(cx, worker)?;
        let chosen = self.chosen.clone();
        let all = chosen.len() as u64;
        for (done, case) in chosen.iter().enumerate() {
            cx.out.progress(done as u64, all)?;
            tally.begin_case(done);
            // What the kernel was given in launches of another kind must not help it.
            if done > 0 && chosen[done - 1].has_other_pointers(case) {
                worker.reload(module)?;
            }
            self.verify_case(case, cx, worker, module, &resident, tally)?;
            // After each case, so that the gates of a long problem show while it runs.
            tally.write(tally.breached() || done + 1 == chosen.len(), cx.out)?;
            if tally.breached() {
                // On the emulated device the store may have damaged the worker itself.
                cx.out.text(
                    "a store out of bounds may have damaged the worker: verification stops",
                )?;
                return Ok(Correctness::Fail);
            }
        }
        cx.out.progress(all, all)?;
        tally.write_accepts(cx.out)?;
        self.note_judged(cx)?;
        Ok(tally.verdict())
    }

    /// Checks a case on its sets, on renewed ones if it gets some, and on those that hold extremes.
    fn verify_case(
        &mut self,
        case: &Arc<Case>,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        resident: &Resident,
        tally: &mut GateTally,
    ) -> Result<(), Stop> {
        let mut timed = resident.timed.iter();
        let at = timed.position(|timed| timed.case.index == case.index);
        let is_renewed = self.renewed.contains(&case.index);
        let mut take =
            |part: Part, is_needed: bool| is_needed.then(|| self.take(case, part, cx)).transpose();
        let untimed = take(Part::Drawn, at.is_none())?;
        let renewed = take(Part::Renewed, is_renewed)?;
        let planted = take(Part::Planted, true)?;
        let mut check = CaseCheck {
            resident,
            module,
            tally,
            worker,
            out: cx.out,
            seed: cx.seed,
        };
        if let Some(at) = at {
            let of_timed = CheckedSets {
                launcher: &resident.launchers[at],
                drawn: &resident.timed[at],
                accepted: Some((at, &self.accepted[0])),
            };
            check.run(of_timed, ORDERS)?;
            if let Some(renewed) = renewed.filter(|_| !check.tally.has_seen_enough()) {
                let of_renewed = CheckedSets {
                    drawn: &renewed,
                    accepted: None,
                    ..of_timed
                };
                check.run_renewed(of_renewed, &of_timed.drawn.sets)?;
            }
        }
        for (drawn, least) in [(untimed, ORDERS), (planted, 0)] {
            let drawn = drawn.filter(|drawn| !drawn.sets.is_empty());
            let Some(drawn) = drawn.filter(|_| !check.tally.has_seen_enough()) else {
                continue;
            };
            let launcher = match check.worker.has_shared_buffers() && case.steps == 1 {
                true => CaseLauncher::set_up(&drawn, check.worker)?,
                false => CaseLauncher::set_up_shared(case, check.worker)?,
            };
            let of_untimed = CheckedSets {
                launcher: &launcher,
                drawn: &drawn,
                accepted: None,
            };
            check.run(of_untimed, least)?;
            launcher.take_down(check.worker)?;
        }
        Ok(())
    }

    /// For each tensor whose values come from a file: a caveat that every run has the same ones.
    pub(super) fn fixed_inputs(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        for tensor in self.chosen.iter().flat_map(|case| &case.tensors) {
            let Some(InputValues::Npy(array)) = &tensor.values else {
                continue;
            };
            let hash = array.hash.get(..12).unwrap_or(&array.hash);
            let caveat = format!(
                "fixed inputs: {} is {} (blake3 {hash}) in every run, so a kernel may know its values",
                tensor.name, array.name
            );
            if !caveats.contains(&caveat) {
                caveats.push(caveat);
            }
        }
        caveats
    }

    /// Sets of a case, drawn now unless they were drawn ahead.
    pub(super) fn take(
        &mut self,
        case: &Arc<Case>,
        part: Part,
        cx: &ProblemContext,
    ) -> Result<CaseData, Stop> {
        match self.ahead.remove(&(case.index, part)) {
            Some(drawn) => Ok(drawn),
            None => Drawing::of(cx).draw(case, part, &mut self.reference),
        }
    }

    pub(super) fn timed_cases(&self) -> Vec<Arc<Case>> {
        let timed = self.chosen.iter().filter(|case| !case.held_out);
        timed.cloned().collect()
    }

    /// The timed cases of every occasion that this device runs.
    pub(super) fn cases_to_profile(&self, device: &DeviceInfo) -> Vec<Arc<Case>> {
        let mut cases = self.spec.cases_of(When::Keep, device);
        cases.retain(|case| !case.held_out);
        cases
    }

    /// The data of the timed cases, drawn now unless it was drawn ahead.
    pub(super) fn timed(&mut self, cx: &ProblemContext) -> Result<TimedCases, Stop> {
        if let Some(drawn) = &self.timed {
            return Ok(drawn.clone());
        }
        let cases = self.timed_cases();
        let all: Result<Vec<CaseData>, Stop> = cases
            .iter()
            .map(|case| self.take(case, Part::Drawn, cx))
            .collect();
        Ok(self.timed.insert(Rc::new(all?)).clone())
    }

    /// The timed cases on the candidate's worker, set up now unless they are.
    pub(super) fn resident(
        &mut self,
        cx: &ProblemContext,
        worker: &mut Worker,
    ) -> Result<Rc<Resident>, Stop> {
        if let Some(resident) = &self.resident {
            return Ok(resident.clone());
        }
        let timed = self.timed(cx)?;
        let resident = Rc::new(Resident::set_up(&self.spec, &timed, worker, cx.seed)?);
        Ok(self.resident.insert(resident).clone())
    }
}

/// Launches of a case on the emulated device, at least: one for each order of threads.
const ORDERS: usize = 3;
