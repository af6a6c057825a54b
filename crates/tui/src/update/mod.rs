//! The one function that changes the model. It is pure: it reads no clock, no disk and no git, and
//! returns what it wants done as effects.
//!
//! One file for each kind of input: keys, mouse, typed lines, runs, replies of the workers.

mod copy;
mod deciding;
mod dialogs;
mod git;
mod keys;
mod loops;
mod mouse;
mod overview;
mod pick;
mod preferences;
mod profile;
mod replies;
mod results;
mod rows;
mod runs;
mod search;
mod selection;
mod source;

use crate::effect::{Effect, Redraw, Update};
use crate::event::{Event, TerminalEvent, UserInput};
use crate::geometry::FrameGeometry;
use crate::model::Model;
use crate::overlay::{Help, Overlay};
use crate::request::{RepositoryRequest, TelemetryRequest};
use crate::state::Now;
use crate::status::MessageLevel;
use crate::views::View;

/// What to do first, once the screen is open.
pub fn open(model: &mut Model) -> Vec<Effect> {
    let mut effects = vec![Effect::Refresh];
    effects.extend(model.show(model.panes.view));
    effects
}

/// Takes one event. `now` is the time since the screen was opened.
pub fn update(model: &mut Model, event: Event, now: Now) -> Update {
    let event = match event {
        Event::Drawn(geometry) => {
            model.take_geometry(*geometry);
            return Update::default();
        }
        event => event,
    };
    model.now = model.now.max(now);
    model.frame.redraw = Redraw::NextFrame;
    let mut effects = model.on_event(event);
    model
        .repository
        .update_comparable(&model.setup, model.runs.last.as_ref());
    model.note_workloads();
    effects.extend(model.watch_device());
    // The layout is saved before an effect that may close the screen.
    effects.splice(0..0, model.save_layout());
    effects.extend(model.load_source());
    effects.extend(model.load_profile());
    model.place_hot_lines();
    Update {
        effects,
        redraw: model.frame.redraw,
    }
}

/// Whether an event needs to know where the last frame drew everything. A letter that is typed into
/// a line and a key without an action do not, so several of them can be handled before the next
/// frame.
pub fn uses_geometry(model: &Model, event: &Event) -> bool {
    match event {
        Event::Input(UserInput::Key(key)) => model.key_uses_geometry(*key),
        Event::Input(UserInput::Mouse(_)) => true,
        _ => false,
    }
}

impl Model {
    fn on_event(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Input(UserInput::Key(key)) => {
                self.frame.redraw = Redraw::AtOnce;
                self.on_key(key)
            }
            Event::Input(UserInput::Paste(text)) => {
                self.frame.redraw = Redraw::AtOnce;
                self.on_paste(&text)
            }
            Event::Input(UserInput::Mouse(mouse)) => self.on_mouse(mouse),
            Event::Terminal(event) => self.on_terminal(event),
            Event::Tick => self.on_tick(),
            // `update` has taken it.
            Event::Drawn(_) => Vec::new(),
            Event::Watch(event) => self.on_watch(event),
            Event::Run(event) => self.on_run(event),
            Event::Profiled(result) => self.on_profiled(result),
            Event::Repository(reply) => self.on_repository(reply),
            Event::View(reply) => self.on_view(reply),
            Event::Settings(reply) => self.on_settings(reply),
            Event::Telemetry(reading) => self.on_telemetry(*reading),
            Event::Highlighted(reply) => self.on_highlighted(reply),
            Event::WorkerDied { name, message } => {
                self.say(
                    MessageLevel::Error,
                    format!("a thread of the lab panicked ({name}): {message}"),
                );
                Vec::new()
            }
        }
    }

    fn on_terminal(&mut self, event: TerminalEvent) -> Vec<Effect> {
        match event {
            TerminalEvent::Resize => {
                self.frame.redraw = Redraw::AtOnce;
                Vec::new()
            }
            TerminalEvent::Focus(focused) => {
                self.appearance.focused = focused;
                self.frame.redraw = Redraw::No;
                Vec::new()
            }
            TerminalEvent::EditorClosed(result) => {
                if let Err(why) = result {
                    self.say(MessageLevel::Error, why);
                }
                vec![Effect::Repaint]
            }
            TerminalEvent::Suspend => vec![Effect::Suspend],
            TerminalEvent::Continued => vec![Effect::Repaint],
            TerminalEvent::Terminate(_) | TerminalEvent::Hangup => {
                vec![Effect::KillRun, Effect::Quit]
            }
        }
    }

    fn on_tick(&mut self) -> Vec<Effect> {
        let expired = self.message.tick(self.now);
        if !expired && !self.shows_clock() && !self.shows_loop_clock() {
            self.frame.redraw = Redraw::No;
        }
        Vec::new()
    }

    /// Stores where everything was drawn, and how the panes were scrolled.
    fn take_geometry(&mut self, mut geometry: FrameGeometry) {
        for fit in geometry.fits.drain(..) {
            self.panes.take(fit);
        }
        match (
            geometry.scrolled_row,
            geometry.question,
            self.overlays.last_mut(),
        ) {
            // Scrolling beyond the end of the text has no effect on the way back.
            (
                Some(row),
                _,
                Some(Overlay::Help(Help { scroll, .. }) | Overlay::Listing { scroll, .. }),
            ) => {
                *scroll = row;
            }
            (_, Some(fit), Some(Overlay::Trust { reading, .. })) => reading.take(fit),
            _ => {}
        }
        self.frame.geometry = geometry;
    }

    /// Watches the GPU while its view is shown.
    fn watch_device(&mut self) -> Option<Effect> {
        let wanted = self.runs.gpu().filter(|_| self.panes.view == View::Device);
        if !self.device.watch(wanted) {
            return None;
        }
        Some(Effect::Telemetry(match wanted {
            Some(uuid) => TelemetryRequest::Watch(uuid.to_owned()),
            None => TelemetryRequest::Stop,
        }))
    }
}

/// Asks the repository worker.
fn ask(request: RepositoryRequest) -> Vec<Effect> {
    vec![Effect::Repository(request)]
}
