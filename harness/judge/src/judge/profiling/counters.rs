//! One launch under ncu, and what its report says.

use super::ProfileSession;
use crate::check::read_findings;
use crate::outcome::Stop;
use crate::problem::Problem;
use crate::process::exec_wrapper;
use crate::process::private_folder::PrivateFolder;
use crate::profile::log::{self, Failure};
use crate::profile::ncu::{Counters, Ncu, Page};
use crate::profile::workload::ProfileCase;
use crate::profile::{details, file, metrics, raw, shown_files, source};
use crate::worker::{Launched, WatchingTool};
use lab_protocol::profile::{Finding, ListedKernel, Origin, ProfileSet, ProfiledLine};
use lab_protocol::report::Writer;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long ncu may take to write its report after the launch.
const WRITE_LIMIT: Duration = Duration::from_secs(120);

/// Most bytes of ncu's log and of its report that are read.
const LOG_LIMIT: u64 = 4 << 20;
const REPORT_LIMIT: u64 = 1 << 30;

/// What the counters of a launch say.
pub struct Counted {
    pub origin: Origin,
    /// The kernel of the launch that took the longest.
    pub longest: raw::Counted,
    /// All kernels of the launch, if there are several.
    pub kernels: Vec<ListedKernel>,
    pub findings: Vec<Finding>,
    pub lines: Vec<ProfiledLine>,
    pub missing: Vec<String>,
    pub launched: Option<Launched>,
}

/// One start of a worker under ncu.
pub struct UnderNcu<'a> {
    session: &'a ProfileSession<'a>,
    ncu: &'a Ncu,
    /// The names of the kernels to profile; empty where the image does not tell.
    kernels: Vec<String>,
    folder: PrivateFolder,
}

/// What ncu made of the launches.
pub enum Report {
    /// The report is there.
    Written { launched: Vec<Launched> },
    /// No counters can be read here, and what to do.
    NoCounters(String),
}

impl<'a> UnderNcu<'a> {
    pub fn new(session: &'a ProfileSession<'a>, ncu: &'a Ncu, case: &ProfileCase) -> Result<Self, Stop> {
        let folder = PrivateFolder::new(session.cache_dir).map_err(|e| {
            Stop::Lab(format!("no temporary folder can be made in {}: {e}", session.cache_dir.display()))
        })?;
        let mut kernels = session.kernels.clone();
        if !kernels.is_empty() && !kernels.contains(&case.entry) {
            kernels.push(case.entry.clone());
        }
        Ok(UnderNcu { session, ncu, kernels, folder })
    }

    /// Whether ncu is told no names, and counts every kernel but the lab's own.
    pub fn uses_fallback_filter(&self) -> bool {
        self.kernels.is_empty()
    }

    fn report(&self) -> PathBuf {
        self.folder.path().join(file::REPORT)
    }

    fn log(&self) -> String {
        let log = read_findings(&self.folder.path().join("log"), LOG_LIMIT).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Launches the workloads under ncu, one after the other, and waits for the report.
    pub fn launch(
        &self,
        problem: &mut dyn Problem,
        counters: Counters,
        cases: &[usize],
        out: &mut Writer,
    ) -> Result<Report, Stop> {
        let command =
            self.ncu.command(&counters, &self.kernels, &self.report(), &self.folder.path().join("log"));
        let tool = WatchingTool {
            environment: vec![exec_wrapper::wrap(&command)],
            folder: self.folder.path().to_owned(),
            is_foreign: true,
            is_profiler: true,
        };
        let mut launched = Vec::new();
        let (began, limit) = (Instant::now(), self.session.request.limit);
        let ran = self.session.start_under(&tool, limit * cases.len() as u32).and_then(|mut worker| {
            let ran = self.session.launch(problem, &mut worker, cases, &mut launched, out);
            worker.close_and_wait(WRITE_LIMIT.min(limit));
            ran
        });
        let log = self.log();
        match log::failure(&log) {
            Some(Failure::Refused(why)) => return Ok(Report::NoCounters(why)),
            Some(Failure::Unusable(why)) => {
                return Ok(Report::NoCounters(format!(
                    "ncu {} cannot profile here: {why}",
                    self.ncu.version
                )));
            }
            None => {}
        }
        if let Err(stop) = ran {
            return Err(self.ended_early(stop, began.elapsed()));
        }
        if log::profiled_nothing(&log) {
            return Err(Stop::Lab(format!(
                "ncu {} profiled nothing: it saw no launch of {}",
                self.ncu.version,
                self.kernels.join(", ")
            )));
        }
        match self.report().symlink_metadata() {
            Ok(about) if about.is_file() && about.len() <= REPORT_LIMIT => Ok(Report::Written { launched }),
            Ok(_) => Err(Stop::Lab("ncu's report is no plain file, or larger than 1 GiB".into())),
            Err(_) => Err(Stop::Lab(format!(
                "ncu {} ended without a report{}",
                self.ncu.version,
                last_line(&log).map_or_else(String::new, |line| format!(": {line}"))
            ))),
        }
    }

    /// What happened where the worker ended before its launch did.
    fn ended_early(&self, stop: Stop, took: Duration) -> Stop {
        let limit = self.session.request.limit;
        if took < limit {
            return stop.map_text(|text| format!("under ncu: {text}"));
        }
        Stop::Lab(format!(
            "ncu did not end its launch within {} s and was ended. ncu replays a launch many times: a kernel that waits for the host \
             or for an earlier launch hangs, and a long launch takes long. Choose a smaller workload with --workload, or --set quick",
            limit.as_secs_f64()
        ))
    }

    /// Launches one workload, and reads the report's pages.
    pub fn count(
        &self,
        problem: &mut dyn Problem,
        (number, case): (usize, &ProfileCase),
        out: &mut Writer,
    ) -> Result<Result<Counted, String>, Stop> {
        let set = self.session.request.set;
        let began = Instant::now();
        let launched = match self.launch(problem, Counters::Set(set), &[number], out)? {
            Report::Written { launched } => launched.into_iter().next(),
            Report::NoCounters(why) => return Ok(Err(why)),
        };
        let launches = raw::read(&self.page(Page::Raw)?).map_err(Stop::Lab)?;
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
        let kernels: Vec<ListedKernel> =
            if launches.len() > 1 { launches.iter().map(listed).collect() } else { Vec::new() };
        let Some(kernel) = launches.into_iter().nth(longest) else {
            return Err(Stop::Lab("ncu's report has no launch: ncu profiled nothing".into()));
        };
        let mut missing = missing_counters(set, &kernel);
        if let Some(others) = kernels.len().checked_sub(1).filter(|others| *others > 0) {
            missing
                .push(format!("counters of {others} other kernels of the launch: these are of the longest"));
        }
        let (mut findings, mut lines) = (Vec::new(), Vec::new());
        if set == ProfileSet::Quick {
            missing.push("findings and lines of source: --set full reads them".into());
        } else {
            findings = details::read(&self.page(Page::Details)?, longest).map_err(Stop::Lab)?;
            let read = source::read(&self.page(Page::Source)?, &kernel.entry).map_err(Stop::Lab)?;
            missing.extend(read.missing);
            lines = read.lines;
            for line in &mut lines {
                line.file = shown_files::shown(&line.file, self.session.options);
            }
        }
        let origin = Origin::Counters {
            tool: format!("ncu {}", self.ncu.version),
            set,
            passes: kernel.value(metrics::PASSES).map(|passes| passes as u32),
            report: self.keep()?,
            took_ms: began.elapsed().as_millis() as u64,
        };
        if kernel.entry != case.entry && kernels.is_empty() {
            missing
                .push(format!("a launch of {}: the launch statement started {}", case.entry, kernel.entry));
        }
        Ok(Ok(Counted { origin, longest: kernel, kernels, findings, lines, missing, launched }))
    }

    /// A page of the report.
    pub fn page(&self, page: Page) -> Result<Vec<u8>, Stop> {
        self.ncu.page(&self.report(), page).map_err(Stop::Lab)
    }

    /// Copies the report, and ncu's text, to the profile if that is wanted. Returns the report's name.
    fn keep(&self) -> Result<Option<String>, Stop> {
        let request = self.session.request;
        let failed = |path: &Path, error: std::io::Error| {
            Stop::Lab(format!("{} cannot be written: {error}", path.display()))
        };
        if request.writes_text {
            let (text, path) =
                (self.ncu.text(&self.report()).map_err(Stop::Lab)?, request.out.join(file::TEXT));
            std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
        }
        if !request.keeps_report {
            return Ok(None);
        }
        let path = request.out.join(file::REPORT);
        std::fs::copy(self.report(), &path).map_err(|error| failed(&path, error))?;
        Ok(Some(file::REPORT.to_owned()))
    }
}

/// The counters of the quick set that a launch does not have.
fn missing_counters(set: ProfileSet, kernel: &raw::Counted) -> Vec<String> {
    if set == ProfileSet::Full {
        return Vec::new();
    }
    metrics::quick().into_iter().filter(|name| kernel.value(name).is_none()).collect()
}

fn last_line(log: &str) -> Option<&str> {
    log.lines().map(str::trim).rfind(|line| !line.is_empty())
}
