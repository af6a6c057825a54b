//! One start of a worker under ncu: the launches, ncu's log, and the report.

use crate::check::read_findings;
use crate::judge::session::Session;
use crate::outcome::{Result, Stop};
use crate::process::child::LineSink;
use crate::process::exec_wrapper;
use crate::process::private_folder::PrivateFolder;
use crate::profile::file;
use crate::profile::log::{self, Failure};
use crate::profile::ncu::{Counters, Ncu, Page};
use crate::worker::{StartingWorker, WatchingTool, Worker, WorkerProgram};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long ncu may take to write its report after the launch.
const WRITE_LIMIT: Duration = Duration::from_secs(120);

/// Most bytes of ncu's log and of its report that are read.
const LOG_LIMIT: u64 = 4 << 20;
const REPORT_LIMIT: u64 = 1 << 30;

/// What ncu made of the launches.
pub enum Ran {
    /// The report is there.
    Reported,
    /// No counters can be read here; the text says why and what to do.
    NoCounters(String),
    /// The launches did not end in time, and ncu was ended.
    TookTooLong,
}

/// A start of ncu, with the folder of its report.
pub struct UnderNcu<'a> {
    ncu: &'a Ncu,
    /// The names of the kernels to profile; empty where the image does not tell.
    kernels: Vec<String>,
    folder: PrivateFolder,
}

impl<'a> UnderNcu<'a> {
    pub fn new(ncu: &'a Ncu, kernels: Vec<String>, cache_dir: &Path) -> Result<Self> {
        Ok(UnderNcu {
            ncu,
            kernels,
            folder: PrivateFolder::for_tool(cache_dir)?,
        })
    }

    /// Whether ncu gets no names, and counts every kernel but the lab's own.
    pub fn uses_fallback_filter(&self) -> bool {
        self.kernels.is_empty()
    }

    /// The file of the report.
    pub fn report(&self) -> PathBuf {
        self.folder.path().join(file::REPORT)
    }

    /// What a page of the report says.
    pub fn read<T>(&self, page: Page, read: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<T> {
        let page = self.ncu.page(&self.report(), page);
        page.and_then(|page| read(&page)).map_err(Stop::Lab)
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log(&self) -> String {
        let log = read_findings(&self.log_path(), LOG_LIMIT).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Starts a worker of the session under ncu, has it make the launches, and waits for the report. All launches
    /// together may take `limit`.
    pub fn run(
        &self,
        session: &mut Session,
        output: LineSink,
        counters: Counters,
        limit: Duration,
        launch: impl FnOnce(&mut Session, &mut Worker) -> Result,
    ) -> Result<Ran> {
        let command = self
            .ncu
            .command(&counters, &self.kernels, &self.report(), &self.log_path());
        let tool = WatchingTool {
            environment: vec![exec_wrapper::wrap(&command)],
            folder: self.folder.path().to_owned(),
            is_foreign: true,
            is_profiler: true,
        };
        let began = Instant::now();
        let program = WorkerProgram::Watched(&session.request.worker, &tool);
        let started = Worker::start(program, session.target, limit, &session.cache_dir, output);
        let ran = started
            .and_then(StartingWorker::ready)
            .and_then(|mut worker| {
                let ran = launch(session, &mut worker);
                worker.close_and_wait(WRITE_LIMIT.min(limit));
                ran
            });
        let log = self.log();
        match log::failure(&log) {
            Some(Failure::Refused(why)) => return Ok(Ran::NoCounters(why)),
            Some(Failure::Unusable(why)) => {
                return Ok(Ran::NoCounters(format!(
                    "ncu {} cannot profile here: {why}",
                    self.ncu.version
                )));
            }
            None => {}
        }
        match ran {
            Err(_) if began.elapsed() >= limit => return Ok(Ran::TookTooLong),
            Err(stop) => return Err(stop.map_text(|text| format!("under ncu: {text}"))),
            Ok(()) => {}
        }
        if log::profiled_nothing(&log) {
            return Err(Stop::Lab(format!(
                "ncu {} profiled nothing: it saw no launch of {}",
                self.ncu.version,
                self.kernels.join(", ")
            )));
        }
        match self.report().symlink_metadata() {
            Ok(about) if about.is_file() && about.len() <= REPORT_LIMIT => Ok(Ran::Reported),
            Ok(_) => Err(Stop::Lab(
                "ncu's report is no plain file, or larger than 1 GiB".into(),
            )),
            Err(_) => Err(Stop::Lab(format!(
                "ncu {} ended without a report{}",
                self.ncu.version,
                last_line(&log).map_or_else(String::new, |line| format!(": {line}"))
            ))),
        }
    }
}

fn last_line(log: &str) -> Option<&str> {
    log.lines().map(str::trim).rfind(|line| !line.is_empty())
}
