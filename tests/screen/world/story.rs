//! The steps of a story: actions of the person, the harness and other terminals.

use super::World;
use super::made::{commit, preferences, record, void};
use jiff::tz::TimeZone;
use lab_protocol::report::Report;
use lab_run::verdict::Outcome;
use lab_run::{Ending, RunId};
use lab_runner::follow::Batch;
use lab_text::sanitise::LogLine;
use lab_tui::event::{Event, TerminalEvent, UserInput};
use lab_tui::keymap::Key;
use lab_tui::model::Model;
use lab_tui::overlay::Overlay;
use lab_tui::reply::RepositoryReply;
use lab_tui::theme::Theme;
use lab_watch::WatchEvent;
use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use std::sync::Arc;
use std::time::Duration;

impl World {
    /// Plays a story: steps between `;`.
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
            // `open` for the kernel that was named, `open somewhere` where several are and none was.
            "open" => {
                let effects = lab_tui::open(&mut self.model, rest == "somewhere");
                self.carry_out(effects);
            }
            "save" => {
                self.saves += 1;
                self.disk = format!("bytes-{}", self.saves);
                self.send(self.changed(false));
            }
            // A loop wrote these bytes.
            "loop-writes" => {
                self.disk = rest.to_owned();
                self.send(self.changed(true));
            }
            // The run was requested before the last one: its start is reported late.
            "begins" => self.start(lab_run::Reason::Rerun),
            // Another screen judges what it found on disk.
            "other-begins" => drop(self.begin(lab_run::Reason::Saved)),
            // That screen ends it, as a newer save does.
            "other-ends" => {
                let (start, report) = self.live.take().expect("a run goes on");
                let id = start.id;
                let why = void("a newer save ended it");
                self.records
                    .push(record(start, &report, Ending::Superseded, why));
                self.send(Event::Run(lab_runner::RunEvent::Left(id)));
            }
            "reopen" => {
                let setup = self.model.setup.clone();
                self.model = Model::new(setup, Theme::plain(), TimeZone::UTC);
                let effects = lab_tui::open(&mut self.model, false);
                self.carry_out(effects);
            }
            // The screen ends too, so no end of the run is written.
            "killed" => {
                let (start, report) = self.live.take().expect("a run goes on");
                let mut verdict = void("the lab itself ended before this run did");
                verdict.outcome = Outcome::NotJudged;
                let mut record = record(start, &report, Ending::NotStarted, verdict);
                (record.ended, record.ending) = (None, None);
                self.records.push(record);
            }
            "touch" => self.send(self.changed(false)),
            // In another terminal: `lab profile` has made one.
            "profiled-elsewhere" => self.send(Event::Watch(WatchEvent::Profiled)),
            // In another terminal: `elsewhere` alone says that something changed; with words, they
            // name a commit.
            "elsewhere" => {
                if !rest.is_empty() {
                    self.commits.insert(0, commit("e15e3e4e", rest, None));
                }
                self.send(Event::Watch(WatchEvent::RepositoryChanged));
            }
            "undo" => {
                self.disk = self.head.clone();
                self.send(self.changed(false));
            }
            "say" => self.say(rest),
            "end" => self.end(rest),
            "held-out" => {
                let mut report = Report::default();
                let lines = rest.split('|').map(str::trim).map(|text| {
                    let result = report.push_line(text);
                    LogLine {
                        text: text.to_owned(),
                        result,
                    }
                });
                let batch = Batch {
                    lines: lines.collect(),
                    skipped: 0,
                    report: Some(Arc::new(report)),
                };
                self.send(Event::Repository(RepositoryReply::HeldOut(
                    RunId(self.runs),
                    batch,
                )));
            }
            "press" => {
                for key in rest.split_whitespace() {
                    // A person answers a question that is on the screen.
                    if matches!(self.model.overlays.last(), Some(Overlay::Trust { .. })) {
                        let (width, height) = if self.size == (0, 0) {
                            (160, 45)
                        } else {
                            self.size
                        };
                        self.draw(width, height);
                    }
                    let key = Key::parse(key).unwrap_or_else(|| panic!("'{key}' is no key"));
                    self.send(Event::Input(UserInput::Key(key.event())));
                }
            }
            "type" => {
                for letter in rest.chars() {
                    let key = Key::parse(&letter.to_string()).unwrap();
                    self.send(Event::Input(UserInput::Key(key.event())));
                }
            }
            // `down 10 5`, `drag 10 5`, `up 10 5`, `wheel-up 10 5`, `wheel-down 10 5`: column and
            // row.
            "down" | "drag" | "up" | "wheel-up" | "wheel-down" => self.mouse(verb, rest),
            "click" => {
                self.mouse("down", rest);
                self.mouse("up", rest);
            }
            "look-away" => self.send(Event::Terminal(TerminalEvent::Focus(false))),
            "look-back" => self.send(Event::Terminal(TerminalEvent::Focus(true))),
            // The new content of the user's config.
            "config" => self.send(Event::Preferences {
                read: Box::new(preferences(rest)),
                asked: false,
            }),
            "paste" => self.send(Event::Input(UserInput::Paste(rest.to_owned()))),
            "decided" => {
                let decided = self.late.take().expect("a decision is being carried out");
                self.answers.push_back(decided);
            }
            "page" => self.tell_page(),
            "read" => {
                let request = self.unread.take().expect("the kernel is wanted");
                self.read_source(request);
            }
            // Something of it changed.
            "loop" => {
                let running = self.loops.as_ref().is_ok_and(|view| view.running);
                self.send(Event::Watch(WatchEvent::LoopChanged { running }));
            }
            "wait" => {
                self.now += Duration::from_millis(rest.parse().unwrap());
                self.send(Event::Tick);
            }
            other => panic!("no story has a step '{other}'"),
        }
    }

    fn mouse(&mut self, verb: &str, place: &str) {
        let mut numbers = place
            .split_whitespace()
            .map(|number| number.parse().unwrap());
        let (column, row) = (numbers.next().unwrap(), numbers.next().unwrap());
        let kind = match verb {
            "down" => MouseEventKind::Down(MouseButton::Left),
            "drag" => MouseEventKind::Drag(MouseButton::Left),
            "up" => MouseEventKind::Up(MouseButton::Left),
            "wheel-up" => MouseEventKind::ScrollUp,
            _ => MouseEventKind::ScrollDown,
        };
        self.send(Event::Input(UserInput::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })));
    }

    /// A step of a random story. Steps of a run count only while a run is in progress.
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
