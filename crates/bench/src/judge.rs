//! One run of a bench: a judge process of its own, or the user's own harness.

use crate::from_report;
use crate::record::{BenchPeers, BenchRun, BenchedDevice};
use crate::session::{Ended, Session};
use crate::store::PEERS_LOG;
use anyhow::Result;
use jiff::Timestamp;
use lab_protocol::report::{Report, first_word};
use lab_protocol::{JudgeKind, When, is_from_outside};
use lab_run::Ending;
use lab_run::peers::MeasuredPeer;
use lab_run::verdict::{Outcome, Verdict};
use lab_runner::follow::{Batch, Follow};
use lab_runner::job::{self, Job};
use lab_runner::process::Control;
use lab_store::series::own_origin;
use lab_text::figures::counted;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a judge may take. Builds and launches have their own limit, which the judge applies,
/// and a discipline takes as long as its launches do: the terminal shows the time that is left.
const JUDGE_LIMIT: Duration = Duration::from_secs(24 * 3600);

impl Session<'_> {
    /// Makes one run. The inner error says why there is no verdict on these bytes. The outer error
    /// says what the disk refused.
    pub(crate) fn judge(
        &self,
        number: u32,
        control: &Control,
        tell: &mut dyn FnMut(Arc<Report>),
    ) -> Result<Result<BenchRun, Ended>> {
        let (started, began) = (lab_run::now(), Instant::now());
        let mut follow = Job::follow(self.project, self.open.create_log(&self.open.log(number))?);
        let mut difference = None;
        let kind = self.bench.start.discipline.map(JudgeKind::Bench);
        let ended = self.job(kind, &mut follow, control, |batch| {
            let Some(report) = batch.report else { return };
            if difference.is_none() {
                difference = self.difference(&report);
                if difference.is_some() {
                    control.end();
                }
            }
            tell(report);
        });
        // A short run may have ended before its lines were told.
        if let Some(difference) = difference.or_else(|| self.difference(follow.report())) {
            return Ok(Err(elsewhere(&difference)));
        }
        let mut verdict = ended.verdict(self.project, &follow);
        verdict.caveats.extend(ended.caveats);
        let incomplete = ended.incomplete;
        verdict
            .caveats
            .extend(incomplete.map(|error| format!("the log of the run is incomplete: {error}")));
        Ok(match verdict.outcome {
            Outcome::Void if ended.ending == Ending::Superseded => Err(Ended::Interrupted),
            Outcome::Void | Outcome::NotJudged => Err(Ended::NotJudged(verdict.why)),
            Outcome::Pass | Outcome::Fail | Outcome::Crash => {
                let run = self.record(number, started, began.elapsed(), follow.report(), verdict);
                untimed(&run).map_or(Ok(run), |why| Err(Ended::NotJudged(why)))
            }
        })
    }

    /// What a report names differently from the earlier runs, in words.
    fn difference(&self, report: &Report) -> Option<String> {
        self.bench.device()?.difference(report)
    }

    /// Times the kernel beside the problem's peers, in a process of its own. If somebody ended it,
    /// returns the peers that were timed until then; none on another device than that of the runs,
    /// where it ends at once. The error says what the disk refused.
    pub(crate) fn beside_peers(&self, control: &Control) -> Result<(Option<BenchPeers>, Ended)> {
        let log = self.open.path(PEERS_LOG);
        let mut follow = Job::follow(self.project, self.open.create_log(&log)?);
        let own = control.within()?;
        // What the log lacks is in the record.
        let ended = self.job(None, &mut follow, &own, |batch| {
            let report = batch.report.as_deref();
            if report.is_some_and(|report| self.difference(report).is_some()) {
                own.end();
            }
        });
        let report = follow.report();
        if let Some(difference) = self.difference(report) {
            return Ok((None, elsewhere(&difference)));
        }
        let is_interrupted = ended.ending == Ending::Superseded;
        let sources = self.inputs.peer_sources();
        let mut peers = MeasuredPeer::of_report(report, &sources, lab_run::now());
        // The last one may have begun, and has no result.
        peers.retain(|it| !is_interrupted || it.peer.us.is_some() || it.peer.failure.is_some());
        let interrupted = || format!("interrupted after {}", counted(peers.len(), "peer"));
        let nothing = || format!("the harness named no peer: see {}", log.display());
        let is_wrong = report
            .value("correctness")
            .is_some_and(|word| first_word(word) == "fail");
        let wrong = || {
            format!(
                "a launch of the kernel was wrong in these turns: see {}",
                log.display()
            )
        };
        let by_machine = peers.iter().find_map(|MeasuredPeer { peer, .. }| {
            let why = peer.failure.as_deref().filter(|why| is_from_outside(why))?;
            Some(format!("{}: {why}", peer.name))
        });
        let failure = is_wrong
            .then(wrong)
            .or_else(|| is_interrupted.then(interrupted))
            .or(by_machine)
            .or_else(|| peers.is_empty().then(nothing));
        let ended = match is_interrupted {
            true => Ended::Interrupted,
            false => Ended::Complete,
        };
        let timed = BenchPeers {
            origin: own_origin(),
            bench: self.bench.start.bench,
            fingerprint: self.bench.start.fingerprint.clone(),
            device: report.device().map(str::to_owned),
            peers,
            failure,
            caveats: report.caveats().to_vec(),
        };
        Ok((Some(timed), ended))
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
        let start = &self.bench.start;
        let whole = report.value("problem").unwrap_or(&start.kernel);
        let workloads = from_report::workloads(report, &verdict, whole);
        let mut made = BenchRun {
            origin: own_origin(),
            bench: start.bench,
            run,
            fingerprint: start.fingerprint.clone(),
            started,
            seconds: took.as_secs_f64(),
            outcome: verdict.outcome,
            build_failed: verdict.build_failed,
            why: verdict.why,
            device: BenchedDevice::of(report),
            emulated: verdict.emulated,
            workloads,
            caveats: verdict.caveats,
            device_state: report.device_state(),
        };
        if made.outcome == Outcome::Pass && made.passed() < made.workloads.len() {
            (made.outcome, made.why) = (
                Outcome::Fail,
                format!("failed: {}", made.failed().join(", ")),
            );
        }
        made
    }

    /// Runs the harness: for a bench of this kind, or to time the kernel beside the peers.
    fn job(
        &self,
        kind: Option<JudgeKind>,
        follow: &mut Follow,
        control: &Control,
        tell: impl FnMut(Batch),
    ) -> job::Ended {
        let (project, tree) = (self.project, self.open.tree());
        let mut job = Job::of(project, &self.spec, &self.inputs, &tree);
        // A bench is about every workload, whatever occasion problem.toml gives it.
        job.request.when = When::Keep;
        job.request.peers = kind.is_none();
        job.request.kind = kind.unwrap_or(JudgeKind::Run);
        if !project.external() {
            job.limit = JUDGE_LIMIT;
        }
        let ended = job.run(None, follow, control, tell);
        self.open.remove_copies();
        ended
    }
}

/// Why a run that passed is no run of a bench, where a workload has no time. The kernel is right: the
/// harness lacks a line.
fn untimed(run: &BenchRun) -> Option<String> {
    let lacks = run.outcome == Outcome::Pass && run.times().is_none();
    let untimed = run.workloads.iter().find(|workload| workload.us.is_none());
    let name = untimed.map_or("", |workload| &workload.name);
    lacks.then(|| {
        format!(
            "the kernel passed, and the harness printed no time of {name}: let it print `workload: NAME kernel_us=23.8` for each workload, \
             or `kernel_us: 23.8` for the whole"
        )
    })
}

/// The end of a bench on another device than that of its runs.
fn elsewhere(difference: &str) -> Ended {
    Ended::NotJudged(format!(
        "{difference}, so its times do not belong to this bench: begin a new one without --resume"
    ))
}
