//! One run of a bench: a judge process of its own, or the user's own harness.

use crate::bench::from_report;
use crate::bench::record::{BenchPeers, BenchRun, BenchStart, BenchedDevice};
use crate::bench::store::{OpenBench, own_origin};
use crate::inputs::{self, Inputs};
use crate::project::Project;
use crate::run::Ending;
use crate::run::peers::MeasuredPeer;
use crate::run::verdict::{self, Facts, Outcome, Verdict};
use crate::runner::follow::Follow;
use crate::runner::process::{self, Control, Limits, RunningProcess};
use crate::runner::spec::{RunSpec, withheld};
use crate::runner::{harness_files, python_package};
use anyhow::Result;
use jiff::Timestamp;
use lab_protocol::When;
use lab_protocol::report::{Report, first_word};
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a judge may take. Builds and launches have their own limit, which the judge applies,
/// and a discipline takes as long as its launches do: the terminal shows the time that is left.
const JUDGE_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// What all runs of a bench share.
pub struct Judged<'a> {
    pub project: &'a Project,
    pub spec: &'a RunSpec,
    /// Read once, so that all runs are about the same bytes, whatever happens on disk meanwhile.
    pub inputs: &'a Inputs,
    pub start: &'a BenchStart,
    /// What the earlier runs were measured with.
    pub device: Option<BenchedDevice>,
}

/// How a run ended.
pub enum JudgedRun {
    /// With a verdict on the kernel.
    Ended(Box<BenchRun>),
    /// It was ended from outside.
    Interrupted,
    /// Without a verdict on these bytes, for this reason.
    NotJudged(String),
}

impl Judged<'_> {
    /// Makes one run. An error is of the disk.
    pub fn run(
        &self,
        number: u32,
        open: &OpenBench,
        control: &Control,
        tell: &mut dyn FnMut(Arc<Report>),
    ) -> Result<JudgedRun> {
        let (started, began) = (Timestamp::now(), Instant::now());
        let log = open.create_log(number)?;
        let config = &self.project.config;
        let mut follow =
            Follow::new(log, config.output_limit_mib << 20).judging_by(&config.measure);
        let mut difference = None;
        let ending = match self.start(open, &mut follow, false) {
            Ok(running) => process::follow(running, self.limits(), control, &mut follow, |batch| {
                let Some(report) = batch.report else { return };
                if difference.is_none() {
                    difference = self
                        .device
                        .as_ref()
                        .and_then(|device| device.difference(&report));
                    if difference.is_some() {
                        control.end();
                    }
                }
                tell(report);
            }),
            Err(error) => {
                follow.say(&format!("the harness could not be started: {error}"));
                Ending::NotStarted
            }
        };
        let changed = self.changed();
        open.remove_copies();
        let incomplete = follow
            .finish()
            .err()
            .map(|error| format!("the log of the run is incomplete: {error}"));
        // A short run may have ended before its lines were told.
        let difference = difference.or_else(|| self.device.as_ref()?.difference(follow.report()));
        if let Some(difference) = difference {
            return Ok(JudgedRun::NotJudged(format!(
                "{difference}, so its times do not belong to this bench: begin a new one without --resume"
            )));
        }
        let mut verdict = verdict::judge(&Facts {
            report: follow.report(),
            ending,
            external: self.project.external(),
            script: self.project.harness_script(),
            changed: &changed,
            objective: &config.objective,
            time_limit_s: config.time_limit_s,
            output_limit_mib: config.output_limit_mib,
            last_words: &follow.last_words(),
        });
        verdict.caveats.extend(incomplete);
        Ok(match verdict.outcome {
            Outcome::Void if ending == Ending::Superseded => JudgedRun::Interrupted,
            Outcome::Void | Outcome::NotJudged => JudgedRun::NotJudged(verdict.why),
            Outcome::Pass | Outcome::Fail | Outcome::Crash => JudgedRun::Ended(Box::new(
                self.record(number, started, began.elapsed(), follow.report(), verdict),
            )),
        })
    }

    /// Times the kernel beside the problem's peers, in a process of its own. `None` if somebody
    /// ended it. An error is of the disk.
    pub fn beside_peers(&self, open: &OpenBench, control: &Control) -> Result<Option<BenchPeers>> {
        let config = &self.project.config;
        let log = open.create_peers_log()?;
        let mut follow =
            Follow::new(log, config.output_limit_mib << 20).judging_by(&config.measure);
        let ending = match self.start(open, &mut follow, true) {
            Ok(running) => process::follow(running, self.limits(), control, &mut follow, |_| ()),
            Err(error) => {
                follow.say(&format!("the harness could not be started: {error}"));
                Ending::NotStarted
            }
        };
        open.remove_copies();
        // What the log lacks is in the record.
        let _ = follow.finish();
        if ending == Ending::Superseded {
            return Ok(None);
        }
        let report = follow.report();
        let (device, benched) = (report.device().map(str::to_owned), &self.device);
        let difference = benched
            .as_ref()
            .and_then(|device| device.difference(report));
        let peers = match &difference {
            Some(_) => Vec::new(),
            None => MeasuredPeer::of_report(report, &self.inputs.peer_sources(), Timestamp::now()),
        };
        let nothing = || {
            format!(
                "the harness named no peer: see {}",
                open.peers_log().display()
            )
        };
        let is_wrong = report
            .value("correctness")
            .is_some_and(|word| first_word(word) == "fail");
        let wrong = || {
            format!(
                "a launch of the kernel was wrong in these turns: see {}",
                open.peers_log().display()
            )
        };
        let failure = difference
            .or_else(|| is_wrong.then(wrong))
            .or_else(|| peers.is_empty().then(nothing));
        let (bench, fingerprint) = (self.start.bench, self.start.fingerprint.clone());
        Ok(Some(BenchPeers {
            origin: own_origin(),
            bench,
            fingerprint,
            device,
            peers,
            failure,
        }))
    }

    fn record(
        &self,
        run: u32,
        started: Timestamp,
        took: Duration,
        report: &Report,
        mut verdict: Verdict,
    ) -> BenchRun {
        // A bench needs the times of the workloads and no objective.
        verdict.forgive_unmeasured();
        let whole = report.value("problem").unwrap_or(&self.start.kernel);
        let workloads = from_report::workloads(report, &verdict, whole);
        let mut made = BenchRun {
            origin: own_origin(),
            bench: self.start.bench,
            run,
            fingerprint: self.start.fingerprint.clone(),
            started,
            seconds: took.as_secs_f64(),
            outcome: verdict.outcome,
            build_failed: verdict.build_failed,
            why: verdict.why,
            device: BenchedDevice::of(report),
            emulated: verdict.emulated,
            workloads,
            caveats: verdict.caveats,
        };
        if made.outcome == Outcome::Pass && made.passed() < made.workloads.len() {
            (made.outcome, made.why) = (
                Outcome::Fail,
                format!("failed: {}", made.failed().join(", ")),
            );
        }
        if made.outcome == Outcome::Pass && made.times().is_none() {
            let untimed = made.workloads.iter().find(|workload| workload.us.is_none());
            let name = untimed.map_or("", |workload| &workload.name);
            made.outcome = Outcome::Crash;
            made.why = format!(
                "nothing was measured for {name}: the harness printed no time for it, as kernel_us= in its workload: line"
            );
        }
        made
    }

    fn limits(&self) -> Limits {
        let time_limit = Duration::from_secs_f64(self.project.config.time_limit_s);
        Limits {
            time: if self.project.external() {
                time_limit
            } else {
                JUDGE_LIMIT
            },
        }
    }

    /// Starts the harness: for a run, or to time the kernel `beside_peers`.
    fn start(
        &self,
        open: &OpenBench,
        follow: &mut Follow,
        beside_peers: bool,
    ) -> io::Result<RunningProcess> {
        let (project, spec, tree) = (self.project, self.spec, open.tree());
        if let Some(line) = &project.harness_line() {
            // The folder exists, as that of a run would: the harness may write into it.
            project.files().create_dir_all(&tree)?;
            let mut command = spec.external(project, line, &tree, None);
            let package = harness_files::python_package(&project.files(), &project.lab_dir)?;
            command.env("PYTHONPATH", python_package::search_path(&package));
            return process::start(command, Stdio::null());
        }
        if let Some(text) = withheld(project) {
            follow.say(&text);
        }
        self.inputs.write(project, &tree).map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("cannot write the snapshot of the files: {e}"),
            )
        })?;
        let mut command = spec.judge(project, &tree);
        // A bench is about every workload, whatever occasion problem.toml gives it.
        command.arg(format!("--when={}", When::Keep));
        if beside_peers {
            command.arg("--peers");
        } else if let Some(discipline) = self.start.discipline {
            command.arg("--bench");
            command.arg(format!("--trials={}", discipline.trials));
            command.arg(format!("--iterations={}", discipline.iterations));
            command.arg(format!("--warm-up={}", discipline.warm_up));
        }
        process::start(command, Stdio::null())
    }

    /// Paths of the inputs that were not what this bench is about while the run read them. The
    /// built-in harness reads a copy of most inputs, which nobody changes.
    fn changed(&self) -> Vec<String> {
        if !self.project.external() {
            let in_place = self.inputs.sources.iter().filter(|source| source.in_place);
            let changed = in_place
                .filter(|source| inputs::hash(self.project, &source.path) != source.file.hash);
            return changed.map(|source| source.file.path.clone()).collect();
        }
        match inputs::read(self.project) {
            Ok(now) if now.fingerprint == self.inputs.fingerprint => Vec::new(),
            Ok(now) => inputs::differences(&self.inputs.files(), &now.files()),
            Err(_) => vec![self.project.kernel_name.clone()],
        }
    }
}
