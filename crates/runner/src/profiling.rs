//! `lab profile`: runs the built-in harness on the present bytes under a profiler, and puts the
//! result into the folder of the run that judged these bytes.

use crate::event::RunEvent;
use crate::execute::{NotRun, execute, inputs_of};
use crate::follow::Batch;
use crate::job::Job;
use crate::process::Control;
use crate::spec::RunSpec;
use anyhow::{Context, Result, anyhow, bail};
use lab_project::Project;
use lab_protocol::profile::{Profile, ProfileSet};
use lab_protocol::report::Report;
use lab_protocol::{Exit, JudgeKind, ProfileRequest};
use lab_run::inputs::Inputs;
use lab_run::verdict::Outcome;
use lab_run::{Ending, Reason, RunId};
use lab_store::signature::{self, Purpose};
use lab_store::{RunIndex, RunStore};
use lab_system::failure::Failure;
use lab_system::root::Access;
use std::fs;
use std::path::{Path, PathBuf};

/// The profile's name in the folder of a run. [`lab_protocol::profile::Profile`] is its content.
pub const PROFILE: &str = "profile.json";
/// The durations of all workloads. [`lab_protocol::profile::WorkloadDurations`] is its content.
pub const WORKLOADS: &str = "profile-workloads.json";
/// The profiler's own report, if it is kept.
pub const REPORT: &str = "profile.ncu-rep";
/// What the harness printed while it profiled.
pub const PROFILE_LOG: &str = "profile.log";
/// The profiler's own text, which is no part of the run.
const TEXT: &str = "ncu.txt";
/// Exists only while a profile of the run is made.
const WORKING: &str = "profiling";

/// Held in `.lab` while a profile is made.
const LOCK: &str = "profile.lock";

/// Most bytes of a profile, of ncu's text and of its report.
const FILE_LIMIT: u64 = 64 << 20;
const REPORT_LIMIT: u64 = 1 << 30;

/// What to profile, and with what.
#[derive(Clone, Debug)]
pub struct ProfileSpec {
    pub set: ProfileSet,
    /// The workload, by the problem's words or by its number from 1; `None` is the largest timed
    /// one. `all` times each.
    pub workload: Option<String>,
    /// Also keeps the profiler's report.
    pub keeps_report: bool,
    /// Also returns the profiler's text.
    pub wants_text: bool,
    /// How the bytes are judged, if no run has, and on which device.
    pub run: RunSpec,
}

impl ProfileSpec {
    /// A profile of the largest timed workload, by this executable on the device of lab.toml.
    pub fn new(set: ProfileSet) -> Self {
        ProfileSpec {
            set,
            workload: None,
            keeps_report: false,
            wants_text: false,
            run: RunSpec::new(Reason::Command),
        }
    }

    /// Whether every workload is timed instead of one profiled.
    pub fn is_of_all_workloads(&self) -> bool {
        self.workload.as_deref() == Some("all")
    }
}

/// A profile on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiled {
    /// The run that judged these bytes.
    pub run: RunId,
    /// profile.json or profile-workloads.json in that run's folder.
    pub path: PathBuf,
    /// The profiler's own text, if it was asked for and there is one.
    pub text: Option<String>,
}

/// The newest run that judged these inputs: a profile of them belongs to it.
fn run_of(index: &RunIndex, project: &Project, inputs: &Inputs) -> Option<RunId> {
    let mut runs = index.newest_of(&inputs.fingerprint);
    let judged = runs.find(|run| {
        run.judges(project)
            && run.fingerprint == inputs.fingerprint
            && run.outcome().is_some_and(Outcome::is_verdict)
    });
    judged.map(|run| run.id)
}

/// Profiles the present bytes of the kernel, and judges them first if no run has. `tell` gets the run's number with what the harness
/// prints. `control` ends it. Takes from seconds to minutes, on the calling thread. The error says
/// why there is no profile; an older profile then stays.
pub fn profile(
    project: &Project,
    spec: &ProfileSpec,
    index: &mut RunIndex,
    control: &Control,
    mut tell: impl FnMut(RunId, Batch),
) -> Result<Profiled, NotRun> {
    if let Some(line) = &project.config.harness {
        return Err(NotRun::Refused(format!(
            "lab profile runs the kernel in the built-in harness, and this one is judged by `{line}`"
        )));
    }
    let inputs = inputs_of(project, &spec.run)?;
    index.refresh();
    let run = match run_of(index, project, &inputs) {
        Some(run) => run,
        None => judge(project, &spec.run, index, control, &mut tell)?,
    };
    let store = RunStore::of(project);
    let folder = store.folder(run);
    let working = folder.join(WORKING);
    let log = folder.join(PROFILE_LOG);
    let lock = project.lab_dir.join(LOCK);
    let taken = store.files().take_lock(&lock, Access::ReadAppend);
    let taken = taken.cannot("lock", &lock);
    let Some(_lock) = taken.and_so("nothing was profiled")? else {
        return Err(NotRun::Failed(anyhow!(
            "another process profiles in this repository: wait for its end"
        )));
    };
    let attempt = Attempt {
        project,
        spec,
        store: &store,
        run,
        working: &working,
        log: &log,
    };
    // Of a profile that was killed.
    let _ = store.files().remove_dir_all(&working);
    let made = attempt.make(&inputs, control, &mut |batch| tell(run, batch));
    let _ = store.files().remove_dir_all(&working);
    Ok(made?)
}

/// Judges bytes that no run has judged. Returns the run that a profile of them belongs to.
fn judge(
    project: &Project,
    spec: &RunSpec,
    index: &mut RunIndex,
    control: &Control,
    tell: &mut impl FnMut(RunId, Batch),
) -> Result<RunId, NotRun> {
    let record = execute(None, project, spec, index, control, |event| {
        if let RunEvent::Progress(run, batch) = event {
            tell(run, batch);
        }
    })?;
    match record.verdict {
        Some(verdict) if verdict.outcome.is_verdict() && !verdict.build_failed => {
            Ok(record.start.id)
        }
        verdict => Err(NotRun::Refused(format!(
            "nothing was profiled: {}",
            verdict.unwrap_or_default().why
        ))),
    }
}

/// One start of the harness under a profiler.
struct Attempt<'a> {
    project: &'a Project,
    spec: &'a ProfileSpec,
    store: &'a RunStore,
    run: RunId,
    /// For the copy of the files and for what the harness writes.
    working: &'a Path,
    log: &'a Path,
}

impl Attempt<'_> {
    fn make(
        &self,
        inputs: &Inputs,
        control: &Control,
        tell: &mut dyn FnMut(Batch),
    ) -> Result<Profiled> {
        let (project, files) = (self.project, self.store.files());
        let (tree, out) = (self.working.join("tree"), self.working.join("out"));
        let log = files.create(self.log).cannot("write", self.log)?;
        let mut follow = Job::follow(project, log);
        files.create_dir_all(&out).cannot("make", &out)?;
        let profile = ProfileRequest {
            workload: self.spec.workload.clone(),
            keeps_report: self.spec.keeps_report,
            writes_text: self.spec.wants_text,
            ..ProfileRequest::new(self.spec.set, out.clone())
        };
        let mut job = Job {
            run_dir: self.working,
            ..Job::of(project, &self.spec.run, inputs, &tree)
        };
        job.request.kind = JudgeKind::Profile(profile);
        let ended = job.run(None, &mut follow, control, tell);
        if let Some(error) = ended.incomplete {
            return Err(error).with_context(|| format!("{} is incomplete", self.log.display()));
        }
        let report = follow.report();
        match ended.ending {
            Ending::Exited(code) if code == Exit::Passed as i32 => {}
            Ending::Superseded => bail!("the profile was ended: nothing was written"),
            Ending::TimedOut => bail!(
                "the harness did not end in time: see {}",
                self.log.display()
            ),
            _ => {
                let why = report
                    .value("stopped")
                    .map_or_else(|| follow.last_words(), str::to_owned);
                bail!("nothing was profiled: {why}");
            }
        }
        self.take_over(&out, report.value("device"))
    }

    /// Signs a profile, and adds the time of the run if the run used this device. A profile that
    /// cannot be read stays what it is: whoever reads it says so.
    fn finished(&self, bytes: Vec<u8>, device: Option<&str>) -> Vec<u8> {
        let Ok(mut profile) = serde_json::from_slice::<Profile>(&bytes) else {
            return bytes;
        };
        let report = self.store.read(self.run).map(|record| record.report());
        if let (Ok(report), Some(least)) = (report, profile.least.as_mut())
            && report.value("device") == device
        {
            least.run_us = us_of_launch(&report, &profile.workload, least.steps);
        }
        let signed = signature::signed(Purpose::Profile, &profile);
        signed
            .or_else(|_| serde_json::to_vec(&profile))
            .unwrap_or(bytes)
    }

    /// Moves what the harness wrote into the run's folder, the profile last.
    /// `device` is the device of the profile.
    fn take_over(&self, out: &Path, device: Option<&str>) -> Result<Profiled> {
        let files = self.store.files();
        let folder = self.store.folder(self.run);
        let name = if self.spec.is_of_all_workloads() {
            WORKLOADS
        } else {
            PROFILE
        };
        let written = out.join(name);
        let mut bytes = files
            .read(&written, FILE_LIMIT)
            .with_context(|| format!("the harness wrote no {name}: see {}", self.log.display()))?;
        if name == PROFILE {
            let (from, to) = (out.join(REPORT), folder.join(REPORT));
            // The report of an older profile would not belong to this one.
            files.remove_file(&to).cannot("remove", &to)?;
            if self.spec.keeps_report && files.metadata(&from).is_ok_and(|about| is_plain(&about)) {
                files.rename(&from, &to).cannot("write", &to)?;
            }
            bytes = self.finished(bytes, device);
        }
        let path = folder.join(name);
        files.replace(&path, &bytes).cannot("write", &path)?;
        if name == PROFILE {
            // Only a screen that is open needs it, and it reads the profile at its next start
            // anyway.
            let _ = files.replace(&self.store.profiled(), self.run.0.to_string().as_bytes());
        }
        let text = files.read(&out.join(TEXT), FILE_LIMIT).ok();
        let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(Profiled {
            run: self.run,
            path,
            text,
        })
    }
}

/// Microseconds of one launch of the workload in a run. A run of a problem with one workload names
/// none, and gives the time of a step.
fn us_of_launch(report: &Report, workload: &str, steps: f64) -> Option<f64> {
    let all = report.workload_figures();
    if all.is_empty() {
        return Some(report.measure("kernel_us")?.value * steps);
    }
    all.into_iter()
        .find(|of| of.name == workload)?
        .us
        .map(|us| us.value)
}

fn is_plain(about: &fs::Metadata) -> bool {
    about.is_file() && about.len() <= REPORT_LIMIT
}
