//! A world for the screen to live in: a repository, a harness and a person, all of them made up. It
//! carries out effects as the session would and answers by events.

pub mod made;
mod past;
mod repository;
mod session;

use jiff::tz::TimeZone;
use lab_core::auto::LoopView;
use lab_core::config::{AutoConfig, Goal};
use lab_core::history::details::ComparedProfiles;
use lab_core::inputs::Inputs;
use lab_core::repo::LogEntry;
use lab_core::rules::Rules;
use lab_core::run::experiment::Experiment;
use lab_core::run::record::Record;
use lab_core::run::verdict::Outcome;
use lab_core::run::{Ending, Fingerprint, RunId, RunStart};
use lab_core::runner::RunEvent;
use lab_core::runner::follow::Batch;
use lab_core::text::sanitise::LogLine;
use lab_core::watch::WatchEvent;
use lab_protocol::report::Report;
use lab_tui::effect::Effect;
use lab_tui::event::{Event, TerminalEvent, UserInput};
use lab_tui::geometry::FrameGeometry;
use lab_tui::highlight::{HighlightCache, Highlighter};
use lab_tui::keymap::Key;
use lab_tui::layout::Layout;
use lab_tui::model::Model;
use lab_tui::overlay::Overlay;
use lab_tui::reply::{HighlightReply, RepositoryReply, SettingsReply};
use lab_tui::request::{HighlightRequest, RepositoryRequest, SettingsRequest};
use lab_tui::state::Setup;
use lab_tui::theme::Theme;
use made::{commit, no_loop, preferences, record, themes, void};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The kernel that a world begins with.
pub const SOURCE: &str = include_str!("../kernel.cu");

fn highlighter() -> &'static Highlighter {
    static ONE: OnceLock<Highlighter> = OnceLock::new();
    ONE.get_or_init(|| Highlighter::new().unwrap())
}

pub const KERNEL: &str = "kernels/rmsnorm/kernel.cu";

pub struct World {
    pub model: Model,
    pub now: Duration,
    /// Columns and rows of the last picture.
    size: (u16, u16),
    /// Effects that only a terminal could carry out, in words.
    pub asked: Vec<String>,
    pub clipboard: String,
    /// As it was last written down.
    pub layout: Layout,
    answers: VecDeque<Event>,
    /// Names of the bytes: on disk, and in HEAD.
    disk: String,
    head: String,
    /// What HEAD held before each keep that made a commit.
    head_before: Vec<String>,
    saves: u32,
    runs: u64,
    live: Option<(RunStart, Report)>,
    records: Vec<Record>,
    pub history: Vec<Experiment>,
    pub commits: Vec<LogEntry>,
    trusted: bool,
    /// Why kernels cannot be confined.
    unconfined: Option<String>,
    /// Decisions take until the step `decided`.
    pub slow: bool,
    /// Decisions are refused, for this reason.
    pub refusal: Option<String>,
    late: Option<Event>,
    /// The kernels that names of bytes stand for; of others it is [`SOURCE`].
    pub texts: Vec<(String, String)>,
    /// A commit that git does not have any more.
    pub gone: Option<String>,
    /// So many commits follow those of the graph, and so many of them come at once; the next ones at the step `page`, where
    /// that is awaited.
    pub older: usize,
    pub page: usize,
    pub awaits_pages: bool,
    /// How many of them were told.
    told: usize,
    /// What experiments and commits changed is so much that there is something around it.
    pub long_diffs: bool,
    /// The benches that every experiment has.
    pub benches: Vec<lab_core::bench::BenchDigest>,
    /// What was timed last beside the problem's peers.
    pub peers: Option<lab_core::history::last_peers::LastPeers>,
    /// The loop of `lab auto`, as it is read.
    pub loops: Result<LoopView, String>,
    /// Why kernel.cu cannot be read.
    pub unreadable: Option<String>,
    /// How the rules on disk compare with HEAD's, and the sealed runs that a keep has to pass.
    pub keep_needs: (Rules, u32),
    /// The profile that every run has, and the incumbent's.
    pub profile: Option<lab_protocol::profile::Profile>,
    pub incumbent_profile: Option<lab_protocol::profile::Profile>,
    /// What comparisons say of the profiles.
    pub compared_profiles: ComparedProfiles,
    /// What is wrong with the ledger.
    pub problems: Vec<String>,
}

impl World {
    pub fn new() -> Self {
        let setup = Setup {
            name: "rmsnorm".into(),
            kernel: KERNEL.into(),
            objective: "throughput_sps".into(),
            goal: Goal::Maximize,
            external: None,
            auto: AutoConfig::default(),
        };
        World {
            model: Model::new(setup, Theme::plain(), TimeZone::UTC),
            now: Duration::ZERO,
            size: (0, 0),
            asked: Vec::new(),
            clipboard: String::new(),
            layout: Layout::default(),
            answers: VecDeque::new(),
            disk: "bytes-0".into(),
            head: "bytes-0".into(),
            head_before: Vec::new(),
            saves: 0,
            runs: 0,
            refusal: None,
            live: None,
            records: Vec::new(),
            history: Vec::new(),
            commits: vec![commit("a1b2c3d4", "the first kernel", None)],
            trusted: true,
            unconfined: None,
            slow: false,
            late: None,
            texts: Vec::new(),
            gone: None,
            older: 0,
            page: 300,
            awaits_pages: false,
            told: 0,
            long_diffs: false,
            benches: Vec::new(),
            peers: None,
            loops: Ok(no_loop()),
            unreadable: None,
            keep_needs: (Rules::default(), 1),
            profile: None,
            incumbent_profile: None,
            compared_profiles: ComparedProfiles::default(),
            problems: Vec::new(),
        }
    }

    pub fn external(mut self) -> Self {
        self.model.setup.external = Some("uv run harness.py".into());
        self.trusted = false;
        self
    }

    /// A machine without a sandbox, and a folder that is not trusted.
    pub fn unconfined(mut self) -> Self {
        self.unconfined = Some("this Linux kernel has no Landlock, or it is switched off".into());
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
                let effects = lab_tui::open(&mut self.model);
                self.carry_out(effects);
            }
            "save" => {
                self.saves += 1;
                self.disk = format!("bytes-{}", self.saves);
                self.send(self.changed());
            }
            // One that was asked for before the last: its start is told late.
            "begins" => self.start(lab_core::run::Reason::Rerun),
            "reopen" => {
                let setup = self.model.setup.clone();
                self.model = Model::new(setup, Theme::plain(), TimeZone::UTC);
                let effects = lab_tui::open(&mut self.model);
                self.carry_out(effects);
            }
            // With the screen: nobody writes how the run ended.
            "killed" => {
                let (start, report) = self.live.take().expect("a run goes on");
                let mut verdict = void("the lab itself ended before this run did");
                verdict.outcome = Outcome::NotJudged;
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
                self.send(Event::Watch(WatchEvent::RepositoryChanged));
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
                self.send(Event::Repository(RepositoryReply::HeldOut(RunId(self.runs), batch)));
            }
            "press" => {
                for key in rest.split_whitespace() {
                    // A person answers a question that is on the screen.
                    if matches!(self.model.overlays.last(), Some(Overlay::Trust { .. })) {
                        let (width, height) = if self.size == (0, 0) { (160, 45) } else { self.size };
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
            // `down 10 5`, `drag 10 5`, `up 10 5`, `wheel-up 10 5`, `wheel-down 10 5`: column and row.
            "down" | "drag" | "up" | "wheel-up" | "wheel-down" => self.mouse(verb, rest),
            "click" => {
                self.mouse("down", rest);
                self.mouse("up", rest);
            }
            "look-away" => self.send(Event::Terminal(TerminalEvent::Focus(false))),
            "look-back" => self.send(Event::Terminal(TerminalEvent::Focus(true))),
            // What the user's config now says.
            "config" => self.send(Event::Settings(SettingsReply::Preferences {
                read: Box::new(preferences(rest)),
                asked: false,
            })),
            "paste" => self.send(Event::Input(UserInput::Paste(rest.to_owned()))),
            "decided" => {
                let decided = self.late.take().expect("a decision is being carried out");
                self.answers.push_back(decided);
            }
            "page" => self.tell_page(),
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
        let mut numbers = place.split_whitespace().map(|number| number.parse().unwrap());
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

    pub fn send(&mut self, event: Event) {
        let update = lab_tui::update(&mut self.model, event, self.now);
        self.carry_out(update.effects);
    }

    fn answer(&mut self) {
        while let Some(event) = self.answers.pop_front() {
            self.send(event);
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::StartRun(reason, _) => self.start(reason),
                Effect::KillRun => {
                    if let Some((start, report)) = self.live.take() {
                        let verdict = void("it was ended before it was done");
                        let record = record(start, &report, Ending::Superseded, verdict);
                        self.answers.push_back(Event::Run(RunEvent::Ended(Box::new(record))));
                    }
                }
                Effect::Refresh => self.ask(RepositoryRequest::Look),
                Effect::Repository(request) => self.ask(request),
                Effect::View(wish) => self.read(wish),
                Effect::Copy(text) => self.clipboard = text,
                Effect::Settings(SettingsRequest::SaveLayout(layout)) => self.layout = *layout,
                Effect::Settings(SettingsRequest::ListThemes) => {
                    let themes = themes(&self.model.appearance.settings);
                    self.answers.push_back(Event::Settings(SettingsReply::Themes(themes)));
                }
                Effect::Highlight(HighlightRequest { which, language, text }) => {
                    let text: Arc<[u8]> = text.into();
                    let colours = highlighter().highlight(&text, &mut HighlightCache::new(language));
                    self.answers.push_back(Event::Highlighted(HighlightReply { which, text, colours }));
                }
                other => self.asked.push(format!("{other:?}")),
            }
        }
    }

    fn ask(&mut self, request: RepositoryRequest) {
        match request {
            RepositoryRequest::Look => {
                self.answers.push_back(Event::Repository(RepositoryReply::Overview(Box::new(self.facts()))));
            }
            RepositoryRequest::Log(run) => self.load_log(run),
            RepositoryRequest::Keep { run, message, .. } => self.keep(run, &message),
            RepositoryRequest::Discard { run, message, confirmed } => self.discard(run, &message, confirmed),
            RepositoryRequest::Restore(commit) => self.restore(&commit),
            RepositoryRequest::Undoable => {
                let undoable = self.undoable();
                self.answers.push_back(Event::Repository(RepositoryReply::Undoable(undoable)));
            }
            RepositoryRequest::Undo(run) => self.undo(run),
            RepositoryRequest::Describe { commit, description } => self.describe(&commit, description),
            RepositoryRequest::Trust(_) => {
                self.trusted = true;
                self.answers.push_back(Event::Repository(RepositoryReply::Trusted(Ok(()))));
            }
            RepositoryRequest::Kernels => {
                let all = self.kernels();
                self.answers.push_back(Event::Repository(RepositoryReply::Kernels(all)));
            }
            RepositoryRequest::Loop(asked) => {
                self.asked.push(format!("{request:?}"));
                self.answers.push_back(Event::Repository(RepositoryReply::LoopAsked(asked, Ok(()))));
            }
            RepositoryRequest::Reopen => self.asked.push(format!("{request:?}")),
        }
    }

    fn changed(&self) -> Event {
        Event::Watch(WatchEvent::Changed {
            files: vec![KERNEL.into()],
            inputs: Arc::new(Inputs {
                sources: Vec::new(),
                fingerprint: Fingerprint(self.disk.clone()),
                outside: Vec::new(),
            }),
            config: false,
        })
    }

    /// How many began so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The last verdict's objective has an interval of so much on either side.
    pub fn wide_interval(&mut self, share: f64) {
        let last = self.model.runs.last.as_mut().unwrap();
        let objective = last.verdict.objective.as_mut().unwrap();
        objective.low = Some(objective.value * (1.0 - share));
        objective.high = Some(objective.value * (1.0 + share));
    }

    /// What the person sees, with its colours.
    pub fn draw(&mut self, width: u16, height: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        // The person has had this screen for a while: the keys before were pressed at a frame of this size.
        if std::mem::replace(&mut self.size, (width, height)) != (width, height) {
            self.frame(&mut terminal);
        }
        self.frame(&mut terminal);
        terminal.backend().buffer().clone()
    }

    fn frame(&mut self, terminal: &mut Terminal<TestBackend>) {
        let mut geometry = FrameGeometry::default();
        terminal.draw(|frame| geometry = lab_tui::view(&self.model, frame)).unwrap();
        self.send(Event::Drawn(Box::new(geometry)));
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
                skip = lab_tui::text::width(symbol).saturating_sub(1);
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
