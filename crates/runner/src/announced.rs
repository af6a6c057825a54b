//! A run whose start was announced. From then on the run always ends with a record: no function
//! that returns an error lies between the start and the verdict. What fails on the way (git, the
//! disk, run.log) becomes a caveat on the verdict; a harness that cannot start becomes the run's
//! ending.

use crate::duplicate::{self, Duplicate};
use crate::event::RunEvent;
use crate::follow::Follow;
use crate::job::Job;
use crate::log_link;
use crate::process::Control;
use crate::spec::RunSpec;
use crate::standby::Standby;
use anyhow::{Context, Result};
use itertools::Itertools;
use lab_git::Repo;
use lab_project::Project;
use lab_protocol::report::{Measure, Report, Stage};
use lab_run::common_workloads::{self, CommonWorkloads};
use lab_run::inputs::Inputs;
use lab_run::peers::MeasuredPeer;
use lab_run::record::{Record, Sandbox};
use lab_run::verdict::{Change, Outcome, Verdict};
use lab_run::{RunId, RunStart};
use lab_store::signature;
use lab_store::{INCUMBENT, RunIndex, RunStore, RunSummary, TREE};
use lab_system::failure::Failure;
use lab_system::file_lock::LockedFile;
use lab_system::root::Access;
use lab_system::space;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// A run with its folder, its snapshot and its first record on disk.
pub struct Announced<'a> {
    project: &'a Project,
    spec: &'a RunSpec,
    inputs: Arc<Inputs>,
    store: RunStore,
    repo: Repo,
    record: Record,
    /// Writes run.log.
    follow: Follow,
    /// run.log, locked until the run ends. Other processes see from the lock that the run is in
    /// progress.
    _log: LockedFile,
    /// Failures that cost the user something but leave the verdict valid.
    caveats: Vec<String>,
}

impl<'a> Announced<'a> {
    /// Creates the run's folder with the snapshot of the kernel, run.log and the first record. On
    /// an error the folder is removed again.
    pub fn create(project: &'a Project, spec: &'a RunSpec, inputs: Arc<Inputs>) -> Result<Self> {
        let repo = Repo::open(project)?;
        let caveats = lab_git::exclude(&repo)
            .err()
            .map(|error| format!("{error:#}"))
            .into_iter()
            .collect();
        let store = RunStore::of(project);
        // Listing 10,000 runs takes milliseconds.
        let created = match RunIndex::newest_run(project) {
            Some(newest) => store.create_after(Some(newest)),
            None => store.create(),
        };
        let id = created.and_so("no run could start")?;
        let created = create_files(&repo, project, spec, &store, id, &inputs);
        let created = created.and_then(|(log, record)| Ok((log.try_clone()?, log, record)));
        let (file, log, record) = created.map_err(|error| {
            store.remove(id);
            space::explain(error, "no run could start")
        })?;
        let follow = Job::follow(project, file);
        Ok(Announced {
            project,
            spec,
            inputs,
            store,
            repo,
            record,
            follow,
            _log: log,
            caveats,
        })
    }

    fn id(&self) -> RunId {
        self.record.start.id
    }

    pub fn inputs(&self) -> Arc<Inputs> {
        Arc::clone(&self.inputs)
    }

    /// The run of another process that this one would repeat.
    pub fn duplicate(&self, begun: &[RunId], is_beside_loop: bool) -> Option<Duplicate> {
        duplicate::find(
            self.project,
            &self.repo,
            &self.store,
            &self.record,
            begun,
            is_beside_loop,
        )
    }

    /// Removes the run again, before anybody was told of it. Returns its record.
    pub fn withdraw(self) -> Record {
        self.store.remove(self.id());
        self.record
    }

    pub fn start(&self) -> &RunStart {
        &self.record.start
    }

    /// Runs the harness to its end and records the verdict. If the record cannot be written, returns
    /// it all the same; a caveat of the verdict says so.
    pub fn judge(
        mut self,
        standby: Option<Standby>,
        index: &mut RunIndex,
        control: &Control,
        tell: &mut dyn FnMut(RunEvent),
    ) -> Record {
        let (project, id, began) = (self.project, self.id(), Instant::now());
        let mut cells = standby.as_ref().and_then(Standby::cells);
        let compared = standby.as_ref().and_then(Standby::compared);
        let ready =
            standby.map(|mut judge| judge.take_over(project, self.spec, &self.inputs, control));
        let ready = ready.transpose().unwrap_or_else(|error| {
            let why = format!("the standby judge failed ({error:#}): this run started its own");
            tell(RunEvent::NoStandby { why });
            None
        });
        let folder = self.store.folder(id);
        let tree = folder.join(TREE);
        let mut job = Job {
            run_dir: &folder,
            incumbent: Some((&self.repo, folder.join(INCUMBENT))),
            compared,
            ..Job::of(project, self.spec, &self.inputs, &tree)
        };
        let ready = ready.flatten();
        if ready.is_none() && self.spec.keeps_cells() {
            let own = self.store.cells(&id.to_string());
            self.store.make_cells(&own);
            cells = Some(own);
        }
        job.request.cells = cells;
        let ended = job.run(ready, &mut self.follow, control, |batch| {
            tell(RunEvent::Progress(id, batch));
        });
        let verdict = ended.verdict(project, &self.follow);
        let is_wrong = verdict.outcome != Outcome::NotJudged
            && !self.follow.report().wrong_tensors().is_empty();
        let cells = job.request.cells.filter(|_| is_wrong);
        self.store.keep_cells(id, cells.as_deref());
        self.caveats.extend(ended.caveats);
        if let Some(error) = ended.incomplete {
            self.caveats.push(format!("run.log is incomplete: {error}"));
        }
        self.record.ending = Some(ended.ending);
        self.record.ended = Some(lab_run::now());
        self.record.seconds = Some(began.elapsed().as_secs_f64());
        self.conclude(verdict, index)
    }

    /// Completes the record with the verdict and the harness's figures, and writes it. run.log
    /// stays locked until the record is on disk: a run without a verdict whose log nobody holds
    /// reads as a crash.
    fn conclude(mut self, mut verdict: Verdict, index: &mut RunIndex) -> Record {
        let report = self.follow.report();
        self.record.device = report.device().map(str::to_owned);
        self.record.sandbox = Sandbox::of(report);
        self.record.results = kept_results(report);
        let mut left = RECORDED;
        let workloads = report.workloads().into_iter().map(|row| pairs(&row));
        self.record.workloads = workloads
            .take_while(|row| take(&mut left, row.len()))
            .collect();
        self.record.peers =
            MeasuredPeer::of_report(report, &self.inputs.peer_sources(), lab_run::now());
        self.record.log_bytes = self.follow.bytes();
        if self.record.start.is_check() {
            verdict.forgive_unmeasured();
        }
        self.compare_with_recorded(&mut verdict, index);
        for outside in &self.inputs.outside {
            self.caveats.push(format!(
                "{outside}: no commit would hold what was judged, so it cannot be kept"
            ));
        }
        if let Some(why) = signature::key_problem() {
            self.caveats.push(format!(
                "the record is not signed, so the run cannot be decided: {why}"
            ));
        }
        verdict.caveats.append(&mut self.caveats);
        let is_judged = verdict.outcome != Outcome::NotJudged;
        self.record.verdict = Some(verdict);
        let folder = if is_judged {
            self.store.folder(self.id())
        } else {
            self.set_aside()
        };
        if let Err(error) = self.store.write_in(&folder, &self.record)
            && let Some(verdict) = &mut self.record.verdict
        {
            // The verdict stands, but nobody can decide the run: later commands do not find its
            // record.
            verdict
                .caveats
                .push(format!("this verdict is not recorded: {error:#}"));
        }
        self.store.remove_copies(&folder);
        self.record
    }

    /// Takes a run that was not judged out of the runs, so that it uses up no number. The link
    /// beside lab.toml follows its log. Where the folder cannot be moved it stays, and the run
    /// keeps its number.
    fn set_aside(&self) -> PathBuf {
        let id = self.id();
        match self.store.set_aside(id) {
            Ok(folder) => {
                log_link::point_to(self.project, &folder);
                folder
            }
            Err(_) => self.store.folder(id),
        }
    }

    /// Compares with the incumbent's recorded figure where the harness did not time the two in
    /// turns.
    fn compare_with_recorded(&mut self, verdict: &mut Verdict, index: &mut RunIndex) {
        let wanted = !verdict.emulated && verdict.change.is_none();
        let Some(candidate) = verdict.objective.filter(|_| wanted) else {
            return;
        };
        match self.incumbent_record(index) {
            Ok(incumbent) => {
                verdict.change = incumbent
                    .as_ref()
                    .and_then(|held| self.change(&candidate, held));
                if verdict.change.is_some() && incumbent.is_some_and(|held| held.is_foreign()) {
                    self.caveats.push(FOREIGN_INCUMBENT.to_owned());
                }
            }
            Err(error) => {
                let text = format!(
                    "no comparison with the incumbent: {}",
                    lab_git::told(&error)
                );
                if !self.caveats.contains(&text) {
                    self.caveats.push(text);
                }
            }
        }
    }

    /// The change against the recorded figure of the incumbent; against its workloads, if it did
    /// not judge the same ones.
    fn change(&self, candidate: &Measure, incumbent: &Record) -> Option<Change> {
        let (objective, report) = (&self.project.config.objective, incumbent.report());
        match common_workloads::compare(&report, self.follow.report(), objective) {
            CommonWorkloads::Same => {
                let own = || report.measure(objective.name());
                let held = incumbent
                    .sealed()
                    .map(|sealed| sealed.objective)
                    .or_else(own)?;
                Change::of_figures(candidate, &held)
            }
            CommonWorkloads::Some(common) => Some(common.change),
            CommonWorkloads::None => None,
        }
    }

    /// The record of HEAD's kernel, or its note, if it was judged on the same device. `None` where
    /// HEAD does not hold the kernel or nobody judged it. An error is git's.
    fn incumbent_record(&self, index: &mut RunIndex) -> Result<Option<Record>> {
        let (project, candidate) = (self.project, &self.record);
        // The repository is opened again: the run may have taken minutes, and somebody may have
        // moved the repository.
        let repo = Repo::open(project)?;
        let Some(blob) = lab_git::incumbent(&repo)? else {
            return Ok(None);
        };
        let same = |r: &Record| {
            let passed = r
                .verdict
                .as_ref()
                .is_some_and(|v| v.outcome == Outcome::Pass && !v.emulated);
            r.start.blob == blob
                && r.start.kernel == candidate.start.kernel
                && r.command == candidate.command
                && !r.start.is_check()
                && r.device == candidate.device
                && passed
        };
        let noted = || {
            let record: Record = serde_json::from_str(&lab_git::incumbent_note(&repo)?).ok()?;
            same(&record).then_some(record)
        };
        // Each clone counts its runs from 1: this number means this run only among the local
        // records.
        let near = |b: &RunSummary| {
            b.id != candidate.start.id && b.blob == blob && b.outcome() == Some(Outcome::Pass)
        };
        index.refresh();
        let runs = index.newest_of_blob(&blob).filter(|summary| near(summary));
        let local = runs
            .filter_map(|summary| self.store.read(summary.id).ok())
            // A note carries no signature. A record without one does not count.
            .find(|record| !record.is_foreign() && same(record));
        Ok(local.or_else(noted))
    }
}

/// Writes what other processes must find once the run is announced: the snapshot, the locked log,
/// the first record.
fn create_files(
    repo: &Repo,
    project: &Project,
    spec: &RunSpec,
    store: &RunStore,
    id: RunId,
    inputs: &Inputs,
) -> Result<(LockedFile, Record)> {
    let snapshot = store
        .files()
        .create(&store.new_kernel(id, project.language()));
    snapshot
        .and_then(|mut file| file.write_all(inputs.kernel()))
        .context("cannot write the snapshot of the kernel")?;
    // The folder is new, so the log is empty.
    let log = store
        .files()
        .wait_for_lock(&store.log(id), Access::ReadWrite)
        .context("cannot make and lock run.log")?;
    let start = RunStart {
        id,
        reason: spec.reason,
        kernel: project.kernel_name.clone(),
        blob: lab_git::blob_id(repo, &project.kernel_name, inputs.kernel())?,
        fingerprint: inputs.fingerprint.clone(),
        started: lab_run::now(),
        external: project.external(),
    };
    let command = project.config.harness_command();
    let record = Record {
        target: Some(spec.target(project)),
        token_fingerprint: Some(inputs.token_fingerprint()),
        // What nobody asked for starts at once.
        clean_tree: match spec.reason.is_automatic() {
            true => None,
            false => lab_git::is_clean(repo),
        },
        ..Record::begun(start, inputs.files(), command)
    };
    store.write_begun(&record)?;
    Ok((log, record))
}

/// A caveat of the change against a figure that only the incumbent's note tells.
const FOREIGN_INCUMBENT: &str =
    "the incumbent's figure is foreign: its note tells it, and no record of this user backs it";

/// Most bytes of result lines, and of workloads, that are recorded. A record is read up to a size.
const RECORDED: usize = 2 << 20;

/// The result lines to record, at most 1000: a harness that makes up keys without end does not fill
/// the records. The lines about stages come first, each with its time.
pub fn kept_results(report: &Report) -> Vec<(String, String)> {
    const KEYS: usize = 1_000;
    let mut left = RECORDED;
    let fits = |(key, value): &(&str, &str)| take(&mut left, key.len() + value.len());
    let stages = report.stages();
    let entries = report
        .entries()
        .filter(|(key, _)| stages.is_empty() || *key != STAGE)
        .take(KEYS)
        .take_while(fits)
        .map(|(k, v)| (k.to_owned(), v.to_owned()));
    let stage = |(stage, began): &(Stage, f64)| {
        let value = format!("{} at={began:.3}", stage.word());
        (STAGE.to_owned(), value)
    };
    stages.iter().map(stage).chain(entries).collect()
}

const STAGE: &str = "stage";

/// Takes this many of what is left; false where that is less.
fn take(left: &mut usize, bytes: usize) -> bool {
    let rest = left.checked_sub(bytes);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

fn pairs(row: &[(&str, &str)]) -> String {
    row.iter()
        .map(|(key, value)| format!("{key}={value}"))
        .join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lab_run::Reason;
    use std::fs;

    #[test]
    fn a_log_on_a_full_disk_is_a_caveat() {
        let temp = tempfile::tempdir().unwrap();
        git2::Repository::init(temp.path()).unwrap();
        fs::write(temp.path().join("kernel.cu"), "// x\n").unwrap();
        let project = Project::open(temp.path(), None).unwrap();
        let spec = RunSpec {
            program: PathBuf::from("/bin/true"),
            ..RunSpec::new(Reason::Command)
        };
        let inputs = spec.read_inputs(&project).unwrap();
        let mut announced = Announced::create(&project, &spec, inputs).unwrap();
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        announced.follow = Follow::new(full, 1 << 20);
        announced
            .follow
            .take(b"device: Test GPU\nthroughput_sps: 5\ncorrectness: pass\n");
        let record = announced.judge(
            None,
            &mut RunIndex::new(&project),
            &Control::new().unwrap(),
            &mut |_| {},
        );
        let verdict = record.verdict.as_ref().unwrap();
        assert_eq!(verdict.outcome, Outcome::Pass, "{verdict:?}");
        assert!(
            verdict
                .caveats
                .iter()
                .any(|text| text.starts_with("run.log is incomplete: No space left"))
        );
        assert_eq!(
            RunStore::new(&project.lab_dir)
                .read(record.start.id)
                .unwrap(),
            record
        );
    }
}
