//! Checking a group of cases together, where the judge's own worker has their buffers.

use super::Problem;
use super::checked_cases::CaseSets;
use super::launcher::CaseLauncher;
use super::verify::{CaseCheck, CheckedSets, ComparedTogether, Comparing};
use crate::outcome::Result;
use crate::worker::Breach;
use itertools::Itertools as _;

/// Sets that are launched together, and the position of their case in the group.
struct GroupSets<'a> {
    case: usize,
    sets: CheckedSets<'a>,
}

impl Problem {
    /// Checks the cases of a group on all their sets. The first of them is at this position among the
    /// cases of the check, of which there are `all`.
    pub(super) fn check_group(
        &self,
        group: &[CaseSets],
        check: &mut CaseCheck,
        (position, all): (usize, usize),
    ) -> Result {
        let further = group.iter().flat_map(CaseSets::further);
        let drawn = further.map(|(_, drawn)| drawn).collect_vec();
        let launchers = CaseLauncher::set_up_all(&drawn, check.worker)?;
        let mut of_further = launchers.iter().zip(&drawn);
        let mut sets = Vec::new();
        for (case, of) in group.iter().enumerate() {
            sets.extend(of.timed.map(|at| GroupSets {
                case,
                sets: self.timed_sets(check.resident, at),
            }));
            for (launcher, drawn) in of_further.by_ref().take(of.further().len()) {
                sets.push(GroupSets {
                    case,
                    sets: CheckedSets {
                        launcher,
                        drawn,
                        accepted: None,
                    },
                });
            }
        }
        let checked = sets.iter().map(|of| of.sets).collect_vec();
        let ComparedTogether { each, mut failed } = check.run_together(&checked)?;
        let mut breaches = match &failed {
            None => check.worker.breaches()?,
            Some(_) => Vec::new(),
        };
        let mut compared = sets.iter().zip(each).enumerate().peekable();
        for (case, of) in group.iter().enumerate() {
            check.tally.begin_case(position + case);
            let (mut first, mut launches) = (None, 0);
            while let Some((at, (of_set, launched))) =
                compared.next_if(|(_, (of_set, _))| of_set.case == case)
            {
                check.tally.note_accepts(of_set.sets.drawn);
                launches += launched.len();
                first = first.or(Some(of_set.sets.launcher));
                // Further sets of the case would show nothing new.
                let has_seen_enough = check.tally.has_seen_enough();
                // The first failure is looked at closely, before what was found in launches together.
                let passes = check.tally.verdict().is_ok();
                if passes && failed.is_none() && launched.iter().any(Comparing::is_wrong) {
                    check.run_apart(of_set.sets)?;
                }
                for launched in launched.into_iter().filter(|_| !has_seen_enough) {
                    check.finish(Some(launched))?;
                }
                if let Some((_, stop)) = failed.take_if(|(failed, _)| *failed == at) {
                    return Err(stop);
                }
            }
            let is_last = case + 1 == group.len();
            if let Some(launcher) = first {
                let how = match launches {
                    1 => "launch 1".to_owned(),
                    launches => format!("launches 1 to {launches}"),
                };
                let of_case = |breach: &mut Breach| is_last || launcher.owns(breach);
                let of_case = breaches.extract_if(.., of_case).collect_vec();
                check.report(launcher, of_case, &how)?;
            }
            self.check_renewed(of, check)?;
            if check.end_case(position + case + 1 == all)?.is_break() {
                return Ok(());
            }
        }
        CaseLauncher::take_down_all(launchers, check.worker)
    }
}
