//! The one function that changes the model. It is pure: it reads no clock, no disk and no git, and
//! returns what it wants done as effects.
//!
//! One file for each kind of input: keys, mouse, typed lines, runs, replies of the workers.

mod board;
mod by_rule;
mod cells;
mod copy;
mod deciding;
mod dialogs;
mod git;
mod keys;
mod loops;
mod mouse;
mod overview;
mod own_commits;
mod pick;
mod places;
mod preferences;
mod profile;
mod replies;
mod results;
mod rows;
mod runs;
mod search;
mod selection;
mod source;

pub use places::Places;

use crate::effect::{Effect, Redraw, Update};
use crate::event::{Event, TerminalEvent, UserInput};
use crate::geometry::FrameGeometry;
use crate::model::Model;
use crate::overlay::Overlay;
use crate::request::{RepositoryRequest, ViewRequest};
use crate::state::Now;
use crate::views::View;

/// What to do first, once the screen is open: let the user choose a kernel, if none was named.
pub fn open(model: &mut Model, is_to_choose: bool) -> Vec<Effect> {
    model.emit(Effect::Refresh);
    model.show(model.panes.view);
    if is_to_choose {
        model.open_kernels();
    }
    std::mem::take(&mut model.frame.effects)
}

/// Takes one event. `now` is the time since the screen was opened.
pub fn update(model: &mut Model, event: Event, now: Now) -> Update {
    if let Event::Drawn(geometry) = event {
        model.take_geometry(*geometry);
        return Update::default();
    }
    model.now = model.now.max(now);
    model.frame.redraw = Redraw::NextFrame;
    model.on_event(event);
    model.release_held();
    let last = model.runs.last.as_ref();
    if model.repository.update_comparable(&model.setup, last) {
        model.load_workload();
    }
    model.note_workloads();
    model.watch_device();
    // The layout is saved before an effect that may close the screen.
    model.save_layout();
    model.load_source();
    model.load_profile();
    Update {
        effects: std::mem::take(&mut model.frame.effects),
        redraw: model.frame.redraw,
    }
}

impl Model {
    fn on_event(&mut self, event: Event) {
        match event {
            Event::Input(UserInput::Key(key)) => {
                self.frame.redraw = Redraw::AtOnce;
                self.on_key(key);
            }
            Event::Input(UserInput::Paste(text)) => {
                self.frame.redraw = Redraw::AtOnce;
                self.on_paste(&text);
            }
            Event::Input(UserInput::Mouse(mouse)) => self.on_mouse(mouse),
            Event::Terminal(event) => self.on_terminal(event),
            Event::Tick => self.on_tick(),
            // `update` has taken it.
            Event::Drawn(_) => {}
            Event::Watch(event) => self.on_watch(event),
            Event::Run(event) => self.on_run(event),
            Event::Profiled(result) => self.on_profiled(result),
            Event::Repository(reply) => self.on_repository(reply),
            Event::View(reply) => self.on_view(reply),
            Event::Preferences { read, asked } => self.on_preferences(*read, asked),
            Event::Themes(themes) => self.on_themes(themes),
            Event::Telemetry(reading) => {
                if !self.device.take(*reading, self.now) {
                    self.ignore();
                }
            }
            Event::Highlighted(reply) => self.on_highlighted(reply),
            Event::WorkerDied { name, message } => {
                self.fail(format!("a thread of the lab panicked ({name}): {message}"));
            }
        }
    }

    fn on_terminal(&mut self, event: TerminalEvent) {
        match event {
            TerminalEvent::Resize => {
                self.frame.redraw = Redraw::AtOnce;
            }
            TerminalEvent::Focus(focused) => {
                self.appearance.focused = focused;
                self.frame.redraw = Redraw::No;
            }
            TerminalEvent::EditorClosed(result) => {
                if let Err(why) = result {
                    self.fail(why);
                }
                self.emit(Effect::Repaint);
            }
            TerminalEvent::Suspend => self.emit(Effect::Suspend),
            TerminalEvent::Continued => self.emit(Effect::Repaint),
            TerminalEvent::Terminate(_) | TerminalEvent::Hangup => {
                self.emit(Effect::KillRun);
                self.emit(Effect::Quit);
            }
        }
    }

    fn on_tick(&mut self) {
        let expired = self.message.tick(self.now);
        if !expired && self.clock().is_none() && !self.shows_loop_clock() {
            self.ignore();
        }
    }

    /// Stores where everything was drawn, and how the panes were scrolled.
    fn take_geometry(&mut self, mut geometry: FrameGeometry) {
        for (pane, fit) in geometry.fits.drain(..) {
            self.panes.take(pane, fit);
        }
        let mut overlay = self.overlays.last_mut();
        if let (Some(fit), Some(Overlay::Trust { reading, .. })) =
            (geometry.question, overlay.as_deref_mut())
        {
            reading.take(fit);
        }
        // Scrolling beyond the end of the text has no effect on the way back.
        if let (Some(row), Some(scroll)) =
            (geometry.scrolled_row, overlay.and_then(Overlay::scroll))
        {
            *scroll = row;
        }
        let is_whole = geometry.panes.len() >= self.panes.panes().len();
        self.panes.is_stacked = !is_whole && !self.panes.zoom();
        self.frame.geometry = geometry;
    }

    /// Watches the GPU while its view is shown.
    fn watch_device(&mut self) {
        let wanted = self.runs.gpu().filter(|_| self.panes.view == View::Device);
        if self.device.watch(wanted) {
            let wanted = wanted.map(str::to_owned);
            self.emit(Effect::Telemetry(wanted));
        }
    }
}

/// What each part of `update` returns is collected in the frame's state.
impl Model {
    fn emit(&mut self, effect: Effect) {
        self.frame.effects.push(effect);
    }

    fn ask(&mut self, request: RepositoryRequest) {
        self.emit(Effect::Repository(request));
    }

    fn load(&mut self, request: ViewRequest) {
        self.emit(Effect::View(request));
    }

    /// Draws nothing: the event changes nothing that is shown.
    fn ignore(&mut self) {
        self.frame.redraw = Redraw::No;
    }
}
