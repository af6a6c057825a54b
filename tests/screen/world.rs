//! A world for the screen to live in: a repository, a harness and a person, all of them made up. It
//! carries out effects as the session would and answers by events.

use harness::report::{Measure, Report, Speed};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lab::config::Goal;
use lab::session::decide::{Decided, Described, Refusal, Restored, Undoable, Undone};
use lab::session::experiment::{self, Experiment, Measured, Row, Status as Word};
use lab::session::follow::Batch;
use lab::session::history::History;
use lab::session::message::{self, Message};
use lab::session::record::{Decision, Record};
use lab::session::repo::{
    ChangeKind, CommitDetails, FileChange, GraphEntry, Head, Label, LabelKind, LogEntry,
};
use lab::session::run::{Ending, Fingerprint, Reason, RunId, RunStart};
use lab::session::runner::RunEvent;
use lab::session::sanitise::LogLine;
use lab::session::status::Status;
use lab::session::verdict::{Change, Outcome, Verdict};
use lab::session::watch::WatchEvent;
use lab::session::whole::{Compared, Whole};
use lab::settings::Settings;
use lab::tui::app::{App, Setup};
use lab::tui::chart::Glyphs;
use lab::tui::diff::Diff;
use lab::tui::drawer::Preferences;
use lab::tui::effect::Effect;
use lab::tui::event::{Event, Facts, GraphPage, LastLog, PutBack};
use lab::tui::highlight::{Cache, Highlighter};
use lab::tui::keymap::Key;
use lab::tui::layout::Layout;
use lab::tui::panes;
use lab::tui::reader::Wish;
use lab::tui::source::{Against, Asked, Base, Present, Source, Text};
use lab::tui::theme::{ColorDepth, Theme};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The kernel that a world begins with.
pub const SOURCE: &str = include_str!("kernel.cu");

fn highlighter() -> &'static Highlighter {
    static ONE: OnceLock<Highlighter> = OnceLock::new();
    ONE.get_or_init(|| Highlighter::new().unwrap())
}

pub const KERNEL: &str = "kernels/rmsnorm/kernel.cu";

pub struct World {
    pub app: App,
    pub now: Duration,
    /// Effects that only a terminal could carry out, in words.
    pub asked: Vec<String>,
    pub clipboard: String,
    /// As it was last written down.
    pub layout: Layout,
    answers: VecDeque<Event>,
    /// Names of the bytes: on disk, and in HEAD.
    disk: String,
    head: String,
    saves: u32,
    runs: u64,
    live: Option<(RunStart, Report)>,
    records: Vec<Record>,
    pub history: Vec<Experiment>,
    pub commits: Vec<LogEntry>,
    trusted: bool,
    /// Decisions take until the step `decided`.
    pub slow: bool,
    /// Decisions are refused, for this reason.
    pub refusal: Option<String>,
    late: Option<Event>,
    /// The kernels that names of bytes stand for; of others it is [`SOURCE`].
    pub texts: Vec<(String, String)>,
    /// Why kernel.cu cannot be read.
    pub unreadable: Option<String>,
    /// What is wrong with the ledger.
    pub problems: Vec<String>,
}

/// The moment in which every story begins.
fn noon() -> Timestamp {
    "2026-05-04T12:00:00Z".parse().unwrap()
}

impl World {
    pub fn new() -> Self {
        let setup = Setup {
            name: "rmsnorm".into(),
            kernel: KERNEL.into(),
            objective: "throughput_sps".into(),
            goal: Goal::Maximize,
            external: None,
            auto: false,
        };
        World {
            app: App::new(setup, Theme::plain(), TimeZone::UTC),
            now: Duration::ZERO,
            asked: Vec::new(),
            clipboard: String::new(),
            layout: Layout::default(),
            answers: VecDeque::new(),
            disk: "bytes-0".into(),
            head: "bytes-0".into(),
            saves: 0,
            runs: 0,
            refusal: None,
            live: None,
            records: Vec::new(),
            history: Vec::new(),
            commits: vec![commit("a1b2c3d4", "the first kernel", None)],
            trusted: true,
            slow: false,
            late: None,
            texts: Vec::new(),
            unreadable: None,
            problems: Vec::new(),
        }
    }

    pub fn external(mut self) -> Self {
        self.app.setup.external = Some("uv run harness.py".into());
        self.trusted = false;
        self
    }

    /// Tells a story: steps between `;`.
    pub fn tell(&mut self, story: &str) -> &mut Self {
        for step in story.split(';').map(str::trim).filter(|s| !s.is_empty()) {
            let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
            self.step(verb, rest);
            self.answer();
        }
        self
    }

    fn step(&mut self, verb: &str, rest: &str) {
        match verb {
            "open" => {
                let effects = self.app.open();
                self.carry_out(effects);
            }
            "save" => {
                self.saves += 1;
                self.disk = format!("bytes-{}", self.saves);
                self.send(self.changed());
            }
            "reopen" => {
                let setup = self.app.setup.clone();
                self.app = App::new(setup, Theme::plain(), TimeZone::UTC);
                let effects = self.app.open();
                self.carry_out(effects);
            }
            // With the screen: nobody writes how the run ended.
            "killed" => {
                let (start, report) = self.live.take().expect("a run goes on");
                let mut verdict = void("the lab itself ended before this run did");
                verdict.outcome = Outcome::Crash;
                let mut record = record(start, &report, Ending::NotStarted, verdict);
                (record.ended, record.ending) = (None, None);
                self.records.push(record);
            }
            "touch" => self.send(self.changed()),
            // In another terminal: `elsewhere` alone tells that something changed, with words they are a commit's.
            "elsewhere" => {
                if !rest.is_empty() {
                    self.commits.insert(0, commit("e15e3e4e", rest, None));
                }
                self.send(Event::Watch(WatchEvent::Surroundings));
            }
            "undo" => {
                self.disk = self.head.clone();
                self.send(self.changed());
            }
            "say" => self.say(rest),
            "end" => self.end(rest),
            "held-out" => {
                let mut report = Report::default();
                let lines = rest.split('|').map(str::trim).map(|text| {
                    let result = report.push_line(text);
                    LogLine { text: text.to_owned(), result }
                });
                let batch = Batch { lines: lines.collect(), skipped: 0, report: Some(Arc::new(report)) };
                self.send(Event::HeldOut(RunId(self.runs), batch));
            }
            "press" => {
                for key in rest.split_whitespace() {
                    let key = Key::parse(key).unwrap_or_else(|| panic!("'{key}' is no key"));
                    self.send(Event::Key(key.event()));
                }
            }
            "type" => {
                for letter in rest.chars() {
                    let key = Key::parse(&letter.to_string()).unwrap();
                    self.send(Event::Key(key.event()));
                }
            }
            // `down 10 5`, `drag 10 5`, `up 10 5`, `wheel-up 10 5`, `wheel-down 10 5`: column and row.
            "down" | "drag" | "up" | "wheel-up" | "wheel-down" => self.mouse(verb, rest),
            "click" => {
                self.mouse("down", rest);
                self.mouse("up", rest);
            }
            "look-away" => self.send(Event::Focus(false)),
            "look-back" => self.send(Event::Focus(true)),
            // What the user's config now says.
            "config" => self.send(Event::Preferences(Box::new(preferences(rest)), false)),
            "paste" => self.send(Event::Paste(rest.to_owned())),
            "decided" => {
                let decided = self.late.take().expect("a decision is being carried out");
                self.answers.push_back(decided);
            }
            "wait" => {
                self.now += Duration::from_millis(rest.parse().unwrap());
                self.send(Event::Tick);
            }
            other => panic!("no story has a step '{other}'"),
        }
    }

    fn mouse(&mut self, verb: &str, place: &str) {
        let mut numbers = place.split_whitespace().map(|number| number.parse().unwrap());
        let (column, row) = (numbers.next().unwrap(), numbers.next().unwrap());
        let kind = match verb {
            "down" => MouseEventKind::Down(MouseButton::Left),
            "drag" => MouseEventKind::Drag(MouseButton::Left),
            "up" => MouseEventKind::Up(MouseButton::Left),
            "wheel-up" => MouseEventKind::ScrollUp,
            _ => MouseEventKind::ScrollDown,
        };
        self.send(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
    }

    pub fn send(&mut self, event: Event) {
        let effects = self.app.update(event, self.now);
        self.carry_out(effects);
    }

    fn answer(&mut self) {
        while let Some(event) = self.answers.pop_front() {
            self.send(event);
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::StartRun(reason) => self.start(reason),
                Effect::KillRun => {
                    if let Some((start, report)) = self.live.take() {
                        let verdict = void("it was ended before it was done");
                        let record = record(start, &report, Ending::Superseded, verdict);
                        self.answers.push_back(Event::Run(RunEvent::Ended(Box::new(record))));
                    }
                }
                Effect::Refresh => self.answers.push_back(Event::Facts(Box::new(self.facts()))),
                Effect::LoadLog(run) => self.load_log(run),
                Effect::Read(wish) => self.read(wish),
                Effect::Keep { run, message } => self.decide(run, &message, Word::Keep),
                Effect::Discard { run, message, .. } => self.decide(run, &message, Word::Discard),
                Effect::Restore(commit) => self.restore(&commit),
                Effect::AskUndo => {
                    let undoable = self.undoable();
                    self.answers.push_back(Event::Undoable(undoable));
                }
                Effect::Undo(run) => self.undo(run),
                Effect::Describe { commit, description } => self.describe(&commit, description),
                Effect::Trust => {
                    self.trusted = true;
                    self.answers.push_back(Event::Trusted(Ok(())));
                }
                Effect::Copy(text) => self.clipboard = text,
                Effect::Remember(layout) => self.layout = *layout,
                Effect::ListThemes => self.answers.push_back(Event::Themes(themes())),
                Effect::Colour(which, text) => {
                    let text: Arc<[u8]> = text.into();
                    let found = highlighter().highlight(&text, &mut Cache::default());
                    self.answers.push_back(Event::Coloured(which, text, found));
                }
                other => self.asked.push(format!("{other:?}")),
            }
        }
    }

    fn changed(&self) -> Event {
        Event::Watch(WatchEvent::Changed {
            files: vec![KERNEL.into()],
            fingerprint: Fingerprint(self.disk.clone()),
            config: false,
        })
    }

    fn start(&mut self, reason: Reason) {
        if !self.trusted {
            let command = self.app.setup.external.clone().unwrap_or_default();
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
            kernel: KERNEL.into(),
            blob: self.disk.clone(),
            fingerprint: Fingerprint(self.disk.clone()),
            started: noon() + self.now,
            external: self.app.setup.external.is_some(),
        };
        self.live = Some((start.clone(), Report::default()));
        self.answers.push_back(Event::Run(RunEvent::Started(Box::new(start))));
    }

    /// Lines of the harness, between `|`.
    fn say(&mut self, lines: &str) {
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
    fn end(&mut self, how: &str) {
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

    fn record(&self, key: &experiment::Key) -> Option<Record> {
        self.records.iter().find(|r| Some(r.start.id) == key.run).cloned()
    }

    fn read(&mut self, wish: Wish) {
        match wish {
            Wish::Compare(keys) => {
                let records = keys.each_ref().map(|key| self.record(key));
                let [a, b] = keys.each_ref().map(|key| key.commit.as_str());
                let diff = Ok(format!("@@ -1 +1 @@\n-the bytes of {a}\n+the bytes of {b}\n"));
                self.answers.push_back(Event::Compared(Box::new(Compared { keys, records, diff })));
            }
            Wish::Source(asked) => self.read_source(asked),
            Wish::Whole(key) => {
                let whole = Whole {
                    record: self.record(&key),
                    trailers: vec![
                        (message::Key::Constraint, "48 kB of shared memory".into()),
                        (message::Key::Confidence, "high".into()),
                        (message::Key::Tested, "NVIDIA H200, 1 of 1 gates".into()),
                    ],
                    source: Ok("__global__ void rmsnorm() {}\n".into()),
                    diff: Ok(format!("@@ -1 +1 @@\n-the bytes before\n+the bytes of {}\n", key.commit)),
                    log: vec![LogLine { text: "the log of its run".into(), result: false }],
                    key,
                };
                self.answers.push_back(Event::Whole(Box::new(whole)));
            }
            Wish::Graph => {
                let page = GraphPage { is_first: true, is_last: true, entries: self.graph() };
                self.answers.push_back(Event::Graph(Ok(page)));
            }
            Wish::MoreGraph => panic!("there are no more"),
            Wish::Commit(id) => {
                let details = self.details(&id);
                self.answers.push_back(Event::Commit(id, Box::new(Ok(details))));
            }
        }
    }

    /// HEAD's commits, and a side branch that the newest one merges.
    fn graph(&self) -> Vec<GraphEntry> {
        let label = |kind, name: &str| Label { kind, name: name.into() };
        let mut entries: Vec<GraphEntry> = Vec::new();
        for (at, commit) in self.commits.iter().enumerate() {
            let parent = self.commits.get(at + 1).map(|parent| parent.id.clone());
            let mut entry = GraphEntry {
                commit: commit.clone(),
                parents: parent.into_iter().collect(),
                labels: Vec::new(),
            };
            // The reader does not know the history.
            entry.commit.experiment = None;
            if at == 0 {
                entry.labels.push(label(LabelKind::Current, "exp/rmsnorm"));
                entry.labels.push(label(LabelKind::Remote, "origin/main"));
                if self.commits.len() > 2 {
                    entry.parents.push("5ide5ide".into());
                }
            }
            entries.push(entry);
        }
        if self.commits.len() > 2 {
            let side = GraphEntry {
                commit: commit("5ide5ide", "notes on rounding", None),
                parents: vec![self.commits[2].id.clone()],
                labels: vec![label(LabelKind::Tag, "v1")],
            };
            entries.insert(2, side);
        }
        entries
    }

    fn details(&self, id: &str) -> CommitDetails {
        let subject = self.commits.iter().find(|c| c.id == id).map_or("notes on rounding", |c| &c.subject);
        let tested = "NVIDIA H200, 4 of 4 gates, 142050 samples/s (+3.1 % vs incumbent)";
        CommitDetails {
            id: id.into(),
            parents: vec!["a1b2c3d4".into()],
            subject: subject.into(),
            body: vec!["Two rows a warp keep the loads in flight.".into(), String::new(), format!("Tested: {tested}")],
            trailers: Vec::new(),
            author: "Ada <ada@example.org>".into(),
            authored: noon(),
            committer: "Grace <grace@example.org>".into(),
            committed: noon(),
            files: vec![
                FileChange {
                    kind: ChangeKind::Modified,
                    path: KERNEL.into(),
                    from: None,
                    added: 2,
                    removed: 1,
                    is_binary: false,
                    diff: "@@ -1,3 +1,4 @@ rmsnorm\n // one row a warp\n-    float s = x[i];\n+    float s = x[i] * x[i];\n\
                           +    s += bias;\n }\n"
                        .into(),
                    is_cut: false,
                },
                FileChange {
                    kind: ChangeKind::Added,
                    path: "trace.bin".into(),
                    from: None,
                    added: 0,
                    removed: 0,
                    is_binary: true,
                    diff: String::new(),
                    is_cut: false,
                },
            ],
            files_left_out: 0,
        }
    }

    fn restore(&mut self, commit: &str) {
        if let Some(why) = self.refusal.take() {
            self.answers.push_back(Event::Restored(Err(why)));
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
        self.answers.push_back(Event::Restored(Ok(PutBack { restored, blob })));
    }

    fn undoable(&self) -> Result<Undoable, String> {
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

    fn undo(&mut self, run: RunId) {
        if let Some(why) = self.refusal.take() {
            self.answers.push_back(Event::Undone(Err(Refusal::No(why))));
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
        self.answers.push_back(Event::Undone(Ok(Undone { run, status, description, commit, notes })));
    }

    fn describe(&mut self, commit: &str, description: String) {
        let experiment = self.history.iter_mut().rev().find(|e| e.row.commit == commit).unwrap();
        let before = std::mem::replace(&mut experiment.row.description, description);
        let described = Described { row: experiment.row.clone(), before, notes: Vec::new() };
        self.answers.push_back(Event::Described(Ok(described)));
    }

    fn read_source(&mut self, asked: Asked) {
        let present = match &self.unreadable {
            Some(why) => Err(why.clone()),
            None => Ok(Present { text: self.text(&self.disk), fingerprint: Fingerprint(self.disk.clone()) }),
        };
        let base = match &asked.against {
            Against::Incumbent => Base {
                name: format!("incumbent {}", self.commits[0].id.get(..7).unwrap_or_default()),
                text: self.text(&self.head),
            },
            Against::Experiment(key) => {
                Base { name: format!("experiment {}", key.commit), text: self.text(&key.commit) }
            }
        };
        let of = |text: &Text| Diff::of(text.whole(), present.as_ref().map_or(text, |p| &p.text).whole());
        let judged = asked.runs.iter().filter_map(|run| self.records.iter().find(|r| r.start.id == *run));
        let since = judged.map(|record| (record.start.id, of(&self.text(&record.start.blob))));
        let since = since.filter(|(_, diff)| !diff.is_empty()).collect();
        let diff = Arc::new(of(&base.text));
        self.answers.push_back(Event::Source(Box::new(Source {
            asked,
            present,
            base: Ok(base),
            diff,
            since,
        })));
    }

    /// The kernel that a name of bytes stands for.
    fn text(&self, bytes: &str) -> Text {
        let known = self.texts.iter().find(|(name, _)| name == bytes);
        Text::new(known.map_or(SOURCE, |(_, text)| text))
    }

    /// What the next save writes: the present text with these words in the place of others.
    pub fn edit(&mut self, changes: &[(&str, &str)]) -> &mut Self {
        let mut text = self.text(&self.disk).whole().to_string();
        for (old, new) in changes {
            assert!(text.contains(old), "{old} is not in the kernel");
            text = text.replacen(old, new, 1);
        }
        self.texts.push((format!("bytes-{}", self.saves + 1), text));
        self
    }

    fn load_log(&mut self, run: RunId) {
        let record = self.records.iter().find(|r| r.start.id == run).unwrap();
        let lines = vec![LogLine { text: format!("the log of run {run}"), result: false }];
        let loaded = LastLog { run, lines, report: Arc::new(record.report()) };
        self.answers.push_back(Event::LastLog(Box::new(loaded)));
    }

    fn facts(&self) -> Facts {
        let present = Fingerprint(self.disk.clone());
        let judged = |r: &&Record| !r.start.is_check();
        let last = self.records.iter().rfind(judged).cloned();
        let stale = last.as_ref().is_some_and(|r| r.start.fingerprint != present);
        let here = |r: &&Record| r.start.fingerprint == present;
        let check = self.records.iter().rev().filter(here).find(|r| r.start.is_check()).cloned();
        let judged = self.records.iter().rev().filter(judged).find(here).cloned();
        let undecided = last.as_ref().is_some_and(|r| r.decision.is_none());
        Facts {
            status: Ok(Status {
                head: Head {
                    branch: Some("exp/rmsnorm".into()),
                    commit: self.commits.first().map(|c| c.id.clone()),
                    busy: None,
                },
                present: match &self.unreadable {
                    Some(why) => Err(why.clone()),
                    None => Ok(present),
                },
                blob: Some(self.disk.clone()),
                incumbent: Some(self.head.clone()),
                last,
                stale,
                judged,
                check,
                keep: Ok(()),
                discard: if self.disk == self.head {
                    Err("these are the incumbent's own bytes".into())
                } else {
                    Ok(())
                },
                discard_asks: stale || !undecided,
            }),
            history: Ok(History { experiments: self.history.clone(), problems: self.problems.clone() }),
            log: Ok(self.commits.clone()),
        }
    }

    fn decide(&mut self, run: RunId, message: &Message, word: Word) {
        let description = message.subject().to_owned();
        if let Some(why) = self.refusal.take() {
            let refused = Event::Decided(Err(Refusal::No(why)));
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
            true => self.late = Some(Event::Decided(Ok(decided))),
            false => self.answers.push_back(Event::Decided(Ok(decided))),
        }
    }

    /// How many began so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The last verdict's objective has an interval of so much on either side.
    pub fn wide_interval(&mut self, share: f64) {
        let last = self.app.last.as_mut().unwrap();
        let objective = last.verdict.objective.as_mut().unwrap();
        objective.low = Some(objective.value * (1.0 - share));
        objective.high = Some(objective.value * (1.0 + share));
    }

    /// What the person sees, with its colours.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| panes::draw(frame, &mut self.app)).unwrap();
        terminal.backend().buffer().clone()
    }

    /// The same as text.
    pub fn screen(&mut self, width: u16, height: u16) -> String {
        let buffer = self.draw(width, height);
        let mut out = String::new();
        for y in 0..height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..width {
                let symbol = buffer[(x, y)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                line.push_str(symbol);
                skip = lab::tui::text::width(symbol).saturating_sub(1);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// The same as one line of words, for a story's end.
    pub fn words(&mut self) -> String {
        self.screen(160, 45).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// A history to look at: kept ones, discarded ones, a crash, one that was wrong.
    pub fn with_history(self) -> Self {
        let past = [
            (42_013.0, Word::Keep, "baseline"),
            (39_500.0, Word::Discard, "two rows a block"),
            (61_240.0, Word::Keep, "float4 loads"),
            (0.0, Word::Crash, "async copy, misaligned"),
            (60_900.0, Word::Discard, "unroll by 8"),
            (118_700.0, Word::Keep, "one warp a row"),
            (95_000.0, Word::Discard, "shared staging"),
            (142_050.0, Word::Keep, "rsqrt in fp32, scale fused"),
        ];
        self.with_experiments(&past)
    }

    /// Experiments, an hour apart: figure, decision, description. One whose figure is NaN was wrong.
    pub fn with_experiments(mut self, past: &[(f64, Word, &str)]) -> Self {
        let count = past.len();
        for (at, (value, word, text)) in past.iter().copied().enumerate() {
            let id = format!("{:07x}", 0x9f8e7d0 + at);
            let experiment = Experiment {
                row: row(&id, value, word, text),
                run: Some(RunId(at as u64 + 1)),
                kernel: Some(KERNEL.into()),
                device: Some("NVIDIA H200".into()),
                emulated: false,
                decided: Some(noon() - Duration::from_secs(3600 * (count + 1 - at) as u64)),
                trailers: Vec::new(),
                measured: Measured::default(),
            };
            self.history.push(experiment.clone());
            if word == Word::Keep {
                self.commits.insert(0, commit(&id, text, Some(experiment)));
            }
        }
        self.runs = 41;
        self
    }
}

/// Experiments of another kernel, of another device, and of the emulated one.
const STRANGERS: [(&str, &str, bool, f64, &str); 3] = [
    ("kernels/wavegru/kernel.cu", "NVIDIA H200", false, 52_190.2, "four grid.sync() a step"),
    (KERNEL, "NVIDIA L40S", false, 88_120.0, "on the small machine"),
    (KERNEL, "cpu (emulated, 2 threads)", true, 12.5, "is it right at all?"),
];

impl World {
    pub fn with_strangers(mut self) -> Self {
        for (at, (kernel, device, emulated, value, text)) in STRANGERS.into_iter().enumerate() {
            self.history.push(Experiment {
                row: row(&format!("{:07x}", 0xa1b2c0 + at), value, Word::Keep, text),
                run: None,
                kernel: Some(kernel.into()),
                device: Some(device.into()),
                emulated,
                decided: Some(noon() - Duration::from_secs(60 * (9 - at as u64))),
                trailers: Vec::new(),
                measured: Measured::default(),
            });
        }
        self
    }
}

fn themes() -> Vec<(String, Theme)> {
    ["ansi", "lab-dark", "lab-light"]
        .map(|name| (name.to_owned(), Theme::choose(Some(name), ColorDepth::Rgb).unwrap()))
        .into()
}

/// Of a config, its lines separated by `|`.
fn preferences(config: &str) -> Result<Preferences, String> {
    let settings = Settings::parse(&config.replace('|', "\n"), "config.toml")?;
    let theme = Theme::choose(settings.theme.as_deref(), ColorDepth::Rgb)?;
    Ok(Preferences { settings, theme, glyphs: Glyphs::default() })
}

fn measure(value: f64) -> Measure {
    Measure { value, low: Some(value * 0.998), high: Some(value * 1.002) }
}

fn row(commit: &str, value: f64, status: Word, description: &str) -> Row {
    Row {
        commit: commit.into(),
        throughput_sps: if value.is_nan() { 0.0 } else { value },
        kernel_us: if value > 0.0 { 1e6 / value } else { 0.0 },
        correctness: if status == Word::Crash || value.is_nan() { "fail" } else { "pass" }.into(),
        status,
        description: description.into(),
    }
}

fn commit(id: &str, subject: &str, experiment: Option<Experiment>) -> LogEntry {
    LogEntry {
        id: id.into(),
        subject: subject.into(),
        author: "Ada".into(),
        time: noon() - Duration::from_secs(7200),
        experiment: experiment.map(Box::new),
    }
}

fn void(why: &str) -> Verdict {
    Verdict {
        outcome: Outcome::Void,
        why: why.into(),
        build_failed: false,
        objective: None,
        kernel_us: None,
        change: None,
        emulated: false,
        caveats: Vec::new(),
    }
}

fn record(start: RunStart, report: &Report, ending: Ending, verdict: Verdict) -> Record {
    Record {
        version: 1,
        lab: "0.1.0".into(),
        inputs: Vec::new(),
        command: "built-in".into(),
        ended: Some(start.started),
        seconds: Some(2.4),
        ending: Some(ending),
        verdict: Some(verdict),
        device: report.device().map(str::to_owned),
        results: report.entries().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        workloads: Vec::new(),
        log_bytes: 0,
        held_out: None,
        decision: None,
        undone: Vec::new(),
        start,
    }
}

impl World {
    /// A step of a random story: what a run says, and that it ends, only counts while one goes on.
    pub fn tell_if_it_can(&mut self, step: &str) {
        let step = match step.strip_prefix("log ") {
            Some(line) => format!("say {line}"),
            None => step.to_owned(),
        };
        let of_a_run = step.starts_with("say") || step.starts_with("end");
        if !of_a_run || self.live.is_some() {
            self.tell(&step);
        }
    }
}

/// Half a percent decides the word, and three tenths are the interval's half width.
fn in_turns(ratio: f64) -> Change {
    let (low, high) = (ratio - 0.003, ratio + 0.003);
    let speed = if low > 0.005 {
        Speed::Faster
    } else if high < -0.005 {
        Speed::Slower
    } else {
        Speed::Same
    };
    Change { ratio, spread: Some(0.003), interval: Some((low, high)), speed: Some(speed) }
}
