//! The made-up session: runs that say what a story says, decisions that are taken at once or late, and what a look
//! at the disk finds.

use super::made::{commit, in_turns, measure, noon, record, row, void};
use super::{KERNEL, World};
use lab_core::decide::policy::{Candidate, LastDecision, LaterWork, Present, Snapshot};
use lab_core::decide::{Decided, Described, Refusal, Restored, Undoable, Undone};
use lab_core::history::History;
use lab_core::message::Message;
use lab_core::repo::Head;
use lab_core::run::experiment::{self, Experiment, Status as Word};
use lab_core::run::record::{Decision, InputFile, Record};
use lab_core::run::verdict::Outcome;
use lab_core::run::{Ending, Fingerprint, Reason, RunId, RunStart};
use lab_core::runner::RunEvent;
use lab_core::runner::follow::Batch;
use lab_core::status::ProjectStatus;
use lab_core::text::sanitise::LogLine;
use lab_protocol::report::Report;
use lab_tui::event::Event;
use lab_tui::reply::{Overview, RepositoryReply, RestoredKernel, RunLog};
use std::sync::Arc;

impl World {
    pub(super) fn start(&mut self, reason: Reason) {
        if !self.trusted {
            let command = self.model.setup.external.clone().unwrap_or_default();
            let file = "lab.toml".into();
            self.answers.push_back(Event::Run(RunEvent::NeedsTrust { reason, command, file }));
            return;
        }
        if let Some((start, report)) = self.live.take() {
            let record = record(start, &report, Ending::Superseded, void("a newer save ended it"));
            self.answers.push_back(Event::Run(RunEvent::Ended(Box::new(record))));
        }
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
        self.answers.push_back(Event::Run(RunEvent::Started(Box::new(start))));
    }

    /// Lines of the harness, between `|`.
    pub(super) fn say(&mut self, lines: &str) {
        let (start, report) = self.live.as_mut().expect("a run goes on");
        let id = start.id;
        let mut batch = Vec::new();
        for text in lines.split('|').map(str::trim) {
            let result = report.push_line(text);
            batch.push(LogLine { text: text.to_owned(), result });
        }
        let report = Some(Arc::new(report.clone()));
        self.send(Event::Run(RunEvent::Progress(id, Batch { lines: batch, skipped: 0, report })));
    }

    /// `pass NUMBER [CHANGE]`, `fail WHY`, `crash WHY`, `unbuilt WHY`, `void WHY`.
    pub(super) fn end(&mut self, how: &str) {
        let (start, report) = self.live.take().expect("a run goes on");
        let (word, rest) = how.split_once(' ').unwrap_or((how, ""));
        let mut verdict = void(rest);
        verdict.emulated = report.emulated();
        verdict.caveats = report.caveats().to_vec();
        let mut words = rest.split_whitespace();
        match word {
            "pass" => {
                verdict.outcome = Outcome::Pass;
                verdict.why = String::new();
                verdict.objective = words.next().map(|n| measure(n.parse().unwrap()));
                verdict.change = words.next().map(|ratio| in_turns(ratio.parse().unwrap()));
                verdict.kernel_us = report.number("kernel_us");
            }
            "fail" => verdict.outcome = Outcome::Fail,
            "crash" => verdict.outcome = Outcome::Crash,
            "unbuilt" => {
                verdict.outcome = Outcome::Crash;
                verdict.build_failed = true;
            }
            "void" => {}
            other => panic!("no run ends '{other}'"),
        }
        let record = record(start, &report, Ending::Exited(0), verdict);
        self.records.push(record.clone());
        self.send(Event::Run(RunEvent::Ended(Box::new(record))));
    }

    pub(super) fn record(&self, key: &experiment::Key) -> Option<Record> {
        self.records.iter().find(|r| Some(r.start.id) == key.run).cloned()
    }

    pub(super) fn restore(&mut self, commit: &str) {
        if let Some(why) = self.refusal.take() {
            self.answers.push_back(Event::Repository(RepositoryReply::Restored(Err(why))));
            return;
        }
        let of = |r: &&Record| r.decision.as_ref().is_some_and(|d| d.commit.as_deref() == Some(commit));
        let judged = self.records.iter().find(of).map(|r| r.start.blob.clone());
        let blob = judged.unwrap_or_else(|| format!("bytes of {commit}"));
        let before = std::mem::replace(&mut self.disk, blob.clone());
        let restored = Restored {
            commit: commit.into(),
            subject: "an older one".into(),
            saved: (before != blob).then(|| "5a7ed00".into()),
            changed: before != blob,
        };
        self.answers
            .push_back(Event::Repository(RepositoryReply::Restored(Ok(RestoredKernel { restored, blob }))));
    }

    pub(super) fn undoable(&self) -> Result<Undoable, String> {
        let decided = |r: &&Record| r.decision.is_some();
        let record = self.records.iter().rfind(decided).ok_or("nothing was decided yet")?;
        let decision = record.decision.as_ref().unwrap();
        Ok(Undoable {
            run: record.start.id,
            status: decision.status,
            description: decision.description.clone(),
            commit: decision.commit.clone().unwrap_or_default(),
            question: format!("Take back that '{}' was {}?", decision.description, decision.status.word()),
        })
    }

    pub(super) fn undo(&mut self, run: RunId) {
        if let Some(why) = self.refusal.take() {
            self.answers.push_back(Event::Repository(RepositoryReply::Undone(Err(Refusal::No(why)))));
            return;
        }
        let Undoable { status, description, commit, .. } = self.undoable().unwrap();
        let record = self.records.iter_mut().find(|r| r.start.id == run).unwrap();
        record.decision = None;
        self.disk = record.start.blob.clone();
        self.head = "bytes-0".into();
        self.history.retain(|e| e.run != Some(run));
        self.commits.retain(|c| c.id != commit);
        let notes = vec!["the commit stays in git".to_owned()];
        self.answers.push_back(Event::Repository(RepositoryReply::Undone(Ok(Undone {
            run,
            status,
            description,
            commit,
            notes,
        }))));
    }

    pub(super) fn describe(&mut self, commit: &str, description: String) {
        let experiment = self.history.iter_mut().rev().find(|e| e.row.commit == commit).unwrap();
        let before = std::mem::replace(&mut experiment.row.description, description);
        let described = Described { row: experiment.row.clone(), before, notes: Vec::new() };
        self.answers.push_back(Event::Repository(RepositoryReply::Described(Ok(described))));
    }

    pub(super) fn load_log(&mut self, run: RunId) {
        let record = self.records.iter().find(|r| r.start.id == run).unwrap();
        let lines = vec![LogLine { text: format!("the log of run {run}"), result: false }];
        let loaded = RunLog { run, lines, report: Arc::new(record.report()) };
        self.answers.push_back(Event::Repository(RepositoryReply::Log(Box::new(loaded))));
    }

    /// What a look at disk and git finds now.
    pub fn facts(&self) -> Overview {
        let present = Fingerprint(self.disk.clone());
        let judged = |r: &&Record| !r.start.is_check();
        let last = self.records.iter().rfind(judged).cloned();
        let here = |r: &&Record| r.start.fingerprint == present;
        let check = self.records.iter().rev().filter(here).find(|r| r.start.is_check()).cloned();
        let judged = self.records.iter().rev().filter(judged).find(here).cloned();
        let head = Head {
            branch: Some("exp/rmsnorm".into()),
            commit: self.commits.first().map(|c| c.id.clone()),
            operation: None,
        };
        let ended = self.records.last().map(|record| record.start.id);
        Overview {
            status: Ok(ProjectStatus { head, snapshot: self.snapshot(), ended, last, judged, check }),
            history: Ok(History { experiments: self.history.clone(), problems: self.problems.clone() }),
            log: Ok(self.commits.clone()),
        }
    }

    /// What the rules of keep, discard and undo look at.
    fn snapshot(&self) -> Snapshot {
        let present = Present {
            blob: Some(self.disk.clone()),
            files: self.inputs(&self.disk),
            ..Present::from(Fingerprint(self.disk.clone()))
        };
        let of_present = |r: &&Record| r.start.fingerprint == present.fingerprint;
        let judging = || self.records.iter().rev().filter(|r| !r.start.is_check());
        let candidate = judging().find(of_present).or_else(|| judging().next()).map(Candidate::from);
        let decided = judging().filter_map(|r| Some((r.start.id, r.decision.as_ref()?)));
        let last_decision = decided.max_by_key(|(_, d)| d.decided).map(|(run, d)| LastDecision {
            run,
            status: d.status,
            description: d.description.clone(),
            commit: d.commit.clone().unwrap_or_default(),
            made: d.made,
            later_work: LaterWork::Unknown,
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
            last_decision,
        }
    }

    /// The files that a verdict on these bytes depends on.
    fn inputs(&self, bytes: &str) -> Vec<InputFile> {
        vec![InputFile { path: self.model.setup.kernel.clone(), hash: Some(bytes.to_owned()) }]
    }

    pub(super) fn decide(&mut self, run: RunId, message: &Message, word: Word) {
        let description = message.subject().to_owned();
        if let Some(why) = self.refusal.take() {
            let refused = Event::Repository(RepositoryReply::Decided(Err(Refusal::No(why))));
            match self.slow {
                true => self.late = Some(refused),
                false => self.answers.push_back(refused),
            }
            return;
        }
        let record = self.records.iter_mut().find(|r| r.start.id == run).unwrap();
        let verdict = record.verdict.clone().unwrap();
        let status = if verdict.outcome == Outcome::Crash { Word::Crash } else { word };
        let id = format!("{:07x}", 0xc0ffee0 + run.0);
        let row = row(&id, verdict.objective.map_or(0.0, |m| m.value), status, &description);
        record.decision = Some(Decision {
            status,
            description: description.clone(),
            trailers: message.trailers().to_vec(),
            decided: noon() + self.now,
            commit: Some(id.clone()),
            made: (word == Word::Keep).then_some(true),
            row: Some(row.clone()),
            row_written: true,
        });
        let experiment = Experiment {
            row: row.clone(),
            run: Some(run),
            kernel: Some(KERNEL.into()),
            device: record.device.clone(),
            emulated: verdict.emulated,
            decided: Some(noon() + self.now),
            measured: (&verdict).into(),
            trailers: message.trailers().to_vec(),
        };
        self.history.push(experiment.clone());
        if word == Word::Keep {
            self.head = record.start.blob.clone();
            self.commits.insert(0, commit(&id, &description, Some(experiment)));
        } else {
            self.disk = self.head.clone();
        }
        let decided = Decided { run: Some(run), status, commit: id, row: Some(row), notes: Vec::new() };
        match self.slow {
            true => self.late = Some(Event::Repository(RepositoryReply::Decided(Ok(decided)))),
            false => self.answers.push_back(Event::Repository(RepositoryReply::Decided(Ok(decided)))),
        }
    }
}
