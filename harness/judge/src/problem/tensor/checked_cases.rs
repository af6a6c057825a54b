//! The cases of a run: which ones a device can judge, their data, and the check of all of them one
//! after the other.

use super::TensorProblem;
use super::case_data::{CaseData, Part, draw, planted_sets};
use super::input_values::InputValues;
use super::launcher::CaseLauncher;
use super::outcomes::{CaseOutcome, CaseOutcomes};
use super::resident::{Resident, TimedCases};
use super::spec::{Case, Origin};
use super::tally::GateTally;
use super::verify::CaseCheck;
use crate::outcome::{Correctness, Stop};
use crate::problem::api::ProblemContext;
use crate::worker::{ModuleId, Worker};
use lab_device::DeviceInfo;
use lab_protocol::When;
use lab_protocol::report::JudgedWorkloads;
use std::path::PathBuf;
use std::rc::Rc;

impl TensorProblem {
    /// Whether the device can judge a case: the emulated one leaves out the large ones, which a
    /// caveat says.
    pub(super) fn fits(&self, case: &Case, device: &DeviceInfo) -> bool {
        !device.emulated
            || self
                .spec
                .cpu_max_cells
                .is_none_or(|most| case.cells() <= most)
    }

    /// Notes how many of the workloads that this device can judge, each in each of its types, were
    /// judged, and writes how many extremes their inputs held.
    pub(super) fn note_judged(&mut self, cx: &mut ProblemContext) -> Result<(), Stop> {
        let is_workload =
            |case: &Case| case.origin == Origin::Workload && self.fits(case, cx.device);
        let judged = self
            .chosen
            .iter()
            .filter(|index| is_workload(&self.spec.cases[**index]))
            .count();
        let of = self
            .spec
            .cases
            .iter()
            .filter(|case| is_workload(case))
            .count();
        self.judged = Some(JudgedWorkloads {
            judged,
            of,
            when: self.when,
        });
        let seed = self.seed(cx);
        let sets =
            |index: &usize| planted_sets(&self.spec, &self.spec.cases[*index], cx.device, seed);
        let (planted, left_out) = self
            .chosen
            .iter()
            .map(sets)
            .fold((0, 0), |(planted, left_out), sets| {
                (planted + sets.patterns(), left_out + sets.left_out)
            });
        if planted > 0 {
            cx.out
                .line("planted", format_args!("{planted} left_out={left_out}"))?;
        }
        Ok(())
    }

    /// The path of problem.toml.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("problem.toml")
    }

    /// [`Problem::verify`] after the entries were found. `present` is the position of the case that
    /// is judged.
    pub(super) fn verify_cases(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        outcomes: &mut CaseOutcomes,
        present: &mut Option<usize>,
    ) -> Result<Correctness, Stop> {
        let resident = self.resident(cx, worker)?;
        let timed = self.timed(cx)?;
        let mut tally = GateTally::new(&self.spec);
        for (done, index) in self.chosen.clone().into_iter().enumerate() {
            cx.out.progress(done as u64, self.chosen.len() as u64)?;
            *present = Some(done);
            let failures = tally.failures();
            tally.begin_case();
            let at = timed.iter().position(|(timed, _)| *timed == index);
            let untimed = if at.is_none() {
                Some(self.take(index, Part::Drawn, cx)?)
            } else {
                None
            };
            let renewed = match at {
                Some(_) if self.renewed.contains(&index) => {
                    Some(self.take(index, Part::Renewed, cx)?)
                }
                _ => None,
            };
            let planted = self.take(index, Part::Planted, cx)?;
            let mut check = CaseCheck {
                spec: &self.spec,
                resident: &resident,
                module,
                tally: &mut tally,
            };
            if let Some(at) = at {
                let accepted = Some((at, &self.accepted));
                check.run(
                    &resident.launchers[at],
                    &timed[at].1,
                    accepted,
                    ORDERS,
                    cx,
                    worker,
                )?;
                if let Some(renewed) = renewed.filter(|_| !check.tally.has_seen_enough()) {
                    check.run_renewed(
                        &resident.launchers[at],
                        &renewed,
                        &timed[at].1.sets,
                        cx,
                        worker,
                    )?;
                }
            }
            for (drawn, least) in untimed
                .iter()
                .map(|drawn| (drawn, ORDERS))
                .chain([(&planted, 0)])
            {
                if drawn.sets.is_empty() || check.tally.has_seen_enough() {
                    continue;
                }
                let launcher = CaseLauncher::set_up_shared(&self.spec, index, worker, &drawn.sets)?;
                check.run(&launcher, drawn, None, least, cx, worker)?;
                launcher.take_down(worker)?;
            }
            let is_right = tally.failures() == failures;
            outcomes.set(
                done,
                if is_right {
                    CaseOutcome::Pass
                } else {
                    CaseOutcome::Fail
                },
            );
            // After each case, so that the gates of a long problem show while it runs.
            let last = tally.breached() || done + 1 == self.chosen.len();
            tally.write(&self.spec, last, cx.out)?;
            if tally.breached() {
                // On the emulated device the store may have damaged the worker itself.
                cx.out.text(
                    "a store out of bounds may have damaged the worker: verification stops",
                )?;
                return Ok(Correctness::Fail);
            }
        }
        cx.out
            .progress(self.chosen.len() as u64, self.chosen.len() as u64)?;
        self.note_judged(cx)?;
        Ok(tally.verdict())
    }

    /// For each tensor whose values come from a file: a caveat that every run has the same ones.
    pub(super) fn fixed_inputs(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        for index in &self.chosen {
            for (tensor, shaped) in self
                .spec
                .tensors
                .iter()
                .zip(&self.spec.cases[*index].tensors)
            {
                let Some(InputValues::Npy(array)) = &shaped.values else {
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
        }
        caveats
    }

    /// Sets of a case, unless they were drawn ahead drawn now.
    pub(super) fn take(
        &mut self,
        index: usize,
        part: Part,
        cx: &ProblemContext,
    ) -> Result<CaseData, Stop> {
        match self.ahead.remove(&(index, part)) {
            Some(drawn) => Ok(drawn),
            None => draw(
                &self.spec,
                index,
                part,
                &mut self.reference,
                cx.device,
                cx.seed,
            ),
        }
    }

    pub(super) fn timed_cases(&self) -> Vec<usize> {
        self.chosen
            .iter()
            .copied()
            .filter(|index| !self.spec.cases[*index].held_out)
            .collect()
    }

    /// The timed cases of every occasion that this device runs.
    pub(super) fn cases_to_profile(&self, device: &DeviceInfo) -> Vec<usize> {
        let all = self.cases_of(&self.spec, When::Keep, device);
        all.into_iter()
            .filter(|index| !self.spec.cases[*index].held_out)
            .collect()
    }

    /// The cases that are checked and never timed.
    pub(super) fn untimed_cases(&self) -> Vec<usize> {
        self.chosen
            .iter()
            .copied()
            .filter(|index| self.spec.cases[*index].held_out)
            .collect()
    }

    /// The data of the timed cases, drawn now unless it was drawn ahead.
    pub(super) fn timed(&mut self, cx: &ProblemContext) -> Result<TimedCases, Stop> {
        if let Some(drawn) = &self.timed {
            return Ok(drawn.clone());
        }
        let mut all = Vec::new();
        for index in self.timed_cases() {
            let drawn = self.take(index, Part::Drawn, cx)?;
            all.push((index, drawn));
        }
        Ok(self.timed.insert(Rc::new(all)).clone())
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
