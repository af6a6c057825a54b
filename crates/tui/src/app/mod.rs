//! The state of the screen and the one function that changes it. `update` is pure: it reads no
//! clock, no disk and no git; what it wants done it returns as effects.

mod chosen;
mod copy;
mod deciding;
mod device;
mod dialogs;
mod facts;
mod git;
mod keys;
mod mouse;
mod past;
mod pick;
mod preferences;
mod results;
mod rows;
mod runs;
mod search;
mod source;
mod state;
mod usable;

use super::chart::Glyphs;
use super::draft::Drafts;
use super::effect::Effect;
use super::event::Event;
use super::keymap::Keymap;
use super::layout::Layout;
use super::log::LogView;
use super::overlay::Overlay;
use super::panes::Panes;
use super::status::{Level, StatusLine};
use super::table::Table;
use super::theme::Theme;
use crate::settings::Settings;
use jiff::tz::TimeZone;
use lab_core::history::details::{Compared, ExperimentDetails};
use lab_core::repo::LogEntry;
use lab_core::run::experiment::{Experiment, Key};
use lab_core::run::{Fingerprint, RunId};
use lab_core::status::ProjectStatus;
use past::Past;
use state::{PutBack, decision};
use std::time::Duration;

pub use device::DeviceCourse;
pub use past::Comparable;
pub use rows::Rows;
pub use state::{Checking, Deciding, Judged, Live, Running, Setup};

/// Time since the screen was opened. Comes in with every event; nothing here reads a clock.
pub type Now = Duration;

/// How often the clock of a run that goes on is drawn.
const TICK: Duration = Duration::from_millis(100);

pub struct App {
    pub setup: Setup,
    pub theme: Theme,
    /// What charts are made of.
    pub glyphs: Glyphs,
    pub zone: TimeZone,
    /// Of the last event.
    pub now: Now,
    pub running: Running,
    /// The newest run that this screen heard of; older ones are history.
    newest: Option<RunId>,
    pub last: Option<Judged>,
    /// The last check, which takes the place of no verdict.
    check: Option<Judged>,
    /// What is on disk now, as far as is known.
    pub present: Option<Result<Fingerprint, String>>,
    pub status: Option<ProjectStatus>,
    pub history: Vec<Experiment>,
    /// What was worked out of it.
    past: Past,
    /// What was last found wrong with the ledger.
    problem: Option<String>,
    /// The history as a table: sorted, filtered, marked.
    pub table: Table,
    pub commits: Vec<LogEntry>,
    /// The experiment that every pane shows as the selected one.
    pub chosen: Option<Key>,
    /// The chosen one, or the one that was, read whole.
    pub whole: Option<ExperimentDetails>,
    /// The first look at disk and git was taken.
    pub loaded: bool,
    pub paused: bool,
    /// A harness command that waits to be trusted.
    pub untrusted: Option<String>,
    pub deciding: Option<Deciding>,
    /// What goes on was decided by rule: nobody waits for a dialog.
    by_rule: bool,
    /// Runs are decided by rule where nobody would decide otherwise.
    pub auto: bool,
    /// The run that has just ended, for the rule; its place is known after the next look at the disk.
    to_be_ruled: Option<RunId>,
    /// The check before a keep, while it goes on.
    pub checking: Option<Checking>,
    /// The two that are shown beside each other instead of the chosen one; the older first.
    pub comparing: Option<[Key; 2]>,
    compared: Option<Compared>,
    /// The lab itself put bytes on disk; the next look at it tells whether they were ever judged.
    put_back: Option<PutBack>,
    /// A save came while a decision was carried out; it is judged after that.
    saved_meanwhile: bool,
    /// The GPU's state while its view is shown.
    pub device: DeviceCourse,
    /// The GPU that the monitor was told to look at.
    looked_at: Option<String>,
    /// The user's own.
    pub settings: Settings,
    pub keymap: Keymap,
    /// The mouse is heard.
    pub mouse: bool,
    /// The terminal has the focus, as far as it tells.
    focused: bool,
    /// The themes there are, once the chooser asked.
    pub themes: Vec<(String, Theme)>,
    /// The one that was chosen on the screen.
    theme_name: Option<String>,
    /// The layout as it was last written down.
    remembered: Layout,
    pub log: LogView,
    pub panes: Panes,
    pub overlays: Vec<Overlay>,
    /// What was typed for a keep or a discard that was not done.
    drafts: Drafts,
    pub message: StatusLine,
    /// Something changed since the last frame.
    pub dirty: bool,
    /// It was a key: draw at once.
    pub urgent: bool,
}

impl App {
    pub fn new(setup: Setup, theme: Theme, zone: TimeZone) -> Self {
        App {
            theme,
            glyphs: Glyphs::default(),
            zone,
            now: Duration::ZERO,
            running: Running::No,
            newest: None,
            last: None,
            check: None,
            present: None,
            problem: None,
            status: None,
            history: Vec::new(),
            past: Past::default(),
            table: Table::default(),
            commits: Vec::new(),
            chosen: None,
            whole: None,
            loaded: false,
            paused: false,
            untrusted: None,
            deciding: None,
            by_rule: false,
            auto: setup.auto,
            to_be_ruled: None,
            setup,
            checking: None,
            comparing: None,
            compared: None,
            put_back: None,
            saved_meanwhile: false,
            device: DeviceCourse::default(),
            looked_at: None,
            settings: Settings::default(),
            keymap: Keymap::built_in(),
            mouse: false,
            focused: true,
            themes: Vec::new(),
            theme_name: None,
            remembered: Layout::default(),
            log: LogView::default(),
            panes: Panes::default(),
            overlays: Vec::new(),
            drafts: Drafts::default(),
            message: StatusLine::default(),
            dirty: true,
            urgent: true,
        }
    }

    /// What to do first.
    pub fn open(&mut self) -> Vec<Effect> {
        let mut effects = vec![Effect::Refresh];
        effects.extend(self.show(self.panes.view));
        effects
    }

    pub fn update(&mut self, event: Event, now: Now) -> Vec<Effect> {
        self.now = self.now.max(now);
        self.dirty = true;
        let mut effects = self.on_event(event);
        self.compare_anew();
        effects.extend(self.look_at_device());
        // In front of what may end the screen.
        effects.splice(0..0, self.remember());
        effects.extend(self.look_at_source());
        effects
    }

    fn on_event(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => {
                self.urgent = true;
                self.on_key(key)
            }
            Event::Paste(text) => {
                self.urgent = true;
                self.on_paste(&text)
            }
            Event::Resize => {
                self.urgent = true;
                Vec::new()
            }
            Event::Mouse(mouse) => self.on_mouse(mouse),
            Event::Focus(focused) => {
                self.focused = focused;
                self.dirty = false;
                Vec::new()
            }
            Event::Preferences(read, asked) => self.on_preferences(*read, asked),
            Event::Themes(themes) => self.on_themes(themes),
            Event::Tick => self.on_tick(),
            Event::Watch(event) => self.on_watch(event),
            Event::Run(event) => self.on_run(event),
            Event::Facts(facts) => self.on_facts(*facts),
            Event::LastLog(loaded) => self.on_last_log(*loaded),
            Event::Graph(page) => self.on_graph(page),
            Event::Commit(id, details) => self.on_commit(id, *details),
            Event::Device(heard) => self.on_device(*heard),
            Event::Source(source) => self.on_source(*source),
            Event::Coloured(which, text, found) => self.on_coloured(which, &text, found),
            Event::Whole(whole) => self.on_whole(*whole),
            Event::Compared(compared) => self.on_compared(*compared),
            Event::Restored(result) => self.on_restored(result),
            Event::Undoable(undoable) => self.on_undoable(undoable),
            Event::Undone(result) => self.on_undone(result),
            Event::Described(result) => self.on_described(result),
            Event::HeldOut(run, batch) => self.on_held_out(run, batch),
            Event::Decided(result) => self.on_decided(result),
            Event::Project(result) => self.on_project(result),
            Event::Trusted(result) => self.on_trusted(result),
            Event::EditorClosed(result) => {
                if let Err(why) = result {
                    self.say(Level::Error, why);
                }
                vec![Effect::Repaint]
            }
            Event::Suspend => vec![Effect::Suspend],
            Event::Continued => vec![Effect::Repaint],
            Event::Terminate(_) | Event::Hangup => vec![Effect::KillRun, Effect::Quit],
            Event::WorkerDied { name, message } => {
                self.say(Level::Error, format!("a part of the lab broke ({name}): {message}"));
                Vec::new()
            }
        }
    }

    /// When the next [`Event::Tick`] is wanted; `None` while nothing moves.
    pub fn wakes_at(&self) -> Option<Now> {
        let clock = self.is_busy().then(|| self.now + TICK);
        [clock, self.message.expires()].into_iter().flatten().min()
    }

    /// Something goes on whose clock is shown.
    fn is_busy(&self) -> bool {
        !matches!(self.running, Running::No) || self.checking.is_some()
    }

    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        self.message.say(level, text, self.now);
    }

    fn on_tick(&mut self) -> Vec<Effect> {
        let went = self.message.tick(self.now);
        self.dirty = went || self.is_busy();
        Vec::new()
    }

    /// What a check found in the bytes on disk; of others it says nothing.
    pub fn checked(&self) -> Option<&Judged> {
        let present = self.present.as_ref()?.as_ref().ok()?;
        self.check.as_ref().filter(|check| check.start.fingerprint == *present)
    }

    /// The last verdict belongs to other bytes than those on disk.
    pub fn is_stale(&self) -> bool {
        match (&self.last, &self.present) {
            (Some(last), Some(Ok(present))) => last.start.fingerprint != *present,
            (Some(_), Some(Err(_))) => true,
            _ => false,
        }
    }
}
