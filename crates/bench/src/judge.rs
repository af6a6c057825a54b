//! One run of a bench: a judge process of its own, or the user's own harness.

use crate::from_report;
use crate::record::{BenchPeers, BenchRun, BenchStart, BenchedDevice};
use crate::store::{OpenBench, own_origin};
use anyhow::Result;
use jiff::Timestamp;
use lab_project::Project;
use lab_protocol::report::{Report, first_word};
use lab_protocol::{JudgeKind, JudgeRequest, When};
use lab_run::Ending;
use lab_run::inputs::Inputs;
use lab_run::peers::MeasuredPeer;
use lab_run::verdict::{Outcome, Verdict};
use lab_runner::follow::{Batch, Follow};
use lab_runner::job::{Ended, Job};
use lab_runner::process::Control;
use lab_runner::spec::{self, RunSpec};
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
        let mut follow = Job::follow(self.project, open.create_log(number)?);
        let mut difference = None;
        let kind = self.start.discipline.map(JudgeKind::Bench);
        let ended = self.job(open, kind, &mut follow, control, |batch| {
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
        });
        // A short run may have ended before its lines were told.
        let difference = difference.or_else(|| self.device.as_ref()?.difference(follow.report()));
        if let Some(difference) = difference {
            return Ok(JudgedRun::NotJudged(format!(
                "{difference}, so its times do not belong to this bench: begin a new one without --resume"
            )));
        }
        let mut verdict = ended.verdict(self.project, &follow);
        verdict.caveats.extend(ended.caveats);
        let incomplete = ended.incomplete;
        verdict
            .caveats
            .extend(incomplete.map(|error| format!("the log of the run is incomplete: {error}")));
        Ok(match verdict.outcome {
            Outcome::Void if ended.ending == Ending::Superseded => JudgedRun::Interrupted,
            Outcome::Void | Outcome::NotJudged => JudgedRun::NotJudged(verdict.why),
            Outcome::Pass | Outcome::Fail | Outcome::Crash => JudgedRun::Ended(Box::new(
                self.record(number, started, began.elapsed(), follow.report(), verdict),
            )),
        })
    }

    /// Times the kernel beside the problem's peers, in a process of its own. `None` if somebody
    /// ended it. An error is of the disk.
    pub fn beside_peers(&self, open: &OpenBench, control: &Control) -> Result<Option<BenchPeers>> {
        let mut follow = Job::follow(self.project, open.create_peers_log()?);
        // What the log lacks is in the record.
        let ended = self.job(open, None, &mut follow, control, |_| ());
        if ended.ending == Ending::Superseded {
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

    /// Runs the harness: for a bench of this kind, or to time the kernel beside the peers.
    fn job(
        &self,
        open: &OpenBench,
        kind: Option<JudgeKind>,
        follow: &mut Follow,
        control: &Control,
        tell: impl FnMut(Batch),
    ) -> Ended {
        let (project, tree) = (self.project, open.tree());
        let ended = Job {
            project,
            spec: self.spec,
            inputs: self.inputs,
            request: JudgeRequest {
                // A bench is about every workload, whatever occasion problem.toml gives it.
                when: When::Keep,
                peers: kind.is_none(),
                kind: kind.unwrap_or(JudgeKind::Run),
                ..self.spec.request(project, &tree)
            },
            tree: &tree,
            run_dir: &tree,
            incumbent: None,
            limit: match project.external() {
                true => spec::limit(project),
                false => JUDGE_LIMIT,
            },
        }
        .run(None, follow, control, tell);
        open.remove_copies();
        ended
    }
}
