//! The cases of a run: which ones a device can judge, their data, and the check of all of them one
//! after the other.

use super::Problem;
use super::case_data::CaseData;
use super::drawing::{Ahead, Drawing, Part};
use super::input_values::InputValues;
use super::launcher::CaseLauncher;
use super::random::told;
use super::resident::{Resident, TimedCases};
use super::spec::Case;
use super::tally::GateTally;
use super::verify::{CaseCheck, CheckedSets};
use crate::outcome::{Result, Stop};
use crate::problem::api::ProblemContext;
use crate::worker::{ModuleId, Worker};
use itertools::Itertools as _;
use lab_device::DeviceInfo;
use lab_protocol::When;
use lab_protocol::report::JudgedWorkloads;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// What a case is checked on.
pub struct CaseSets {
    /// Its position among the timed cases, which have their sets on the worker already.
    pub timed: Option<usize>,
    /// Its drawn sets if it is not timed.
    pub untimed: Option<CaseData>,
    pub renewed: Option<CaseData>,
    pub planted: CaseData,
}

impl CaseSets {
    /// The sets that get buffers for their check only.
    pub fn further(&self) -> Vec<(Part, &CaseData)> {
        let untimed = self.untimed.iter().map(|drawn| (Part::Drawn, drawn));
        let sets = untimed.chain([(Part::Planted, &self.planted)]);
        sets.filter(|(_, drawn)| !drawn.sets.is_empty()).collect()
    }
}

impl Problem {
    /// Notes how many of the workloads that this device can judge, each in each of its types, were
    /// judged, and writes how many extremes their inputs held.
    pub(super) fn note_judged(&mut self, cx: &mut ProblemContext) -> Result {
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
            let inputs = self.chosen.iter().flat_map(|case| &case.tensors);
            let as_drawn = inputs.filter(|tensor| tensor.has_only_drawn_sizes());
            let as_drawn = as_drawn
                .map(|tensor| tensor.name.as_str())
                .unique()
                .join(",");
            let as_drawn = match as_drawn.as_str() {
                "" => String::new(),
                names => format!(" as_drawn={names}"),
            };
            let counts = format_args!("{planted} left_out={left_out}{as_drawn}");
            cx.out.line("planted", counts)?;
        }
        let ragged = self.chosen.iter().filter(|case| case.hint.is_some());
        let (ragged, without) = (ragged.count(), self.spec.not_ragged.join(","));
        if ragged > 0 || !without.is_empty() {
            let without = if without.is_empty() {
                String::new()
            } else {
                format!(" left_out={without}")
            };
            cx.out.line("ragged", format_args!("{ragged}{without}"))?;
        }
        Ok(())
    }

    /// The path of problem.toml.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("problem.toml")
    }

    /// [`crate::problem::Prepared::verify`] after the entries were found.
    pub(super) fn verify_cases(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        tally: &mut GateTally,
    ) -> Result {
        let resident = self.resident(cx, worker)?;
        let chosen = self.chosen.iter().cloned().enumerate().collect_vec();
        let drawing = Drawing::of(cx);
        let bytes = |(_, case): &(usize, Arc<Case>)| {
            let parts = self.parts_of(case, &resident).into_iter();
            parts.map(|part| drawing.bytes(case, part)).sum()
        };
        let groups = drawing.groups(&chosen, bytes);
        // What the kernel was given in launches of another kind must not help it.
        let alike = groups
            .into_iter()
            .flat_map(|group| group.chunk_by(|one, next| !one.1.has_other_pointers(&next.1)));
        let alike = alike.collect_vec();
        for group in alike {
            let (first, case) = &group[0];
            if *first > 0 && chosen[first - 1].1.has_other_pointers(case) {
                worker.reload(module)?;
            }
            cx.out.progress(*first as u64, chosen.len() as u64)?;
            let drawn = self.take_group(group, &resident, cx)?;
            let mut check = CaseCheck {
                resident: &resident,
                module,
                tally,
                worker,
                out: cx.out,
                seed: told(cx.seed, "the order of threads"),
            };
            self.check_cases(group, &drawn, &mut check, chosen.len())?;
            if tally.breached() {
                // On the emulated device the store may have damaged the worker itself.
                cx.out.text(
                    "a store out of bounds may have damaged the worker: verification stops",
                )?;
                return Err(Stop::Wrong);
            }
        }
        cx.out.progress(chosen.len() as u64, chosen.len() as u64)?;
        tally.write_accepts(cx.out)?;
        self.note_judged(cx)?;
        tally.verdict()
    }

    /// The parts of a case that are drawn for its check, beside those of timed cases.
    fn parts_of(&self, case: &Case, resident: &Resident) -> Vec<Part> {
        let mut parts = vec![Part::Planted];
        parts.extend(resident.position(case).is_none().then_some(Part::Drawn));
        let is_renewed = self.renewed.contains(&case.index);
        parts.extend(is_renewed.then_some(Part::Renewed));
        parts
    }

    /// The sets of these cases, drawn now unless they were drawn ahead.
    fn take_group(
        &mut self,
        group: &[(usize, Arc<Case>)],
        resident: &Resident,
        cx: &ProblemContext,
    ) -> Result<Vec<CaseSets>> {
        let parts = group.iter().flat_map(|(_, case)| {
            let parts = self.parts_of(case, resident).into_iter();
            parts.map(|part| (case.clone(), part))
        });
        let parts = parts.collect_vec();
        let mut drawn = self.take_all(&parts, cx)?;
        let each = group.iter().map(|(_, case)| {
            let mut take = |part| drawn.remove(&(case.index, part));
            CaseSets {
                timed: resident.position(case),
                untimed: take(Part::Drawn),
                renewed: take(Part::Renewed),
                planted: take(Part::Planted).unwrap_or_else(|| CaseData::new(case, Vec::new())),
            }
        });
        Ok(each.collect())
    }

    /// Checks cases: together where that can be done, and else one after the other. Stops after a
    /// store out of bounds.
    fn check_cases(
        &self,
        group: &[(usize, Arc<Case>)],
        drawn: &[CaseSets],
        check: &mut CaseCheck,
        all: usize,
    ) -> Result {
        let shares = check.worker.holds_cells();
        if shares && group.iter().all(|(_, case)| case.steps == 1) {
            let first = group.first().map_or(0, |(position, _)| *position);
            return self.check_group(drawn, check, (first, all));
        }
        for ((position, case), drawn) in group.iter().zip(drawn) {
            check.tally.begin_case(*position);
            self.check_case(case, drawn, check)?;
            if check.end_case(position + 1 == all)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The sets of a timed case.
    pub(super) fn timed_sets<'a>(&'a self, resident: &'a Resident, at: usize) -> CheckedSets<'a> {
        CheckedSets {
            launcher: &resident.launchers[at],
            drawn: &resident.timed[at],
            accepted: Some((at, &self.accepted[0])),
        }
    }

    /// Checks a case on its sets, on renewed ones if it gets some, and on those that hold extremes.
    fn check_case(&self, case: &Arc<Case>, drawn: &CaseSets, check: &mut CaseCheck) -> Result {
        if let Some(at) = drawn.timed {
            let of_timed = self.timed_sets(check.resident, at);
            check.run(of_timed, ORDERS)?;
            self.check_renewed(drawn, check)?;
        }
        for (part, drawn) in drawn.further() {
            if check.tally.has_seen_enough() {
                break;
            }
            let launcher = CaseLauncher::set_up_shared(case, check.worker)?;
            let of_further = CheckedSets {
                launcher: &launcher,
                drawn,
                accepted: None,
            };
            let least = if part == Part::Planted { 0 } else { ORDERS };
            check.run(of_further, least)?;
            launcher.take_down(check.worker)?;
        }
        Ok(())
    }

    /// Checks a timed case on new values in the place of others, if it has some.
    pub(super) fn check_renewed(&self, drawn: &CaseSets, check: &mut CaseCheck) -> Result {
        let (Some(at), Some(renewed)) = (drawn.timed, &drawn.renewed) else {
            return Ok(());
        };
        if check.tally.has_seen_enough() {
            return Ok(());
        }
        let of_timed = self.timed_sets(check.resident, at);
        let of_renewed = CheckedSets {
            drawn: renewed,
            accepted: None,
            ..of_timed
        };
        check.run_renewed(of_renewed, &of_timed.drawn.sets)
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

    /// Sets of cases, drawn now unless they were drawn ahead.
    fn take_all(&mut self, parts: &[(Arc<Case>, Part)], cx: &ProblemContext) -> Result<Ahead> {
        let mut taken = Ahead::new();
        let mut missing = Vec::new();
        for (case, part) in parts {
            let key = (case.index, *part);
            let drawn = match self.keeps_ahead {
                true => self.ahead.get(&key).cloned(),
                false => self.ahead.remove(&key),
            };
            match drawn {
                Some(drawn) => drop(taken.insert(key, drawn)),
                None => missing.push((case.clone(), *part)),
            }
        }
        let drawing = Drawing::of(cx);
        taken.extend(drawing.draw_each(&missing, &mut self.reference, &mut || true)?);
        Ok(taken)
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
    pub(super) fn timed(&mut self, cx: &ProblemContext) -> Result<TimedCases> {
        if let Some(drawn) = &self.timed {
            return Ok(drawn.clone());
        }
        let parts = self.timed_cases().into_iter();
        let parts = parts.map(|case| (case, Part::Drawn)).collect_vec();
        let mut drawn = self.take_all(&parts, cx)?;
        let all = parts
            .iter()
            .filter_map(|(case, part)| drawn.remove(&(case.index, *part)));
        Ok(self.timed.insert(Rc::new(all.collect())).clone())
    }

    /// The timed cases on the candidate's worker, set up now unless they are.
    pub(super) fn resident(
        &mut self,
        cx: &ProblemContext,
        worker: &mut Worker,
    ) -> Result<Rc<Resident>> {
        if let Some(resident) = &self.resident {
            return Ok(resident.clone());
        }
        let timed = self.timed(cx)?;
        let resident = Resident::set_up(&self.spec, &timed, worker, (cx.seed, None))?;
        let resident = Rc::new(resident);
        Ok(self.resident.insert(resident).clone())
    }
}

/// Launches of a case on the emulated device, at least: one for each order of threads.
const ORDERS: usize = 3;
