//! The made-up session: runs that a story describes, decisions that are taken at once or late, and
//! the state of the disk.

use super::made::{commit, hex, in_turns_with, measure, noon, record, row, undecided, void};
use super::{KERNEL, World};
use lab_decide::policy::{
    Allowed, Candidate, Discard, Kept, LastDecision, LaterWork, Present, Snapshot, allowed,
};
use lab_decide::status::ProjectStatus;
use lab_decide::{Decided, Described, Refusal, Restored, Undoable, Undone};
use lab_git::Head;
use lab_history::{History, stage_times};
use lab_project::trust::{TrustMark, TrustRequest};
use lab_protocol::report::{Report, Speed, StageTimes};
use lab_run::experiment::{self, Experiment, Measured, Status as Word};
use lab_run::message::{Message, Trailer};
use lab_run::peers;
use lab_run::record::{Decision, InputFile, Record};
use lab_run::verdict::{Figure, Outcome};
use lab_run::{Ending, Fingerprint, KernelBlob, Reason, RunId, RunStart};
use lab_runner::RunEvent;
use lab_runner::follow::Batch;
use lab_text::sanitise::LogLine;
use lab_tui::event::Event;
use lab_tui::reply::{Changed, Overview, RepositoryReply, RestoredKernel, RunLog};
use lab_tui::request::Change;
use std::path::Path;
use std::sync::Arc;

impl World {
    pub(super) fn start(&mut self, reason: Reason) {
        if !self.trusted {
            let mark = TrustMark::of_folder(Path::new("/home/me/rmsnorm"));
            let mut request = Box::new(TrustRequest::new("/home/me/rmsnorm/lab.toml".into(), mark));
            request.command = self.model.setup.external.clone();
            request.unconfined = self.unconfined.clone();
            self.answers
                .push_back(Event::Run(RunEvent::NeedsTrust { reason, request }));
            return;
        }
        if let Some((start, report)) = self.live.take() {
            let record = record(
                start,
                &report,
                Ending::Superseded,
                void("a newer save ended it"),
            );
            self.answers
                .push_back(Event::Run(RunEvent::Ended(Box::new(record))));
        }
        let start = Box::new(self.begin(reason));
        self.answers.push_back(Event::Run(RunEvent::Started(start)));
    }

    /// A run begins, of whichever screen.
    pub(super) fn begin(&mut self, reason: Reason) -> RunStart {
        self.runs += 1;
        let start = RunStart {
            id: RunId(self.runs),
            reason,
            kernel: self.model.setup.kernel.clone(),
            blob: self.disk.clone(),
            fingerprint: Fingerprint(self.disk.clone()),
            started: noon() + self.now,
            external: self.model.setup.external.is_some(),
        };
        self.live = Some((start.clone(), Report::default()));
        start
    }

    /// Lines of the harness, between `|`.
    pub(super) fn say(&mut self, lines: &str) {
        let (start, report) = self.live.as_mut().expect("a run goes on");
        let id = start.id;
        let mut batch = Vec::new();
        for text in lines.split('|').map(str::trim) {
            let result = report.push_line(text);
            batch.push(LogLine {
                text: text.to_owned(),
                result,
            });
        }
        let report = Some(Arc::new(report.clone()));
        self.send(Event::Run(RunEvent::Progress(
            id,
            Batch {
                lines: batch,
                skipped: 0,
                report,
            },
        )));
    }

    /// `pass NUMBER [CHANGE [undecided]]`, `fail WHY`, `crash WHY`, `unbuilt WHY`, `void WHY`,
    /// `not-judged WHY`.
    pub(super) fn end(&mut self, how: &str) {
        let (start, report) = self.live.take().expect("a run goes on");
        let (word, rest) = how.split_once(' ').unwrap_or((how, ""));
        let mut verdict = void(rest);
        verdict.emulated = report.emulated();
        verdict.caveats = report.caveats().to_vec();
        verdict.judged = report.judged_workloads();
        let mut words = rest.split_whitespace();
        match word {
            "pass" => {
                verdict.outcome = Outcome::Pass;
                verdict.why = String::new();
                verdict.objective = words.next().map(|n| measure(n.parse().unwrap()));
                let ratio = words.next().map(|ratio| ratio.parse().unwrap());
                verdict.change = ratio.map(|ratio| in_turns_with(&self.head, ratio));
                if let (Some(change), Some("undecided")) = (&mut verdict.change, words.next()) {
                    *change = undecided(change.ratio);
                }
                verdict.kernel_us = report.number("kernel_us");
                verdict.workloads = verdict.change.and_then(|_| report.workload_speeds());
                verdict.aggregate = report.aggregate_of("throughput_sps");
                verdict.chosen = Figure::chosen(&report, &self.model.setup.objective);
                let whole = report.comparison().and_then(|comparison| comparison.speed);
                if let Some(change) = verdict
                    .change
                    .as_mut()
                    .filter(|_| whole == Some(Speed::Mixed))
                {
                    change.speed = whole;
                }
            }
            "fail" => verdict.outcome = Outcome::Fail,
            "crash" => verdict.outcome = Outcome::Crash,
            "unbuilt" => {
                verdict.outcome = Outcome::Crash;
                verdict.build_failed = true;
            }
            "void" => {}
            // Its number is free again, and no record stays among the runs.
            "not-judged" => {
                verdict.outcome = Outcome::NotJudged;
                let record = record(start, &report, Ending::Exited(64), verdict);
                self.runs -= 1;
                self.send(Event::Run(RunEvent::Ended(Box::new(record))));
                return;
            }
            other => panic!("no run ends '{other}'"),
        }
        let record = record(start, &report, Ending::Exited(0), verdict);
        self.records.push(record.clone());
        self.send(Event::Run(RunEvent::Ended(Box::new(record))));
    }

    pub(super) fn record(&self, key: &experiment::ExperimentKey) -> Option<Record> {
        self.records
            .iter()
            .find(|r| Some(r.start.id) == key.run)
            .cloned()
    }

    pub(super) fn change(&mut self, change: Change) {
        let is_decision = matches!(change, Change::Keep { .. } | Change::Discard { .. });
        let changed = match change {
            Change::Keep { run, message, .. } => self.keep(run, &message).map(Changed::Decided),
            Change::Discard {
                run,
                message,
                confirmed,
            } => self.discard(run, &message, confirmed).map(Changed::Decided),
            Change::Restore(commit) => self.restore(&commit).map(Changed::Restored),
            Change::ApplyPoint(number) => {
                let put = self.restore(&format!("point{number}"));
                let point = Some(format!("point {number} of sweep 2"));
                put.map(|put| Changed::Restored(RestoredKernel { point, ..put }))
            }
            Change::Undo(run) => self.undo(run).map(Changed::Undone),
            Change::Describe {
                commit,
                description,
                trailers,
            } => Ok(Changed::Described(self.describe(
                &commit,
                description,
                trailers,
            ))),
        };
        let event = Event::Repository(RepositoryReply::Changed(changed));
        match self.slow && is_decision {
            true => self.late = Some(event),
            false => self.answers.push_back(event),
        }
    }

    fn restore(&mut self, commit: &str) -> Result<RestoredKernel, Refusal> {
        if let Some(why) = self.refusal.take() {
            return Err(Refusal::No(why));
        }
        let of = |r: &&Record| {
            r.decision
                .as_ref()
                .is_some_and(|d| d.commit.as_deref() == Some(commit))
        };
        let judged = self.records.iter().find(of).map(|r| r.start.blob.clone());
        let blob = judged.unwrap_or_else(|| format!("bytes of {commit}"));
        let before = std::mem::replace(&mut self.disk, blob.clone());
        let restored = Restored {
            commit: commit.into(),
            subject: "an older one".into(),
            saved: (before != blob).then(|| "5a7ed00".into()),
            changed: before != blob,
        };
        Ok(RestoredKernel {
            restored,
            point: None,
            blob,
        })
    }

    pub(super) fn undoable(&self) -> Result<Undoable, String> {
        self.allowed(None).undo.map_err(|why| why.to_string())?;
        let last = self
            .last_decision()
            .expect("the rules allow no undo without a decision");
        let question = format!(
            "Take back that '{}' was {}?",
            last.description,
            last.status.word()
        );
        Ok(Undoable { last, question })
    }

    fn undo(&mut self, run: RunId) -> Result<Undone, Refusal> {
        let undone = match self.refusal.take() {
            Some(why) => Err(why),
            None => self.undoable(),
        };
        undone
            .map_err(Refusal::No)
            .map(|undoable| self.take_back(run, undoable))
    }

    fn take_back(&mut self, run: RunId, undoable: Undoable) -> Undone {
        let last = undoable.last;
        let record = self.records.iter_mut().find(|r| r.start.id == run).unwrap();
        let made = record.decision.take().and_then(|decision| decision.made);
        // Only a discard put other bytes on disk, and only a keep moved HEAD.
        match last.status {
            Word::Keep if made == Some(true) => {
                self.head = self.head_before.pop().unwrap();
                self.commits.retain(|c| c.id != last.commit);
            }
            Word::Keep | Word::Rules => {}
            Word::Discard | Word::Crash => self.disk = record.start.blob.clone(),
        }
        self.history.retain(|e| e.run != Some(run));
        Undone {
            last: LastDecision { run, ..last },
            notes: vec!["the commit stays in git".to_owned()],
        }
    }

    fn describe(
        &mut self,
        commit: &str,
        description: Option<String>,
        trailers: Vec<Trailer>,
    ) -> Described {
        let experiment = self
            .history
            .iter_mut()
            .rev()
            .find(|e| e.row.commit == commit)
            .unwrap();
        let before = experiment.row.description.clone();
        experiment.row.description = description.unwrap_or_else(|| before.clone());
        experiment.trailers.extend(trailers.iter().cloned());
        Described {
            row: experiment.row.clone(),
            before,
            trailers,
            notes: Vec::new(),
        }
    }

    pub(super) fn load_log(&mut self, run: RunId) {
        let record = self.records.iter().find(|r| r.start.id == run).unwrap();
        let lines = vec![LogLine {
            text: format!("the log of run {run}"),
            result: false,
        }];
        let loaded = RunLog {
            run,
            lines,
            report: Arc::new(record.report()),
        };
        self.answers
            .push_back(Event::Repository(RepositoryReply::Log(Box::new(loaded))));
    }

    /// The present state of disk and git.
    pub fn facts(&self) -> Overview {
        let last = self.last().cloned();
        let present = self.present_bytes();
        let here = |r: &&Record| present == Some(r.start.blob.as_str());
        let is_last = last.as_ref().filter(|last| here(last)).cloned();
        let judged = is_last.or_else(|| self.judging().find(here).cloned());
        let newest = self.records.iter().rev();
        let check = newest
            .filter(here)
            .find(|r| r.start.is_check() && !is_void(r))
            .cloned();
        let head = Head {
            branch: Some("exp/rmsnorm".into()),
            commit: self.commits.first().map(|c| c.id.clone()),
            operation: None,
        };
        let ended = self.records.last().map(|record| record.start.id);
        let mut stage_times = StageTimes::default();
        for record in &self.records {
            stage_times::learn(&mut stage_times, record);
        }
        Overview {
            at: noon() + self.now,
            stage_times: (!self.model.repository.loaded).then_some(stage_times),
            status: Ok(ProjectStatus {
                head,
                snapshot: self.snapshot(None),
                ended,
                in_progress: self.live.as_ref().map(|(start, _)| start.clone()),
                last,
                judged,
                check,
                peers: self.peers.clone(),
            }),
            history: Ok(History {
                experiments: self.history.clone(),
                problems: self.problems.clone(),
            }),
            log: Ok(self.commits.clone()),
        }
    }

    /// The bytes on disk, if they can be read.
    fn present_bytes(&self) -> Option<&str> {
        Some(self.disk.as_str()).filter(|_| self.unreadable.is_none())
    }

    /// The runs that judged something, newest first.
    fn judging(&self) -> impl Iterator<Item = &Record> {
        self.records
            .iter()
            .rev()
            .filter(|r| !r.start.is_check() && r.ending.is_some())
    }

    /// The last run. A void one is passed over.
    pub(super) fn last(&self) -> Option<&Record> {
        self.judging()
            .find(|r| !is_void(r))
            .or_else(|| self.judging().next())
    }

    /// The snapshot for the rules of keep, discard and undo. `run` is the run that a decision
    /// names.
    fn snapshot(&self, run: Option<RunId>) -> Snapshot {
        let present = Present {
            blob: Some(self.disk.clone()),
            files: self.inputs(&self.disk),
            rules: self.keep_needs.0.clone(),
            sealed_runs: self.keep_needs.1,
            ..Present::from(Fingerprint(self.disk.clone()))
        };
        let named = run.and_then(|run| self.judging().find(|r| r.start.id == run));
        let bytes = self.present_bytes();
        let of_present = |r: &&Record| bytes == Some(r.start.blob.as_str()) && !is_void(r);
        let record = named
            .or_else(|| self.judging().find(of_present))
            .or_else(|| self.last());
        // A record of a story names no files: its kernel is the only one.
        let candidate = record.map(|record| Candidate {
            inputs: self.inputs(&record.start.blob),
            ..Candidate::from(record)
        });
        Snapshot {
            kernel: self.model.setup.kernel.clone(),
            argument: String::new(),
            external: self.model.setup.external.is_some(),
            incumbent: Some(self.head.clone()),
            present: match &self.unreadable {
                Some(why) => Err(why.clone()),
                None => Ok(present),
            },
            obstacle: None,
            candidate,
            running: None,
            deciding: false,
            last_decision: self.last_decision(),
            kept: self.kept(),
            damaged: None,
        }
    }

    fn kept(&self) -> Vec<Kept> {
        let of_head = self
            .records
            .iter()
            .rev()
            .filter(|record| record.start.blob == self.head);
        let keeps = of_head.filter_map(|record| {
            let decision = record
                .decision
                .as_ref()
                .filter(|decision| decision.status == Word::Keep)?;
            let (fingerprint, device) = (record.start.fingerprint.clone(), record.device.clone());
            Some(Kept {
                run: record.start.id,
                commit: decision.commit.clone()?,
                fingerprint,
                device,
            })
        });
        keeps.collect()
    }

    fn last_decision(&self) -> Option<LastDecision> {
        let decided = self
            .records
            .iter()
            .filter_map(|r| Some((r.start.id, r.decision.as_ref()?)));
        decided
            .max_by_key(|(run, d)| (d.decided, *run))
            .map(|(run, d)| LastDecision {
                run,
                status: d.status,
                description: d.description.clone(),
                commit: d.commit.clone().unwrap_or_default(),
                made: d.made,
                is_foreign: false,
                later_work: LaterWork::Unknown,
            })
    }

    /// The answer of core's rules in this world.
    pub fn allowed(&self, run: Option<RunId>) -> Allowed {
        allowed(&self.snapshot(run))
    }

    /// The files that a verdict on these bytes depends on.
    fn inputs(&self, bytes: &str) -> Vec<InputFile> {
        vec![InputFile {
            path: self.model.setup.kernel.clone(),
            hash: Some(bytes.to_owned()),
        }]
    }

    fn keep(&mut self, run: RunId, message: &Message) -> Result<Decided, Refusal> {
        let refused = self.allowed(Some(run)).keep.err().map(Refusal::from);
        match self.refusal.take().map(Refusal::No).or(refused) {
            Some(refusal) => Err(refusal),
            None => Ok(self.decide(run, message, Word::Keep)),
        }
    }

    /// `lab keep` in a shell.
    pub fn keep_beside(&mut self, run: RunId, words: &str) {
        let kept = self.keep(run, &Message::new(words, []));
        assert!(kept.is_ok(), "{kept:?}");
    }

    fn discard(
        &mut self,
        run: RunId,
        message: &Message,
        confirmed: bool,
    ) -> Result<Decided, Refusal> {
        let allowed = self.allowed(Some(run)).discard;
        match (self.refusal.take(), allowed) {
            (Some(why), _) => Err(Refusal::No(why)),
            (None, Err(why)) => Err(why.into()),
            (None, Ok(discard)) => match discard.question(&self.model.setup.kernel, "") {
                Some(question) if !confirmed => Err(Refusal::Ask(question)),
                _ if matches!(discard, Discard::Unjudged { .. } | Discard::Decided(..)) => {
                    Ok(self.discard_unjudged())
                }
                _ => Ok(self.decide(run, message, Word::Discard)),
            },
        }
    }

    /// Bytes without a verdict: they are saved, and no row is written.
    fn discard_unjudged(&mut self) -> Decided {
        self.disk = self.head.clone();
        self.unreadable = None;
        let notes = vec!["the bytes that were on disk are kept as 5a7ed00".to_owned()];
        Decided {
            run: None,
            status: Word::Discard,
            commit: "5a7ed00".into(),
            row: None,
            notes,
        }
    }

    /// Carries out a decision that the rules allow.
    fn decide(&mut self, run: RunId, message: &Message, word: Word) -> Decided {
        let description = message.subject().to_owned();
        let record = self.records.iter_mut().find(|r| r.start.id == run).unwrap();
        let verdict = record.verdict.clone().unwrap();
        let status = match (word, verdict.outcome) {
            (Word::Discard, Outcome::Crash) => Word::Crash,
            (word, _) => word,
        };
        // HEAD may hold the bytes already: then no commit is made.
        let blob = record.start.blob.clone();
        let made = (word == Word::Keep).then(|| blob != self.head);
        let id = match made {
            Some(false) => self.commits[0].id.chars().take(7).collect(),
            _ => format!("{:07x}", 0xc0ffee0 + run.0),
        };
        let row = row(
            &id,
            verdict.objective.map_or(0.0, |m| m.value),
            status,
            &description,
        );
        record.decision = Some(Decision {
            status,
            description: description.clone(),
            trailers: message.trailers().to_vec(),
            decided: noon() + self.now,
            commit: Some(id.clone()),
            made,
            row: Some(row.clone()),
            order: 0,
            row_written: true,
            sweep: None,
        });
        let experiment = Experiment {
            row: row.clone(),
            run: Some(run),
            kernel: Some(KERNEL.into()),
            device: record.device.clone(),
            renamed_from: None,
            foreign: false,
            emulated: verdict.emulated,
            decided: Some(noon() + self.now),
            peers: peers::figures(&record.peers),
            measured: Measured {
                blob: KernelBlob::of(&hex(&record.start.blob)),
                ..(&verdict).into()
            },
            trailers: message.trailers().to_vec(),
        };
        self.history.push(experiment.clone());
        match made {
            Some(true) => {
                self.head_before
                    .push(std::mem::replace(&mut self.head, blob));
                self.commits
                    .insert(0, commit(&id, &description, Some(experiment)));
            }
            Some(false) => {}
            None => {
                self.disk = self.head.clone();
                self.unreadable = None;
            }
        }
        Decided {
            run: Some(run),
            status,
            commit: id,
            row: Some(row),
            notes: Vec::new(),
        }
    }
}

fn is_void(record: &Record) -> bool {
    record
        .verdict
        .as_ref()
        .is_some_and(|verdict| verdict.outcome == Outcome::Void)
}
