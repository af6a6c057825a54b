//! Judges and decides the kernel that a command left. Every step can be repeated after a kill: what
//! was judged is found in the records, and is not judged again.

use super::files::Files;
use super::running::{Came, Running};
use super::state::{Candidate, LastTurn, TurnOutcome};
use anyhow::{Context, Result};
use lab_decide::Ruling;
use lab_git::Repo;
use lab_history::{JudgedBefore, judged_before};
use lab_project::Project;
use lab_protocol::is_from_outside;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::inputs;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_runner::execute::{NotRun, execute};
use lab_runner::held_out::RunContext;
use lab_runner::process::Control;
use lab_runner::spec::own_program;
use lab_store::RunSummary;

impl Running<'_, '_> {
    /// Takes the candidate to its end. Does nothing twice.
    pub fn finish(&mut self, candidate: &Candidate, control: &Control) -> Result<Came> {
        let project = self.auto.project;
        let mut told = candidate.told.clone();
        let turn = told.turn;
        let Some(bytes) = self.files.candidate(&candidate.hash) else {
            let why = "the file with the command's kernel was changed or removed";
            return Ok(Came::Ended(told.ended(TurnOutcome::Failed, why)));
        };
        let repo = Repo::open(project)?;
        let blob = lab_git::blob_id(&repo, &project.kernel_name, &bytes)?;
        self.index.refresh();
        let record = match self.judged_already(&blob, candidate.after)? {
            Some(record) => {
                // Only bytes on disk can be kept.
                if record.decision.is_none() && !self.put(&repo, &bytes, turn)? {
                    return Ok(Came::Person);
                }
                record
            }
            None => {
                if lab_git::incumbent(&repo)?.as_deref() == Some(&blob) {
                    let why = "the kernel is the incumbent's";
                    return Ok(Came::Ended(told.ended(TurnOutcome::Nothing, why)));
                }
                if !self.put(&repo, &bytes, turn)? {
                    return Ok(Came::Person);
                }
                // That may have waited for somebody else's decision, and a short run may end before
                // the request is seen.
                if self.files.ends_turn(turn) {
                    control.end();
                    return Ok(Came::Stopped);
                }
                if let Some(known) = self.judged_before() {
                    told.run = Some(known.record.start.id);
                    return Ok(Came::Ended(
                        told.ended(TurnOutcome::Known, in_words(&known)),
                    ));
                }
                self.judged_by.look_before_run(project);
                let (spec, standby) = (self.ready.spec(self.auto.spec), self.ready.take());
                self.ready.prepare_meanwhile(project, self.auto.spec);
                match execute(standby, project, &spec, &mut self.index, control, |_| {}) {
                    Ok(record) => record,
                    Err(NotRun::Kernel(why)) => {
                        return Ok(Came::Ended(
                            told.ended(TurnOutcome::Failed, why.to_string()),
                        ));
                    }
                    Err(other) => {
                        let changed = self.judged_by.changed(project);
                        let why = changed.unwrap_or_else(|| other.to_string());
                        return Ok(Came::Trouble(why));
                    }
                }
            }
        };
        told.run = Some(record.start.id);
        self.decide(&record, candidate, told, control)
    }

    /// The newest run of this loop after `after` that judged these bytes. Another lane may have
    /// judged them on its device, too.
    fn judged_already(&self, blob: &str, after: RunId) -> Result<Option<Record>> {
        let (project, index) = (self.auto.project, &self.index);
        let is_judged = |run: &&RunSummary| {
            run.id > after && run.judges(project) && run.outcome().is_some_and(Outcome::is_verdict)
        };
        let target = self.target().to_string();
        let is_own =
            |record: &Record| project.lane.is_none() || record.target.as_ref() == Some(&target);
        let mut records = index
            .newest_of_blob(blob)
            .filter(is_judged)
            .map(|run| index.store().read(run.id));
        records
            .find(|record| record.as_ref().map_or(true, is_own))
            .transpose()
    }

    /// The earlier run that judged the kernel that is on disk now.
    fn judged_before(&self) -> Option<JudgedBefore> {
        let project = self.auto.project;
        let present = inputs::read(project).ok()?;
        judged_before(project, &self.index, &present, &self.target().to_string())
    }

    fn decide(
        &mut self,
        record: &Record,
        candidate: &Candidate,
        told: LastTurn,
        control: &Control,
    ) -> Result<Came> {
        let (project, index) = (self.auto.project, &mut self.index);
        let Some(verdict) = &record.verdict else {
            return Ok(Came::Trouble("the run has no verdict".to_owned()));
        };
        if let Some(decision) = &record.decision {
            return Ok(Came::Ended(
                told.ended(decision.status.into(), verdict.why.clone()),
            ));
        }
        match (verdict.outcome, self.judged_by.changed(project)) {
            (Outcome::Crash | Outcome::Pass | Outcome::Fail, Some(changed)) => {
                return Ok(Came::Ended(told.ended(TurnOutcome::Left, changed)));
            }
            _ if control.is_ended() => return Ok(Came::Stopped),
            // A harness that was removed judges nothing.
            (Outcome::NotJudged, Some(changed)) => {
                return Ok(Came::Trouble(format!("{}: {changed}", verdict.why)));
            }
            // A kernel may be what takes the machine's memory, each time.
            (Outcome::NotJudged, None) if is_from_outside(&verdict.why) => {
                let ended = told.ended(TurnOutcome::Failed, verdict.why.clone());
                return Ok(Came::Undecided(LastTurn { run: None, ..ended }));
            }
            (Outcome::NotJudged, None) => return Ok(Came::Trouble(verdict.why.clone())),
            (Outcome::Void, _) => {
                return Ok(Came::Trouble(format!(
                    "run {}: {}",
                    record.start.id, verdict.why
                )));
            }
            (Outcome::Crash | Outcome::Pass | Outcome::Fail, None) => {}
        }
        let run = Some(record.start.id);
        let message = candidate.answer.message(told.turn);
        let repo = Repo::open(project)?;
        let message = lab_decide::with_tested(message, &repo, index, run);
        if verdict.outcome == Outcome::Crash {
            return Ok(
                match lab_decide::discard(project, index, run, &message, false) {
                    Ok(decided) => {
                        Came::Ended(told.ended(decided.status.into(), verdict.why.clone()))
                    }
                    Err(refusal) => {
                        Came::Undecided(told.ended(TurnOutcome::Left, refusal.to_string()))
                    }
                },
            );
        }
        let mut tell = |_: RunId, _| {};
        let mut asked = RunContext {
            control,
            program: own_program(),
            tell: &mut tell,
            by_rule: true,
        };
        let ruling = lab_decide::by_rule(&repo, index, record, &message, &mut asked);
        Ok(match ruling {
            _ if control.is_ended() && !matches!(ruling, Ruling::Decided(_)) => Came::Stopped,
            Ruling::Decided(decided) => {
                Came::Ended(told.ended(decided.status.into(), verdict.why.clone()))
            }
            Ruling::Left(why) => Came::Ended(told.ended(TurnOutcome::Left, why)),
            Ruling::Failed(why) => Came::Undecided(told.ended(TurnOutcome::Left, why)),
        })
    }

    /// Puts the bytes into the kernel's file in place of the incumbent. Returns false where the
    /// file holds neither: it is a person's.
    fn put(&self, repo: &Repo, bytes: &[u8], turn: u64) -> Result<bool> {
        match inputs::on_disk(self.auto.project) {
            Ok(present) if present == bytes => return Ok(true),
            _ if !is_incumbent(self.auto.project)? => return Ok(false),
            _ => {}
        }
        let message = format!("lab auto: the kernel of turn {turn}");
        let stored = lab_git::prepare_discarded(repo, RunId(turn), bytes, &message)?;
        lab_decide::restore_commit(self.auto.project, &stored.id)?;
        Ok(true)
    }

    /// Puts the incumbent back in place of the candidate. Other bytes are a person's, and stay.
    pub fn put_back(&self, candidate: &Candidate) -> Result<()> {
        let present = inputs::on_disk(self.auto.project);
        let is_candidate = present.is_ok_and(|bytes| inputs::hash_of(&bytes) == candidate.hash);
        if is_candidate && !is_incumbent(self.auto.project)? {
            let head = lab_git::head(&Repo::open(self.auto.project)?)?
                .commit
                .context("HEAD is on no commit")?;
            lab_decide::restore_commit(self.auto.project, &head)?;
        }
        Ok(())
    }
}

/// Keeps the kernel of a turn that a person ended under `refs/lab/auto/TURN`, and tells it, unless
/// it is the incumbent's.
pub fn keep_ended(
    project: &Project,
    files: &Files,
    candidate: &Candidate,
    told: &mut LastTurn,
) -> Result<()> {
    let Some(bytes) = files.candidate(&candidate.hash) else {
        return Ok(());
    };
    let repo = Repo::open(project)?;
    let blob = lab_git::blob_id(&repo, &project.kernel_name, &bytes)?;
    if lab_git::incumbent(&repo)?.as_deref() == Some(&blob) {
        return Ok(());
    }
    let kernel = lab_git::name_turn(&repo, told.turn, &bytes)?;
    let mut line = format!("changed {}", project.kernel_name);
    match &told.ignored_ref {
        // It holds the other files that the command changed.
        Some(others) if *others != kernel.reference => {
            line += &format!(" (in {})", kernel.reference);
        }
        _ => told.ignored_ref = Some(kernel.reference),
    }
    told.ignored.insert(0, line);
    Ok(())
}

/// What is known of a kernel, for its command.
fn in_words(known: &JudgedBefore) -> String {
    let record = &known.record;
    let how = record
        .decision
        .as_ref()
        .map_or("left to you", |decision| decision.status.word());
    let same = if known.same_bytes {
        "these bytes"
    } else {
        "the same kernel, comments and blanks aside,"
    };
    format!("run {} judged {same} before: {how}", record.start.id)
}

/// A loop begins with a commit in HEAD.
const NO_HEAD: &str =
    "HEAD is on no commit any more, so there is no incumbent: `git reflog` shows where it was";

/// Whether the kernel's file holds the incumbent's bytes. An error where HEAD cannot be read or is
/// on no commit.
pub fn is_incumbent(project: &Project) -> Result<bool> {
    let repo = Repo::open(project)?;
    let head = lab_git::head(&repo)?.commit.context(NO_HEAD)?;
    let wanted = lab_git::bytes_of(&repo, &head)?;
    Ok(inputs::on_disk(project).is_ok_and(|present| present == wanted))
}

impl From<Status> for TurnOutcome {
    fn from(status: Status) -> TurnOutcome {
        match status {
            Status::Keep => TurnOutcome::Kept,
            Status::Crash => TurnOutcome::Crash,
            _ => TurnOutcome::Discarded,
        }
    }
}
