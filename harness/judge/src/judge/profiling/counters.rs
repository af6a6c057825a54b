//! The counters of one launch of a workload: the launch under ncu, and what its report says.

use super::least::differences;
use super::under_ncu::{Ran, UnderNcu};
use super::{Profiling, cannot_write, several};
use crate::judge::processes::as_kernel_output;
use crate::outcome::{OrLab, Result, Stop};
use crate::problem::Problem;
use crate::profile::ncu::{Counters, Ncu, Page};
use crate::profile::workload::ProfileCase;
use crate::profile::{details, file, metrics, raw, shown_files, source};
use crate::worker::Launched;
use lab_protocol::profile::{ListedKernel, Origin, Profile, ProfileSet};
use std::path::Path;
use std::time::Instant;

impl Profiling<'_> {
    /// Starts ncu for the candidate's kernels, and for this entry if the image names any.
    pub(super) fn under_ncu<'n>(&self, ncu: &'n Ncu, entry: &str) -> Result<UnderNcu<'n>> {
        let mut kernels = self.kernels.clone();
        if !kernels.is_empty() && !kernels.iter().any(|kernel| kernel == entry) {
            kernels.push(entry.to_owned());
        }
        UnderNcu::new(ncu, kernels, &self.session.cache_dir)
    }

    /// Launches the workloads under ncu, one after the other. The inner error says why there are no
    /// counters.
    pub(super) fn launch_under(
        &mut self,
        under_ncu: &UnderNcu,
        problem: &mut Problem,
        counters: Counters,
        cases: &[usize],
    ) -> Result<Result<Vec<Launched>, String>> {
        let mut launched = Vec::new();
        let limit = self.asked.limit * cases.len() as u32;
        let output = as_kernel_output(self.session.sink.writer());
        let (session, image) = (&mut self.session, &self.path);
        let ran = under_ncu.run(session, output, counters, limit, |session, worker| {
            launched = Self::launch(session, image, problem, worker, cases)?;
            Ok(())
        })?;
        match ran {
            Ran::Reported => Ok(Ok(launched)),
            Ran::NoCounters(why) => Ok(Err(why)),
            Ran::TookTooLong => Err(Stop::Lab(format!(
                "ncu did not end its launch within {} s and was ended. ncu replays a launch many times: a kernel that waits for the \
                 host or for an earlier launch hangs, and a long launch takes long. Choose a smaller workload with --workload, or --set \
                 quick",
                limit.as_secs_f64()
            ))),
        }
    }

    /// Launches one workload, and reads the report's pages. The inner error says why there are no
    /// counters.
    pub(super) fn count(
        &mut self,
        problem: &mut Problem,
        ncu: &Ncu,
        (number, case): (usize, &ProfileCase),
    ) -> Result<Result<Profile, String>> {
        let set = self.asked.set;
        let began = Instant::now();
        let under_ncu = self.under_ncu(ncu, &case.entry)?;
        let launched =
            match self.launch_under(&under_ncu, problem, Counters::Set(set), &[number])? {
                Ok(launched) => launched.into_iter().next(),
                Err(why) => return Ok(Err(why)),
            };
        let launches = under_ncu.read(Page::Raw, raw::read)?;
        let duration = |launch: &raw::Counted| launch.value(metrics::DURATION).unwrap_or(0.0);
        let mut longest = 0;
        for (at, launch) in launches.iter().enumerate() {
            if duration(launch) > duration(&launches[longest]) {
                longest = at;
            }
        }
        let listed = |launch: &raw::Counted| ListedKernel {
            entry: launch.entry.clone(),
            us: launch.value(metrics::DURATION).map(|ns| ns / 1000.0),
        };
        let kernels = several(launches.iter().map(listed).collect());
        let Some(kernel) = launches.into_iter().nth(longest) else {
            return Err(Stop::Lab(
                "ncu's report has no launch: ncu profiled nothing".into(),
            ));
        };
        let mut missing = missing_counters(set, &kernel);
        if let Some(others) = kernels.len().checked_sub(1).filter(|others| *others > 0) {
            missing.push(format!(
                "counters of {others} other kernels of the launch: these are of the longest"
            ));
        }
        let (mut findings, mut lines) = (Vec::new(), Vec::new());
        if set == ProfileSet::Quick {
            missing.push("findings and lines of source: --set full reads them".into());
        } else {
            findings = under_ncu.read(Page::Details, |page| details::read(page, longest))?;
            let read = under_ncu.read(Page::Source, |page| source::read(page, &kernel.entry))?;
            missing.extend(read.missing);
            lines = read.lines;
            for line in &mut lines {
                line.file = shown_files::shown(&line.file, &self.session.request);
            }
        }
        let origin = Origin::Counters {
            tool: format!("ncu {}", ncu.version),
            set,
            passes: kernel.value(metrics::PASSES).map(|passes| passes as u32),
            report: self.keep(ncu, &under_ncu.report())?,
            took_ms: began.elapsed().as_millis() as u64,
        };
        if kernel.entry != case.entry && kernels.is_empty() {
            missing.push(format!(
                "a launch of {}: the launch statement started {}",
                case.entry, kernel.entry
            ));
        }
        let kernel_and_launch = (kernel.entry, launched.as_ref());
        let profile = self.profile(case, origin, kernel_and_launch, missing);
        Ok(Ok(Profile {
            device: kernel.device.unwrap_or_else(|| profile.device.clone()),
            launch: kernel.launch,
            metrics: kernel.metrics,
            findings,
            lines,
            kernels,
            differences: differences(case),
            ..profile
        }))
    }

    /// Copies the report, and ncu's text, to the profile if that is wanted. Returns the report's
    /// name.
    fn keep(&self, ncu: &Ncu, report: &Path) -> Result<Option<String>> {
        let asked = self.asked;
        if asked.writes_text {
            let (text, path) = (
                ncu.text(report).map_err(Stop::Lab)?,
                asked.out.join(file::TEXT),
            );
            std::fs::write(&path, text).or_lab(|| cannot_write(&path))?;
        }
        if !asked.keeps_report {
            return Ok(None);
        }
        let path = asked.out.join(file::REPORT);
        std::fs::copy(report, &path).or_lab(|| cannot_write(&path))?;
        Ok(Some(file::REPORT.to_owned()))
    }
}

/// The counters of the quick set that a launch does not have.
fn missing_counters(set: ProfileSet, kernel: &raw::Counted) -> Vec<String> {
    if set == ProfileSet::Full {
        return Vec::new();
    }
    metrics::quick()
        .into_iter()
        .filter(|name| kernel.value(name).is_none())
        .collect()
}
