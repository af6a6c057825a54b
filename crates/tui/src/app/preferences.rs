//! The user's settings as they come in, and what is remembered of the layout.

use super::super::effect::Effect;
use super::super::layout::Layout;
use super::super::status::Level;
use super::{App, Judged, Now};
use crate::request::Modes;
use crate::request::Preferences;
use crate::settings::Notify;
use lab_core::run::RunId;
use lab_core::run::verdict::Outcome;
use std::time::Duration;

impl App {
    /// Takes the settings over, before the first frame.
    pub fn adopt(&mut self, preferences: Preferences) {
        let Preferences { settings, theme, glyphs } = preferences;
        self.keymap = settings.keymap.clone();
        self.mouse = settings.mouse;
        self.theme = theme;
        self.glyphs = glyphs;
        self.settings = settings;
    }

    /// Takes the remembered layout over; its theme is known by now.
    pub fn recall(&mut self, layout: Layout) {
        self.panes.view = layout.view;
        self.panes.shares.clone_from(&layout.shares);
        self.theme_name.clone_from(&layout.theme);
        if let Some(mouse) = layout.mouse {
            self.mouse = mouse;
        }
        self.remembered = layout;
    }

    /// config.toml changed, or was asked to be read: a wrong one changes nothing.
    pub(super) fn on_preferences(&mut self, read: Result<Preferences, String>, asked: bool) -> Vec<Effect> {
        let preferences = match read {
            Ok(preferences) => preferences,
            Err(why) => {
                self.say(Level::Error, format!("{why}; the settings stay as they were"));
                return Vec::new();
            }
        };
        let is_new = preferences.settings != self.settings;
        if is_new || asked {
            self.say(
                Level::Info,
                if is_new { "config.toml is read" } else { "config.toml says nothing new" },
            );
        }
        if !is_new {
            return Vec::new();
        }
        // What the config says anew goes before what was chosen on the screen; what is only looked at in the
        // chooser was not chosen.
        let new = &preferences.settings;
        let other_ink = (&new.color, new.paint) != (&self.settings.color, self.settings.paint);
        let keeps_theme = self.theme_name.is_some() && preferences.settings.theme == self.settings.theme;
        let chosen = keeps_theme.then(|| self.theme_before().clone());
        let mouse = (preferences.settings.mouse == self.settings.mouse).then_some(self.mouse);
        if !keeps_theme {
            self.theme_name = None;
        }
        self.adopt(preferences);
        self.mouse = mouse.unwrap_or(self.mouse);
        self.hold_theme(chosen.unwrap_or_else(|| self.theme.clone()));
        // The chosen one, and all others, in as many colours as are wanted now.
        let lists = other_ink && (keeps_theme || !self.themes.is_empty());
        if lists { vec![Effect::ListThemes] } else { Vec::new() }
    }

    pub(super) fn toggle_mouse(&mut self) {
        self.mouse = !self.mouse;
        self.panes.dragged = None;
        let word =
            if self.mouse { "heard: Shift selects text as before" } else { "the terminal's own again" };
        self.say(Level::Info, format!("the mouse is {word}"));
    }

    /// What the terminal is to report.
    pub fn modes(&self) -> Modes {
        Modes { mouse: self.mouse, focus: self.settings.notify != Notify::Off }
    }

    /// Writes the layout down where it is another than the last one; not while a border moves.
    pub(super) fn remember(&mut self) -> Option<Effect> {
        let mouse = (self.mouse != self.settings.mouse).then_some(self.mouse);
        let is_known = self.remembered.view == self.panes.view
            && self.remembered.shares == self.panes.shares
            && self.remembered.theme == self.theme_name
            && self.remembered.mouse == mouse;
        if is_known || self.panes.dragged.is_some() {
            return None;
        }
        self.remembered = Layout {
            view: self.panes.view,
            shares: self.panes.shares.clone(),
            theme: self.theme_name.clone(),
            mouse,
        };
        Some(Effect::Remember(Box::new(self.remembered.clone())))
    }

    /// Tells the end of a long run to a user who looks elsewhere and wants it told.
    pub(super) fn call(&self, run: RunId, began: Now) -> Option<Effect> {
        let long = Duration::from_secs_f64(self.settings.notify_after_s);
        let is_long = self.now.saturating_sub(began) >= long;
        if self.focused || !is_long || self.settings.notify == Notify::Off {
            return None;
        }
        // A check that was ended told nothing, and there is nothing to tell of it.
        let judged = [&self.last, &self.check].into_iter().flatten().find(|judged| judged.start.id == run)?;
        let number = judged.verdict.objective.filter(|_| judged.verdict.outcome == Outcome::Pass);
        let number = number.map(|m| number_of(self, judged, m.value)).unwrap_or_default();
        let text = format!("{}: run {} {}{number}", self.setup.name, judged.start.id, judged.verdict.word());
        Some(Effect::Call(self.settings.notify, text))
    }
}

fn number_of(app: &App, judged: &Judged, value: f64) -> String {
    let emulated = if judged.verdict.emulated { " emulated" } else { "" };
    let unit = super::super::format::unit(&app.setup.objective);
    format!(" {} {unit}{emulated}", super::super::format::count(value))
}
